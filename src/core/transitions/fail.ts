import { exactDuration } from "../../common/duration.js";
import { type Attempt, type AttemptEnd, type Claim, workedMs } from "../claim.js";
import type { FailCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { accept, type Outcome } from "../refusal.js";
import { retryDelayMs, spreadOf } from "../retry.js";
import type { Task } from "../task.js";
import { closeBreaker, countQuickFailure, isQuick, isTaskToBlame } from "./breaker.js";
import { closeClaim, failForGood, rememberAnswer, withReadiness } from "./close.js";
import { holderOf, keepLate, repeated } from "./holder.js";
import { closeQuestion } from "./notification.js";
import { releaseReview } from "./review.js";

export interface Failed {
  willRetry: boolean;
  retryAt: number | null;
}

export function fail(draft: Draft, command: FailCommand): Outcome<Failed> {
  // Only the review ends: the task stays submitted.
  if (releaseReview(draft, command)) return accept({ willRetry: true, retryAt: null });
  const holding = holderOf(draft, command, ["claimed", "running", "awaiting_response"]);
  if (!holding.ok) {
    keepLate(draft, command, holding, { result: null, error: command.error });
    const before = repeated(draft, command, "fail") ?? timedOut(draft, command);
    if (!before) return holding;
    return accept({ willRetry: before.answer?.willRetry ?? false, retryAt: before.answer?.retryAt ?? null });
  }
  return accept(failAttempt(draft, holding.task, holding.claim, command));
}

/** The attempt of the caller that its task's own timeout has failed: there is nothing left to report but the details. */
function timedOut(draft: Draft, command: FailCommand): Attempt | undefined {
  const attempt = repeated(draft, command, "expire");
  return attempt?.releaseReason === "timeout" ? attempt : undefined;
}

/** The task's own `timeoutMs` has passed. The worker is not lost: the attempt failed. */
export function timeOut(draft: Draft, task: Task, claim: Claim): void {
  const after = task.timeoutMs ?? workedMs(claim, draft.now);
  failAttempt(draft, task, claim, {
    error: `timed out after ${exactDuration(after)}`,
    spread: spreadOf(task.id, claim.epoch),
    end: "expire",
    reason: "timeout",
    actor: "system",
    quick: false,
  });
}

interface Failure {
  error: string;
  retryable?: boolean | undefined;
  spread: number;
  quick?: boolean | undefined;
  /** Default: the holder reported it. */
  end?: AttemptEnd;
  reason?: string;
  actor?: string;
}

/** The attempt failed: again later while retries last, else failed until a person retries. */
export function failAttempt(draft: Draft, task: Task, claim: Claim, how: Failure): Failed {
  const { settings } = draft.project(task.project);
  const mayRetry = how.retryable !== false;
  const quick = mayRetry && how.quick !== false && isQuick(claim, task, draft.now);
  // It costs no retry: the agent is the cause.
  const isRunner = how.quick === true;
  const isBlamed = quick && isRunner && isTaskToBlame(draft, task, claim);
  const isFree = quick && isRunner && task.maxRetries > 0 && !isBlamed;
  const willRetry = isFree || (mayRetry && task.retryCount < task.maxRetries);
  const retryCount = task.retryCount + (isFree ? 0 : 1);
  const delayMs = retryDelayMs(settings.retry, isFree ? 1 : retryCount, how.spread);
  const retryAt = willRetry ? draft.now + delayMs : null;
  const answer = { willRetry, retryAt };
  const { error, end = "fail", reason = "failed", actor = `agent:${claim.sessionId}` } = how;
  if (!quick) closeBreaker(draft, claim);
  else if (!isBlamed) countQuickFailure(draft, task, claim, { error, isRunner });
  const closed = closeClaim(draft, task, claim, { end, reason, error, answer });
  closeQuestion(draft, task);
  const rest = { ...closed, lostCount: 0, question: null, responsePending: false };
  const on = {
    project: task.project,
    taskId: task.id,
    sessionId: claim.sessionId,
    epoch: claim.epoch,
    actor,
  };
  const durationMs = workedMs(claim, draft.now);
  const data = { reason, error, from: claim.state, durationMs };
  if (willRetry) {
    const again: Task = { ...rest, state: "queued", error, retryCount, notBefore: retryAt, startedAt: null };
    draft.putTask(withReadiness(draft, again, { keep: false }));
    const cost = isFree ? { quick: true } : {};
    draft.emit("task:retry-scheduled", { ...on, data: { ...data, retryAt, retryCount, ...cost } });
  } else {
    const failed = failForGood(draft, rest, error);
    draft.emit("task:failed", { ...on, data: { ...data, retryCount: task.retryCount } });
    const told = draft.notify("TASK_ERROR", { task: failed, title: "Task failed", message: error });
    rememberAnswer(draft, claim, { ...answer, told: told.id });
  }
  return answer;
}
