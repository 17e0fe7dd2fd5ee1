// After a landing, branches and worktrees of its tasks go, and nothing else does.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { whatWouldBeLost } from "../../src/runner/index.js";
import { writeRecord } from "../../src/runner/worktree-record.js";
import { clone, crashBefore, git, handInElsewhere, Stage, withRemote, write } from "./support.js";

/** As a runner leaves it: `.dibs/worktrees/<task>` on branch `dibs/<task>`, submitted. */
async function handInFromWorktree(stage: Stage, files: Record<string, string>) {
  const { root } = stage;
  const { task } = await stage.dibs.tasks.create({ prompt: "x" });
  const taskId = task.id;
  await stage.dibs.tasks.claim({ taskId, sessionId: "agent", start: true });
  const branch = `dibs/${taskId}`;
  const path = join(root, ".dibs/worktrees", taskId);
  mkdirSync(join(root, ".dibs/worktrees"), { recursive: true });
  writeFileSync(join(root, ".dibs/worktrees/.gitignore"), "*\n");
  git(root, "worktree", "add", "--quiet", "-b", branch, path, "main");
  git(root, "config", `branch.${branch}.dibs-task`, `${task.project}/${taskId}/${task.correlationId}`);
  git(root, "config", `branch.${branch}.dibs-base`, "main");
  git(root, "config", `branch.${branch}.dibs-commit`, stage.tip);
  write(path, files);
  git(path, "add", "-A");
  git(path, "commit", "--quiet", "-m", "work");
  const commit = git(path, "rev-parse", "HEAD");
  const submission = { taskId, sessionId: "agent", commit, branch, result: { output: "" } };
  await stage.dibs.tasks.submit(submission as never);
  return { taskId, path, branch, commit };
}

interface Left {
  root: string;
  path: string;
  branch: string;
}

const hasBranch = (root: string, branch: string) => git(root, "branch", "--list", branch) !== "";
const keptOf = (stage: Stage) => stage.steps.flatMap((each) => (each.step === "kept" ? [each.message] : []));

test("a landing that a successor settles is tidied as well", async () => {
  const stage = await Stage.open();
  const { path, branch } = await handInFromWorktree(stage, { "b.txt": "b\n" });
  await expect(stage.land(crashBefore("report landed"))).rejects.toThrow("crashed");
  expect(existsSync(path)).toBe(true);
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect([existsSync(path), hasBranch(stage.root, branch)]).toEqual([false, false]);
});

test.each([
  ["before it begins", () => undefined],
  ["after the worktree was removed", ({ root, path }: Left) => git(root, "worktree", "remove", path)],
  [
    "after the branch was deleted",
    ({ root, path, branch }: Left) => {
      git(root, "worktree", "remove", path);
      git(root, "update-ref", "-d", `refs/heads/${branch}`);
    },
  ],
])("tidying that ends %s is finished by the next lander, here and on the remote", async (_, begin) => {
  const { stage, remote } = await withRemote();
  const { root } = stage;
  const { taskId, path, branch } = await handInFromWorktree(stage, { "b.txt": "b\n" });
  git(root, "push", "--quiet", "origin", branch);
  await expect(stage.land(crashBefore("tidy"))).rejects.toThrow("crashed");
  expect(await stage.stateOf({ taskId })).toBe("completed");
  begin({ root, path, branch });
  expect(await stage.land()).toMatchObject({ landed: 0, held: [] });
  expect([existsSync(path), hasBranch(root, branch), hasBranch(remote, branch)]).toEqual([
    false,
    false,
    false,
  ]);
  expect(git(root, "config", "--list", "--local")).not.toContain(branch);
});

test("a worktree goes with what copy and setup left in it", async () => {
  const stage = await Stage.open();
  const { path, branch } = await handInFromWorktree(stage, { "b.txt": "b\n" });
  write(stage.root, { "settings.env": "A=1\n" });
  write(path, { "settings.env": "A=1\n", "made-by-setup.txt": "1\n" });
  await writeRecord(path, { copied: ["settings.env"], present: ["settings.env", "made-by-setup.txt"] });
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(keptOf(stage)).toEqual([]);
  expect([existsSync(path), hasBranch(stage.root, branch)]).toEqual([false, false]);
});

test.each([
  ["a file of the user's own", { "notes.md": "mine\n" }, "changes that are not committed"],
  [
    "a copied file that was changed since",
    { "settings.env": "A=2\n" },
    "settings.env is not as it was copied",
  ],
])("a worktree with %s is kept, and its branch with it", async (_, mine, why) => {
  const stage = await Stage.open();
  const { path, branch } = await handInFromWorktree(stage, { "b.txt": "b\n" });
  write(stage.root, { "settings.env": "A=1\n" });
  write(path, { "settings.env": "A=1\n", "made-by-setup.txt": "1\n" });
  await writeRecord(path, { copied: ["settings.env"], present: ["settings.env", "made-by-setup.txt"] });
  write(path, mine);
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(keptOf(stage)).toMatchObject([expect.stringContaining(why)]);
  expect([existsSync(path), hasBranch(stage.root, branch)]).toEqual([true, true]);
});

test("a worktree with submodules is kept, although setup left files in it", async () => {
  const stage = await Stage.open();
  const { path, branch } = await handInFromWorktree(stage, { "b.txt": "b\n" });
  const { root } = stage;
  git(root, "update-index", "--add", "--cacheinfo", `160000,${stage.tip},lib`);
  git(root, "commit", "--quiet", "-m", "a submodule");
  mkdirSync(join(root, "lib"), { recursive: true });
  git(path, "reset", "--quiet", "--hard", "main");
  write(path, { "c.txt": "c\n" });
  git(path, "add", "c.txt");
  git(path, "commit", "--quiet", "-m", "more");
  const taskId = await stage.submitCommit(git(path, "rev-parse", "HEAD"), { branch });
  mkdirSync(join(path, "lib"), { recursive: true });
  write(path, { "made-by-setup.txt": "1\n" });
  await writeRecord(path, { present: ["made-by-setup.txt"] });
  await stage.land();
  expect(await stage.stateOf({ taskId })).toBe("completed");
  expect(keptOf(stage).join()).toContain("it has submodules");
  expect([existsSync(path), hasBranch(root, branch)]).toEqual([true, true]);
});

test("newer commits on a branch keep it, here and on the remote", async () => {
  const { stage, remote } = await withRemote();
  const landed = await handInElsewhere(stage, remote, { "b.txt": "b\n" });
  const newer = await handInElsewhere(stage, remote, { "c.txt": "c\n" });
  const path = clone(remote);
  git(path, "switch", "--quiet", `dibs/${newer}`);
  git(path, "commit", "--quiet", "--allow-empty", "-m", "more");
  git(path, "push", "--quiet", "origin", `dibs/${newer}`);
  expect(await stage.land()).toMatchObject({ landed: 2 });
  expect([hasBranch(remote, `dibs/${landed}`), hasBranch(remote, `dibs/${newer}`)]).toEqual([false, true]);
});

test("a person's branch on the remote is left alone", async () => {
  const { stage, remote } = await withRemote();
  const path = clone(remote);
  git(path, "switch", "--quiet", "-c", "feature");
  git(path, "commit", "--quiet", "--allow-empty", "-m", "feature");
  write(path, { "b.txt": "b\n" });
  git(path, "add", "-A");
  git(path, "commit", "--quiet", "-m", "b");
  git(path, "push", "--quiet", "origin", "feature");
  git(stage.root, "fetch", "--quiet", "origin");
  await stage.submitCommit(git(path, "rev-parse", "HEAD"), { branch: "feature" });
  expect(await stage.land()).toMatchObject({ landed: 1 });
  expect(hasBranch(remote, "feature")).toBe(true);
});

test("what was handed in and has landed is no loss, although it is another commit on the target", async () => {
  const stage = await Stage.open();
  const { path, branch, commit, taskId } = await handInFromWorktree(stage, { "b.txt": "b\n" });
  await expect(stage.land(crashBefore("tidy"))).rejects.toThrow("crashed");
  expect(await stage.stateOf({ taskId })).toBe("completed");
  const place = { root: stage.root, path, branch };
  expect(await whatWouldBeLost(place)).toBe("its commits are not merged");
  expect(await whatWouldBeLost({ ...place, landed: commit })).toBeNull();
  git(path, "commit", "--quiet", "--allow-empty", "-m", "more");
  expect(await whatWouldBeLost({ ...place, landed: commit })).toBe("its commits are not merged");
});
