// Where work lands: every task has a worktree at the target, and what its command left is committed and handed in.

import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { runOnce, type WorkOptions } from "../../src/runner/index.js";
import { submissionRef } from "../../src/runner/target.js";
import { git, gitEnv, gitOf, hasGit, land, repository, returnTask } from "./repository.js";
import { machine, type Plan, type Stage, stage, tempDir, until } from "./support.js";

const fenceFile = resolve(import.meta.dirname, "children/fence.mjs");

describe.skipIf(!hasGit)("where work lands", () => {
  // git is not installed everywhere
  let here: Stage;
  let root: string;

  beforeEach(async () => {
    here = await stage({ land: { target: "main" } });
    root = repository();
  });

  const work = (plan: Plan, options: Partial<WorkOptions> = {}) =>
    here.work({
      once: true,
      worktree: { root, onlyToLand: true },
      env: { ...process.env, ...gitEnv },
      command: here.command(plan),
      ...options,
    });
  const fenced = {
    connectionEnv: () => ({ DIBS_DATABASE_URL: join(here.directory, "dibs.db") }),
    worktree: () => ({ root, fenceCommand: [process.execPath, fenceFile] }),
  };
  const pathOf = (taskId: string) => join(root, ".dibs/worktrees", taskId);
  const refOf = (project: string, taskId: string, number = 1) =>
    git(root, "rev-parse", submissionRef(project, taskId, number));
  const fileAt = (commit: string, file: string) => git(root, "show", `${commit}:${file}`);
  const briefOf = async (taskId: string, epoch = 1) =>
    Buffer.from((await here.seen(taskId, epoch)).stdin, "base64").toString();
  const settings = (change: Record<string, unknown>) =>
    here.dibs.projects.update({ settings: change as never });
  const errorOf = async (taskId: string) =>
    (await here.dibs.tasks.attempts({ taskId })).attempts[0]?.error ?? "";
  const onMain = (files: Record<string, string>) => {
    for (const [file, text] of Object.entries(files)) writeFileSync(join(root, file), text);
    git(root, "add", ".");
    git(root, "commit", "--quiet", "-m", "a person's");
  };

  test("what the command left is committed with the title, and handed in; its worktree stays", async () => {
    const base = git(root, "rev-parse", "main");
    const task = await here.add("write", { title: "# Write two files" });
    await work({ write: { "file.txt": "two\n", "new.txt": "new\n" }, result: "did it" }).done;
    const { state, submission } = await here.task(task.id);
    expect(state).toBe("submitted");
    const commit = git(root, "rev-parse", `dibs/${task.id}`);
    expect(submission).toMatchObject({ number: 1, commit });
    expect(refOf(task.project, task.id)).toBe(commit);
    expect(git(root, "log", "-1", "--format=%an %s", commit)).toBe("t # Write two files");
    expect([fileAt(commit, "file.txt"), fileAt(commit, "new.txt")]).toEqual(["two", "new"]);
    expect(await here.dibs.tasks.submission({ taskId: task.id })).toMatchObject({
      submission: { base, branch: `dibs/${task.id}`, summary: "did it", host: machine.hostId },
    });
    expect(here.ends[0]).toMatchObject({
      outcome: "completed",
      reason: "submitted",
      worktree: { path: pathOf(task.id), branch: `dibs/${task.id}` },
    });
    expect(git(root, "rev-parse", "main")).toBe(base);
    expect(await briefOf(task.id)).toContain("lands on main after its checks");
  });

  test("without a change the submission is empty and nothing is left; the agent's own word about a commit does not count", async () => {
    const task = await here.add("look");
    await work({ result: { output: "nothing to do", commit: git(root, "rev-parse", "main") } }).done;
    expect(await here.task(task.id)).toMatchObject({ state: "submitted", submission: { commit: null } });
    expect(existsSync(pathOf(task.id))).toBe(false);
    expect(git(root, "branch", "--list", "dibs/*")).toBe("");
  });

  test("commits of the command's own are handed in with the rest, on whichever branch", async () => {
    const task = await here.add("commit");
    const own = [
      ["add", "."],
      ["commit", "--quiet", "-m", "own"],
      ["checkout", "--quiet", "--detach"],
      ["commit", "--quiet", "--allow-empty", "-m", "on none"],
    ];
    await work({ write: { "a.txt": "a" }, git: own }).done;
    const { submission } = await here.dibs.tasks.submission({ taskId: task.id });
    expect(git(root, "log", "--format=%s", submission.commit!)).toBe("on none\nown\nfirst");
    expect(submission.branch).toBeNull();
  });

  test("what was handed in survives branch -D and gc", async () => {
    const task = await here.add("write");
    await work({ write: { "new.txt": "precious" } }).done;
    const { commit } = (await here.task(task.id)).submission!;
    git(root, "worktree", "remove", "--force", pathOf(task.id));
    git(root, "branch", "-D", `dibs/${task.id}`);
    git(root, "reflog", "expire", "--expire=now", "--all");
    git(root, "gc", "--quiet", "--prune=now");
    expect(fileAt(commit!, "new.txt")).toBe("precious");
    // And a later attempt goes on with it.
    await here.dibs.tasks.withdraw({ taskId: task.id });
    await work({ write: { "more.txt": "more" } }).done;
    const again = (await here.task(task.id)).submission!;
    expect(again.number).toBe(2);
    expect(git(root, "ls-tree", "--name-only", again.commit!)).toBe("file.txt\nmore.txt\nnew.txt");
    expect(refOf(task.project, task.id, 1)).toBe(commit);
  });

  test("a dependent task starts with what landed", async () => {
    const first = await here.add("first");
    const second = await here.add("second", { dependsOn: [first.id] });
    await work({ write: { "first.txt": "1" } }).done;
    await land(here, root, first.id);
    expect((await here.task(first.id)).state).toBe("completed");
    await work({ git: [["ls-files"]], write: { "second.txt": "2" } }).done;
    expect(gitOf(here, second.id)[0]?.stdout).toBe("file.txt\nfirst.txt\n");
    await land(here, root, second.id);
    expect(git(root, "ls-tree", "--name-only", "main")).toBe("file.txt\nfirst.txt\nsecond.txt");
  });

  test("a worktree without work of its own starts again from the target", async () => {
    const task = await here.add("nothing yet", { maxRetries: 1 });
    writeFileSync(join(root, ".git/info/exclude"), "note.md\n");
    await work({ write: { "note.md": "kept" }, exit: 1 }).done;
    expect(existsSync(pathOf(task.id))).toBe(true);
    onMain({ "later.txt": "later" });
    await work({ git: [["log", "--format=%s"]] }).done;
    expect(gitOf(here, task.id, 2)[0]?.stdout).toBe("a person's\nfirst\n");
    expect(await here.task(task.id)).toMatchObject({ submission: { commit: null } });
  });

  test("at every later start the rest is committed and the target merged in", async () => {
    const task = await here.add("twice", { maxRetries: 1 });
    await work({ write: { "half.txt": "half" }, exit: 1 }).done;
    onMain({ "later.txt": "later" });
    await work({ git: [["log", "--no-merges", "--format=%s"], ["ls-files"]] }).done;
    const [log, files] = gitOf(here, task.id, 2);
    expect(log?.stdout.split("\n").sort().join()).toBe(
      ",Unfinished work of an earlier attempt,a person's,first",
    );
    expect(files?.stdout).toBe("file.txt\nhalf.txt\nlater.txt\n");
    const { commit } = (await here.task(task.id)).submission!;
    expect(fileAt(commit!, "half.txt")).toBe("half");
  });

  describe("a conflict", () => {
    /** Two tasks change the same line, and the first one lands. */
    async function conflicting() {
      const [first, second] = [await here.add("first", { priority: 90 }), await here.add("second")];
      await work({ write: { "file.txt": "theirs\n" } }).done;
      await work({ write: { "file.txt": "ours\n" } }).done;
      await land(here, root, first.id);
      await returnTask(here, root, second.id);
      return { first, second };
    }

    test("is in the files and in the brief, with the task it came from, and concluded when it is resolved", async () => {
      const { first, second } = await conflicting();
      const plan = { git: [["diff"], ["add", "file.txt"]], write: { "file.txt": "both\n" } };
      await work(plan).done;
      const brief = await briefOf(second.id, 2);
      expect(brief).toContain(`file.txt (changed by ${first.project}/${first.id}#1)`);
      expect(brief).toContain("main was merged into this directory");
      const { commit } = (await here.task(second.id)).submission!;
      expect(fileAt(commit!, "file.txt")).toBe("both");
      expect(git(root, "log", "-1", "--format=%s %P", commit!).split(" ")).toHaveLength(3);
      await land(here, root, second.id, 2);
      expect(fileAt("main", "file.txt")).toBe("both");
    });

    test("that is not resolved is never handed in, and the next attempt finds it as it is", async () => {
      const { second } = await conflicting();
      await work({ write: { "other.txt": "x" } }).done;
      expect(here.ends.at(-1)).toMatchObject({
        outcome: "failed",
        reason: "conflict in file.txt not resolved",
      });
      expect(await errorOf(second.id)).toContain(`worktree kept: ${pathOf(second.id)}`);
      expect(await errorOf(second.id)).toMatch(/^changed in it: .*other\.txt \(new\)/m);
      expect(readFileSync(join(pathOf(second.id), "file.txt"), "utf8")).toContain("<<<<<<< ");
      // Markers that are committed are no resolution either.
      await work({ git: [["commit", "--quiet", "-am", "markers"]] }).done;
      expect(await briefOf(second.id, 3)).toContain("file.txt");
      expect(here.ends.at(-1)).toMatchObject({ reason: "conflict in file.txt not resolved" });
      onMain({ "later.txt": "later" });
      await work({ write: { "file.txt": "both\n" } }).done;
      expect(await briefOf(second.id, 4)).toContain("file.txt");
      const { commit } = (await here.task(second.id)).submission!;
      expect(git(root, "ls-tree", "--name-only", commit!)).toBe("file.txt\nlater.txt\nother.txt");
      expect(git(root, "grep", "-c", "both", commit!, "--", "file.txt")).toContain("file.txt:1");
    });
  });

  test("a merge of the agent's own that it did not resolve is not handed in either", async () => {
    const task = await here.add("merge", { maxRetries: 2 });
    const runner = work({ wait: true });
    await here.seen(task.id);
    onMain({ "file.txt": "theirs\n" });
    const merge = [
      ["commit", "--quiet", "-am", "ours"],
      ["merge", "main"],
      ["commit", "--quiet", "-am", "markers"],
    ];
    here.go(task.id, { write: { "file.txt": "ours\n" }, git: merge });
    await runner.done;
    expect(here.ends[0]).toMatchObject({ outcome: "failed", reason: "conflict in file.txt not resolved" });
    await work({ write: { "file.txt": "both\n" } }).done;
    expect(await briefOf(task.id, 2)).toContain("These paths are in conflict");
    expect(await here.task(task.id)).toMatchObject({ state: "submitted", submission: { number: 1 } });
  });

  test("what an attempt left in conflict without a merge is not committed at the next start", async () => {
    const task = await here.add("stash", { maxRetries: 2 });
    const stash = [
      ["stash", "--quiet"],
      ["checkout", "--quiet", "other", "--", "file.txt"],
      ["commit", "--quiet", "-m", "theirs"],
      ["stash", "pop"],
    ];
    git(root, "checkout", "--quiet", "-b", "other");
    onMain({ "file.txt": "theirs\n" });
    git(root, "checkout", "--quiet", "main");
    await work({ write: { "file.txt": "ours\n" }, git: stash, exit: 1 }).done;
    await work({ git: [["ls-files", "--unmerged"]] }).done;
    expect(gitOf(here, task.id, 2)[0]?.stdout).toContain("file.txt");
    expect(await briefOf(task.id, 2)).toContain("file.txt");
    expect(here.ends.at(-1)).toMatchObject({ reason: "conflict in file.txt not resolved" });
  });

  test("an attempt that lost its claim while it was handed in leaves no submission", async () => {
    const task = await here.add("late");
    const hook = join(root, ".git/hooks/pre-commit");
    const [asked, go] = [join(here.directory, "asked"), join(here.directory, "continue")];
    writeFileSync(hook, `#!/bin/sh\ntouch ${asked}\nwhile ! [ -e ${go} ]; do sleep 0.05; done\n`);
    chmodSync(hook, 0o755);
    const runner = work({ write: { "new.txt": "1" } });
    await until("the hook runs", () => existsSync(asked));
    await here.dibs.tasks.cancel({ taskId: task.id });
    writeFileSync(go, "");
    await runner.done;
    expect(here.ends[0]).toMatchObject({ outcome: "lost" });
    expect(git(root, "for-each-ref", "refs/dibs")).toBe("");
  });

  test("a hook of the user that refuses fails the attempt with its output", async () => {
    const hook = join(root, ".git/hooks/pre-commit");
    writeFileSync(hook, `#!/bin/sh\necho "no tabs, please" >&2\nexit 1\n`);
    chmodSync(hook, 0o755);
    const task = await here.add("write", { maxRetries: 1 });
    const options = { connectionEnv: fenced.connectionEnv(), worktree: fenced.worktree() };
    await work({ write: { "new.txt": "1" } }, options).done;
    expect(here.ends[0]).toMatchObject({ outcome: "failed" });
    expect(await errorOf(task.id)).toContain("no tabs, please");
    rmSync(hook);
    await work({}, options).done;
    const { commit } = (await here.task(task.id)).submission!;
    expect(fileAt(commit!, "new.txt")).toBe("1");
  });

  test("without an identity commits are Dibs' own", async () => {
    const { GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM } = gitEnv;
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(GIT_(AUTHOR|COMMITTER)_|EMAIL$)/.test(name)),
    );
    const task = await here.add("write");
    await work({ write: { "new.txt": "1" } }, { env: { ...env, GIT_CONFIG_GLOBAL, GIT_CONFIG_SYSTEM } }).done;
    const { commit } = (await here.task(task.id)).submission!;
    expect(git(root, "log", "-1", "--format=%an <%ae> %cn", commit!)).toBe("Dibs <dibs@localhost> Dibs");
  });

  test("files are copied and the setup runs in a new worktree, and neither is ever committed", async () => {
    onMain({ ".gitignore": ".env\nsecrets/\n" });
    writeFileSync(join(root, ".env"), "TOKEN=1");
    mkdirSync(join(root, "secrets/deep"), { recursive: true });
    writeFileSync(join(root, "secrets/deep/key.pem"), "key");
    const script = `env > seen.txt; echo made > made.txt; echo "$PWD" >> ${join(here.directory, "setups")}`;
    await settings({
      worktree: { copy: [".env", "secrets/**/*.pem", "file.txt"], setup: ["sh", "-c", script] },
    });
    const task = await here.add("write", { maxRetries: 1 });
    // The agent no longer ignores it, and adds everything.
    await work({ write: { ".gitignore": "", "new.txt": "1" }, exit: 1 }).done;
    expect(readFileSync(join(pathOf(task.id), ".env"), "utf8")).toBe("TOKEN=1");
    expect(readFileSync(join(pathOf(task.id), "secrets/deep/key.pem"), "utf8")).toBe("key");
    expect(readFileSync(join(pathOf(task.id), "seen.txt"), "utf8")).not.toContain("DIBS_");
    await work({ git: [["add", "-A"]], write: { "more.txt": "2" } }).done;
    const { commit } = (await here.task(task.id)).submission!;
    expect(git(root, "ls-tree", "-r", "--name-only", commit!)).not.toContain(".env");
    expect(git(root, "ls-tree", "-r", "--name-only", commit!)).toContain("more.txt");
    expect(readFileSync(join(here.directory, "setups"), "utf8").trim()).toBe(pathOf(task.id));
  });

  test("a copied file that the agent commits itself is not handed in", async () => {
    onMain({ ".gitignore": ".env\n" });
    writeFileSync(join(root, ".env"), "TOKEN=1");
    await settings({ worktree: { copy: [".env"] } });
    const task = await here.add("publish a secret");
    await work({
      git: [
        ["add", "-f", ".env"],
        ["commit", "--quiet", "-m", "oops"],
      ],
    }).done;
    expect(await errorOf(task.id)).toContain(".env is committed");
    expect((await here.task(task.id)).submission).toBeNull();
  });

  test("after copy and setup an unchanged worktree is removed", async () => {
    onMain({ ".gitignore": ".env\n" });
    writeFileSync(join(root, ".env"), "TOKEN=1");
    await settings({ worktree: { copy: [".env"], setup: ["sh", "-c", "mkdir t; echo 1 > t/made.txt"] } });
    const task = await here.add("look");
    await work({}).done;
    expect(await here.task(task.id)).toMatchObject({ submission: { commit: null } });
    expect(existsSync(pathOf(task.id))).toBe(false);
  });

  test("a file that git does not ignore is not copied, and a setup that fails fails the attempt", async () => {
    writeFileSync(join(root, "plain.txt"), "1");
    await settings({ worktree: { copy: ["plain.txt"] } });
    const task = await here.add("refused");
    await work({}).done;
    expect(await errorOf(task.id)).toContain("worktree.copy names plain.txt, which git does not ignore");
    await settings({ worktree: { copy: [], setup: ["sh", "-c", "echo no network; exit 3"] } });
    await work({}).done;
    expect(await errorOf(task.id)).toMatch(/worktree\.setup \(sh\) failed: exit code 3\nno network/);
    await settings({ worktree: { setup: ["no-such-program"] } });
    await work({}).done;
    expect(await errorOf(task.id)).toContain("no-such-program");
    expect(here.hasRun(task.id)).toBe(false);
    await settings({ worktree: { setup: ["sh", "-c", "echo 1 > made.txt"] } });
    await work({ write: { "new.txt": "1" } }).done;
    const { commit } = (await here.task(task.id)).submission!;
    expect(git(root, "ls-tree", "--name-only", commit!)).toBe("file.txt\nnew.txt");
  });

  test("a stop ends the setup and gives the task back", async () => {
    const started = join(here.directory, "setup-runs");
    await settings({ worktree: { setup: ["sh", "-c", `echo 1 > ${started}; sleep 600`] } });
    const task = await here.add("stopped");
    const runner = work({});
    await until("the setup runs", () => existsSync(started));
    await runner.stop({ now: true });
    expect(await here.task(task.id)).toMatchObject({ state: "queued" });
    expect(here.ends[0]).toMatchObject({ outcome: "released", reason: "stopped" });
  });

  test("with a remote the worktree starts at what is there, and branch and submission are pushed", async () => {
    const remote = join(tempDir(), "remote.git");
    git(root, "clone", "--quiet", "--bare", root, remote);
    git(root, "remote", "add", "origin", remote);
    const other = join(tempDir(), "other");
    git(root, "clone", "--quiet", remote, other);
    writeFileSync(join(other, "pushed.txt"), "1");
    git(other, "add", ".");
    git(other, "commit", "--quiet", "-m", "elsewhere");
    git(other, "push", "--quiet", "origin", "main");
    await settings({ land: { remote: "origin" } });
    const task = await here.add("write");
    await work({ git: [["ls-files"]], write: { "new.txt": "1" } }).done;
    expect(gitOf(here, task.id)[0]?.stdout).toBe("file.txt\npushed.txt\n");
    const { commit } = (await here.task(task.id)).submission!;
    expect(git(remote, "rev-parse", submissionRef(task.project, task.id, 1))).toBe(commit);
    expect(git(remote, "rev-parse", `refs/heads/dibs/${task.id}`)).toBe(commit);
    // Another machine goes on with it.
    await here.dibs.tasks.withdraw({ taskId: task.id });
    await work(
      { git: [["ls-files"]], write: { "more.txt": "2" } },
      { worktree: { root: other, onlyToLand: true } },
    ).done;
    expect(gitOf(here, task.id, 2)[0]?.stdout).toBe("file.txt\nnew.txt\npushed.txt\n");
    const second = (await here.task(task.id)).submission!.commit;
    // And the first one again.
    await here.dibs.tasks.withdraw({ taskId: task.id });
    await work({ git: [["ls-files"]] }).done;
    expect(gitOf(here, task.id, 3)[0]?.stdout).toBe("file.txt\nmore.txt\nnew.txt\npushed.txt\n");
    expect((await here.task(task.id)).submission).toMatchObject({ number: 3, commit: second });
  });

  test("a push that fails fails the attempt, and the worktree is kept", async () => {
    const remote = join(tempDir(), "remote.git");
    git(root, "clone", "--quiet", "--bare", root, remote);
    git(root, "remote", "add", "origin", remote);
    const hook = join(remote, "hooks/pre-receive");
    writeFileSync(hook, `#!/bin/sh\necho "disk full" >&2\nexit 1\n`);
    chmodSync(hook, 0o755);
    await settings({ land: { remote: "origin" } });
    const task = await here.add("write");
    await work({ write: { "new.txt": "1" } }).done;
    expect(await errorOf(task.id)).toMatch(/git push origin failed:[\s\S]*disk full[\s\S]*worktree kept/);
    expect(fileAt(`dibs/${task.id}`, "new.txt")).toBe("1");
    expect((await here.task(task.id)).submission).toBeNull();
  });

  test("the fence refuses to move or push the target, whoever holds the claim", async () => {
    const remote = join(tempDir(), "remote.git");
    git(root, "clone", "--quiet", "--bare", root, remote);
    git(root, "remote", "add", "origin", remote);
    const task = await here.add("sneak");
    const runner = work(
      { wait: true },
      { connectionEnv: fenced.connectionEnv(), worktree: fenced.worktree() },
    );
    const { env, cwd } = await here.seen(task.id);
    const before = git(root, "rev-parse", "main");
    here.go(task.id, {
      write: { "new.txt": "1" },
      git: [
        ["add", "."],
        ["commit", "--quiet", "-m", "own"],
        ["update-ref", "refs/heads/main", "HEAD"],
        ["branch", "-f", "main", "HEAD"],
        ["push", "--quiet", "origin", "HEAD:main"],
        ["push", "--quiet", "origin", "HEAD:refs/heads/elsewhere"],
      ],
    });
    await runner.done;
    const ran = gitOf(here, task.id).map(({ status, stderr }) => [status === 0, stderr] as const);
    expect(ran.map(([isDone]) => isDone)).toEqual([true, true, false, false, false, true]);
    for (const at of [2, 4]) expect(ran[at]![1]).toContain("only the lander moves main. Run: dibs submit");
    expect([git(root, "rev-parse", "main"), git(remote, "rev-parse", "main")]).toEqual([before, before]);
    expect((await here.task(task.id)).state).toBe("submitted");
    expect([env.DIBS_TASK, cwd]).toEqual([task.id, pathOf(task.id)]);
  });

  test("with DIBS_FENCE=off the target can be moved", async () => {
    const task = await here.add("forced");
    const env = { ...process.env, ...gitEnv, DIBS_FENCE: "off" };
    const options = { env, connectionEnv: fenced.connectionEnv(), worktree: fenced.worktree() };
    await work({ git: [["update-ref", "refs/heads/main", "HEAD"]] }, options).done;
    expect(gitOf(here, task.id)[0]).toMatchObject({ status: 0 });
  });

  test("an agent that submits by itself has reported", async () => {
    const task = await here.add("by itself");
    const runner = work({ wait: true });
    const { env } = await here.seen(task.id);
    const commit = git(root, "rev-parse", "main");
    const epoch = Number(env.DIBS_EPOCH);
    await here.dibs.tasks.submit({ taskId: task.id, sessionId: env.DIBS_SESSION!, epoch, commit });
    here.go(task.id);
    await runner.done;
    expect(here.ends[0]).toMatchObject({ outcome: "reported" });
    expect((await here.task(task.id)).state).toBe("submitted");
    expect(refOf(task.project, task.id)).toBe(commit);
  });

  test("with open subtasks nothing is submitted, and the next attempt goes on", async () => {
    const task = await here.add("whole");
    const runner = work({ wait: true });
    await here.seen(task.id);
    const part = await here.add("part", { parentId: task.id });
    here.go(task.id, { write: { "new.txt": "1" } });
    await runner.done;
    expect(here.ends[0]).toMatchObject({ outcome: "released", reason: "waits for its subtasks" });
    await here.dibs.tasks.cancel({ taskId: part.id });
    rmSync(join(here.directory, `${task.id}.go`));
    await work({ write: { "more.txt": "2" } }).done;
    const { number, commit } = (await here.task(task.id)).submission!;
    expect([number, git(root, "ls-tree", "--name-only", commit!)]).toEqual([
      1,
      "file.txt\nmore.txt\nnew.txt",
    ]);
  });

  test("the runner refuses a wrong place before it claims", async () => {
    const task = await here.add("nowhere");
    const refusal = (options: Partial<WorkOptions>) =>
      work({}, options).done.then(
        () => null,
        (error) => error,
      );
    const outside = tempDir();
    expect(await refusal({ worktree: { root: outside, onlyToLand: true } })).toMatchObject({
      code: "VALIDATION_FAILED",
      message: expect.stringContaining(`lands on branch main, and ${outside} is in no git repository`),
    });
    const once = { ...here.common, command: here.command(), taskId: task.id };
    await expect(runOnce({ ...once, worktree: { root: outside } })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
    const place = { repository: "a".repeat(40), target: "main" };
    const lander = {
      ...place,
      repository: git(root, "rev-list", "--max-parents=0", "main"),
      holder: "elsewhere",
    };
    const { lease } = await here.dibs.landings.lease({ ...lander, host: "another machine" });
    expect(await refusal({})).toMatchObject({ code: "REMOTE_REQUIRED" });
    await here.dibs.landings.release({ repository: lander.repository, target: "main", epoch: lease.epoch });
    await settings({ land: { repository: place.repository } });
    expect(await refusal({})).toMatchObject({ code: "INVALID_STATE" });
    expect((await here.task(task.id)).epoch).toBe(0);
  });

  test("dibs run hands in too", async () => {
    const ended = await runOnce({
      ...here.common,
      command: here.command({ write: { "new.txt": "1" } }),
      env: { ...process.env, ...gitEnv },
      prompt: "write",
      worktree: { root, onlyToLand: true },
    });
    expect(ended).toMatchObject({ type: "ran", end: { outcome: "completed", reason: "submitted" } });
    expect(await here.task(ended.taskId)).toMatchObject({ state: "submitted", submission: { number: 1 } });
  });

  test("--until-empty waits while a lander works on what was submitted, and ends without one", async () => {
    const first = await here.add("first");
    const second = await here.add("second", { dependsOn: [first.id] });
    const command = here.command({ append: true, write: { "new.txt": "1" } });
    const alone = work({}, { once: false, untilEmpty: true, command });
    expect(await alone.done).toMatchObject({ completed: 1 });
    await here.dibs.tasks.withdraw({ taskId: first.id });
    const repositoryId = git(root, "rev-list", "--max-parents=0", "main");
    await here.dibs.landings.lease({ repository: repositoryId, target: "main", holder: "test" });
    const runner = work({}, { once: false, untilEmpty: true, command, timings: { emptyWaitMs: 50 } });
    await here.becomes(first.id, "submitted");
    await land(here, root, first.id, 2);
    await here.becomes(second.id, "submitted");
    await land(here, root, second.id);
    expect(await runner.done).toMatchObject({ completed: 2 });
  });
});

describe.skipIf(!hasGit)("without landing", () => {
  // git is not installed everywhere
  test("a dependent task starts with the branches of its dependencies, conflicts included", async () => {
    const here = await stage();
    const root = repository();
    const env = { ...process.env, ...gitEnv };
    const work = (plan: Plan) =>
      here.work({ once: true, worktree: { root }, env, command: here.command(plan) }).done;
    const commit = [
      ["add", "."],
      ["commit", "--quiet", "-m", "work"],
    ];
    const [first, second, third] = [
      await here.add("first", { priority: 90 }),
      await here.add("second", { priority: 80 }),
      await here.add("third", { priority: 70 }),
    ];
    await work({ write: { "first.txt": "1" }, git: commit });
    await work({ write: { "second.txt": "2", "file.txt": "two\n" }, git: commit });
    await work({ write: { "file.txt": "three\n" }, git: commit });
    const both = await here.add("both", { dependsOn: [first.id, second.id] });
    await work({ git: [["ls-files"]] });
    expect(gitOf(here, both.id)[0]?.stdout).toBe("file.txt\nfirst.txt\nsecond.txt\n");
    expect((await here.task(both.id)).result).not.toHaveProperty("commit");
    expect(existsSync(join(root, ".dibs/worktrees", both.id))).toBe(false);
    const all = await here.add("all", { dependsOn: [second.id, third.id, first.id] });
    await work({ git: [["diff", "--name-only", "--diff-filter=U"]] });
    expect(gitOf(here, all.id)[0]?.stdout).toBe("file.txt\n");
    const brief = Buffer.from((await here.seen(all.id)).stdin, "base64").toString();
    expect(brief).toContain(`dibs/${third.id} was merged into this directory`);
    expect(brief).toContain(`Then merge these branches too: dibs/${first.id}`);
    expect(execFileSync("git", ["-C", root, "branch", "--list", `dibs/${all.id}`]).toString()).not.toBe("");
  });
});
