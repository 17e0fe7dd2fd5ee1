// Who may act on a held task. Every move of a holder starts here, so that all are refused alike and in one order.

import { archivedAt } from "../archive.js";
import type { Attempt, AttemptEnd, Claim, HeldState } from "../claim.js";
import type { ByHolder } from "../command.js";
import type { Draft } from "../draft.js";
import { beginningOf, limits, seenStepMs } from "../limits.js";
import { type Code, type Refusal, refuse } from "../refusal.js";
import { recordedReviews } from "../review.js";
import { isLive, type Session } from "../session.js";
import type { Task, TaskResult } from "../task.js";
import {
  heldByOther,
  holderNotFound,
  notClaimed,
  otherEpoch,
  ownAttemptEnded,
  reviewedOnly,
  waitsForAnswer,
} from "./not-holder.js";

export interface Holding {
  ok: true;
  task: Task;
  claim: Claim;
  session: Session;
}

export function taskNotFound(view: Pick<Draft, "task">, project: string, taskId: string): Refusal {
  const padded = taskId.padStart(4, "0");
  const isMeant = /^\d{1,3}$/.test(taskId) && view.task(project, padded) !== undefined;
  return refuse("TASK_NOT_FOUND", `Task ${taskId} not found.`, {
    hint: `${isMeant ? `Did you mean ${padded}? ` : ""}Run: dibs list`,
    details: { taskId },
  });
}

/** The same for what people ask for, who may look for a task that was archived. (What a holder has in hand was not.) */
export function noSuchTask(view: Pick<Draft, "document" | "task">, project: string, taskId: string): Refusal {
  const at = archivedAt(view, project, taskId);
  if (at === null) return taskNotFound(view, project, taskId);
  return refuse("TASK_NOT_FOUND", `Task ${taskId} was archived.`, {
    hint: "It was archived at {archivedAt}, with its attempts. An export or a backup from before has it.",
    details: { taskId, archivedAt: at },
  });
}

export function sessionNotFound(sessionId: string): Refusal {
  return refuse("SESSION_NOT_FOUND", `Session ${sessionId} does not exist or has ended.`, {
    hint: `Register it, or claim a task: dibs claim --session ${sessionId}`,
    details: { sessionId },
  });
}

/** The caller as holder of the task's open claim, in one of the allowed states, or the refusal. */
export function holderOf(
  draft: Draft,
  command: ByHolder & { type?: string },
  allowed: readonly HeldState[],
): Holding | Refusal {
  const { project, taskId, sessionId, epoch } = command;
  const task = draft.task(project, taskId);
  if (!task) return taskNotFound(draft, project, taskId);
  const session = draft.session(project, sessionId);
  const claim = draft.claim(project, taskId);
  if (!isLive(session)) return holderNotFound(task, claim, command);
  if (!claim) return nothingHeld(draft, task, command);
  if (claim.sessionId !== sessionId) return heldByOther(claim, command);
  if (epoch !== undefined && epoch !== claim.epoch) return otherEpoch(claim, epoch);
  if (!allowed.includes(claim.state)) return waitsForAnswer(claim, command);
  return { ok: true, task, claim: seen(draft, session, claim), session };
}

function nothingHeld(draft: Draft, task: Task, command: ByHolder): Refusal {
  const { sessionId, epoch } = command;
  const last = lastAttempt(draft, task);
  const isOwn = last?.sessionId === sessionId && (epoch === undefined || epoch === last.epoch);
  return (
    (isOwn ? ownAttemptEnded(task, last, command) : null) ??
    (isReviewing(draft, task, sessionId) ? reviewedOnly(task, sessionId) : notClaimed(task, sessionId))
  );
}

function isReviewing(draft: Draft, { project, id, state }: Task, sessionId: string): boolean {
  if (state !== "submitted") return false;
  return recordedReviews(draft, { project, id: sessionId }).some(({ taskId }) => taskId === id);
}

/** The attempt that ended last, if nobody has claimed since. */
function lastAttempt(draft: Draft, task: Task): Attempt | undefined {
  return task.epoch > 0 ? draft.attempt(task.project, task.id, task.epoch) : undefined;
}

/**
 * The session was heard of: its silence, and that of what it holds, counts from now. In steps, so that a call which changes
 * nothing else writes nothing: a waiting claim would wake itself.
 */
export function touch(draft: Draft, session: Session, { exact = false } = {}): Session {
  const { orphanThresholdMs } = draft.project(session.project).settings.claim;
  const stepMs = exact ? 1 : Math.min(seenStepMs, Math.floor(orphanThresholdMs / 4));
  const silentAt = draft.now + orphanThresholdMs;
  if (session.heartbeats) {
    for (const { taskId } of draft.view.claimsOf(session.project, session.id)) {
      const claim = draft.claim(session.project, taskId);
      if (claim?.sessionId !== session.id || Math.abs(silentAt - (claim.silentAt ?? 0)) < stepMs) continue;
      draft.putClaim({ ...claim, silentAt });
    }
  }
  if (Math.abs(draft.now - session.lastSeenAt) < stepMs) return session;
  return draft.putSession({ ...session, lastSeenAt: draft.now });
}

/** A holder acts: where silence matters, it counts from this very instant. */
function seen(draft: Draft, session: Session, { project, taskId }: Claim): Claim {
  touch(draft, session, { exact: session.heartbeats });
  return draft.claim(project, taskId)!;
}

/** The same call was accepted before: the attempt it closed, whose answer is to be repeated. */
export function repeated(
  draft: Draft,
  command: ByHolder,
  ...ends: readonly AttemptEnd[]
): Attempt | undefined {
  const { project, taskId, sessionId, epoch } = command;
  const task = draft.task(project, taskId);
  if (!task || !isLive(draft.session(project, sessionId))) return undefined;
  const claim = draft.claim(project, taskId);
  if (claim && (epoch === undefined || epoch === claim.epoch)) return undefined;
  const attempt = draft.attempt(project, taskId, epoch ?? task.epoch);
  return attempt?.sessionId === sessionId && ends.includes(attempt.end) ? attempt : undefined;
}

const tooLate: readonly Code[] = [
  // A worker that was taken for dead, or ended by somebody else, has worked all the same.
  "SESSION_NOT_FOUND",
  "TASK_CANCELLED",
  "CLAIM_EXPIRED",
  "TASK_NOT_CLAIMED",
  "NOT_CLAIM_OWNER",
  "STALE_EPOCH",
];

/** Work that came too late: kept on the closed attempt for a human to see, never applied. */
export function keepLate(
  draft: Draft,
  command: ByHolder,
  { code }: Refusal,
  late: { result: TaskResult | null; error: string | null },
): void {
  if (!tooLate.includes(code)) return;
  const { project, taskId, sessionId, epoch } = command;
  const ofEpoch =
    epoch ??
    draft.view.attempts(project, taskId, limits.historyMax).find((each) => each.sessionId === sessionId)
      ?.epoch;
  const attempt = ofEpoch === undefined ? undefined : draft.attempt(project, taskId, ofEpoch);
  if (!attempt || attempt.sessionId !== sessionId || attempt.lateResult) return;
  if (attempt.end === "complete" || attempt.end === "submit" || attempt.end === "fail") return;
  const result = late.result && {
    ...late.result,
    output: beginningOf(late.result.output, limits.lateResultBytesMax / 4),
    filesCreated: late.result.filesCreated.slice(0, limits.lateFilesMax),
    filesModified: late.result.filesModified.slice(0, limits.lateFilesMax),
  };
  const error = late.error === null ? null : beginningOf(late.error, limits.lateResultBytesMax / 4);
  draft.putAttempt({ ...attempt, lateResult: { at: draft.now, result, error } });
}
