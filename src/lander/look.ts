// Before anything lands: is the target there, where the last landing left it, and does nobody work on it by hand?

import { existsSync, lstatSync, readFileSync, type Stats, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { shellWord } from "../client/view/shell.js";
import { pause } from "../common/abort.js";
import { GitError, git, gitOr } from "../runner/git.js";
import { type Target, targetMissing, targetRef, targetTip } from "../runner/target.js";
import { Held, saidByGit, shortSha } from "./hold.js";
import { type Checkout, checkoutsOf, type Repository } from "./repository.js";

export interface Sight {
  /** The target's commit. */
  tip: string;
  /** Where the target is checked out; null: nowhere, or it is on a remote. */
  checkout: Checkout | null;
}

export async function lookAt(
  repository: Repository,
  place: Target,
  lastLanded: string | null,
): Promise<Sight> {
  const tip = await tipOf(repository, place);
  if (lastLanded !== null && lastLanded !== tip) await refuseRewound(repository, place, lastLanded);
  if (place.remote !== null) return { tip, checkout: null };
  return { tip, checkout: await checkoutOf(repository, place.target) };
}

export async function tipOf({ root }: Repository, place: Target): Promise<string> {
  const { target, remote } = place;
  const tip = await targetTip(root, place).catch((error) => {
    throw new Held({
      reason: "REMOTE_UNREACHABLE",
      message: `Cannot fetch ${target} from ${remote}: ${saidByGit(error)}`,
      fix: `git fetch ${remote}`,
    });
  });
  if (tip !== null) return tip;
  throw new Held({
    reason: targetMissing,
    message: `There is no branch ${target}${remote === null ? "" : ` on ${remote}`}.`,
    fix: `git branch ${target} <commit>`,
  });
}

/** Whether a commit is on the way to another. Where git cannot say, nobody must act on it. */
export async function isAncestor(root: string, commit: string, of: string): Promise<boolean> {
  try {
    await git(root, ["merge-base", "--is-ancestor", commit, of]);
    return true;
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    if (error.exitCode === 1) return false;
    const isHere = (await gitOr(root, ["cat-file", "-e", `${commit}^{commit}`])) !== null;
    const isShallow = (await git(root, ["rev-parse", "--is-shallow-repository"])) === "true";
    // All that leads to `of` is here, and the commit is not.
    if (!isHere && !isShallow) return false;
    throw error;
  }
}

/** By git's config, the landed commit that a person took away from the target on purpose. */
export const acceptedRewind = "dibs.acceptedRewind";

async function refuseRewound({ root }: Repository, place: Target, lastLanded: string): Promise<void> {
  if ((await gitOr(root, ["merge-base", "--is-ancestor", lastLanded, targetRef(place)])) !== null) return;
  if ((await gitOr(root, ["config", "--local", "--get", acceptedRewind])) === lastLanded) return;
  throw new Held({
    reason: "TARGET_REWOUND",
    message:
      `${place.target} no longer contains ${shortSha(lastLanded)}, which landed last. ` +
      `Bring it back (on ${place.target}: git merge ${shortSha(lastLanded)}), or continue without it.`,
    fix: "dibs land --accept-rewind",
  });
}

const operations = [
  ["MERGE_HEAD", "a merge"],
  ["CHERRY_PICK_HEAD", "a cherry-pick"],
  ["REVERT_HEAD", "a revert"],
] as const;

async function checkoutOf(repository: Repository, target: string): Promise<Checkout | null> {
  const ref = `refs/heads/${target}`;
  const checkouts = await checkoutsOf(repository);
  for (const { path, gitDirectory } of checkouts) refuseInProgress(path, gitDirectory, target);
  const found = checkouts.filter(({ branch }) => branch === ref);
  if (found.length > 1) {
    throw new Held({
      reason: "TARGET_CHECKED_OUT_TWICE",
      message: `${target} is checked out in ${found.map(({ path }) => path).join(" and ")}.`,
      fix: `git -C ${shellWord(found.at(-1)!.path)} switch --detach`,
    });
  }
  const [checkout] = found;
  if (!checkout) return null;
  for (const [file, what] of operations) {
    if (existsSync(join(checkout.gitDirectory, file))) throw inProgress(checkout.path, what, target);
  }
  await refuseLocked(checkout);
  return checkout;
}

/** While a branch is rebased or bisected, no working tree has it checked out. */
function refuseInProgress(path: string, gitDirectory: string, target: string): void {
  const names: [string, string][] = [
    [join("rebase-merge", "head-name"), "a rebase"],
    [join("rebase-apply", "head-name"), "a rebase"],
    ["BISECT_START", "a bisection"],
  ];
  for (const [file, what] of names) {
    const branch = textOf(join(gitDirectory, file)).trim();
    if (branch === target || branch === `refs/heads/${target}`) throw inProgress(path, what, target);
  }
}

function inProgress(path: string, what: string, target: string): Held {
  return new Held({
    reason: "TARGET_IN_USE",
    message: `${what[0]!.toUpperCase()}${what.slice(1)} of ${target} is in progress in ${path}. Finish or abort it.`,
    fix: `git -C ${shellWord(path)} status`,
  });
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

const lockMs = 10_000;
const lookMs = 250;

/** A lock of a command that runs is gone soon; one that stays was left behind, or somebody is in an editor. */
async function refuseLocked({ path, gitDirectory }: Checkout): Promise<void> {
  const file = join(gitDirectory, "index.lock");
  for (let waited = 0; existsSync(file); waited += lookMs) {
    const since = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (since === undefined) return;
    if (waited >= lockMs || Date.now() - since >= lockMs) {
      throw new Held({
        reason: "INDEX_LOCKED",
        message: `${file} has been there for more than 10 s. If no git command runs in ${path}, remove it.`,
        fix: `rm ${shellWord(file)}`,
      });
    }
    await pause(lookMs);
  }
}

/** What a person has changed in a checkout: landing a change of the same path would lose it. */
export class DirtyPaths {
  private constructor(
    private readonly path: string,
    private readonly dirty: ReadonlySet<string>,
  ) {}

  static async of({ path }: Checkout): Promise<DirtyPaths> {
    const args = [
      "-c",
      "core.quotePath=false",
      "status",
      "--porcelain",
      "-z",
      "--no-renames",
      "--untracked-files=no",
      "--ignore-submodules=none",
    ];
    // It must not take the lock of the index from the person's own commands.
    const status = await git(path, args, { env: { GIT_OPTIONAL_LOCKS: "0" } });
    return new DirtyPaths(path, new Set(status.split("\0").map((line) => line.slice(3))));
  }

  /** Of a checkout whose branch has moved, and whose files have not: what differs from the commit that it shows. */
  static async since({ path }: Pick<Checkout, "path">, commit: string): Promise<DirtyPaths> {
    const diff = ["diff", "--no-ext-diff", "--no-renames", "--name-only", "-z", "--ignore-submodules=none"];
    const env = { GIT_OPTIONAL_LOCKS: "0" };
    const changed = await git(path, [...diff, commit, "--"], { env });
    const staged = await git(path, [...diff, "--cached", commit, "--"], { env });
    return new DirtyPaths(path, new Set([...changed.split("\0"), ...staged.split("\0")]));
  }

  /** The first of the changed paths that is in the way; null: none. Added ones: no file may be there, ignored or not. */
  inTheWay(changed: readonly ChangedPath[]): string | null {
    const removed = changed.filter(({ isRemoved }) => isRemoved).map(({ path }) => path);
    const isInTheWay = ({ path, isAdded }: ChangedPath) =>
      this.dirty.has(path) || (isAdded && this.isTaken(path, removed));
    return changed.find(isInTheWay)?.path ?? null;
  }

  /** A file may give way to a directory, and the other way round, if the same change removes it. */
  private isTaken(path: string, removed: readonly string[]): boolean {
    const there = entryAt(join(this.path, path));
    if (there) return !(there.isDirectory() && removed.some((each) => each.startsWith(`${path}/`)));
    for (let parent = dirname(path); parent !== "."; parent = dirname(parent)) {
      const found = entryAt(join(this.path, parent));
      if (found) return !found.isDirectory() && !removed.includes(parent);
    }
    return false;
  }
}

/** Also where a file is in place of one of its directories. */
export function entryAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

export interface ChangedPath {
  path: string;
  isAdded: boolean;
  isRemoved: boolean;
}

export async function changedPaths(cwd: string, from: string, to: string): Promise<ChangedPath[]> {
  const out = await git(cwd, ["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to]);
  const words = out.split("\0");
  const changed: ChangedPath[] = [];
  for (let at = 0; at + 1 < words.length; at += 2) {
    const [state = "", path = ""] = [words[at], words[at + 1]];
    changed.push({ path, isAdded: state === "A", isRemoved: state === "D" });
  }
  return changed;
}
