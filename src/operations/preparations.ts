// What operations do before they run. All of it is recovery and upkeep: without it, answers show what dead
// processes left behind.

import { landerPid } from "../contract/host.js";
import { liveLeases, withoutLander } from "../core/landing.js";
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

async function recoverTaskAndSessions(executor: Executor, call: OnTask): Promise<void> {
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

/** Ends leases of landers that were killed on this host: what they would land waits for another one. */
export async function endDeadLanders(
  executor: Executor,
  { caller: { org } }: Pick<CallOf<unknown>, "caller">,
): Promise<void> {
  const { hostId, isAlive } = executor.environment;
  const leases = await executor.store.read(org, (view, now) => liveLeases(view, now));
  for (const { holder, host, repository, target, epoch } of leases) {
    const pid = host === hostId ? landerPid(holder) : null;
    if (pid === null || isAlive(pid, null)) continue;
    // Best effort: where nothing can be written, the lease ends by itself.
    await executor.system(org, { type: "release-lander", repository, target, epoch }).catch(() => null);
  }
}

export async function recoverToExplain(executor: Executor, call: OnTask): Promise<void> {
  await recoverTaskAndSessions(executor, call);
  await endDeadLanders(executor, call);
}

/** A lander can die after the submission, and reviewers can stay away: then the inbox says so. Ended overlaps leave it. */
export async function noteUnattended(
  executor: Executor,
  call: Pick<CallOf<unknown>, "caller">,
): Promise<void> {
  const { org } = call.caller;
  await endDeadLanders(executor, call);
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
