// After a landing was recorded: the branches and worktrees of its tasks go, unless something would be lost by that.

import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { git, gitOr } from "../runner/git.js";
import type { Target } from "../runner/target.js";
import { changesIn, roomOf } from "../runner/worktree.js";
import { readRecord } from "../runner/worktree-record.js";
import { checkoutsOf, type Repository } from "./repository.js";

export interface LandedBranch {
  branch: string;
  /** What was handed in: the branch goes only if it is still there. */
  commit: string;
}

const pushTimeoutMs = 60_000;

/** Answers what was kept, and why. */
export async function tidyBranch(
  repository: Repository,
  place: Target,
  landed: LandedBranch,
): Promise<string | null> {
  const isOwn = await isOwnBranch(repository.root, landed.branch);
  const kept = isOwn ? await tidyHere(repository, landed) : null;
  // A runner on another machine has pushed the branch: what git's config says about it is there.
  const isRunners = landed.branch.startsWith("dibs/") && landed.branch !== place.target;
  if (kept === null && (isOwn || isRunners)) await tidyRemote(repository.root, place, landed);
  return kept;
}

/** What an interrupted lander has left of branches that it was tidying. Nothing that is gone is asked for on the remote. */
export async function tidyAgain(
  repository: Repository,
  place: Target,
  landed: readonly LandedBranch[],
): Promise<void> {
  const { root } = repository;
  const { remote } = place;
  const refs = landed.map(({ branch }) => `refs/heads/${branch}`);
  if (refs.length === 0) return;
  const ask = ["ls-remote", remote ?? "", ...refs];
  const listed = remote === null ? null : await gitOr(root, ask, { timeoutMs: pushTimeoutMs });
  const there = new Set((listed ?? "").split("\n").map((line) => line.split("\t")[1]));
  for (const each of landed) {
    if (there.has(`refs/heads/${each.branch}`) || (await isOwnBranch(root, each.branch)))
      await tidyBranch(repository, place, each);
  }
}

/** A branch is Dibs' own if git's config names its task. */
async function isOwnBranch(root: string, branch: string): Promise<boolean> {
  return (await gitOr(root, ["config", "--local", "--get", `branch.${branch}.dibs-task`])) !== null;
}

async function tidyHere(repository: Repository, { branch, commit }: LandedBranch): Promise<string | null> {
  const { root } = repository;
  const ref = `refs/heads/${branch}`;
  const checkout = (await checkoutsOf(repository)).find((each) => each.branch === ref);
  if (checkout) {
    const { path } = checkout;
    if (!path.startsWith(roomOf(root))) return `${branch} is checked out in ${path}`;
    if ((await gitOr(path, ["rev-parse", "HEAD"])) !== commit) return `${branch} has newer commits`;
    const why = await removeWorktree(root, path);
    if (why !== null) return `worktree ${path} was kept: ${why}`;
  }
  const isThere = (await gitOr(root, ["rev-parse", "--verify", "--quiet", ref])) !== null;
  if (isThere && (await gitOr(root, ["update-ref", "-d", ref, commit])) === null)
    return `${branch} has newer commits`;
  await gitOr(root, ["config", "--local", "--remove-section", `branch.${branch}`]);
  return null;
}

/** Git does not remove a worktree with untracked files by itself; those that copy and setup left are no loss. */
async function removeWorktree(root: string, path: string): Promise<string | null> {
  const changes = await changesIn(path);
  if (changes !== null) return changes;
  const { copied, present } = await readRecord(path);
  const changed = copied.find((file) => !isSameFile(join(root, file), join(path, file)));
  if (changed !== undefined) return `${changed} is not as it was copied`;
  // With force, git would remove submodules as well, with what is in them.
  const entries = await git(path, ["ls-files", "--stage", "-z"]);
  if (entries.split("\0").some((entry) => entry.startsWith("160000 "))) return "it has submodules";
  const force = copied.length + present.length > 0 ? ["--force"] : [];
  const removed = await gitOr(root, ["worktree", "remove", ...force, path]);
  return removed === null ? "git cannot remove it" : null;
}

/** One that is gone is not lost. */
function isSameFile(original: string, copy: string): boolean {
  const [one, two] = [original, copy].map((file) => lstatSync(file, { throwIfNoEntry: false }));
  if (!two) return true;
  if (!one || one.isSymbolicLink() !== two.isSymbolicLink()) return false;
  if (two.isSymbolicLink()) return readlinkSync(original) === readlinkSync(copy);
  return one.size === two.size && readFileSync(original).equals(readFileSync(copy));
}

async function tidyRemote(root: string, { remote }: Target, { branch, commit }: LandedBranch): Promise<void> {
  if (remote === null) return;
  const ref = `refs/heads/${branch}`;
  const args = ["push", "--quiet", `--force-with-lease=${ref}:${commit}`, remote, `:${ref}`];
  await git(root, args, { timeoutMs: pushTimeoutMs }).catch(() => undefined);
}
