import { describe, expect, test } from "vitest";
import { driverNames, pipelines } from "./world.js";

const on = await pipelines();

describe.each(driverNames)("logs over %s", (driver) => {
  test(
    "a task's log is that of its last attempt that has one, or of the attempt that is asked for",
    on(driver, async (pipeline) => {
      const { task } = await pipeline.call("tasks.create", { prompt: "do it" });
      const on = { taskId: task.id };
      const nothing = { ...on, epoch: null, text: "", truncatedBytes: 0, updatedAt: null };
      expect(await pipeline.call("tasks.log", on)).toEqual(nothing);
      const by = { ...on, sessionId: "a" };
      for (const text of ["first", "second", null]) {
        await pipeline.call("tasks.claim", { ...by, register: true });
        if (text) await pipeline.call("tasks.appendLog", { ...by, text });
        await pipeline.call("tasks.release", by);
      }
      const updatedAt = new Date(pipeline.clock.now()).toISOString();
      const second = { ...on, epoch: 2, text: "second", truncatedBytes: 0, updatedAt };
      expect(await pipeline.call("tasks.log", on)).toEqual(second);
      expect(await pipeline.call("tasks.log", { ...on, epoch: "1" })).toEqual({
        ...second,
        epoch: 1,
        text: "first",
      });
      expect(await pipeline.call("tasks.log", { ...on, epoch: 3 })).toEqual({ ...nothing, epoch: 3 });
      await expect(pipeline.call("tasks.log", { taskId: "nothing" })).rejects.toMatchObject({
        code: "TASK_NOT_FOUND",
      });
    }),
  );
});
