// What ends a submission: it is landed, returned, withdrawn or cancelled. Everything handed in is kept.

import type { WithdrawCommand } from "../command.js";
import { isCostKnown } from "../cost.js";
import type { Draft } from "../draft.js";
import {
  countSubmitted,
  flakyCount,
  type Hold,
  isNotLanded,
  isSameTask,
  type Landing,
  landingPlace,
  leaseOf,
  putLease,
  putSubmission,
  type ReturnReason,
  type Submission,
  type SubmissionEnd,
  submissionOf,
  submittedCount,
  type TaskName,
} from "../landing.js";
import { beginningOf, limits } from "../limits.js";
import { accept, assert, type Outcome, type Refusal, refuse } from "../refusal.js";
import { stateOf, type Task } from "../task.js";
import { requeue } from "./close.js";
import { setFree } from "./finish.js";
import { noSuchTask } from "./holder.js";
import { markRead, notifyCompleted } from "./notification.js";

export function withdraw(draft: Draft, command: WithdrawCommand): Outcome<null> {
  const { project, taskId, reason } = command;
  const task = draft.task(project, taskId);
  if (!task) return noSuchTask(draft, project, taskId);
  if (task.state !== "submitted") {
    const state = stateOf(task, draft.claim(project, taskId));
    return refuse("INVALID_STATE", `Task ${taskId} is ${state}; only a submitted task can be withdrawn.`, {
      hint: `Run: dibs show ${taskId}`,
      details: { taskId, state },
    });
  }
  const refusal = landingNow(task);
  if (refusal) return refusal;
  endSubmission(draft, task, { as: "withdrawn", reason: reason ?? null, detail: null });
  endHolds(draft, task);
  requeue(draft, { ...task, updatedAt: draft.now });
  draft.emit("task:withdrawn", {
    project,
    taskId,
    data: { submission: task.submission!.number, ...(reason === undefined ? {} : { reason }) },
  });
  return accept(null);
}

/** From the recorded intent until the landing is settled, nothing else moves the task. */
export function landingNow({ id: taskId, submission }: Task): Refusal | null {
  if (!submission?.landing) return null;
  return refuse("LANDING_NOW", `Task ${taskId} is being landed by ${submission.landing}.`, {
    hint: `Try again in a moment. Run: dibs show ${taskId}`,
    details: { taskId, landing: submission.landing },
  });
}

export function endSubmission(draft: Draft, task: Task, end: Omit<SubmissionEnd, "at">): Submission {
  const submission = submissionOf(draft, task);
  assert(submission, `the submission of ${task.id} exists`);
  const detail = end.detail && beginningOf(end.detail, limits.detailLengthMax);
  const ended = { ...withoutNotice(draft, submission), end: { ...end, detail, at: draft.now } };
  putSubmission(draft, task, ended);
  countSubmitted(draft, task.project, -1);
  if (submittedCount(draft, task.project) === 0) closeMissingLander(draft, task.project);
  return ended;
}

/** Nobody needs to review it any more: its notification leaves the inbox. */
export function withoutNotice(draft: Draft, submission: Submission): Submission {
  if (submission.reviewNotice === null) return submission;
  markRead(draft, submission.reviewNotice);
  return { ...submission, reviewNotice: null };
}

/** Holds name what waits; one that names no task any more is gone, with its inbox item. */
export function withoutTasks(draft: Draft, holds: readonly Hold[], settled: readonly TaskName[]): Hold[] {
  return holds.flatMap((hold) => {
    if (hold.tasks.length === 0) return [hold];
    const tasks = hold.tasks.filter((task) => !settled.some((each) => isSameTask(each, task)));
    if (tasks.length > 0) return [{ ...hold, tasks }];
    markRead(draft, hold.notificationId);
    return [];
  });
}

/** A task that does not wait any more is not held. */
export function endHolds(draft: Draft, { project, id: taskId }: Task): void {
  const place = landingPlace(draft.project(project));
  const lease = place && leaseOf(draft, place);
  if (!lease || lease.holds.length === 0) return;
  putLease(draft, { ...lease, holds: withoutTasks(draft, lease.holds, [{ project, taskId }]) });
}

/** Nothing waits for a lander any more: its notification leaves the inbox. */
function closeMissingLander(draft: Draft, project: string): void {
  const place = landingPlace(draft.project(project));
  const lease = place && leaseOf(draft, place);
  if (!lease?.missingId) return;
  markRead(draft, lease.missingId);
  putLease(draft, { ...lease, missingId: null });
}

/** submitted → queued; after too many returns a person is asked. */
export function returnTask(
  draft: Draft,
  task: Task,
  { reason, detail }: { reason: ReturnReason; detail: string | null },
): void {
  const { project, id: taskId } = task;
  const { number, checks } = endSubmission(draft, task, { as: "returned", reason, detail });
  const flaky = flakyCount(checks);
  const returnCount = task.returnCount + 1;
  const rounds = (task.submission!.rounds ?? 0) + (reason === "changes-requested" ? 1 : 0);
  const { returnsMax, reviewRoundsMax } = draft.project(project).settings.land;
  const asks = returnCount > returnsMax || rounds > reviewRoundsMax;
  draft.emit("task:returned", {
    project,
    taskId,
    data: {
      submission: number,
      reason,
      returnCount,
      ...(flaky > 0 ? { flaky } : {}),
      ...(asks ? {} : { to: "queued" }),
    },
  });
  const submission = { ...task.submission!, ...(rounds > 0 ? { rounds } : {}) };
  const returned = { ...task, submission, returnCount, updatedAt: draft.now };
  if (asks) askPerson(draft, returned, reason);
  else requeue(draft, returned);
}

const tryAgain = "try again";
const giveUp = "cancel";

/** Whether a person wants the task cancelled instead of returned once more. */
export const wantsCancel = (response: string) => response.trim().toLowerCase() === giveUp;

function askPerson(draft: Draft, task: Task, reason: ReturnReason): void {
  const { project, id: taskId, returnCount } = task;
  const number = draft.nextNotificationNumber();
  const text = `Task ${taskId} was returned ${returnCount} times, last because of ${inWords[reason]}. Try again? Any answer but ${giveUp} goes to the next attempt.`;
  const options = [tryAgain, giveUp];
  const question = { id: `q${number}`, text, options, askedAt: draft.now, aboutLanding: true };
  draft.putTask({ ...task, state: "awaiting_response", question, response: null, readyAt: null });
  draft.emit("task:awaiting-response", {
    project,
    taskId,
    actor: "system",
    data: { questionId: question.id, question: text, from: "submitted" },
  });
  draft.notify("TASK_AWAITING_RESPONSE", { task, number, title: "Task needs response", message: text });
}

const inWords: Record<ReturnReason, string> = {
  conflict: "a merge conflict",
  "check-failed": "a failed check",
  "changes-requested": "requested changes",
};

/** submitted → completed: its change is on the target, or there was none. Returns the tasks that became ready. */
export function landTask(draft: Draft, task: Task, own: string | null, landing: Landing): string[] {
  const { project, id: taskId } = task;
  const { target } = landing;
  // A change is on the target under its own commit, or within the tip; only a submission without one lands nothing.
  const commit = task.submission!.commit === null ? null : (own ?? landing.commit);
  const ended = endSubmission(draft, task, { as: "landed", reason: null, detail: commit });
  const { submittedBy: sessionId, epoch, durationMs, number } = ended;
  const done = draft.putTask({
    ...task,
    state: "completed",
    endedAt: draft.now,
    updatedAt: draft.now,
    readyAt: null,
    submission: { ...task.submission!, landing: null },
    landed: commit === null ? null : { commit, target, at: draft.now },
    noChange: commit === null,
  });
  const by = { project, taskId, sessionId, epoch };
  // The checks ran once for all tasks of the landing.
  const flaky = isSameTask(landing.tasks[0]!, { project, taskId }) ? flakyCount(landing.checks) : 0;
  const waitedMs = Math.max(0, draft.now - task.submission!.firstSubmittedAt);
  draft.emit("task:landed", {
    ...by,
    data: { submission: number, commit, target, waitedMs, ...(flaky > 0 ? { flaky } : {}) },
  });
  draft.emit("task:completed", {
    ...by,
    data: {
      reason: "landed",
      from: "submitted",
      durationMs,
      ...(isNotLanded(done) ? { notLanded: true } : {}),
      ...(isCostKnown(done) ? { costKnown: true } : {}),
    },
  });
  const known = draft.record(project, sessionId);
  if (known) draft.putRecord({ ...known, completed: known.completed + 1 });
  const freed = setFree(draft, done);
  notifyCompleted(draft, done, ended.summary ?? "");
  return freed;
}
