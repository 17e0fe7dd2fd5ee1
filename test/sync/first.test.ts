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
