// A repository with real git, and a lander of a few lines, for tests of worktrees.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Stage } from "./support.js";
import { tempDir } from "./support.js";

export const hasGit = spawnSync("git", ["--version"]).status === 0;

/** Nobody's own settings play a part. */
export const gitEnv = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_AUTHOR_NAME: "t",
  GIT_AUTHOR_EMAIL: "t@example.com",
  GIT_COMMITTER_NAME: "t",
  GIT_COMMITTER_EMAIL: "t@example.com",
};

export const git = (cwd: string, ...args: string[]) =>
  execFileSync("git", ["-C", cwd, ...args], { encoding: "utf8", env: { ...process.env, ...gitEnv } }).trim();

export function repository(): string {
  const root = join(tempDir(), "repo");
  mkdirSync(root);
  git(root, "init", "--quiet", "--initial-branch=main");
  writeFileSync(join(root, "file.txt"), "one\n");
  git(root, "add", ".");
  git(root, "commit", "--quiet", "-m", "first");
  return root;
}

export interface Ran {
  status: number;
  stdout: string;
  stderr: string;
}

/** What the calls of git in a plan answered. */
export function gitOf(here: Stage, taskId: string, epoch = 1): Ran[] {
  return JSON.parse(readFileSync(join(here.directory, `${taskId}.${epoch}.git`), "utf8"));
}

const target = "main";

async function opened(here: Stage, root: string) {
  const repositoryId = git(root, "rev-list", "--max-parents=0", target);
  const place = { repository: repositoryId, target };
  const { lease } = await here.dibs.landings.lease({ ...place, holder: "test" });
  return { ...place, epoch: lease.epoch };
}

/** As a lander does it: one commit on the target that names the task, then the report. */
export async function land(here: Stage, root: string, taskId: string, number = 1): Promise<void> {
  const place = await opened(here, root);
  const { task } = await here.dibs.tasks.get({ taskId });
  const { commit: submitted } = task.submission!;
  const base = git(root, "rev-parse", target);
  const tree = git(root, "merge-tree", "--write-tree", base, submitted ?? base);
  const trailer = `Dibs-Task: ${task.project}/${taskId}#${task.epoch}`;
  const squashed = ["commit-tree", tree, "-p", base, "-m", task.title, "-m", trailer];
  const commit = submitted === null ? base : git(root, ...squashed);
  const tasks = [{ taskId, submission: number, commit: submitted && commit }];
  const { landing } = await here.dibs.landings.open({ ...place, base, tasks, commit, tree });
  git(root, "merge", "--quiet", "--ff-only", commit);
  await here.dibs.landings.landed({ id: landing.id, epoch: place.epoch });
}

export async function returnTask(here: Stage, root: string, taskId: string, number = 1): Promise<void> {
  const place = await opened(here, root);
  const tasks = [{ taskId, submission: number, commit: null }];
  const { landing } = await here.dibs.landings.open({ ...place, tasks });
  await here.dibs.landings.returned({
    id: landing.id,
    epoch: place.epoch,
    taskId,
    submission: number,
    reason: "conflict",
    detail: "file.txt",
  });
}
