// `worktree.copy`: files of the main working tree that a new task worktree needs and git does not have, such as `.env`.

import {
  constants,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
} from "node:fs";
import { dirname, join, sep } from "node:path";
import { DibsError } from "../contract/error.js";
import { GitError, git } from "./git.js";

export interface Copied {
  paths: string[];
  /** Patterns without a file. */
  unmatched: string[];
}

const filesMax = 10_000;

export async function copyInto(
  path: string,
  { root, patterns }: { root: string; patterns: readonly string[] },
): Promise<Copied> {
  const found = new Set<string>();
  const unmatched: string[] = [];
  for (const pattern of patterns) {
    const files = await untrackedIn(root, pattern);
    if (files.length === 0 && !(await isTracked(root, pattern))) unmatched.push(pattern);
    for (const file of files) found.add(file);
  }
  if (found.size > filesMax) {
    throw new DibsError("VALIDATION_FAILED", `worktree.copy matches ${found.size} files, over ${filesMax}.`, {
      hint: "Name fewer files, or create them with worktree.setup.",
    });
  }
  const files = [...found].sort();
  await refuseNotIgnored(path, files);
  return { paths: files.filter((file) => copy(join(root, file), path, file)), unmatched };
}

/** When the setting is made: files that git does not ignore would be committed, also those that are not there yet. */
export async function refuseCopyable(root: string, patterns: readonly string[]): Promise<void> {
  for (const pattern of patterns) {
    const files = await untrackedIn(root, pattern);
    const isPath = !/[*?[\]\\]/.test(pattern);
    if (files.length === 0 && isPath && !(await isTracked(root, pattern))) files.push(pattern);
    await refuseNotIgnored(root, files);
  }
}

/** What git does not track, in whichever directory. Worktrees of other tasks are not part of the tree. */
async function untrackedIn(root: string, pattern: string): Promise<string[]> {
  const words = ["ls-files", "--others", "-z", "--", `:(top,glob)${pattern}`, ":(top,exclude).dibs"];
  const files = (await git(root, words)).split("\0");
  return files.filter((file) => file !== "" && !file.endsWith("/"));
}

async function isTracked(root: string, pattern: string): Promise<boolean> {
  return (await git(root, ["ls-files", "-z", "--", `:(top,glob)${pattern}`])) !== "";
}

/** Otherwise it would be committed with the rest. */
async function refuseNotIgnored(path: string, files: readonly string[]): Promise<void> {
  if (files.length === 0) return;
  const ignored = new Set((await ignoredOf(path, files)).split("\0"));
  const other = files.find((file) => !ignored.has(file));
  if (other === undefined) return;
  throw new DibsError("VALIDATION_FAILED", `worktree.copy names ${other}, which git does not ignore.`, {
    hint: `Add ${other} to .gitignore, or remove it from worktree.copy.`,
    details: { path: other },
  });
}

async function ignoredOf(path: string, files: readonly string[]): Promise<string> {
  try {
    return await git(path, ["check-ignore", "-z", "--stdin"], { input: files.join("\0") });
  } catch (error) {
    if (error instanceof GitError && error.exitCode === 1) return "";
    throw error;
  }
}

/** False: there is something already. */
function copy(source: string, path: string, file: string): boolean {
  const copied = join(path, file);
  if (lstatSync(copied, { throwIfNoEntry: false })) return false;
  mkdirSync(dirname(copied), { recursive: true });
  refuseOutside(path, dirname(copied));
  if (lstatSync(source).isSymbolicLink()) symlinkSync(readlinkSync(source), copied);
  else copyFileSync(source, copied, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  return true;
}

/** A link in a clone must not make us write elsewhere. */
function refuseOutside(path: string, directory: string): void {
  if (`${realpathSync(directory)}${sep}`.startsWith(`${realpathSync(path)}${sep}`)) return;
  throw new DibsError("STORE_NOT_TRUSTED", `${directory} is outside of the worktree.`, {
    hint: "A symbolic link in the repository leads there. Remove it from worktree.copy.",
  });
}
