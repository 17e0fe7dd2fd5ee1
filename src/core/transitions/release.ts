import type { Claim } from "../claim.js";
import type { ReleaseCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { avoidMs, limits } from "../limits.js";
import { accept, type Outcome } from "../refusal.js";
import type { Task } from "../task.js";
import { closeClaim, requeue } from "./close.js";
import { completeHeld } from "./complete.js";
import { failAttempt } from "./fail.js";
import { holderOf, keepLate, repeated, taskNotFound } from "./holder.js";
import { notClaimed } from "./not-holder.js";
import { releaseReview } from "./review.js";

export interface Released {
  reason: string;
  claimDurationMs: number;
}

const held = ["claimed", "running", "awaiting_response"] as const;

/** Gives the task back. The seed clients finish this way: `completed` and `failed` are complete and fail. */
export function release(draft: Draft, command: ReleaseCommand): Outcome<Released> {
  const reason = command.reason ?? "released";
  const holder = draft.claim(command.project, command.taskId)?.sessionId;
  if (command.force && (command.sessionId === undefined || holder !== command.sessionId)) {
    return forced(draft, command, reason);
  }
  const by = { ...command, sessionId: command.sessionId ?? "" };
  const review = releaseReview(draft, by);
  if (review) return accept({ reason, claimDurationMs: Math.max(0, draft.now - review.claimedAt) });
  const end = reason === "completed" ? "complete" : reason === "failed" ? "fail" : "release";
  const result = command.result ?? { output: "", filesCreated: [], filesModified: [] };
  const holding = holderOf(draft, by, reason === "completed" ? ["claimed", "running"] : held);
  if (!holding.ok) {
    const before = end === "complete" ? repeated(draft, by, end, "submit") : repeated(draft, by, end);
    if (before) {
      return accept({
        reason: end === "complete" ? reason : before.releaseReason,
        claimDurationMs: Math.max(0, before.releasedAt - before.claimedAt),
      });
    }
    if (end === "complete") keepLate(draft, by, holding, { result, error: null });
    if (end === "fail") keepLate(draft, by, holding, { result: null, error: command.error ?? reason });
    return holding;
  }
  const { task, claim } = holding;
  const answer = { reason, claimDurationMs: Math.max(0, draft.now - claim.claimedAt) };
  if (end === "complete") {
    // A refusal takes the event back.
    emitReleased(draft, task, claim, { reason });
    const completed = completeHeld(draft, holding, result);
    if (!completed.ok) return completed;
  } else if (end === "fail") {
    emitReleased(draft, task, claim, { reason });
    failAttempt(draft, task, claim, { error: command.error ?? "released as failed", spread: command.spread });
  } else giveBack(draft, task, claim, reason);
  return accept(answer);
}

function forced(draft: Draft, command: ReleaseCommand, reason: string): Outcome<Released> {
  const task = draft.task(command.project, command.taskId);
  if (!task) return taskNotFound(draft, command.project, command.taskId);
  const claim = draft.claim(command.project, command.taskId);
  if (!claim) return notClaimed(task);
  giveBack(draft, task, claim, reason, draft.context.actor);
  return accept({ reason, claimDurationMs: Math.max(0, draft.now - claim.claimedAt) });
}

function giveBack(draft: Draft, task: Task, claim: Claim, reason: string, actor?: string): void {
  const rest = closeClaim(draft, task, claim, { end: "release", reason });
  // Abandon: with a question open it keeps waiting for the human, without a holder.
  if (claim.state === "awaiting_response") {
    draft.putTask({ ...rest, state: "awaiting_response", readyAt: null });
  } else {
    // Only the holder's own action acknowledges an answer; taken away by force, it still waits for the next one.
    requeue(draft, actor === undefined ? { ...rest, responsePending: false } : rest);
  }
  const moves = claim.state === "awaiting_response" ? {} : { from: claim.state, to: "queued" };
  emitReleased(draft, task, claim, { reason, ...moves }, actor);
  const session = draft.session(claim.project, claim.sessionId);
  if (!session) return;
  const avoid = session.avoid.filter((each) => each.until > draft.now && each.taskId !== task.id);
  avoid.push({ taskId: task.id, until: draft.now + avoidMs });
  draft.putSession({ ...session, avoid: avoid.slice(-limits.avoidMax) });
}

function emitReleased(
  draft: Draft,
  task: Task,
  claim: Claim,
  /** When it was released to be completed or failed, the next event tells how it moved. */
  data: { reason: string; from?: string; to?: string },
  actor = `agent:${claim.sessionId}`,
): void {
  draft.emit("task:released", {
    project: task.project,
    taskId: task.id,
    sessionId: claim.sessionId,
    epoch: claim.epoch,
    actor,
    data: {
      ...data,
      claimDurationMs: Math.max(0, draft.now - claim.claimedAt),
    },
  });
}
