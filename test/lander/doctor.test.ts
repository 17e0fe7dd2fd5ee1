// What must hold between a store and its repository is found when it does not, with the command that helps.

import { utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { examineLandings } from "../../src/lander/index.js";
import { fenceRef, submissionRef } from "../../src/runner/target.js";
import { afterwards, check, git, Stage, tempDir, until, write } from "./support.js";

const problemsOf = async (stage: Stage) => (await examineLandings(stage.dibs, stage.root))!.problems;
const rulesOf = async (stage: Stage) => (await problemsOf(stage)).map(({ rule }) => rule);

test("nothing is wrong after landings", async () => {
  const stage = await Stage.open();
  await stage.handIn({ "b.txt": "b\n" });
  await stage.handIn({ "c.txt": "c\n" });
  await stage.land();
  expect(await examineLandings(stage.dibs, stage.root)).toEqual({ target: "main", landed: 2, problems: [] });
});

test("a completed task whose commit was taken from the target", async () => {
  const stage = await Stage.open();
  await stage.handIn({ "b.txt": "b\n" });
  await stage.land();
  const landed = stage.tip;
  git(stage.root, "reset", "--hard", "--quiet", "main^");
  expect(await problemsOf(stage)).toMatchObject([
    { rule: "L1", fix: `git cherry-pick ${landed}` },
    { rule: "L3", fix: `git merge ${landed.slice(0, 10)}, or: dibs land --accept-rewind` },
  ]);
});

test("a change that is on the target although its task was withdrawn; and one that is there twice", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "b.txt": "b\n" });
  const { task } = await stage.dibs.tasks.get({ taskId: one.taskId });
  await stage.dibs.tasks.withdraw({ taskId: one.taskId });
  const trailers = `Dibs-Task: ${task.project}/${one.taskId}#1\nDibs-Submission: ${one.commit}`;
  git(stage.root, "commit", "--quiet", "--allow-empty", "-m", `Sneaked in\n\n${trailers}`);
  const sneaked = stage.tip;
  expect(await problemsOf(stage)).toMatchObject([{ rule: "L4", fix: `git revert ${sneaked}` }]);
  git(stage.root, "commit", "--quiet", "--allow-empty", "-m", `Again\n\n${trailers}`);
  // The log is read from the newest on: the older of the two is named.
  expect(await problemsOf(stage)).toContainEqual(
    expect.objectContaining({ rule: "L5", fix: `git revert ${sneaked}` }),
  );
});

test("a submission that nothing keeps, one whose commit is gone, and no lander", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "b.txt": "b\n" });
  const { project } = await stage.task(one.taskId);
  const ref = submissionRef(project, one.taskId, 1);
  git(stage.root, "update-ref", "-d", ref);
  const problems = await problemsOf(stage);
  expect(problems).toMatchObject([
    { rule: "L2", fix: `git update-ref ${ref} ${one.commit}` },
    { rule: "L9", fix: "dibs land" },
  ]);
  git(stage.root, "branch", "-D", one.branch);
  git(stage.root, "reflog", "expire", "--expire=now", "--all");
  git(stage.root, "gc", "--quiet", "--prune=now");
  expect((await problemsOf(stage))[0]).toMatchObject({
    rule: "L2",
    fix: `dibs withdraw ${one.taskId}`,
  });
});

test("what was handed in survives branch -D and gc, and lands", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "b.txt": "b\n" });
  git(stage.root, "branch", "-D", one.branch);
  git(stage.root, "reflog", "expire", "--expire=now", "--all");
  git(stage.root, "gc", "--quiet", "--prune=now");
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(stage.on("main", "b.txt")).toBe("b");
});

test("a landing that was begun, and a target that is gone", async () => {
  const stage = await Stage.open();
  const { taskId, commit } = await stage.handIn({ "b.txt": "b\n" });
  const repository = git(stage.root, "rev-list", "--max-parents=0", "main");
  const place = { repository, target: "main" };
  const { lease } = await stage.dibs.landings.lease({ ...place, holder: "gone", ttlMs: 1_000 });
  const tasks = [{ taskId, submission: 1, commit }];
  await stage.dibs.landings.open({ ...place, epoch: lease.epoch, tasks, commit: commit! });
  await until("the lease has ended", async () => (await stage.dibs.landings.list({})).lease === null);
  const problems = await problemsOf(stage);
  expect(problems).toContainEqual({
    rule: "L6",
    message: "Landing L1 was begun and not finished.",
    fix: "dibs land --once",
  });
  git(stage.root, "switch", "--quiet", "--detach");
  git(stage.root, "branch", "-D", "main");
  expect(await rulesOf(stage)).toContain("L6");
});

test("a landing whose check failed, and one without a result for its tree", async () => {
  const stage = await Stage.open();
  await stage.dibs.projects.update({
    settings: { land: { checks: [check("test", "0"), check("docs", "0", { paths: ["docs/**"] })] } },
  } as never);
  const { taskId, commit } = await stage.handIn({ "b.txt": "b\n" });
  const repository = git(stage.root, "rev-list", "--max-parents=0", "main");
  const place = { repository, target: "main" };
  const { lease } = await stage.dibs.landings.lease({ ...place, holder: "sloppy" });
  const { epoch } = lease;
  const tree = git(stage.root, "rev-parse", `${commit}^{tree}`);
  const tasks = [{ taskId, submission: 1, commit }];
  const opened = { ...place, epoch, tasks, base: stage.tip };
  const { landing } = await stage.dibs.landings.open({ ...opened, commit: commit!, tree });
  git(stage.root, "merge", "--quiet", "--ff-only", commit!);
  await stage.dibs.landings.landed({ id: landing.id, epoch });
  expect(await problemsOf(stage)).toEqual([
    { rule: "L3", message: "Landing L1 landed without check test on its tree.", fix: "dibs check run" },
  ]);
  const red = { name: "test", state: "failed", exitCode: 1, durationMs: 1, tree, ranBy: "l", logTail: "" };
  const next = await stage.handIn({ "c.txt": "c\n" });
  const nextTree = git(stage.root, "rev-parse", `${next.commit}^{tree}`);
  const nextTasks = [{ taskId: next.taskId, submission: 1, commit: next.commit }];
  const begun = await stage.dibs.landings.open({ ...place, epoch, base: stage.tip, tasks: nextTasks });
  const results = [{ ...red, tree: nextTree }];
  await stage.dibs.landings.checks({ id: begun.landing.id, epoch, tasks: [], checks: results } as never);
  const intent = { commit: next.commit!, tree: nextTree };
  await stage.dibs.landings.intent({
    id: begun.landing.id,
    epoch,
    ...intent,
    tasks: nextTasks,
  });
  git(stage.root, "merge", "--quiet", "--ff-only", next.commit!);
  await stage.dibs.landings.landed({ id: begun.landing.id, epoch });
  const problems = await problemsOf(stage);
  expect(problems.map(({ message }) => message)).toContain("Landing L2 landed although check test failed.");
});

test("something staged in the checkout that would take a landed change back", async () => {
  const stage = await Stage.open();
  await stage.handIn({ "a.txt": "theirs\n", "n.txt": "n\n" });
  await stage.land();
  write(stage.root, { "a.txt": "mine\n" });
  git(stage.root, "add", "a.txt");
  expect(await rulesOf(stage)).toEqual([]);
  git(stage.root, "rm", "--cached", "--quiet", "n.txt");
  expect(await problemsOf(stage)).toMatchObject([
    {
      rule: "L7",
      message: expect.stringContaining("n.txt is staged"),
      fix: expect.stringContaining("n.txt"),
    },
  ]);
  // What is not staged is a person's: the command must not take it away.
  git(stage.root, "reset", "--quiet", "--hard");
  git(stage.root, "reset", "--quiet", "main^", "--", "a.txt");
  write(stage.root, { "a.txt": "mine\n" });
  const problems = await problemsOf(stage);
  expect(problems).toMatchObject([{ rule: "L7", fix: expect.stringMatching(/restore --staged -- a\.txt$/) }]);
});

test("a fence of a lander that the store does not know", async () => {
  const stage = await Stage.open();
  const repository = git(stage.root, "rev-list", "--max-parents=0", "main");
  await stage.dibs.landings.lease({ repository, target: "main", holder: "l" });
  write(stage.root, { "fence.json": JSON.stringify({ epoch: 99 }) });
  const blob = git(stage.root, "hash-object", "-w", "fence.json");
  git(stage.root, "update-ref", fenceRef("main"), blob);
  expect(await problemsOf(stage)).toMatchObject([{ rule: "L8", fix: "dibs land --once" }]);
});

test("a store that was created again does not take an earlier task's change for its own", async () => {
  const stage = await Stage.open();
  const one = await stage.handIn({ "b.txt": "b\n" });
  await stage.land();
  const { project } = await stage.task(one.taskId);
  const dibs = await openDibs({ path: join(tempDir(), "dibs.db"), project });
  afterwards(() => dibs.close());
  await dibs.projects.update({ settings: { land: { target: "main" } } } as never);
  const { task } = await dibs.tasks.create({ title: "Another task 1", prompt: "x" });
  expect([task.project, task.id]).toEqual([project, one.taskId]);
  const rules = async () => (await examineLandings(dibs, stage.root))!.problems.map(({ rule }) => rule);
  expect(await rules()).toEqual([]);
  // Nor once it has submitted something of its own.
  const holder = { taskId: task.id, sessionId: "agent" };
  await dibs.tasks.claim({ ...holder, register: true });
  const commit = stage.commitOn("again", { "c.txt": "c\n" }, "main");
  await dibs.tasks.submit({ ...holder, commit });
  expect(await rules()).not.toContain("L4");
});

test("with more commits than are read at once, what is older is asked for, and the rest is said", async () => {
  const stage = await Stage.open();
  await stage.handIn({ "b.txt": "b\n" });
  await stage.handIn({ "c.txt": "c\n" });
  await stage.land();
  const examined = () => examineLandings(stage.dibs, stage.root, undefined, { commitsMax: 1 });
  expect(await examined()).toEqual({
    target: "main",
    landed: 2,
    problems: [],
    unchecked: ["commits of main before the newest 1"],
  });
  git(stage.root, "reset", "--hard", "--quiet", "main^");
  expect((await examined())!.problems.map(({ rule }) => rule)).toEqual(["L1", "L3"]);
});

test("a stale lock file is named", async () => {
  const stage = await Stage.open();
  const lock = join(stage.root, ".git", "index.lock");
  writeFileSync(lock, "");
  utimesSync(lock, 1_000, 1_000);
  expect(await problemsOf(stage)).toMatchObject([{ rule: "lock", fix: `rm ${lock}` }]);
});
