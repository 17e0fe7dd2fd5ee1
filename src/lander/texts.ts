// What a lander reports in words. Paths, logs and what git says can be of any length and any bytes: every text is bounded and
// well-formed here, so that the store takes it.

import { shellWord } from "../client/view/shell.js";
import type { GitError } from "../runner/git.js";
import type { CheckResult } from "./checks.js";
import { type Hold, saidByGit, shortSha } from "./hold.js";
import type { Queued } from "./submissions.js";

const detailMax = 8_000;
const messageMax = 4_000;
const fixMax = 900;
const logMax = 3_000;
const pathMax = 300;
const holdsMax = 50;
export const tasksMax = 50;

/** Half of a surrogate pair and NUL have no place in a store. */
const plain = (text: string, max: number) => text.slice(0, max).replaceAll("\0", "\ufffd").toWellFormed();

export function conflictText(paths: readonly string[], target: string, tip: string): string {
  const named = paths
    .slice(0, 20)
    .map((path) => plain(path, pathMax))
    .join(", ");
  const more = paths.length > 20 ? ` and ${paths.length - 20} more` : "";
  return plain(`Conflict with ${target} (${shortSha(tip)}) in ${named}${more}.`, detailMax);
}

export function failureText({ name, state, exitCode, logTail }: CheckResult): string {
  const how = state === "timed-out" ? "timed out" : `exited with code ${exitCode}`;
  return plain(`Check ${name} ${how}.\n${logTail.slice(-logMax)}`, detailMax);
}

/** A check's log, as it is recorded. */
export const recorded = (result: CheckResult): CheckResult => ({
  ...result,
  logTail: plain(result.logTail, detailMax),
});

export const taskName = ({ project, taskId }: Pick<Queued, "project" | "taskId">) => ({ project, taskId });

export function missingCommit(queued: Queued, error: unknown): Hold {
  const { taskId, commit } = queued;
  return {
    reason: "COMMIT_MISSING",
    message: `Commit ${shortSha(commit!)} of task ${taskId} cannot be merged: ${saidByGit(error)}`,
    fix: `dibs withdraw ${taskId}`,
    tasks: [taskName(queued)],
  };
}

export function notACommit(queued: Queued): Hold {
  const { taskId, commit } = queued;
  return {
    reason: "COMMIT_INVALID",
    message: `Task ${taskId} was submitted with ${JSON.stringify(commit!.slice(0, 80))}, which is no whole commit id.`,
    fix: `dibs withdraw ${taskId}`,
    tasks: [taskName(queued)],
  };
}

export function dirtyHold(queued: Queued, path: string, checkout: string): Hold {
  return {
    reason: "CHECKOUT_DIRTY",
    message: `Task ${queued.taskId} changes ${path}, which has uncommitted changes or is in the way in ${checkout}.`,
    fix: `git -C ${shellWord(checkout)} status -- ${shellWord(path)}`,
    tasks: [taskName(queued)],
  };
}

export function refusedReport(queued: Queued, error: Error): Hold {
  const { taskId } = queued;
  return {
    reason: "REPORT_REFUSED",
    message: `What became of task ${taskId} cannot be recorded: ${error.message}`,
    fix: `dibs withdraw ${taskId}`,
    tasks: [taskName(queued)],
  };
}

export function gitFailed(error: GitError): Hold {
  return { reason: "GIT_FAILED", message: `Git failed: ${saidByGit(error)}`, fix: "dibs land --once" };
}

export function otherRemote(project: string, own: string): Hold {
  return {
    reason: "OTHER_REMOTE",
    message: `Projects ${own} and ${project} land on the same branch, and their land.remote differs.`,
    fix: `dibs project set land.remote origin --project ${project}`,
  };
}

/** One inbox item each would be too many. */
export function reportable(holds: readonly Hold[]): Hold[] {
  if (holds.length <= holdsMax) return holds.map(short);
  const rest = holds.slice(holdsMax - 1);
  const tasks = rest.flatMap((hold) => hold.tasks ?? []);
  const message = `${rest.length} more submissions are held, for example: ${rest[0]!.message}`;
  const more = { reason: "MORE_HELD", message, fix: "dibs list -s submitted", tasks };
  return [...holds.slice(0, holdsMax - 1), more].map(short);
}

/** A command that was cut would do something else. */
function short({ message, fix, tasks, ...hold }: Hold): Hold {
  const isWhole = fix !== undefined && fix.length <= fixMax;
  return {
    ...hold,
    message: plain(message, messageMax),
    ...(isWhole ? { fix: plain(fix, fixMax) } : {}),
    ...(tasks ? { tasks: tasks.slice(0, tasksMax) } : {}),
  };
}

/** Holds as text, to compare them. With `numberOf`, the hold of a task that was submitted again is a new one. */
export const holdsText = (
  holds: readonly Pick<Hold, "reason" | "message" | "tasks">[],
  numberOf: (task: { project: string; taskId: string }) => number | undefined = () => undefined,
) =>
  JSON.stringify(
    holds.map(({ reason, message, tasks = [] }) => [
      reason,
      message,
      tasks.map((task) => [task.project, task.taskId, numberOf(task) ?? 0]),
    ]),
  );
