// After a landing, branches and worktrees of tasks are removed only if nothing would be lost.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runWork } from "../../src/runner/index.js";
import { machine, programFile } from "../runner/support.js";
import { git, Stage, write } from "./support.js";

/** A task whose worktree a runner made, handed in by it. */
async function worked(
  stage: Stage,
  script: string,
): Promise<{ taskId: string; path: string; branch: string }> {
  const { task } = await stage.dibs.tasks.create({ title: "Work", prompt: "x" });
  const env = { ...process.env, GIT_CONFIG_NOSYSTEM: "1", HOME: stage.root };
  await runWork({
    dibs: stage.dibs,
    command: ["sh", "-c", script],
    machine,
    once: true,
    env,
    watchdogFile: programFile("watchdog"),
    worktree: { root: stage.root, onlyToLand: true },
  }).done;
  const name = task.id;
  return { taskId: name, path: join(stage.root, ".dibs/worktrees", name), branch: `dibs/${name}` };
}

const hasBranch = (stage: Stage, branch: string) => git(stage.root, "branch", "--list", branch) !== "";

test("a worktree that is clean goes with its branch", async () => {
  const stage = await Stage.open();
  const { taskId, path, branch } = await worked(stage, "echo b > b.txt");
  await stage.land();
  expect(await stage.stateOf({ taskId })).toBe("completed");
  expect([existsSync(path), hasBranch(stage, branch)]).toEqual([false, false]);
});

test("a worktree with changes that are not committed is kept", async () => {
  const stage = await Stage.open();
  const { taskId, path, branch } = await worked(stage, "echo b > b.txt");
  write(path, { "b.txt": "a person goes on\n" });
  await stage.land();
  expect(await stage.stateOf({ taskId })).toBe("completed");
  expect([existsSync(path), hasBranch(stage, branch)]).toEqual([true, true]);
});

test("a branch with newer commits is kept", async () => {
  const stage = await Stage.open();
  const { taskId, path, branch } = await worked(stage, "echo b > b.txt");
  write(path, { "c.txt": "c\n" });
  git(path, "add", "c.txt");
  git(path, "commit", "--quiet", "-m", "after it was handed in");
  const newer = git(path, "rev-parse", "HEAD");
  await stage.land();
  expect(await stage.stateOf({ taskId })).toBe("completed");
  expect(stage.has("main", "c.txt")).toBe(false);
  expect(git(stage.root, "rev-parse", branch)).toBe(newer);
});

test("a commit that is amended after it was handed in lands as it was handed in, and the branch is kept", async () => {
  const stage = await Stage.open();
  const { taskId, path, branch } = await worked(stage, "echo b > b.txt");
  write(path, { "b.txt": "second thoughts\n" });
  git(path, "commit", "--quiet", "--all", "--amend", "-m", "amended");
  const amended = git(path, "rev-parse", "HEAD");
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(await stage.stateOf({ taskId })).toBe("completed");
  expect(stage.on("main", "b.txt")).toBe("b");
  expect(git(stage.root, "rev-parse", branch)).toBe(amended);
});

test("a branch that is reset after its commit was handed in does not keep the commit from landing", async () => {
  const stage = await Stage.open();
  const { taskId, path, branch } = await worked(stage, "echo b > b.txt");
  git(path, "reset", "--quiet", "--hard", "main");
  git(stage.root, "reflog", "expire", "--expire=now", "--all");
  git(stage.root, "gc", "--quiet", "--prune=now");
  expect(await stage.land()).toMatchObject({ landed: 1, held: [] });
  expect(await stage.stateOf({ taskId })).toBe("completed");
  expect(stage.on("main", "b.txt")).toBe("b");
  expect([existsSync(path), hasBranch(stage, branch)]).toEqual([true, true]);
});

test("a worktree with a submodule is kept, because git cannot remove it, and the change of the submodule lands", async () => {
  const stage = await Stage.open({ land: { reviewPaths: [] } });
  const part = (await Stage.open()).root;
  const allowed = "git -c protocol.file.allow=always submodule --quiet";
  git(stage.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", part, "part");
  git(stage.root, "commit", "--quiet", "-m", "with a part");
  write(part, { "a.txt": "two\n" });
  git(part, "commit", "--quiet", "-am", "second");
  const tip = git(part, "rev-parse", "HEAD");
  const { taskId, path } = await worked(
    stage,
    `${allowed} update --init && git -C part checkout --quiet ${tip}`,
  );
  await stage.land();
  expect(await stage.stateOf({ taskId })).toBe("completed");
  expect(git(stage.root, "rev-parse", "main:part")).toBe(tip);
  expect(existsSync(path)).toBe(true);
  const message = expect.stringContaining("it has submodules");
  expect(stage.steps).toContainEqual({ step: "kept", message });
});
