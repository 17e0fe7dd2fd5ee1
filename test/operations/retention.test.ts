import { describe, expect, test } from "vitest";
import { catchUp } from "../../src/operations/metrics/recorder.js";
import { retireEvents } from "../../src/operations/retention.js";
import { driverNames, on, org, type Pipeline } from "./world.js";

const day = 24 * 60 * 60 * 1000;
const old = { olderThanMs: day, limit: 1000 };

async function seqs({ store }: Pipeline): Promise<number[]> {
  return store.read(org, (view) => view.events({ after: 0, limit: 1000 }).map(({ seq }) => seq));
}

describe.each(driverNames)("old events over %s", (driver) => {
  test(
    "those that are older go, a bounded number at a time, and the log says where it begins",
    on(driver, async (pipeline) => {
      for (let n = 0; n < 3; n++) await pipeline.call("tasks.create", { prompt: "do it" });
      expect(await retireEvents(pipeline.executor, org, old)).toBe(0);
      pipeline.clock.advance(day);
      await pipeline.call("tasks.create", { prompt: "do it" });
      expect(await retireEvents(pipeline.executor, org, old)).toBe(0);
      pipeline.clock.advance(1);
      expect(await retireEvents(pipeline.executor, org, { ...old, limit: 4 })).toBe(4);
      expect(await seqs(pipeline)).toEqual([5, 6, 7, 8]);
      expect(await retireEvents(pipeline.executor, org, old)).toBe(2);
      expect(await retireEvents(pipeline.executor, org, old)).toBe(0);
      expect(await pipeline.call("events.list", { after: 0 })).toMatchObject({
        events: [{ seq: 7 }, { seq: 8 }],
        firstAvailable: 7,
      });
    }),
  );

  test(
    "none goes that the figures have not counted",
    on(driver, async (pipeline) => {
      await pipeline.call("tasks.create", { prompt: "do it" });
      await catchUp(pipeline.executor, org);
      await pipeline.call("tasks.create", { prompt: "do it" });
      pipeline.clock.advance(2 * day);
      expect(await retireEvents(pipeline.executor, org, old)).toBe(2);
      expect(await seqs(pipeline)).toEqual([3, 4]);
      await catchUp(pipeline.executor, org);
      expect(await retireEvents(pipeline.executor, org, old)).toBe(2);
    }),
  );
});
