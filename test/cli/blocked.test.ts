// Cancelling a task that others depend on: the command says which are blocked now, and its advice works as printed.

import { expect, test } from "vitest";
import { openDesk } from "./desk.js";

test("dibs cancel names the dependents that are blocked now, and commands that help", async () => {
  const desk = await openDesk();
  for (const line of [["One"], ["Two", "-d", "0001"], ["Three", "-d", "0001"], ["Four", "-d", "0003"]])
    await desk.says(["add", ...line]);
  expect(await desk.says(["cancel", "0001"])).toBe(
    'cancelled 0001\nBlocked now: 0002, 0003. Run: dibs retry 0001, or dibs edit 0002 --depends-on ""\n',
  );
  expect((await desk.json(["show", "0002"])).task.pendingDependencies).toBe(1);
  await desk.says(["edit", "0002", "--depends-on", ""]);
  expect(await desk.says(["explain", "0002"])).toMatch(/^0002 can be claimed now/);
  expect(await desk.says(["cancel", "0004"])).toBe("cancelled 0004\n");
});

test("a dependent keeps its other dependencies in the command that edits it", async () => {
  const desk = await openDesk();
  for (const line of [["One"], ["Two"], ["Three", "-d", "0001,0002"]]) await desk.says(["add", ...line]);
  expect(await desk.says(["leader", "cancel", "0001"])).toContain("or dibs edit 0003 --depends-on 0002\n");
  await desk.says(["edit", "0003", "--depends-on", "0002"]);
  expect((await desk.json(["show", "0003"])).task.dependsOn).toEqual(["0002"]);
});

test("several tasks that are cancelled at once: each that is missed is named", async () => {
  const desk = await openDesk();
  for (const line of [["One"], ["Two", "-d", "0001"], ["Three", "-d", "0002"]])
    await desk.says(["add", ...line]);
  expect(await desk.says(["cancel", "0001", "0002"])).toBe(
    'cancelled 2 tasks: 0001, 0002\nBlocked now: 0003. Run: dibs retry 0002, or dibs edit 0003 --depends-on ""\n',
  );
  const answer = await desk.json(["cancel", "0003"]);
  expect(answer).toMatchObject({ cancelled: ["0003"], blocked: [], blockedCount: 0 });
});

test("dibs work --until-empty exits with 1 while tasks are blocked by a failed or cancelled one", async () => {
  const desk = await openDesk();
  for (const line of [["One"], ["Two", "-d", "0001"], ["Three", "-d", "0002"]])
    await desk.says(["add", ...line, "-l", "docs"]);
  await desk.says(["cancel", "0001"]);
  const work = (...flags: string[]) =>
    desk.dibs(["work", "--until-empty", ...flags, "--", "true"], { env: { PATH: process.env.PATH! } });
  expect(await work()).toMatchObject({
    code: 1,
    out: "No task was worked on.\n2 tasks are blocked by 0001 (cancelled). Run: dibs retry 0001\n",
  });
  const { code, out } = await work("--json");
  expect([code, JSON.parse(out)]).toMatchObject([
    1,
    { tasks: [], blocked: [{ taskId: "0002", by: "0001" }, { taskId: "0003" }] },
  ]);
  expect((await work("-l", "other")).code).toBe(0);
  await desk.says(["retry", "0001"]);
  await desk.says(["claim", "0001", "--session", "a"]);
  await desk.says(["fail", "0001", "--session", "a", "no way", "--no-retry"]);
  expect((await work()).out).toContain("2 tasks are blocked by 0001 (failed). Run: dibs retry 0001\n");
  const [reason] = (await desk.json(["explain", "0003"])).reasons;
  expect(reason).toMatchObject({ fix: "dibs retry 0001", ended: { taskId: "0001", state: "failed" } });
});

test("a parent whose subtask has failed is blocked as well", async () => {
  const desk = await openDesk();
  for (const line of [["One"], ["Part", "--parent", "0001"]]) await desk.says(["add", ...line]);
  await desk.says(["claim", "0001_t1", "--session", "a"]);
  await desk.says(["fail", "0001_t1", "--session", "a", "no way", "--no-retry"]);
  const env = { PATH: process.env.PATH! };
  expect(await desk.dibs(["work", "--until-empty", "--", "true"], { env })).toMatchObject({
    code: 1,
    out: expect.stringContaining("1 task is blocked by 0001_t1 (failed). Run: dibs retry 0001_t1\n"),
  });
});

test("dibs cancel names the subtasks that stay open, and --cascade cancels them afterwards", async () => {
  const desk = await openDesk();
  for (const line of [["One"], ["A", "--parent", "0001"], ["B", "--parent", "0001"], ["Two"]])
    await desk.says(["add", ...line]);
  await desk.says(["add", "C", "--parent", "0002"]);
  expect(await desk.says(["cancel", "0002_t1"])).toBe("cancelled 0002_t1\n");
  expect(await desk.says(["cancel", "0001"])).toBe(
    "cancelled 0001\n2 subtasks stay open: 0001_t1, 0001_t2. Run: dibs cancel 0001 --cascade\n",
  );
  expect((await desk.dibs(["cancel", "0001"])).err).toContain("TASK_NOT_CANCELLABLE");
  expect(await desk.says(["cancel", "0001", "--cascade"])).toBe("cancelled 2 subtasks below 0001\n");
  expect((await desk.json(["show", "0001_t2"])).task.state).toBe("cancelled");
  await desk.says(["add", "D", "--parent", "0002"]);
  expect(await desk.says(["cancel", "0002"])).toContain(
    "1 subtask stays open: 0002_t2. Run: dibs cancel 0002 --cascade\n",
  );
});

test("dibs dependents of a completed task says that no task waits for it", async () => {
  const desk = await openDesk();
  for (const line of [["One"], ["Two", "-d", "0001"]]) await desk.says(["add", ...line]);
  expect(await desk.says(["dependents", "0001"])).toBe("0002\n");
  await desk.says(["claim", "0001", "--session", "a", "--start"]);
  await desk.says(["done", "0001", "ok", "--session", "a"]);
  expect(await desk.says(["dependents", "0001"])).toBe("No task waits for 0001.\n");
});
