// What operations do before they run. All of it is recovery and upkeep: without it, answers show what dead
// processes left behind.

import { withoutLander } from "../core/landing.js";
import { endedOverlapNotices } from "../core/overlap.js";
import { withoutReviewer } from "../core/review.js";
import type { Caller } from "./environment.js";
import type { Executor } from "./execute.js";
import { freeDeadLocks } from "./locks.js";
import { catchUpIfWritable } from "./metrics/recorder.js";
import { endDeadHolder, endDeadHolders, endDeadSessionsShared, isHolderScanDue } from "./sweep.js";
import { dropExpiredTokens } from "./tokens.js";

interface CallOf<Input> {
  caller: Caller;
  input: Input;
}

type OnTask = CallOf<{ project?: string | undefined; taskId: string }>;

export function recoverTask(executor: Executor, { caller, input }: OnTask): Promise<void> {
  return endDeadHolder(executor, caller.org, input.project ?? caller.project, input.taskId);
}

export function recoverTasks(executor: Executor, { caller: { org } }: CallOf<unknown>) {
  return isHolderScanDue(executor, org) ? endDeadHolders(executor, org) : undefined;
}

export function recoverSessions(executor: Executor, { caller }: CallOf<unknown>): Promise<unknown> {
  return endDeadSessionsShared(executor, caller.org);
}

export async function recoverTaskAndSessions(executor: Executor, call: OnTask): Promise<void> {
  await recoverTask(executor, call);
  await recoverSessions(executor, call);
}

export function recoverLock(executor: Executor, { caller, input }: CallOf<{ name: string }>): Promise<void> {
  return freeDeadLocks(executor, caller.org, input.name);
}

export function removeExpiredTokens(executor: Executor, { caller }: CallOf<unknown>): Promise<void> {
  return dropExpiredTokens(executor, caller.org);
}

/** Metrics count live sessions, and the events up to now. */
export async function updateMetrics(executor: Executor, call: CallOf<unknown>): Promise<void> {
  await recoverSessions(executor, call);
  await catchUpIfWritable(executor, call.caller.org);
}

/** A lander can die after the submission, and reviewers can stay away: then the inbox says so. Ended overlaps leave it. */
export async function noteUnattended(
  executor: Executor,
  { caller: { org } }: Pick<CallOf<unknown>, "caller">,
): Promise<void> {
  const { projects, tasks, ended } = await executor.store.read(org, (view, now) => ({
    projects: withoutLander(view, now),
    tasks: withoutReviewer(view, now),
    ended: endedOverlapNotices(view),
  }));
  for (const { id } of projects) await executor.system(org, { type: "note-missing-lander", project: id });
  for (const { project, id: taskId } of tasks)
    await executor.system(org, { type: "ask-for-review", project, taskId });
  for (const { id } of ended) await executor.system(org, { type: "read-notification", id });
}
