import { describe, expect, test } from "vitest";
import { driverNames, type Pipeline, pipelines } from "./world.js";

const on = await pipelines();

/** Two tasks in each state, created in turns, named by how they stand. */
async function twoOfEach(pipeline: Pipeline): Promise<void> {
  const call: Pipeline["call"] = (...given) => pipeline.call(...given);
  const names = [
    "completed",
    "scheduled",
    "ready",
    "cancelled",
    "blocked",
    "claimed",
    "failed",
    "asked",
    "running",
  ];
  for (const turn of [1, 2]) {
    for (const name of names) {
      const id = `${name}-${turn}`;
      const hold = { taskId: id, sessionId: id };
      const notBefore = name === "scheduled" ? "2099-01-01T00:00:00.000Z" : undefined;
      const dependsOn = name === "blocked" ? [`ready-${turn}`] : [];
      await call("tasks.create", { id, prompt: name, dependsOn, ...(notBefore && { notBefore }) });
      if (["scheduled", "ready", "blocked"].includes(name)) continue;
      await call("tasks.claim", { ...hold, register: true, start: name !== "claimed" });
      if (name === "completed") await call("tasks.complete", { ...hold, result: "ok" });
      if (name === "failed") await call("tasks.fail", { ...hold, error: "no", retryable: false });
      if (name === "cancelled") await call("tasks.cancel", { taskId: id });
      if (name === "asked") await call("tasks.ask", { ...hold, question: "Which?" });
    }
  }
}

const activeFirst = [
  ...["running-1", "running-2", "asked-1", "asked-2", "claimed-1", "claimed-2"],
  ...["ready-1", "ready-2", "blocked-1", "blocked-2", "scheduled-1", "scheduled-2"],
  ...["failed-2", "cancelled-2", "completed-2", "failed-1", "cancelled-1", "completed-1"],
];

async function pagesOf(pipeline: Pipeline, input: object, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const more = cursor === undefined ? {} : { cursor };
    const page = await pipeline.call("tasks.list", { order: "active", limit, ...input, ...more } as never);
    expect(page.tasks.length).toBeLessThanOrEqual(limit);
    ids.push(...page.tasks.map(({ id }: { id: string }) => id));
    if (page.nextCursor === null) return ids;
    cursor = page.nextCursor;
  }
}

describe.each(driverNames)("what is active first, over %s", (driver) => {
  test(
    "running, asked, claimed, ready, blocked, scheduled, and then what ended, the newest first",
    on(driver, async (pipeline) => {
      await twoOfEach(pipeline);
      for (const limit of [1, 4, 100]) expect(await pagesOf(pipeline, {}, limit)).toEqual(activeFirst);
      const ended = await pagesOf(pipeline, { state: ["failed", "running", "completed"] }, 3);
      expect(ended).toEqual(activeFirst.filter((id) => /^(?:running|failed|completed)/.test(id)));
      expect(await pagesOf(pipeline, { claimable: true }, 1)).toEqual(["ready-1", "ready-2"]);
      expect(await pagesOf(pipeline, { q: "ed-2" }, 2)).toEqual(
        activeFirst.filter((id) => id.endsWith("ed-2")),
      );
    }),
  );

  test(
    "a first page says how many there are in all; the usual order and its cursors are as before",
    on(driver, async (pipeline) => {
      await twoOfEach(pipeline);
      const call: Pipeline["call"] = (...given) => pipeline.call(...given);
      expect((await call("tasks.list", { order: "active", limit: 5 })).total).toBe(18);
      const failed = await call("tasks.list", { order: "active", state: "failed", limit: 1 });
      expect(failed).toMatchObject({ total: 2, nextCursor: expect.stringMatching(/^ended\.\d+$/) });
      expect(await call("tasks.list", { order: "active" })).not.toHaveProperty("total");
      const { tasks, nextCursor } = await call("tasks.list", { limit: 2 });
      expect(tasks.map(({ id }) => id)).toEqual(["completed-1", "scheduled-1"]);
      expect(nextCursor).toMatch(/^\d+$/);
      for (const cursor of ["nowhere.1", "ended.0", "ended.", nextCursor!]) {
        const asked = call("tasks.list", { order: "active", cursor });
        await expect(asked, cursor).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
      }
    }),
  );
});
