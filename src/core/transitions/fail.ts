import { type Claim, workedMs } from "../claim.js";
import type { FailCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { accept, type Outcome } from "../refusal.js";
import { retryDelayMs } from "../retry.js";
import type { Task } from "../task.js";
import { closeClaim, failForGood, rememberAnswer, withReadiness } from "./close.js";
import { holderOf, keepLate, repeated } from "./holder.js";
import { closeQuestion } from "./notification.js";

export interface Failed {
  willRetry: boolean;
  retryAt: number | null;
}

export function fail(draft: Draft, command: FailCommand): Outcome<Failed> {
  const holding = holderOf(draft, command, ["claimed", "running", "awaiting_response"]);
  if (!holding.ok) {
    const before = repeated(draft, command, "fail");
    if (before) {
      return accept({
        willRetry: before.answer?.willRetry ?? false,
        retryAt: before.answer?.retryAt ?? null,
      });
    }
    keepLate(draft, command, holding, { result: null, error: command.error });
    return holding;
  }
  return accept(failAttempt(draft, holding.task, holding.claim, command));
}

/** The attempt failed: again later while retries last, else failed until a person retries. */
export function failAttempt(
  draft: Draft,
  task: Task,
  claim: Claim,
  how: { error: string; retryable?: boolean | undefined; spread: number },
): Failed {
  const { settings } = draft.project(task.project);
  const willRetry = how.retryable !== false && task.retryCount < task.maxRetries;
  const retryCount = task.retryCount + 1;
  const retryAt = willRetry ? draft.now + retryDelayMs(settings.retry, retryCount, how.spread) : null;
  const answer = { willRetry, retryAt };
  const { error } = how;
  const closed = closeClaim(draft, task, claim, { end: "fail", reason: "failed", error, answer });
  closeQuestion(draft, task);
  const rest = { ...closed, lostCount: 0, question: null, responsePending: false };
  const on = {
    project: task.project,
    taskId: task.id,
    sessionId: claim.sessionId,
    epoch: claim.epoch,
    actor: `agent:${claim.sessionId}`,
  };
  const durationMs = workedMs(claim, draft.now);
  const data = { reason: "failed", error, from: claim.state, durationMs };
  if (willRetry) {
    const again: Task = { ...rest, state: "queued", error, retryCount, notBefore: retryAt, startedAt: null };
    draft.putTask(withReadiness(draft, again, { keep: false }));
    draft.emit("task:retry-scheduled", { ...on, data: { ...data, retryAt, retryCount } });
  } else {
    const failed = failForGood(draft, rest, error);
    draft.emit("task:failed", { ...on, data: { ...data, retryCount: task.retryCount } });
    const told = draft.notify("TASK_ERROR", { task: failed, title: "Task failed", message: error });
    rememberAnswer(draft, claim, { ...answer, told: told.id });
  }
  return answer;
}
