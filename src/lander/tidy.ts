// After a landing was recorded: the branches and worktrees of its tasks go, unless something would be lost by that.

import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { Dibs } from "../client/client.js";
import { hasCode } from "../client/holding/index.js";
import { git, gitOr } from "../runner/git.js";
import type { Target } from "../runner/target.js";
import { changesIn, roomOf } from "../runner/worktree.js";
import { readRecord } from "../runner/worktree-record.js";
import { checkoutsOf, type Repository } from "./repository.js";
import type { Step } from "./steps.js";

interface LandedBranch {
  branch: string;
  /** What was handed in: the branch goes only if it is still there. */
  commit: string;
}

interface Handed {
  branch: string | null;
  commit: string | null;
}

interface LandedTask {
  project: string;
  taskId: string;
  submission: number;
}

const pushTimeoutMs = 60_000;
/** Among so many of the newest landings, the last one of the target is looked for. */
const lastMax = 20;

export interface TidyParts {
  dibs: Dibs;
  repository: Repository;
  place: Target;
  /** The root commit. */
  root: string;
  say(step: Step): void;
  stored<T>(call: () => Promise<T>): Promise<T>;
}

export class Tidier {
  private hasFinished = false;

  constructor(private readonly parts: TidyParts) {}

  /** `handed`: what was handed in, if the caller knows it. */
  async tidy(task: LandedTask, handed?: Handed): Promise<void> {
    const landed = branchOf(handed ?? (await this.handedIn(task)));
    const kept = landed && (await this.tidyBranch(landed));
    if (kept) this.parts.say({ step: "kept", message: kept });
  }

  /** Once: the lander before can have ended after its report of the last landing and before it had tidied. */
  async finishLast(): Promise<void> {
    if (this.hasFinished) return;
    this.hasFinished = true;
    const { dibs, place, root } = this.parts;
    const newest = { repository: root, target: place.target, limit: lastMax };
    const { landings } = await this.parts.stored(() => dibs.landings.list(newest));
    const last = landings.find(({ state }) => state === "landed");
    const left: LandedBranch[] = [];
    for (const task of last?.tasks ?? []) {
      const landed = branchOf(await this.handedIn(task));
      if (landed) left.push(landed);
    }
    // What cannot be tidied holds no landing.
    await this.tidyAgain(left).catch(() => undefined);
  }

  /** Nothing if the task was archived since. */
  private async handedIn({ project, taskId, submission: number }: LandedTask): Promise<Handed> {
    const { dibs, stored } = this.parts;
    try {
      return (await stored(() => dibs.tasks.submission({ project, taskId, number }))).submission;
    } catch (error) {
      if (!hasCode(error, "TASK_NOT_FOUND", "NOT_FOUND")) throw error;
      return { branch: null, commit: null };
    }
  }

  private async tidyAgain(left: readonly LandedBranch[]): Promise<void> {
    const { root } = this.parts.repository;
    const there = await this.onRemote(left);
    for (const landed of left) {
      if (there.has(refOf(landed)) || (await isOwnBranch(root, landed.branch))) await this.tidyBranch(landed);
    }
  }

  /** Which of the branches are on the remote. */
  private async onRemote(left: readonly LandedBranch[]): Promise<Set<string>> {
    const { repository, place } = this.parts;
    if (place.remote === null || left.length === 0) return new Set();
    const ask = ["ls-remote", place.remote, ...left.map(refOf)];
    const listed = await git(repository.root, ask, { timeoutMs: pushTimeoutMs });
    return new Set(listed.split("\n").map((line) => line.split("\t")[1] ?? ""));
  }

  /** Answers what was kept, and why. */
  private async tidyBranch(landed: LandedBranch): Promise<string | null> {
    const { repository, place } = this.parts;
    const isOwn = await isOwnBranch(repository.root, landed.branch);
    const kept = isOwn ? await tidyHere(repository, landed) : null;
    // A runner on another machine has pushed the branch: what git's config says about it is there.
    const isRunners = landed.branch.startsWith("dibs/") && landed.branch !== place.target;
    if (kept === null && (isOwn || isRunners)) await tidyRemote(repository.root, place, landed);
    return kept;
  }
}

const refOf = ({ branch }: LandedBranch) => `refs/heads/${branch}`;

const branchOf = ({ branch, commit }: Handed): LandedBranch | null =>
  branch === null || commit === null ? null : { branch, commit };

/** A branch is Dibs' own if git's config names its task. */
async function isOwnBranch(root: string, branch: string): Promise<boolean> {
  return (await gitOr(root, ["config", "--local", "--get", `branch.${branch}.dibs-task`])) !== null;
}

async function tidyHere(repository: Repository, landed: LandedBranch): Promise<string | null> {
  const { root } = repository;
  const { branch, commit } = landed;
  const ref = refOf(landed);
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

async function tidyRemote(root: string, { remote }: Target, landed: LandedBranch): Promise<void> {
  if (remote === null) return;
  const ref = refOf(landed);
  const args = ["push", "--quiet", `--force-with-lease=${ref}:${landed.commit}`, remote, `:${ref}`];
  await git(root, args, { timeoutMs: pushTimeoutMs }).catch(() => undefined);
}
