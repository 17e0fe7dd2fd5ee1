// Closing a claim and what follows from it: back to the queue, over for good, or lost once too often.

import { type Attempt, type AttemptAnswer, type AttemptEnd, type Claim, workedMs } from "../claim.js";
import type { Draft } from "../draft.js";
import { beginningOf, limits } from "../limits.js";
import { isReady, type Task, type TaskResult } from "../task.js";
import { giveResourcesBack } from "./take.js";

export interface Ending {
  end: AttemptEnd;
  reason: string;
  result?: TaskResult | null;
  error?: string | null;
  answer?: AttemptAnswer;
}

/** Closes the open claim as an attempt and returns the task, at rest, for the caller to change and put. */
export function closeClaim(draft: Draft, task: Task, claim: Claim, ending: Ending): Task {
  // Field by field: taking the claim apart with a rest pattern cost as much as the rest of the decision.
  const attempt: Attempt = {
    project: claim.project,
    taskId: claim.taskId,
    sessionId: claim.sessionId,
    epoch: claim.epoch,
    state: claim.state,
    agentType: claim.agentType,
    claimedAt: claim.claimedAt,
    startedAt: claim.startedAt,
    expiresAt: claim.expiresAt,
    ttlMs: claim.ttlMs,
    lastHeartbeat: claim.lastHeartbeat,
    heartbeatCount: claim.heartbeatCount,
    progress: claim.progress,
    metadata: claim.metadata,
    uses: claim.uses,
    usage: claim.usage,
    updatedAt: draft.now,
    end: ending.end,
    releasedAt: draft.now,
    releaseReason: ending.reason,
    result: ending.result ?? null,
    error: ending.error ?? null,
    lateResult: null,
    unreported: null,
    answer: ending.answer ?? null,
  };
  if (claim.uses) attempt.unreported = giveResourcesBack(draft, attempt);
  draft.putAttempt(attempt);
  draft.dropClaim(claim);
  remember(draft, attempt);
  return { ...task, epoch: claim.epoch, startedAt: claim.startedAt, updatedAt: draft.now };
}

/** A reason as a short line: it may be anybody's text. */
function plain(reason: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out.
  return beginningOf(reason, 100).replace(/[\u0000-\u001f]+/g, " ");
}

function remember(
  draft: Draft,
  { project, sessionId, taskId, claimedAt, releasedAt, end, releaseReason }: Attempt,
): void {
  const known = draft.record(project, sessionId);
  const past = { taskId, claimedAt, releasedAt, releaseReason: plain(releaseReason) };
  draft.putRecord({
    project,
    id: sessionId,
    completed: (known?.completed ?? 0) + (end === "complete" ? 1 : 0),
    history: [past, ...(known?.history ?? [])].slice(0, limits.historyMax),
  });
}

/** Adds to a closed attempt what its closing call answers, and what people were told of it, once that is known. */
export function rememberAnswer(draft: Draft, claim: Claim, answer: AttemptAnswer): void {
  const attempt = draft.attempt(claim.project, claim.taskId, claim.epoch);
  if (attempt) draft.putAttempt({ ...attempt, answer });
}

/** `readyAt` as it must be for a task without a holder. */
export function withReadiness(draft: Draft, task: Task, { keep }: { keep: boolean }): Task {
  const ready = isReady(task, undefined);
  if (!ready) return { ...task, readyAt: null };
  const notBefore = task.notBefore ?? 0;
  const since = keep && task.readyAt !== null ? task.readyAt : draft.now;
  return { ...task, readyAt: Math.max(since, notBefore) };
}

/** Back to the queue, in its old place. */
export function requeue(draft: Draft, task: Task): Task {
  return draft.putTask(withReadiness(draft, { ...task, state: "queued", startedAt: null }, { keep: true }));
}

export function failForGood(draft: Draft, task: Task, error: string): Task {
  return draft.putTask({
    ...task,
    state: "failed",
    error,
    endedAt: draft.now,
    readyAt: null,
    question: null,
    responsePending: false,
  });
}

/** The holder is gone. An open question stays open: the human's answer must still land. */
export function lose(
  draft: Draft,
  task: Task,
  claim: Claim,
  how: { end: "expire" | "orphan"; reason: string },
): void {
  const on = { project: task.project, taskId: task.id, sessionId: claim.sessionId, epoch: claim.epoch };
  // Every way for a session to be dead is the same to whoever waits for the task; `cause` tells them apart.
  const data = how.end === "expire" ? { reason: how.reason } : { reason: "session_dead", cause: how.reason };
  const type = how.end === "expire" ? "task:claim-expired" : "task:claim-orphaned";
  if (claim.state === "awaiting_response") {
    const rest = closeClaim(draft, task, claim, { end: "abandon", reason: how.reason });
    draft.putTask({ ...rest, state: "awaiting_response", readyAt: null });
    draft.emit(type, { ...on, actor: "system", data: { ...data, state: "awaiting_response" } });
    return;
  }
  const lostCount = task.lostCount + 1;
  const rest = { ...closeClaim(draft, task, claim, how), lostCount };
  const { maxLost } = draft.project(task.project).settings;
  const from = claim.state;
  if (lostCount < maxLost) {
    draft.emit(type, { ...on, actor: "system", data: { ...data, lostCount, from, to: "queued" } });
    requeue(draft, rest);
    return;
  }
  draft.emit(type, { ...on, actor: "system", data: { ...data, lostCount } });
  const failed = failForGood(draft, rest, "WORKER_LOST");
  draft.emit("task:failed", {
    ...on,
    actor: "system",
    data: { ...data, error: "WORKER_LOST", lostCount, from, durationMs: workedMs(claim, draft.now) },
  });
  const told = draft.notify("WORKER_LOST", {
    task: failed,
    title: "Worker lost",
    message: `Task ${task.id} lost its worker ${lostCount} times in a row, last ${claim.sessionId} (${how.reason}).`,
  });
  rememberAnswer(draft, claim, { told: told.id });
}
