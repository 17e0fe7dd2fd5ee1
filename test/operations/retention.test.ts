import { describe, expect, test } from "vitest";
import { followEvents } from "../../src/operations/event-feed.js";
import { catchUp } from "../../src/operations/metrics/recorder.js";
import { retireEvents, retireTasks } from "../../src/operations/retention.js";
import { eventually } from "../eventually.js";
import { driverNames, org, type Pipeline, pipelines } from "./world.js";

const on = await pipelines();

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
      await eventually(() => told).toEqual([{ firstAvailable: 1, lastSeq: 2 }]);
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

/** What lists show is what the figures say. */
async function expectCounts(
  pipeline: Pipeline,
  expected: Record<"available" | "done" | "cancelled", number>,
) {
  const { tasks } = await pipeline.call("tasks.list", {});
  const { by_status: told } = await pipeline.call("stats.get", {});
  const count = (state: string) => tasks.filter((task) => task.state === state).length;
  const shown = { available: count("queued"), done: count("completed"), cancelled: count("cancelled") };
  expect(shown).toEqual(expected);
  expect(told).toMatchObject(expected);
}

describe.each(driverNames)("old tasks over %s", (driver) => {
  const chain = ["a", "b", "c", "d", "e"];

  async function finish(pipeline: Pipeline, taskId: string): Promise<void> {
    await pipeline.call("tasks.claim", { taskId, sessionId: "worker", register: true });
    await pipeline.call("tasks.complete", { taskId, sessionId: "worker" });
  }

  test(
    "they go from the newest to the oldest, some at a time, and the figures go along",
    on(driver, async (pipeline) => {
      const tasks = chain.map((id, at) => ({
        id,
        prompt: id,
        dependsOn: chain.slice(Math.max(0, at - 1), at),
      }));
      await pipeline.call("tasks.batch", { tasks });
      await pipeline.call("tasks.create", { prompt: "open" });
      for (const id of chain) await finish(pipeline, id);
      await catchUp(pipeline.executor, org);
      const step = (below?: number) =>
        retireTasks(pipeline.executor, org, { olderThanMs: day, below, limit: 3 });
      pipeline.clock.advance(day);
      expect(await step()).toEqual({ archived: 0, next: 4 });
      pipeline.clock.advance(1);
      expect(await step()).toEqual({ archived: 2, next: 4 });
      await expectCounts(pipeline, { available: 1, done: 3, cancelled: 0 });
      expect(await step(4)).toEqual({ archived: 3, next: 1 });
      expect(await step(1)).toEqual({ archived: 0, next: null });
      await expectCounts(pipeline, { available: 1, done: 0, cancelled: 0 });
      const gone = pipeline.call("tasks.get", { taskId: "a" });
      await expect(gone).rejects.toMatchObject({
        code: "TASK_NOT_FOUND",
        hint: expect.stringContaining(new Date(pipeline.clock.now()).toISOString()),
      });
      await expect(pipeline.call("tasks.create", { id: "a", prompt: "again" })).rejects.toMatchObject({
        code: "ID_TAKEN",
      });
      const { events } = await pipeline.call("events.list", { types: ["task:updated"] });
      expect(events.map(({ taskId, actor, data }) => [taskId, actor, data])).toEqual(
        [...chain].reverse().map((id) => [id, "system", { taskId: id, archived: true, from: "completed" }]),
      );
    }),
  );

  test(
    "more of them than one commit takes go in one step",
    on(driver, async (pipeline) => {
      const prompts = Array.from({ length: 450 }, (_, at) => ({ prompt: `task ${at}` }));
      await pipeline.call("tasks.batch", { tasks: prompts });
      await pipeline.call("tasks.bulk", { action: "cancel", filter: { state: "queued" } });
      pipeline.clock.advance(day);
      expect(await retireTasks(pipeline.executor, org, { olderThanMs: 1 })).toEqual({
        archived: 450,
        next: null,
      });
      await expectCounts(pipeline, { available: 0, done: 0, cancelled: 0 });
    }),
  );
});
