// An agent that reports by itself: what it hands in from the directory that it is in. In the worktree of its task that is what the
// runner would hand in; elsewhere in the project's repository it is the commit that is checked out.

import { realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { Dibs } from "../client/client.js";
import { DibsError } from "../contract/error.js";
import type { WireTask } from "../contract/shapes.js";
import { GitError, git, gitOr, withoutRepository } from "./git.js";
import { planOf } from "./landing-worktree.js";
import {
  changedSince,
  type HandedIn,
  type Handing,
  handIn,
  keepAndPush,
  NotSubmittable,
} from "./submission.js";
import { type LandSettings, refuseOtherRepository, type Target, targetRef, tipOfTarget } from "./target.js";
import { isOwnedBy, mainWorktreeOf, type Place, roomOf } from "./worktree.js";

interface Holder {
  taskId: string;
  sessionId: string;
  epoch?: number;
}

export interface Reporting {
  cwd: string;
  dibs: Dibs;
  holder: Holder;
  env: Readonly<Record<string, string | undefined>>;
  /** The commit to hand in, instead of what is in the directory. */
  commit?: string | undefined;
}

export interface Found {
  /** Null: there is nothing to hand in. */
  change: HandedIn | null;
  /** False: the directory is not in the project's repository, so that nobody looked for a change. */
  isKnown: boolean;
}

/** Undefined: the work does not land, or the session does not hold the task, which the store says best. */
export async function handInFrom(reporting: Reporting): Promise<Found | undefined> {
  const { cwd, dibs, holder, env } = reporting;
  const { task } = await dibs.tasks.get({ taskId: holder.taskId });
  if (!isHeldBy(task, holder)) return undefined;
  const { target, settings } = await planOf(dibs, task.project);
  if (!target) return undefined;
  // What is handed in for an attempt that has ended must not take the place of its successor's.
  const confirm = async () => void (await dibs.tasks.heartbeat(holder));
  const handing = { task, target, env: { ...env, ...withoutRepository }, confirm };
  try {
    const place = reporting.commit === undefined ? await placeOf(cwd, task) : null;
    if (place) return { change: await handIn(place, handing), isKnown: true };
    if (reporting.commit === undefined) refuseElsewhere(task);
    const root = await rootOf(cwd);
    if (root !== null && reporting.commit !== undefined) await refuseOtherRepository(root, settings.land);
    if (root === null || !(await isProjects(root, settings.land, target)))
      return { change: null, isKnown: false };
    return { change: await checkedOut(root, reporting, handing), isKnown: true };
  } catch (error) {
    if (!(error instanceof NotSubmittable) && !(error instanceof GitError)) throw error;
    throw new DibsError("INVALID_STATE", `Task ${task.id} cannot be handed in: ${error.message}`, {
      hint: "Run: git status",
      details: { taskId: task.id, isHandIn: true },
    });
  }
}

function isHeldBy({ claim, state }: WireTask, { sessionId, epoch }: Holder): boolean {
  const isOpen = state === "claimed" || state === "running";
  return isOpen && claim?.sessionId === sessionId && (epoch === undefined || claim.epoch === epoch);
}

/** Its change is in the worktree; what is checked out here is somebody else's. */
function refuseElsewhere({ id, claim }: WireTask): void {
  if (claim?.metadata?.runner === undefined) return;
  throw new DibsError(
    "INVALID_STATE",
    `Task ${id} has a worktree, and this directory is not in it. Its changes are submitted when the agent ends.`,
    {
      hint: `End with exit code 0, or run in the worktree: dibs done ${id}`,
      details: { taskId: id, isHandIn: true },
    },
  );
}

const rootOf = (cwd: string) => gitOr(cwd, ["rev-parse", "--show-toplevel"]).catch(() => null);

/** Whether the repository has the project's root commit; until a lander has recorded that, the target branch. */
async function isProjects(root: string, land: LandSettings, target: Target): Promise<boolean> {
  const known = land.repository ?? targetRef(target);
  return (await gitOr(root, ["rev-parse", "--verify", "--quiet", `${known}^{commit}`])) !== null;
}

/** The named commit, or HEAD with its branch, if it has something that the target does not have. */
async function checkedOut(root: string, reporting: Reporting, handing: Handing): Promise<HandedIn | null> {
  const { commit: named } = reporting;
  const { target, task } = handing;
  const branch =
    named === undefined ? await gitOr(root, ["symbolic-ref", "--quiet", "--short", "HEAD"]) : null;
  if (named === undefined) await refuseChanges(root, task, branch === target.target);
  const words = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${named ?? "HEAD"}^{commit}`];
  const commit = await gitOr(root, words);
  if (commit === null && named !== undefined)
    throw new DibsError("VALIDATION_FAILED", `Commit ${named} not found in ${root}.`, {
      hint: "Run: git log",
    });
  if (commit === null) return null;
  await tipOfTarget(root, target);
  const base = await changedSince(root, { target, commit });
  if (base === null) return null;
  await keepAndPush(root, commit, handing);
  return { commit, base, ...(branch === null ? {} : { branch }) };
}

const namedMax = 3;

/** What is not committed would stay here, and the task be completed without it. */
async function refuseChanges(root: string, { id }: Pick<WireTask, "id">, isOnTarget: boolean): Promise<void> {
  const words = ["status", "--porcelain", "-z", "--no-renames", "--", ".", ":(top,exclude).dibs"];
  const files = (await git(root, words)).split("\0").flatMap((line) => (line ? [line.slice(3)] : []));
  if (files.length === 0) return;
  // Only the lander moves the target.
  const first = isOnTarget ? `git switch -c task-${id} && ` : "";
  const more = files.length > namedMax ? ` and ${files.length - namedMax} more` : "";
  throw new DibsError(
    "INVALID_STATE",
    `Nothing was handed in for task ${id}: ${files.slice(0, namedMax).join(", ")}${more} in ${root} is not committed.`,
    {
      hint: `Run: ${first}git add --all && git commit, then the command again. Without these files: dibs submit ${id} --commit HEAD`,
      details: { taskId: id, isHandIn: true, files: files.slice(0, 100) },
    },
  );
}

async function placeOf(cwd: string, task: WireTask): Promise<Place | null> {
  const root = await mainWorktreeOf(cwd).catch(() => null);
  const path = root && (await gitOr(cwd, ["rev-parse", "--path-format=absolute", "--show-toplevel"]));
  if (!root || !path || realpathSync(dirname(path)) !== realpathOr(roomOf(root))) return null;
  const branch = `dibs/${basename(path)}`;
  return (await isOwnedBy(root, branch, task)) ? { root, path, branch } : null;
}

function realpathOr(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
