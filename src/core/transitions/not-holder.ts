// What is said to a caller that does not hold the task, or holds it while a question is open: what happened to the task, and what to run.

import type { Attempt, Claim } from "../claim.js";
import type { ByHolder } from "../command.js";
import { type Refusal, refuse } from "../refusal.js";
import type { Task } from "../task.js";

/** What cannot be done while a question is open, by command. */
const refusedWhileAsking: Record<string, string> = {
  complete: "it can't be completed yet",
  release: "it can't be completed yet",
  start: "it can't be started",
  progress: "it takes no progress yet",
  heartbeat: "its lease is paused and can't be renewed",
  ask: "it can't ask another question yet",
};

export function waitsForAnswer(claim: Claim, { type = "" }: { type?: string }): Refusal {
  const { taskId, sessionId, epoch, state } = claim;
  const cannot = refusedWhileAsking[type] ?? "this must wait";
  return refuse("INVALID_STATE", `Task ${taskId} is waiting for an answer, so ${cannot}.`, {
    hint: "Run: dibs inbox",
    details: { taskId, sessionId, epoch, state },
  });
}

export function heldByOther(claim: Claim, { taskId, sessionId }: ByHolder): Refusal {
  return refuse(
    "NOT_CLAIM_OWNER",
    `Task ${taskId} is claimed by session ${claim.sessionId}, not by ${sessionId}.`,
    {
      hint: `Stop working on it. For another task, run: dibs claim --session ${sessionId}`,
      details: { taskId, sessionId },
    },
  );
}

/** The caller's session is unknown or has ended: nothing can be its task. */
export function holderNotFound(
  task: Task,
  claim: Claim | undefined,
  { taskId, sessionId }: ByHolder,
): Refusal {
  const missing = `Session ${sessionId} does not exist or has ended`;
  const isHeld = claim !== undefined && claim.sessionId !== sessionId;
  return refuse(
    "SESSION_NOT_FOUND",
    isHeld ? `${missing}, and task ${taskId} is claimed by session ${claim.sessionId}.` : `${missing}.`,
    {
      hint: isHeld
        ? `Stop working on it. For another task, run: dibs claim --session ${sessionId}`
        : `Run: ${standing(task, sessionId).run}`,
      details: { sessionId },
    },
  );
}

export function otherEpoch({ taskId, sessionId, epoch: current }: Claim, epoch: number): Refusal {
  const message =
    epoch < current
      ? `Epoch ${epoch} of task ${taskId} has ended; session ${sessionId} claimed it again as epoch ${current}.`
      : `Task ${taskId} has no epoch ${epoch}; session ${sessionId} claimed it as epoch ${current}.`;
  return refuse("STALE_EPOCH", message, {
    hint:
      epoch < current
        ? `Stop the earlier attempt. The current one continues with --epoch ${current}`
        : `The current attempt continues with --epoch ${current}`,
    details: { taskId, sessionId, epoch: current },
  });
}

/** The caller's own attempt was the last one, and it ended; null where the state of the task says it all. */
export function ownAttemptEnded(task: Task, last: Attempt, { sessionId }: ByHolder): Refusal | null {
  const { id: taskId } = task;
  const details = { taskId, sessionId, epoch: last.epoch, reason: last.releaseReason };
  if (last.end === "cancel" || task.state === "cancelled") {
    return refuse("TASK_CANCELLED", `Task ${taskId} was cancelled.`, {
      hint: `Stop working on it. To queue it again, run: dibs retry ${taskId}`,
      details,
    });
  }
  if (last.end === "expire" || last.end === "orphan" || last.end === "abandon") {
    const how =
      last.releaseReason === "timeout" && last.error ? last.error : `expired (${last.releaseReason})`;
    return refuse("CLAIM_EXPIRED", `The claim of session ${sessionId} on task ${taskId} ${how}.`, {
      hint: `A late result is kept on the attempt. To continue, run: ${claimAgain(task, sessionId)}`,
      details,
    });
  }
  if (task.state !== "queued") return null;
  const message =
    last.end === "fail"
      ? `Session ${sessionId} reported task ${taskId} as failed; it is waiting for a retry.`
      : `Session ${sessionId} released task ${taskId}.`;
  return refuse("TASK_NOT_CLAIMED", message, {
    hint: `Run: ${claimAgain(task, sessionId)}`,
    details: { taskId, state: task.state },
  });
}

function claimAgain({ id, state, notBefore }: Task, sessionId: string): string {
  if (state === "failed") return `dibs retry ${id}`;
  // It is ready again when its retry is due.
  const wait = notBefore === null ? "" : " --wait 5m";
  return `dibs claim ${id} --session ${sessionId}${wait}`;
}

/** No session holds the task: how it is, and what makes it possible to work on it. */
export function notClaimed(task: Task, sessionId = ""): Refusal {
  const { message, run } = standing(task, sessionId);
  return refuse("TASK_NOT_CLAIMED", message, {
    hint: `Run: ${run}`,
    details: { taskId: task.id, state: task.state },
  });
}

/** A reviewer holds a review, not the task. */
export function reviewedOnly({ id, state }: Task, sessionId: string): Refusal {
  return refuse("TASK_NOT_CLAIMED", `Session ${sessionId} reviews task ${id} and does not hold it.`, {
    hint: `Give a verdict. Run: dibs approve ${id} --session ${sessionId}, or dibs reject`,
    details: { taskId: id, state },
  });
}

function standing(task: Task, sessionId: string): { message: string; run: string } {
  const { id, state } = task;
  if (state === "completed") return { message: `Task ${id} is already completed.`, run: `dibs show ${id}` };
  if (state === "submitted") {
    const message = `Task ${id} is submitted and waits to land; no session holds it.`;
    return { message, run: `dibs withdraw ${id}` };
  }
  if (task.type === "group" && state !== "cancelled") {
    const message = `Task ${id} is a group: it completes by itself when its subtasks are completed.`;
    return { message, run: `dibs list --parent ${id}` };
  }
  if (state === "failed")
    return { message: `Task ${id} failed and is not claimed.`, run: `dibs retry ${id}` };
  if (state === "cancelled") return { message: `Task ${id} was cancelled.`, run: `dibs retry ${id}` };
  if (state === "awaiting_response")
    return { message: `Task ${id} is waiting for an answer, and no session holds it.`, run: "dibs inbox" };
  if (task.pendingDeps > 0 || task.openChildren > 0)
    return { message: `Task ${id} is blocked and not claimed.`, run: `dibs explain ${id}` };
  const run = sessionId === "" ? `dibs show ${id}` : claimAgain(task, sessionId);
  return { message: `Task ${id} is not claimed.`, run };
}
