// What an attempt hands in has passed the user's hooks, whatever earlier attempts left; and what cannot be handed in is said.

import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import type { WorkOptions } from "../../src/runner/index.js";
import { git, gitEnv, gitOf, hasGit, land, repository } from "./repository.js";
import { type Plan, type Stage, stage, tempDir } from "./support.js";

describe.skipIf(!hasGit)("handing in", () => {
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
  const pathOf = (taskId: string) => join(root, ".dibs/worktrees", taskId);
  const fileAt = (commit: string, file: string) => git(root, "show", `${commit}:${file}`);
  const errorOf = async (taskId: string) =>
    (await here.dibs.tasks.attempts({ taskId })).attempts[0]?.error ?? "";
  const hook = (script: string, directory = join(root, ".git")) => {
    const file = join(directory, "hooks/pre-commit");
    writeFileSync(file, `#!/bin/sh\n${script}\n`);
    chmodSync(file, 0o755);
    return file;
  };
  const commitOnMain = (files: Record<string, string>) => {
    for (const [file, text] of Object.entries(files)) writeFileSync(join(root, file), text);
    git(root, "add", "--all");
    git(root, "commit", "--quiet", "-m", "a person's");
  };
  const noSecrets = `git diff --cached | grep -q SECRET && { echo "no secrets" >&2; exit 1; }; exit 0`;

  test("what an earlier attempt left does not get past the user's hook at the next one", async () => {
    hook(noSecrets);
    const task = await here.add("leak", { maxRetries: 5 });
    await work({ write: { "s.txt": "SECRET" } }).done;
    expect(await errorOf(task.id)).toContain("no secrets");
    commitOnMain({ "later.txt": "later" });
    await work({ write: { "more.txt": "more" } }).done;
    expect(await errorOf(task.id)).toContain("no secrets");
    // Nor if its worktree was removed by hand in between, and nothing but the branch is left.
    git(root, "worktree", "remove", "--force", pathOf(task.id));
    await work({}).done;
    expect(await errorOf(task.id)).toContain("no secrets");
    expect((await here.task(task.id)).submission).toBeNull();
    expect(fileAt(`dibs/${task.id}`, "more.txt")).toBe("more");
    await work({ write: { "s.txt": "none" } }).done;
    const { commit } = (await here.task(task.id)).submission!;
    expect([fileAt(commit!, "s.txt"), fileAt(commit!, "more.txt"), fileAt(commit!, "later.txt")]).toEqual([
      "none",
      "more",
      "later",
    ]);
  });

  test("the hook sees the whole change once, and what it rewrites is handed in", async () => {
    const task = await here.add("format", { maxRetries: 5 });
    await work({ write: { "new.txt": "loud\n" }, exit: 1 }).done;
    const seen = join(here.directory, "staged");
    hook(
      `git diff --cached --name-only > ${seen}; if [ -e new.txt ]; then echo quiet > new.txt; git add new.txt; fi`,
    );
    await work({}).done;
    const { commit } = (await here.task(task.id)).submission!;
    expect(fileAt(commit!, "new.txt")).toBe("quiet");
    expect(git(root, "log", "-1", "--format=%s", commit!)).toBe("format");
    expect(git(pathOf(task.id), "status", "--porcelain")).toBe("");
    await land(here, root, task.id);
    expect(fileAt("main", "new.txt")).toBe("quiet");
  });

  test("a file of the setup that the target now tracks fails the attempt with what git says", async () => {
    await here.dibs.projects.update({
      settings: { worktree: { setup: ["sh", "-c", "echo made > made.txt"] } },
    });
    const task = await here.add("set up", { maxRetries: 5 });
    await work({ write: { "new.txt": "1" }, exit: 1 }).done;
    commitOnMain({ "made.txt": "a person's" });
    await work({}).done;
    expect(here.ends.at(-1)).toMatchObject({ outcome: "failed" });
    expect(await errorOf(task.id)).toMatch(/^git merge failed in .*worktrees[\s\S]*made\.txt/);
    expect((await here.task(task.id)).retryCount).toBeGreaterThan(0);
    rmSync(join(pathOf(task.id), "made.txt"));
    await work({}).done;
    expect(await here.task(task.id)).toMatchObject({ state: "submitted" });
  });

  test("a lander on another machine fails the attempt with the command that helps", async () => {
    const task = await here.add("far away", { maxRetries: 0 });
    const runner = work({ wait: true });
    await here.seen(task.id);
    const repositoryId = git(root, "rev-list", "--max-parents=0", "main");
    await here.dibs.landings.lease({
      repository: repositoryId,
      target: "main",
      holder: "l",
      host: "elsewhere",
    });
    here.go(task.id, { write: { "new.txt": "1" } });
    await runner.done;
    expect(here.ends.at(-1)).toMatchObject({ outcome: "failed" });
    expect(await errorOf(task.id)).toMatch(
      /is on another machine than the lander[\s\S]*land\.remote[\s\S]*worktree kept/,
    );
    expect(await here.task(task.id)).toMatchObject({ state: "failed", claim: null });
    expect(existsSync(pathOf(task.id))).toBe(true);
  });

  test("a signer that fails fails the attempt, and nothing is lost", async () => {
    const signer = join(tempDir(), "signer");
    writeFileSync(signer, `#!/bin/sh\necho "no secret key" >&2\nexit 1\n`);
    chmodSync(signer, 0o755);
    git(root, "config", "commit.gpgsign", "true");
    git(root, "config", "gpg.program", signer);
    const task = await here.add("sign", { maxRetries: 5 });
    await work({ write: { "new.txt": "1" } }).done;
    expect(await errorOf(task.id)).toMatch(/^git commit failed:[\s\S]*gpg failed to sign/);
    // What is left of it is committed without a signature at the next start, and not handed in without one.
    await work({}).done;
    expect(await errorOf(task.id)).toMatch(/^git commit failed:[\s\S]*gpg failed to sign/);
    expect(await here.task(task.id)).toMatchObject({ state: "queued", submission: null });
    git(root, "config", "commit.gpgsign", "false");
    await work({}).done;
    expect(fileAt((await here.task(task.id)).submission!.commit!, "new.txt")).toBe("1");
  });

  test("a submission can change a submodule; the worktree that has one is kept", async () => {
    const part = repository();
    const allowed = ["-c", "protocol.file.allow=always"];
    git(root, ...allowed, "submodule", "--quiet", "add", part, "part");
    git(root, "commit", "--quiet", "-m", "with a part");
    writeFileSync(join(part, "file.txt"), "two\n");
    git(part, "commit", "--quiet", "-am", "second");
    const tip = git(part, "rev-parse", "HEAD");
    const task = await here.add("bump");
    const plan = [
      [...allowed, "submodule", "--quiet", "update", "--init"],
      ["-C", "part", "checkout", "--quiet", tip],
    ];
    await work({ git: plan }).done;
    expect(gitOf(here, task.id).map(({ status }) => status)).toEqual([0, 0]);
    const { commit } = (await here.task(task.id)).submission!;
    expect(git(root, "rev-parse", `${commit}:part`)).toBe(tip);
    // Without a change of its own it would be removed, if git could.
    const second = await here.add("look");
    await work({ git: [[...allowed, "submodule", "--quiet", "update", "--init"]] }).done;
    expect(await here.task(second.id)).toMatchObject({ state: "submitted", submission: { commit: null } });
    expect(here.ends.at(-1)).toMatchObject({ worktree: { path: pathOf(second.id) } });
    expect(existsSync(join(pathOf(second.id), "part/file.txt"))).toBe(true);
    expect(here.troubles.map(String).join()).toContain("submodules");
  });
});
