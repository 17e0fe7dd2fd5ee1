// Landing as users of the library see it: a task is completed when a lander reports its change on the target branch.

import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";
import { open, refusalOf, tempFile } from "../faults/support.js";

const place = { repository: "a".repeat(40), target: "main" };
const commit = "c".repeat(40);
const landed = "d".repeat(40);

async function withTarget() {
  const path = tempFile();
  const dibs = await open({ path });
  await dibs.projects.update({ settings: { land: place } });
  await dibs.sessions.register({ id: "agent" });
  const { ids } = await dibs.tasks.batch({
    tasks: [
      { key: "a", prompt: "a" },
      { key: "b", prompt: "b", dependsOn: ["a"] },
    ],
  });
  const taskId = ids.a!;
  await dibs.tasks.claim({ taskId, sessionId: "agent", start: true });
  return { path, dibs, taskId, dependent: ids.b! };
}

test("complete submits; the dependent is ready when the change has landed, not before", async () => {
  const { dibs, taskId, dependent } = await withTarget();
  const result = { output: "did it", commit, branch: "dibs/a" };
  const { task, unblocked } = await dibs.tasks.complete({ taskId, sessionId: "agent", result });
  expect(task).toMatchObject({
    state: "submitted",
    claim: null,
    submission: { number: 1, commit, stage: "checking" },
  });
  expect(unblocked).toEqual([]);
  expect((await dibs.tasks.claimNext({ sessionId: "agent" })).claim).toBeNull();
  expect((await dibs.tasks.list({ state: "submitted" })).tasks.map(({ id }) => id)).toEqual([taskId]);

  const { lease } = await dibs.landings.lease({ ...place, holder: "lander" });
  const { queue } = await dibs.landings.list({});
  expect(queue).toMatchObject([{ taskId, number: 1, commit, branch: "dibs/a", summary: "did it" }]);
  const tasks = [{ taskId, submission: 1, commit: landed }];
  const on = { epoch: lease.epoch };
  const { landing } = await dibs.landings.open({ ...place, ...on, tasks });
  const { id } = landing;
  const check = {
    name: "test",
    state: "passed",
    exitCode: 0,
    durationMs: 5,
    tree: "t",
    ranBy: "l",
    logTail: "ok",
  } as const;
  await dibs.landings.checks({ id, ...on, tasks, checks: [check] });
  await dibs.landings.intent({ id, ...on, commit: landed, tasks });
  expect((await dibs.tasks.get({ taskId })).task.submission?.stage).toBe("landing");
  expect(await refusalOf(dibs.tasks.cancel({ taskId }))).toMatchObject({ code: "LANDING_NOW" });
  expect(await dibs.landings.landed({ id, ...on })).toMatchObject({ unblocked: [dependent] });

  expect((await dibs.tasks.get({ taskId })).task).toMatchObject({
    state: "completed",
    landed: { commit: landed, target: "main" },
    result: { output: "did it" },
  });
  const { submission } = await dibs.tasks.submission({ taskId });
  expect(submission).toMatchObject({
    stage: null,
    checks: [check],
    landed: { commit: landed },
    end: { as: "landed" },
  });
  expect((await dibs.tasks.claimNext({ sessionId: "agent" })).task?.id).toBe(dependent);
});

test("a submitted task is in flight for nobody, and its work ended with the submission", async () => {
  const { dibs, taskId } = await withTarget();
  expect((await dibs.tasks.inFlight({})).inFlight.map((each) => each.taskId)).toEqual([taskId]);
  await dibs.tasks.submit({ taskId, sessionId: "agent", commit });
  expect((await dibs.tasks.inFlight({})).inFlight).toEqual([]);
});

test("a returned submission keeps its number and reason; the next one has the next number", async () => {
  const { dibs, taskId } = await withTarget();
  await dibs.tasks.submit({ taskId, sessionId: "agent", commit });
  const { lease } = await dibs.landings.lease({ ...place, holder: "lander" });
  const on = { epoch: lease.epoch };
  const { landing } = await dibs.landings.open({ ...place, ...on, tasks: [{ taskId, submission: 1 }] });
  const returned = {
    id: landing.id,
    ...on,
    taskId,
    submission: 1,
    reason: "conflict",
    detail: "a.ts",
  } as const;
  expect((await dibs.landings.returned(returned)).task).toMatchObject({ state: "queued", returnCount: 1 });
  await dibs.tasks.claim({ taskId, sessionId: "agent" });
  await dibs.tasks.submit({ taskId, sessionId: "agent", commit: landed });
  expect((await dibs.tasks.submission({ taskId })).submission).toMatchObject({ number: 2, end: null });
  expect((await dibs.tasks.submission({ taskId, number: 1 })).submission.end).toMatchObject({
    as: "returned",
    reason: "conflict",
    detail: "a.ts",
  });
});

test("a project that an earlier program wrote has no target", async () => {
  const { path, dibs } = await withTarget();
  await dibs.close();
  const db = new DatabaseSync(path);
  db.exec("UPDATE project SET settings = json_remove(settings, '$.land', '$.worktree')");
  db.close();
  const again = await open({ path });
  const { settings } = (await again.projects.list({})).projects[0]!;
  expect(settings.land).toMatchObject({ target: null, checks: [], returnsMax: 5, batchMax: 8 });
  const { task } = await again.tasks.create({ prompt: "more" });
  await again.tasks.claim({ taskId: task.id, sessionId: "agent", register: true });
  expect((await again.tasks.complete({ taskId: task.id, sessionId: "agent" })).task.state).toBe("completed");
});
