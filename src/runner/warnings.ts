// What a person should know before agents start in a git repository.

import { gitOr } from "./git.js";

export interface Setup {
  cwd: string;
  concurrency: number;
  hasWorktrees: boolean;
}

export async function warningsFor({ cwd, concurrency, hasWorktrees }: Setup): Promise<string[]> {
  try {
    if (hasWorktrees) return await uncommittedIn(cwd);
    return concurrency > 1 ? await sharedDirectory(cwd, concurrency) : [];
  } catch {
    // Without git there is nothing to warn of.
    return [];
  }
}

async function sharedDirectory(cwd: string, concurrency: number): Promise<string[]> {
  if ((await gitOr(cwd, ["rev-parse", "--is-inside-work-tree"])) !== "true") return [];
  return [
    `${concurrency} agents share this directory and can overwrite each other's changes. Run with --worktree to give each task its own.`,
  ];
}

/** `.dibs` itself is not what agents work on. */
async function uncommittedIn(cwd: string): Promise<string[]> {
  const common = await gitOr(cwd, ["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  if (common === null) return [];
  const root = common.replace(/[/\\]\.git$/, "");
  const changed = await gitOr(root, ["status", "--porcelain", "--", ".", ":(exclude).dibs"]);
  const count = changed ? changed.split("\n").length : 0;
  if (count === 0) return [];
  const files = count === 1 ? "1 file has" : `${count} files have`;
  return [
    `${files} uncommitted changes, which agents in worktrees do not see: they start from the last commit. Run: git status`,
  ];
}
