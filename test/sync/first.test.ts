// The first meeting with a file that others have kept so far: what it says has happened stays so.

import { expect, test } from "vitest";
import { openScene, told } from "./support.js";

test("what failed before stays failed, with its error and its count of retries", async () => {
  const scene = await openScene();
  const failed = { TaskId: "x1", Title: "One", Status: "Failed", Error: "e", RetryCount: 2, MaxRetries: 2 };
  scene.write({ tasks: [failed, { id: "x2", title: "Two", status: "failed" }] });
  expect(await scene.isClean()).toBe(true);
  expect(await scene.task("x1")).toMatchObject({ state: "failed", error: "e", maxRetries: 2 });
  expect((await scene.task("x2")).state).toBe("failed");
  expect(scene.entry("x1")).toMatchObject(failed);
  expect((await scene.dibs.tasks.claimable()).tasks).toEqual([]);
  // Whoever tries it again by hand begins to count anew, as always.
  scene.editEntry("x1", { Status: "Pending", Error: null });
  expect(await scene.isClean()).toBe(true);
  expect(scene.entry("x1")).toMatchObject({ Status: "Pending", RetryCount: 0, MaxRetries: 2 });
});

test("what was tried before has as many retries left as the file said", async () => {
  const scene = await openScene();
  scene.write({
    tasks: [
      { TaskId: "x1", Title: "One", Status: "Pending", RetryCount: 1, MaxRetries: 2 },
      { TaskId: "x2", Title: "Two", Status: "Pending", RetryCount: 7 },
    ],
  });
  expect(told(await scene.sync(), "edited").map(({ taskId, fields }) => [taskId, fields])).toEqual([
    ["x1", ["maxRetries"]],
    ["x2", ["maxRetries"]],
  ]);
  expect(await scene.task("x1")).toMatchObject({ maxRetries: 1, retryCount: 0 });
  expect((await scene.task("x2")).maxRetries).toBe(0);
  expect(scene.entry("x1")).toMatchObject({ MaxRetries: 1, RetryCount: 0 });
  expect(await scene.isClean()).toBe(true);
  expect((await scene.task("x1")).maxRetries).toBe(1);
});

test("what was done stays done, though what it should have waited for is open", async () => {
  const scene = await openScene();
  scene.write({
    tasks: [
      { id: "late", title: "Late", status: "done", dependsOn: ["early", "done"], result: "It stands." },
      { id: "broke", title: "Broke", status: "failed", dependsOn: ["late", "early"], error: "no" },
      { id: "done", title: "Done", status: "done" },
      { id: "early", title: "Early", status: "pending" },
    ],
  });
  const edited = told(await scene.sync(), "edited");
  expect(edited.map(({ taskId, fields }) => [taskId, fields])).toEqual([
    ["late", ["dependsOn"]],
    ["broke", ["dependsOn"]],
  ]);
  expect(edited[0]!.message).toContain("it ended before early");
  const late = await scene.task("late");
  expect(late).toMatchObject({ state: "completed", dependsOn: ["done"], result: { output: "It stands." } });
  expect(await scene.task("broke")).toMatchObject({ state: "failed", error: "no", dependsOn: ["late"] });
  const shown = { status: "done", dependsOn: ["early", "done"], result: "It stands." };
  expect(scene.entry("late")).toMatchObject(shown);
  expect(await scene.isClean()).toBe(true);
  expect(scene.entry("late")).toMatchObject(shown);
});

test("what was done stays done, though only another type of agent may claim it, or later", async () => {
  const scene = await openScene();
  const notBefore = new Date(scene.clock.now() + 3_600_000).toISOString();
  scene.write({
    tasks: [
      { id: "typed", title: "Typed", status: "done", agentType: "reviewer" },
      { id: "later", title: "Later", status: "done", notBefore },
    ],
  });
  expect(await scene.isClean()).toBe(true);
  expect((await scene.task("typed")).state).toBe("completed");
  expect((await scene.task("later")).state).toBe("completed");
});

test("a claim that is over is nobody's; one that is not becomes a lease", async () => {
  const scene = await openScene();
  const at = (ms: number) => new Date(scene.clock.now() + ms).toISOString();
  const claimed = (id: string, expiresAt: string) => ({
    id,
    title: id,
    status: "in_progress",
    claim: { sessionId: `agent-${id}`, expiresAt },
  });
  scene.write({ tasks: [claimed("old", at(-1)), claimed("live", at(60_000))] });
  expect(await scene.isClean()).toBe(true);
  expect(await scene.task("old")).toMatchObject({ state: "queued", claim: null });
  expect(scene.entry("old")).toMatchObject({ status: "pending", claim: null });
  expect((await scene.task("live")).claim?.sessionId).toBe("agent-live");
});
