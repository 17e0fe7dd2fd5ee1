// The repository that a lander works in: any directory of it, also a bare one.

import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { DibsError } from "../contract/error.js";
import { gitOr } from "../runner/git.js";
import { landingRoomOf, mainWorktreeOf } from "../runner/worktree.js";

export interface Repository {
  /** Where git runs: the main working tree, or the directory of a bare repository. */
  root: string;
  /** The git directory that all working trees share. */
  gitDirectory: string;
  /** Where landing worktrees are. */
  room: string;
}

export async function repositoryAt(directory: string): Promise<Repository> {
  const gitDirectory = await gitOr(directory, ["rev-parse", "--path-format=absolute", "--git-common-dir"]);
  if (gitDirectory === null) {
    throw new DibsError("VALIDATION_FAILED", `${directory} is in no git repository.`, {
      hint: "Run it inside the project's repository.",
    });
  }
  const main = await mainWorktreeOf(directory);
  const room = main === null ? join(gitDirectory, "dibs", "landing") : landingRoomOf(main);
  return { root: main ?? gitDirectory, gitDirectory, room };
}

export interface Checkout {
  path: string;
  /** Null: no branch. */
  branch: string | null;
  /** Its own git directory. */
  gitDirectory: string;
}

/** The working trees of people and tasks. In those where trees are checked, a check can have switched to any branch. */
export async function checkoutsOf({ root, gitDirectory, room }: Repository): Promise<Checkout[]> {
  const listed = (await gitOr(root, ["worktree", "list", "--porcelain", "-z"])) ?? "";
  const checkouts: Checkout[] = [];
  for (const entry of listed.split("\0\0")) {
    const lines = entry.split("\0");
    const path = lines.find((line) => line.startsWith("worktree "))?.slice("worktree ".length);
    if (path === undefined || lines.includes("bare") || !existsSync(path)) continue;
    if (path.startsWith(`${room}/`)) continue;
    const branch = lines.find((line) => line.startsWith("branch "))?.slice("branch ".length) ?? null;
    checkouts.push({ path, branch, gitDirectory: ownDirectoryOf(path) ?? gitDirectory });
  }
  return checkouts;
}

/** In other working trees than the main one, `.git` is a file that names the directory. */
export function ownDirectoryOf(path: string): string | null {
  const file = join(path, ".git");
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) return null;
  const named = /^gitdir: (.*)$/m.exec(readFileSync(file, "utf8"))?.[1];
  return named === undefined ? null : resolve(path, named);
}
