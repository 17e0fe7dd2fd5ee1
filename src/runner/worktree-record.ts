// What Dibs remembers about a task's worktree, in its git directory: removed with the worktree, and never part of a commit.

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { git } from "./git.js";

export interface WorktreeRecord {
  /** Files were copied and the setup ran. Until then no command has run in it. */
  isPrepared: boolean;
  /** Copied from the main working tree: never in a commit. */
  copied: string[];
  /** Untracked after copy and setup: never added to a commit by Dibs. A directory ends in a slash. */
  present: string[];
  /** Paths that were in conflict when the last attempt started. */
  conflicts: string[];
  /** Dibs committed what an attempt had left, without the user's hooks; nothing was handed in since. */
  isUnchecked: boolean;
}

/** Of a worktree without a record: an earlier version created it, and a command may have run in it. */
const unknown: WorktreeRecord = {
  isPrepared: true,
  copied: [],
  present: [],
  conflicts: [],
  isUnchecked: false,
};

const fileOf = async (path: string) =>
  join(await git(path, ["rev-parse", "--path-format=absolute", "--git-dir"]), "dibs-worktree.json");

export async function readRecord(path: string): Promise<WorktreeRecord> {
  const file = await fileOf(path);
  try {
    return { ...unknown, ...(JSON.parse(readFileSync(file, "utf8")) as Partial<WorktreeRecord>) };
  } catch {
    return unknown;
  }
}

export async function writeRecord(path: string, change: Partial<WorktreeRecord>): Promise<WorktreeRecord> {
  const file = await fileOf(path);
  const record = { ...(await readRecord(path)), ...change };
  writeFileSync(`${file}.new`, JSON.stringify(record));
  renameSync(`${file}.new`, file);
  return record;
}

/** Whether a path was there before the command, by copy or setup. */
export function isRemembered({ copied, present }: WorktreeRecord): (path: string) => boolean {
  const paths = new Set([...copied, ...present]);
  const directories = present.filter((each) => each.endsWith("/"));
  return (path) => paths.has(path) || directories.some((directory) => path.startsWith(directory));
}
