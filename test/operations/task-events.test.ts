// That two tasks change the same files is one event of the log, and part of the timelines of both tasks.

import { describe, expect, test } from "vitest";
import { driverNames, type Pipeline, pipelines } from "./world.js";

const on = await pipelines();

async function held(pipeline: Pipeline, taskId: string, sessionId: string): Promise<object> {
  await pipeline.call("tasks.create", { id: taskId, prompt: "do it" });
  const { claim } = await pipeline.call("tasks.claim", { taskId, sessionId, register: true, start: true });
  return { taskId, sessionId, epoch: claim.epoch };
}

const report = (pipeline: Pipeline, by: object, ...paths: string[]) =>
  pipeline.call("tasks.heartbeat", { ...by, paths } as never);

/** Page by page. */
async function timeline(pipeline: Pipeline, taskId: string, limit: number): Promise<string[]> {
  const told: string[] = [];
  let after = 0;
  for (;;) {
    const page = await pipeline.call("tasks.events", { taskId, after, limit });
    told.push(...page.events.map(({ type, seq }) => `${type} ${seq}`));
    if (page.events.length < limit) return told;
    after = page.nextAfter;
  }
}

describe.each(driverNames)("events of a task over %s", (driver) => {
  test(
    "an overlap is in both timelines, in its place, on pages of any size",
    on(driver, async (pipeline) => {
      const first = await held(pipeline, "first", "a");
      const second = await held(pipeline, "second", "b");
      await report(pipeline, first, "x");
      await report(pipeline, second, "x");
      await pipeline.call("tasks.progress", { ...first, note: "on" } as never);
      const all = await pipeline.call("events.list", { types: ["task:overlap"] });
      expect(all.events).toMatchObject([{ taskId: "second", data: { with: "first" } }]);
      const overlap = `task:overlap ${all.events[0]!.seq}`;
      const whole = await timeline(pipeline, "first", 100);
      expect(whole.slice(-2)).toEqual([overlap, expect.stringContaining("task:progress")]);
      for (const limit of [1, 2, 3]) expect(await timeline(pipeline, "first", limit)).toEqual(whole);
      expect((await timeline(pipeline, "second", 2)).filter((each) => each === overlap)).toHaveLength(1);
      const named = await pipeline.call("events.list", { taskId: "first", types: ["task:overlap"] });
      expect(named.events).toEqual(all.events);
      const others = await pipeline.call("events.list", { taskId: "first", types: ["task:progress"] });
      expect(others.events).toHaveLength(1);
    }),
  );

  test(
    "the inbox item of an overlap stays while both tasks are open, and leaves when one has ended",
    on(driver, async (pipeline) => {
      const items = async () => {
        const { notifications, unread } = await pipeline.call("notifications.inbox", {});
        expect(unread).toBe(notifications.length);
        return notifications.filter(({ type }) => type === "TASKS_OVERLAP").map(({ taskId }) => taskId);
      };
      const [first, second, third] = [
        await held(pipeline, "first", "a"),
        await held(pipeline, "second", "b"),
        await held(pipeline, "third", "c"),
      ];
      await report(pipeline, first, "x");
      await report(pipeline, second, "x", "y");
      await report(pipeline, third, "y");
      expect((await items()).sort()).toEqual(["second", "third"]);
      await report(pipeline, third, "z");
      expect(await items()).toEqual(["second"]);
      await pipeline.call("tasks.release", { ...second, reason: "later" } as never);
      expect(await items()).toEqual(["second"]);
      await pipeline.call("tasks.complete", { ...first, result: { output: "done" } } as never);
      expect(await items()).toEqual([]);
    }),
  );
});
