import { describe, expect, test, vi } from "vitest";
import { followEvents } from "../../src/operations/event-feed.js";
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
      // Whoever asks for what follows 5 has missed one; whoever has seen 6 has not.
      const isReset = async (after: number) => (await pipeline.call("events.list", { after })).reset;
      expect([await isReset(5), await isReset(6), await isReset(8)]).toEqual([true, false, false]);
    }),
  );

  test(
    "who has seen more than there is, as after a restored backup, goes on at the end and is told",
    on(driver, async (pipeline) => {
      await pipeline.call("tasks.create", { prompt: "do it" });
      const page = await pipeline.call("events.list", { after: 500 });
      expect(page).toMatchObject({ events: [], nextAfter: 2, lastSeq: 2, reset: true });
      expect(await pipeline.call("tasks.events", { taskId: "0001", after: 500 })).toMatchObject({
        events: [],
        nextAfter: 2,
      });
      const ending = new AbortController();
      const told: unknown[] = [];
      const following = followEvents(pipeline.store, org, {
        after: 500,
        signal: ending.signal,
        onReset: (ends) => void told.push(ends),
      });
      const next = following.next();
      await vi.waitFor(() => expect(told).toEqual([{ firstAvailable: 1, lastSeq: 2 }]));
      await pipeline.call("tasks.create", { prompt: "do it" });
      expect((await next).value).toMatchObject({ seq: 3 });
      expect(told).toHaveLength(1);
      ending.abort();
      await following.return();
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
