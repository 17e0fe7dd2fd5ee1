// A working tree per task, with real git: made, gone on with, removed only if nothing is lost; and a fence that git asks.

import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { askFence, type WorkOptions } from "../../src/runner/index.js";
import { openWorktree } from "../../src/runner/worktree.js";
import { git, gitEnv, gitOf, hasGit, repository } from "./repository.js";
import { type Plan, type Stage, stage, tempDir, until } from "./support.js";

const fenceFile = resolve(import.meta.dirname, "children/fence.mjs");

const commit = (text: string): Plan => ({
  write: { "file.txt": text },
  git: [["commit", "--quiet", "-am", "work"]],
});

describe.skipIf(!hasGit)("a working tree per task", () => {
  // git is not installed everywhere
  let here: Stage;
  let root: string;

  beforeEach(async () => {
    here = await stage();
    root = repository();
  });

  const work = (options: Partial<WorkOptions>) =>
    here.work({ untilIdle: true, worktree: { root }, env: { ...process.env, ...gitEnv }, ...options });
  const branches = () => git(root, "branch", "--list", "dibs/*", "--format=%(refname:short)");

  test("the command runs in it, on a branch of its own, and nothing is left of it when nothing changed", async () => {
    const task = await here.add("look");
    await work({ command: here.command({ git: [["rev-parse", "--abbrev-ref", "HEAD"]] }) }).done;
    const { cwd } = await here.seen(task.id);
    expect(cwd).toBe(join(root, ".dibs/worktrees", task.id));
    expect(gitOf(here, task.id)[0]?.stdout.trim()).toBe(`dibs/${task.id}`);
    expect(existsSync(cwd)).toBe(false);
    expect(branches()).toBe("");
    expect(git(root, "status", "--porcelain")).toBe("");
    expect((await here.task(task.id)).result?.output).toBe("");
  });

  test("what was committed is kept and told, until it is merged", async () => {
    const task = await here.add("commit");
    await work({ command: here.command({ ...commit("two\n"), out: "did it" }) }).done;
    const path = join(root, ".dibs/worktrees", task.id);
    const { output, ...result } = (await here.task(task.id)).result!;
    expect(result).toMatchObject({
      branch: `dibs/${task.id}`,
      commit: git(root, "rev-parse", `dibs/${task.id}`),
    });
    expect(output).toContain("did it");
    expect(output).toContain(path);
    expect(output).toContain(`dibs/${task.id}`);
    expect(here.ends[0]?.worktree).toEqual({ path, branch: `dibs/${task.id}` });
    expect(readFileSync(join(path, "file.txt"), "utf8")).toBe("two\n");

    const merging = await here.add("commit and merge");
    const merge = ["-C", root, "merge", "--quiet", `dibs/${merging.id}`];
    await work({ command: here.command({ ...commit("three\n"), git: [["commit", "-qam", "w"], merge] }) })
      .done;
    expect(readFileSync(join(root, "file.txt"), "utf8")).toBe("three\n");
    expect(existsSync(join(root, ".dibs/worktrees", merging.id))).toBe(false);
    const merged = (await here.task(merging.id)).result!;
    expect([merged.branch, merged.commit]).toEqual([undefined, git(root, "rev-parse", "HEAD")]);
    expect(branches()).toBe(`dibs/${task.id}`);
  });

  test("what was not committed is kept", async () => {
    const task = await here.add("leave something");
    await work({ command: here.command({ write: { "new.txt": "precious" } }) }).done;
    const { result } = await here.task(task.id);
    expect(result?.output).toContain("not committed");
    expect(result).not.toHaveProperty("commit");
    expect(existsSync(join(root, ".dibs/worktrees", task.id, "new.txt"))).toBe(true);
  });

  test("what git ignores is kept, unless it can be made again", async () => {
    writeFileSync(join(root, ".git", "info", "exclude"), "report.md\n*.pyc\n.dibs/\n");
    const again = await here.add("leave bytecode");
    await work({ command: here.command({ write: { "made.pyc": "1" } }) }).done;
    expect(existsSync(join(root, ".dibs/worktrees", again.id))).toBe(false);
    const task = await here.add("leave a report");
    await work({ command: here.command({ write: { "report.md": "precious" } }) }).done;
    expect((await here.task(task.id)).result?.output).toContain("report.md");
    expect(existsSync(join(root, ".dibs/worktrees", task.id, "report.md"))).toBe(true);
  });

  test("a failed attempt's is kept, told, and gone on with by the next one", async () => {
    const task = await here.add("twice", { maxRetries: 1 });
    const failing = work({
      once: true,
      untilIdle: false,
      command: here.command({ write: { "half.txt": "1" }, exit: 1 }),
    });
    await failing.done;
    const path = join(root, ".dibs/worktrees", task.id);
    expect((await here.dibs.tasks.attempts({ taskId: task.id })).attempts[0]?.error).toContain(path);
    await work({ command: here.command({ git: [["status", "--porcelain"]] }) }).done;
    expect((await here.seen(task.id, 2)).cwd).toBe(path);
    expect(gitOf(here, task.id, 2)[0]?.stdout).toContain("half.txt");
  });

  test("an attempt that failed at once and did nothing leaves none, and one with a commit pays a retry", async () => {
    const [idle, busy] = [await here.add("exit", { priority: 90 }), await here.add("commit and exit")];
    await work({ once: true, untilIdle: false, command: here.command({ exit: 1 }) }).done;
    expect(existsSync(join(root, ".dibs/worktrees", idle.id))).toBe(false);
    expect(await here.task(idle.id)).toMatchObject({ retryCount: 0, error: "exited with code 1" });
    await here.dibs.tasks.cancel({ taskId: idle.id });
    await work({ once: true, untilIdle: false, command: here.command({ ...commit("two\n"), exit: 1 }) }).done;
    expect(branches()).toBe(`dibs/${busy.id}`);
    expect(await here.task(busy.id)).toMatchObject({ retryCount: 1 });
  });

  test("its branch is gone on with when the directory was removed by hand", async () => {
    const task = await here.add("again", { maxRetries: 1 });
    await work({ once: true, untilIdle: false, command: here.command({ ...commit("two\n"), exit: 1 }) }).done;
    execFileSync("rm", ["-rf", join(root, ".dibs/worktrees", task.id)]);
    await work({ command: here.command({ git: [["log", "--format=%s"]] }) }).done;
    expect(gitOf(here, task.id, 2)[0]?.stdout).toContain("work");
  });

  test("somebody else's branch or directory of that name is left alone", async () => {
    git(root, "branch", "dibs/0001");
    mkdirSync(join(root, ".dibs/worktrees/0001-2"), { recursive: true });
    const task = await here.add("taken");
    await work({}).done;
    expect((await here.seen(task.id)).cwd).toBe(join(root, ".dibs/worktrees/0001-3"));
    expect(branches()).toBe("dibs/0001");
    expect(existsSync(join(root, ".dibs/worktrees/0001-2"))).toBe(true);
  });

  test("several at once", async () => {
    for (let n = 0; n < 4; n++) await here.add(`task ${n}`);
    expect(await work({ concurrency: 2, command: here.command(commit("x\n")) }).done).toMatchObject({
      completed: 4,
    });
    expect(branches().split("\n")).toHaveLength(4);
  });

  test("ids that are no names of branches or directories", async () => {
    const named = await here.add("odd", { id: "v1.lock" });
    await work({}).done;
    expect((await here.seen(named.id)).cwd).toBe(join(root, ".dibs/worktrees/v1.lock_"));
    for (const id of ["../../escape", "a/b", "a..b", "-x", ""]) {
      const task = { id, project: "p", correlationId: "c" };
      const by = { taskId: id, sessionId: "s", epoch: 1 };
      await expect(openWorktree({ root }, task, by), id).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
    }
  });

  test("where there is no repository the runner says so before it claims", async () => {
    const task = await here.add("nowhere");
    await expect(work({ worktree: { root: tempDir() } }).done).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
    expect((await here.task(task.id)).epoch).toBe(0);
  });
});

describe.skipIf(!hasGit)("a fence that reaches git", () => {
  // git is not installed everywhere
  let here: Stage;
  let root: string;

  beforeEach(async () => {
    here = await stage();
    root = repository();
  });

  const work = (command: string[], more: Partial<WorkOptions> = {}) =>
    here.work({
      once: true,
      command,
      worktree: { root, fenceCommand: [process.execPath, fenceFile] },
      env: { ...process.env, ...gitEnv },
      connectionEnv: { DIBS_DATABASE_URL: join(here.directory, "dibs.db") },
      ...more,
    });

  test("lets the holder commit and push, and the repository's own hooks still run", async () => {
    const remote = join(tempDir(), "remote.git");
    git(root, "clone", "--quiet", "--bare", root, remote);
    git(root, "remote", "add", "origin", remote);
    const hook = join(root, ".git/hooks/commit-msg");
    writeFileSync(hook, `#!/bin/sh\necho "it's checked" >> "$1"\n`);
    chmodSync(hook, 0o755);
    const task = await here.add("publish");
    const push = ["push", "--quiet", "origin", `HEAD:refs/heads/from-${"agent"}`];
    await work(here.command({ ...commit("two\n"), git: [["commit", "-qam", "work"], push] })).done;
    expect(gitOf(here, task.id).map(({ status, stderr }) => [status, stderr])).toEqual([
      [0, ""],
      [0, ""],
    ]);
    expect(git(remote, "log", "-1", "--format=%B", "from-agent")).toContain("it's checked");
  });

  test("holds up an attempt that is over: commit, commit without hooks, push, and moving a branch", async () => {
    const task = await here.add("zombie");
    const runner = work(here.command({ wait: true }));
    const { env, cwd } = await here.seen(task.id);
    const zombie = (...args: string[]) =>
      spawnSync("git", args, { cwd, encoding: "utf8", env: { ...process.env, ...gitEnv, ...env } });
    writeFileSync(join(cwd, "file.txt"), "too late\n");
    await here.dibs.tasks.cancel({ taskId: task.id });
    await runner.done;
    const before = git(root, "rev-parse", `dibs/${task.id}`);
    const refused = zombie("commit", "-qam", "late");
    expect(refused.status).not.toBe(0);
    expect(refused.stderr).toContain("no longer holds task");
    expect(zombie("commit", "--no-verify", "-qam", "late").status).not.toBe(0);
    // Nor does a worker pass who holds another task and comes by.
    const other = await here.add("other");
    const { claim } = await here.dibs.tasks.claim({
      taskId: other.id,
      sessionId: "passer-by",
      register: true,
    });
    const passing = { DIBS_TASK: other.id, DIBS_SESSION: "passer-by", DIBS_EPOCH: String(claim.epoch) };
    const passed = spawnSync("git", ["commit", "-qam", "late"], {
      cwd,
      env: { ...process.env, ...gitEnv, ...env, ...passing },
    });
    expect(passed.status).not.toBe(0);
    expect(zombie("branch", "sneaky").status).not.toBe(0);
    expect(zombie("push", "--quiet", root, "HEAD:refs/heads/x").status).not.toBe(0);
    expect(git(root, "rev-parse", `dibs/${task.id}`)).toBe(before);
    // What docs/guides/worktrees.md says that it does not stop.
    const around = ["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--allow-empty", "-m", "around"];
    expect(zombie(...around).status).toBe(0);
    // Reading goes on, other working trees are not concerned, and whoever must can.
    expect(zombie("status", "--porcelain").stdout).toContain("file.txt");
    git(root, "commit", "--quiet", "--allow-empty", "-m", "a person's");
    const forced = spawnSync("git", ["commit", "-qam", "kept"], {
      cwd,
      env: { ...process.env, ...gitEnv, ...env, DIBS_FENCE: "off" },
    });
    expect(forced.status).toBe(0);
  });

  test("holds it up on no branch too, whatever makes the commit and without hooks for it", async () => {
    const task = await here.add("detached zombie");
    const runner = work(here.command({ wait: true }));
    const { env, cwd } = await here.seen(task.id);
    const agent = (...args: string[]) =>
      spawnSync("git", args, { cwd, encoding: "utf8", env: { ...process.env, ...gitEnv, ...env } });
    expect(agent("checkout", "--quiet", "--detach")).toMatchObject({ status: 0 });
    expect(agent("commit", "--quiet", "--no-verify", "--allow-empty", "-m", "held")).toMatchObject({
      status: 0,
    });
    git(root, "commit", "--quiet", "--allow-empty", "-m", "a person's");
    await here.dibs.tasks.cancel({ taskId: task.id });
    await runner.done;
    const before = git(cwd, "rev-parse", "HEAD");
    for (const late of [
      ["commit", "--quiet", "--no-verify", "--allow-empty", "-m", "late"],
      ["reset", "--quiet", "--hard", "HEAD^"],
      ["update-ref", "HEAD", "HEAD^"],
      ["checkout", "--quiet", "--detach", "HEAD^"],
      ["merge", "--no-verify", "--no-ff", "-m", "late", "main"],
    ]) {
      expect(agent(...late).status, late.join(" ")).not.toBe(0);
      expect(git(cwd, "rev-parse", "HEAD"), late.join(" ")).toBe(before);
    }
    writeFileSync(join(cwd, "file.txt"), "half done\n");
    expect(agent("stash", "--quiet")).toMatchObject({ status: 0, stderr: "" });
    expect(agent("fetch", "--quiet", root)).toMatchObject({ status: 0, stderr: "" });
  });

  test("is gone from what is left for people", async () => {
    const task = await here.add("kept", { maxRetries: 0 });
    await work(here.command({ write: { "new.txt": "1" }, exit: 1 })).done;
    const path = join(root, ".dibs/worktrees", task.id);
    git(path, "add", ".");
    git(path, "commit", "--quiet", "-m", "by a person");
    expect(git(path, "log", "-1", "--format=%s")).toBe("by a person");
  });

  test("an earlier attempt's processes are held up also when a later one goes on in the same place", async () => {
    const task = await here.add("two", { maxRetries: 1 });
    await work(here.command({ exit: 1, write: { "a.txt": "1" } })).done;
    const { env } = await here.seen(task.id);
    const second = work(here.command({ wait: true }));
    const { cwd } = await here.seen(task.id, 2);
    const old = { ...process.env, ...gitEnv, ...env };
    expect(
      spawnSync("git", ["commit", "-q", "--allow-empty", "-m", "old"], { cwd, env: old }).status,
    ).not.toBe(0);
    here.go(task.id, { git: [["commit", "-q", "--allow-empty", "-m", "new"]] });
    await second.done;
    expect(gitOf(here, task.id, 2)[0]?.status).toBe(0);
    await until("done", async () => (await here.task(task.id)).state === "completed");
  });
});

describe("whoever asks the fence", () => {
  const env = { DIBS_TASK: "0001", DIBS_SESSION: "s", DIBS_EPOCH: "1" };

  test("is let through as the holder, and only then", async () => {
    const here = await stage();
    await here.add("held");
    await here.dibs.sessions.register({ id: "s" });
    const open = async () => ({ ...here.dibs, close: async () => undefined });
    expect(await askFence(env, open)).toMatchObject({ isAllowed: false });
    await here.dibs.tasks.claim({ taskId: "0001", sessionId: "s" });
    expect(await askFence(env, open)).toEqual({ isAllowed: true, message: null });
    expect(await askFence({ ...env, DIBS_EPOCH: "2" }, open)).toMatchObject({ isAllowed: false });
    expect(await askFence({ ...env, DIBS_SESSION: "t" }, open)).toMatchObject({ isAllowed: false });
    expect(await askFence({ DIBS_TASK: "0001" }, open)).toMatchObject({ isAllowed: false });
  });

  test("is refused when nobody can say, unless the fence is off", async () => {
    const open = () => Promise.reject(new Error("no answer"));
    const { isAllowed, message } = await askFence(env, open);
    expect(isAllowed).toBe(false);
    expect(message).toContain("no answer");
    expect(message).toContain("DIBS_FENCE=off");
    expect(await askFence({ ...env, DIBS_FENCE: "off" }, open)).toMatchObject({ isAllowed: true });
  });
});
