// Each way in which finished work was lost elsewhere, by its name. Two more are in core/landing.test.ts (finished work that starves)
// and red-target.test.ts (a model that overrules a red gate).

import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runWork } from "../../src/runner/index.js";
import { machine, programFile } from "../runner/support.js";
import { crashBefore, git, Stage } from "./support.js";

/** As `dibs work` runs it: in worktrees, and handed in. */
async function work(stage: Stage, script: string): Promise<void> {
  await runWork({
    dibs: stage.dibs,
    command: ["sh", "-c", script],
    machine,
    untilIdle: true,
    env: { ...process.env, GIT_CONFIG_NOSYSTEM: "1", HOME: stage.root },
    watchdogFile: programFile("watchdog"),
    worktree: { root: stage.root, onlyToLand: true },
  }).done;
}

async function add(stage: Stage, ...tasks: Record<string, unknown>[]): Promise<string[]> {
  const { ids } = await stage.dibs.tasks.batch({
    tasks: tasks.map((task, n) => ({ key: String(n), prompt: "x", ...task })),
  } as never);
  return tasks.map((_, n) => ids[String(n)]!);
}

const statesOf = (stage: Stage, ids: string[]) => Promise.all(ids.map((taskId) => stage.stateOf({ taskId })));

test("a dependent that started without the other's files: it starts when they are on the target, and has them", async () => {
  const stage = await Stage.open();
  const ids = await add(stage, { title: "model" }, { title: "api", dependsOn: ["0"] });
  const script = `if [ $DIBS_TASK = ${ids[1]} ]; then test -f model.txt && echo api > api.txt; else echo model > model.txt; fi`;
  await work(stage, script);
  // Handed in is not done.
  expect(await statesOf(stage, ids)).toEqual(["submitted", "queued"]);
  await stage.land();
  await work(stage, script);
  await stage.land();
  expect(await statesOf(stage, ids)).toEqual(["completed", "completed"]);
  expect(stage.on("main", "api.txt")).toBe("api");
});

test("two tasks that changed the same line: the second comes back with the first one's change, and both are on the target", async () => {
  const stage = await Stage.open();
  const ids = await add(stage, { title: "one" }, { title: "two" });
  const script = `
    if grep -q '<<<<<<<' a.txt; then printf 'both\\n' > a.txt; git add a.txt; else printf "$DIBS_TASK\\n" > a.txt; fi`;
  await work(stage, script);
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 1 });
  expect((await statesOf(stage, ids)).sort()).toEqual(["completed", "queued"]);
  await work(stage, script);
  expect(await stage.land()).toMatchObject({ landed: 1, returned: 0 });
  expect(await statesOf(stage, ids)).toEqual(["completed", "completed"]);
  expect(stage.on("main", "a.txt")).toBe("both");
});

test("all tasks reported completed, and main did not move: without a lander none is completed, and the inbox says so", async () => {
  const stage = await Stage.open();
  const ids = await add(stage, {}, {}, {}, {});
  const before = stage.tip;
  await work(stage, 'echo "$DIBS_TASK" > "$DIBS_TASK.txt"');
  expect(stage.tip).toBe(before);
  expect(await statesOf(stage, ids)).toEqual(["submitted", "submitted", "submitted", "submitted"]);
  const { notifications } = await stage.dibs.notifications.list({ unread: true } as never);
  expect(notifications.map(({ title }) => title)).toEqual(["No lander is running"]);
  expect(await stage.land()).toMatchObject({ landed: 4 });
  for (const id of ids) expect(stage.on("main", `${id}.txt`)).toBe(id);
});

test("a branch that was deleted before the merge: it stays until the landing is recorded, and its commit lands without it", async () => {
  const stage = await Stage.open();
  const [first = "", second = ""] = await add(stage, {}, {});
  await work(stage, 'echo "$DIBS_TASK" > "$DIBS_TASK.txt"');
  const path = (id: string) => join(stage.root, ".dibs", "worktrees", id);
  git(stage.root, "worktree", "remove", "--force", path(second));
  git(stage.root, "branch", "--quiet", "-D", `dibs/${second}`);
  git(stage.root, "reflog", "expire", "--expire=now", "--all");
  git(stage.root, "gc", "--quiet", "--prune=now");
  // The target has moved; nobody has recorded it yet.
  await expect(stage.land(crashBefore("report landed"))).rejects.toThrow("crashed");
  expect(stage.on("main", `${first}.txt`)).toBe(first);
  expect([existsSync(path(first)), git(stage.root, "branch", "--list", `dibs/${first}`)]).toEqual([
    true,
    expect.stringContaining(first),
  ]);
  await stage.land();
  expect(await statesOf(stage, [first, second])).toEqual(["completed", "completed"]);
  expect(stage.on("main", `${second}.txt`)).toBe(second);
  expect(git(stage.root, "branch", "--list", "dibs/*")).toBe("");
});

test("a review that nobody was asked for: a person's inbox has it as soon as it waits", async () => {
  const stage = await Stage.open({ land: { review: "human" } });
  const { taskId } = await stage.handIn({ "b.txt": "b\n" });
  await stage.land();
  const { notifications } = await stage.dibs.notifications.list({ unread: true } as never);
  expect(notifications).toMatchObject([{ type: "LANDING_HELD" }, { type: "REVIEW_NEEDED", taskId }]);
  const { reasons } = await stage.dibs.tasks.explain({ taskId });
  expect(reasons).toMatchObject([{ code: "WAITING_FOR_REVIEW" }]);
});

test("a review loop without end: after three rounds a person is asked whether to try again", async () => {
  const stage = await Stage.open({ land: { review: "human" } });
  const { taskId } = await stage.handIn({ "b.txt": "0\n" });
  for (let round = 1; round <= 4; round++) {
    await stage.land();
    await stage.dibs.tasks.requestChanges({ taskId, submission: round, reason: `again, ${round}` });
    if (round < 4) await stage.submit(taskId, { "b.txt": `${round}\n` });
  }
  const task = await stage.task(taskId);
  expect(task).toMatchObject({ state: "awaiting_response", claim: null });
  expect(task.question).toMatchObject({ options: ["try again", "cancel"] });
  await stage.dibs.tasks.respond({ taskId, response: "try again" });
  expect(await stage.task(taskId)).toMatchObject({ state: "queued", returnCount: 0 });
});
