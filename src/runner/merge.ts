// Merges in a task's worktree. A conflict stays in the files, for the agent to resolve.

import { existsSync, lstatSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { GitError, git, gitOr } from "./git.js";
import { identityFor } from "./identity.js";

type Env = Readonly<Record<string, string | undefined>>;

/** What Dibs does by itself asks no hook: the fence may be that of an attempt that was lost. */
export const withoutHooks = ["-c", "core.hooksPath=/dev/null"];

const operations = [
  ["MERGE_HEAD", "merge"],
  ["rebase-merge", "rebase"],
  ["rebase-apply", "rebase"],
  ["CHERRY_PICK_HEAD", "cherry-pick"],
  ["REVERT_HEAD", "revert"],
  ["BISECT_LOG", "bisect"],
] as const;

/** What git has begun in a worktree and not finished. */
export async function inProgress(path: string): Promise<(typeof operations)[number][1] | null> {
  const directory = await git(path, ["rev-parse", "--path-format=absolute", "--git-dir"]);
  return operations.find(([file]) => existsSync(join(directory, file)))?.[1] ?? null;
}

export async function unmergedPaths(path: string): Promise<string[]> {
  const entries = (await git(path, ["ls-files", "--unmerged", "-z"])).split("\0");
  return [...new Set(entries.filter((entry) => entry !== "").map((entry) => entry.split("\t", 2)[1]!))];
}

const marker = /^(?:<<<<<<<|>>>>>>>) /m;

/** Of these paths, the ones that still have conflict markers. */
export function withMarkers(path: string, files: readonly string[]): string[] {
  return files.filter((file) => {
    const full = join(path, file);
    return lstatSync(full, { throwIfNoEntry: false })?.isFile() && marker.test(readFileSync(full, "latin1"));
  });
}

/** Whatever the configuration says about merges; conflict markers look the same everywhere. */
const pinned = ["-c", "merge.conflictStyle=merge", "-c", "rerere.enabled=false"];
const flags = ["--ff", "--commit", "--no-squash", "--no-edit", "--no-stat", "--no-autostash"];
const unsigned = ["--no-gpg-sign", "--no-verify-signatures"];

/** Git does not merge, and not because of a conflict: files of the worktree are in the way, for instance. */
export class NotMerged extends Error {
  override name = "NotMerged";
}

const stderrMax = 4_000;

/** Merges a commit into what is checked out; answers the paths in conflict. */
export async function mergeInto(
  path: string,
  { commit, message, env }: { commit: string; message: string; env: Env },
): Promise<string[]> {
  const words = [
    ...withoutHooks,
    ...pinned,
    "merge",
    "--quiet",
    ...flags,
    ...unsigned,
    "-m",
    message,
    commit,
  ];
  try {
    await git(path, words, { env: { ...env, ...(await identityFor(path, env)) } });
    return [];
  } catch (error) {
    const paths = await unmergedPaths(path);
    if (paths.length > 0) return paths;
    if (!(error instanceof GitError) || error.exitCode === null) throw error;
    throw new NotMerged(
      `git merge failed in ${path}. Fix what git names, then retry the task:\n${error.stderr.trim().slice(-stderrMax)}`,
    );
  }
}

const mergesMax = 20;

/** Paths that were in conflict in merges since a commit, also in one that is not concluded. */
export async function conflictsOfMerges(path: string, since: string): Promise<string[]> {
  const words = ["rev-list", "--merges", "--parents", "-n", String(mergesMax), `${since}..HEAD`];
  const merges = ((await gitOr(path, words)) ?? "").split("\n").map((line) => line.split(" ").slice(1));
  const found = new Set<string>();
  for (const parents of [...merges, ["HEAD", "MERGE_HEAD"]]) {
    if (parents.length !== 2) continue;
    for (const each of await conflictsBetween(path, parents)) found.add(each);
  }
  return [...found];
}

/** A conflict is exit code 1 and a tree on the first line; anything else says nothing about conflicts. */
async function conflictsBetween(path: string, parents: readonly string[]): Promise<string[]> {
  try {
    await git(path, ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ...parents]);
    return [];
  } catch (error) {
    if (!(error instanceof GitError) || error.exitCode !== 1) return [];
    const [tree = "", ...paths] = error.stdout.split("\0");
    return /^[0-9a-f]{40,64}$/.test(tree) ? paths.filter((each) => each !== "") : [];
  }
}

export interface Conflict {
  path: string;
  /** Tasks whose change it is in conflict with, as `<project>/<id>#<attempt>`. */
  tasks: string[];
}

const blamedMax = 20;
const commitsMax = 20;

/** Paths in conflict, with the tasks that changed them on the other side, as far as its commits say so. */
export async function conflictsWith(
  path: string,
  paths: readonly string[],
  other: string,
): Promise<Conflict[]> {
  const base = await gitOr(path, ["merge-base", "HEAD", other]);
  const found: Conflict[] = [];
  for (const [at, each] of paths.entries()) {
    const isBlamed = base !== null && at < blamedMax;
    found.push({
      path: each,
      tasks: isBlamed ? await tasksThatChanged(path, each, `${base}..${other}`) : [],
    });
  }
  return found;
}

async function tasksThatChanged(path: string, file: string, range: string): Promise<string[]> {
  const format = "--format=%(trailers:key=Dibs-Task,valueonly)";
  const log = await gitOr(path, [
    "log",
    format,
    "-n",
    String(commitsMax),
    range,
    "--",
    `:(literal,top)${file}`,
  ]);
  const names = (log ?? "").split("\n").map((line) => line.trim());
  return [...new Set(names.filter((name) => /^[^\s/]+\/[^\s/]+#\d+$/.test(name)))];
}
