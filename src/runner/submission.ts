// What an attempt hands in when its command has succeeded: everything in the worktree is committed, and a ref keeps it.

import type { WireTask } from "../contract/shapes.js";
import { commitRest, passHooks, unfinished } from "./commit-rest.js";
import { GitError, git, gitOr } from "./git.js";
import { conflictsOfMerges, inProgress, unmergedPaths, withMarkers } from "./merge.js";
import { keepCommit, pushCommit } from "./submission-ref.js";
import { submissionRef, type Target, targetRef } from "./target.js";
import type { Place } from "./worktree.js";
import { readRecord, writeRecord } from "./worktree-record.js";

export interface HandedIn {
  commit: string;
  base: string;
  branch?: string;
}

export interface Handing {
  task: Pick<WireTask, "project" | "id" | "title" | "submission">;
  target: Target;
  env: Readonly<Record<string, string | undefined>>;
  /** Throws if the claim is no longer held. */
  confirm?: () => Promise<void>;
}

/** The change cannot be handed in as it is: the attempt fails. */
export class NotSubmittable extends Error {
  override name = "NotSubmittable";
}

/** Null: nothing was changed. */
export async function handIn(place: Place, handing: Handing): Promise<HandedIn | null> {
  const { root, path, branch } = place;
  const { task, target, env } = handing;
  await refuseUnfinished(path, target);
  // Then everything goes through the hooks together: they must not see what was repaired since.
  const isUnchecked = await hasUnchecked(path, target);
  const rest = { message: task.title, env, hasHooks: !isUnchecked };
  await refusedAs("git commit", () => commitRest(path, rest));
  const base = await changedSince(path, { target, commit: "HEAD" });
  if (base === null) return null;
  if (isUnchecked) {
    await refusedAs("git commit", () => passHooks(path, { base, message: task.title, env }));
    await writeRecord(path, { isUnchecked: false });
  }
  const commit = await git(path, ["rev-parse", "HEAD"]);
  await refuseCopied(path, { base, commit });
  await keepAndPush(path, commit, handing, branch);
  const tip = await gitOr(root, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}`]);
  // The command may have left another branch, or none, checked out.
  return tip === commit || target.remote !== null ? { commit, base, branch } : { commit, base };
}

/** What a commit has in common with the target; null: it changes nothing. */
export async function changedSince(
  path: string,
  { target, commit }: { target: Target; commit: string },
): Promise<string | null> {
  const base = await gitOr(path, ["merge-base", targetRef(target), commit]);
  if (base === null) throw new NotSubmittable(`The branch has no commit in common with ${target.target}.`);
  return (await treeOf(path, base)) === (await treeOf(path, commit)) ? null : base;
}

/** Before the report: whatever becomes of its branch, a ref keeps what is handed in, and the lander finds it. */
export async function keepAndPush(
  path: string,
  commit: string,
  { task, target: { remote }, env, confirm }: Handing,
  branch?: string,
): Promise<void> {
  const ref = submissionRef(task.project, task.id, (task.submission?.number ?? 0) + 1);
  await confirm?.();
  await keepCommit(path, { ref, commit });
  if (remote === null) return;
  const pushed = { ref, commit, remote, branch };
  await refusedAs(`git push ${remote}`, () => pushCommit(path, pushed, { env, timeoutMs: pushTimeoutMs }));
}

/** A submission without its ref, because another program sent it. */
export async function keepSubmission(
  root: string,
  { project, id, submission }: Pick<WireTask, "project" | "id" | "submission">,
): Promise<void> {
  if (!submission?.commit) return;
  const ref = submissionRef(project, id, submission.number);
  await keepCommit(root, { ref, commit: submission.commit }).catch((error) => {
    // A commit that is in another repository cannot be kept here.
    if (!(error instanceof GitError)) throw error;
  });
}

const pushTimeoutMs = 5 * 60_000;

/** The record is gone with a worktree that was removed by hand; the branch stays. */
async function hasUnchecked(path: string, target: Target): Promise<boolean> {
  if ((await readRecord(path)).isUnchecked) return true;
  const subjects = await gitOr(path, ["log", "--format=%s", `${targetRef(target)}..HEAD`]);
  return (subjects ?? "").split("\n").includes(unfinished);
}

const treeOf = (path: string, commit: string) => git(path, ["rev-parse", `${commit}^{tree}`]);

async function refuseUnfinished(path: string, target: Target): Promise<void> {
  const { conflicts } = await readRecord(path);
  const known = [...conflicts, ...(await conflictsOfMerges(path, targetRef(target)))];
  const left = [...new Set([...(await unmergedPaths(path)), ...withMarkers(path, known)])];
  if (left.length > 0) {
    // The next attempt is told.
    await writeRecord(path, { conflicts: left });
    throw new NotSubmittable(`conflict in ${left[0]} not resolved`);
  }
  const operation = await inProgress(path);
  if (operation === "rebase" || operation === "bisect")
    throw new NotSubmittable(`git ${operation} is in progress and not finished`);
}

/** The command can have committed them itself. */
async function refuseCopied(path: string, { base, commit }: { base: string; commit: string }): Promise<void> {
  const { copied } = await readRecord(path);
  if (copied.length === 0) return;
  const changed = await git(path, ["diff", "--name-only", "--no-renames", "-z", base, commit]);
  const isCopied = new Set(copied);
  const found = changed.split("\0").find((file) => isCopied.has(file));
  if (found === undefined) return;
  throw new NotSubmittable(
    `${found} is committed, but it was copied here by worktree.copy. Remove it from the commits.`,
  );
}

const outputMax = 4_000;

/** By a hook, or by the remote. */
async function refusedAs<T>(what: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    throw new NotSubmittable(`${what} failed:\n${error.stderr.trim().slice(-outputMax)}`);
  }
}
