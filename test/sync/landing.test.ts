// A task that is submitted is not done: the file shows it in progress, held by nobody, and cannot complete it.

import { expect, test } from "vitest";
import { openScene, told } from "./support.js";

const target = { land: { target: "main" } };

test("a submitted task is in_progress with no claim; a done set by hand is reported, not applied", async () => {
  const scene = await openScene();
  await scene.dibs.projects.update({ settings: target });
  await scene.create("One", { id: "task-1" });
  await scene.claim("task-1", "agent");
  await scene.dibs.tasks.submit({ taskId: "task-1", sessionId: "agent", commit: "c".repeat(40) });
  await scene.sync();
  const { status, claim } = scene.entry("task-1");
  expect({ status, claim }).toEqual({ status: "in_progress", claim: null });
  scene.editEntry("task-1", { status: "done" });
  const news = await scene.sync();
  expect(told(news, "refused")).toMatchObject([
    { taskId: "task-1", message: expect.stringContaining("It is submitted") },
  ]);
  expect((await scene.task("task-1")).state).toBe("submitted");
  expect(scene.entry("task-1").status).toBe("in_progress");
});

test("a done set by the holder submits without a change", async () => {
  const scene = await openScene();
  await scene.dibs.projects.update({ settings: target });
  await scene.create("One", { id: "task-1" });
  await scene.claim("task-1", "agent");
  await scene.sync();
  scene.editEntry("task-1", { status: "done" });
  await scene.sync();
  expect(await scene.task("task-1")).toMatchObject({ state: "submitted", submission: { commit: null } });
  expect(scene.entry("task-1").status).toBe("in_progress");
});
