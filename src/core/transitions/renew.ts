// heartbeat, progress: the lease moves on, never back. An automatic heartbeat acknowledges nothing; progress does.

import type { Claim } from "../claim.js";
import type { HeartbeatCommand, ProgressCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { reportPaths } from "../overlap.js";
import { accept, type Outcome } from "../refusal.js";
import { closeBreaker, closeBreakerIfLong } from "./breaker.js";
import { leaseProblem } from "./claim.js";
import { holderOf } from "./holder.js";
import { renewReview } from "./review.js";
import { endProbe } from "./take.js";

function renewed(draft: Draft, claim: Claim, extendMs: number): Claim {
  return {
    ...claim,
    expiresAt: Math.max(claim.expiresAt, draft.now + extendMs),
    lastHeartbeat: draft.now,
    startBy: null,
  };
}

export function heartbeat(draft: Draft, command: HeartbeatCommand): Outcome<null> {
  const review = renewReview(draft, command, command.extendMs);
  if (review) return review;
  const holding = holderOf(draft, command, ["claimed", "running"]);
  if (!holding.ok) return holding;
  const { claim } = holding;
  if (command.extendMs !== undefined) {
    const invalid = leaseProblem(draft, command.project, "extendMs", command.extendMs);
    if (invalid) return invalid;
  }
  const next = renewed(draft, claim, command.extendMs ?? claim.ttlMs);
  draft.putClaim({ ...next, heartbeatCount: claim.heartbeatCount + 1 });
  if (command.paths) reportPaths(draft, claim, command.paths);
  closeBreakerIfLong(draft, claim);
  return accept(null);
}

export function progress(draft: Draft, command: ProgressCommand): Outcome<null> {
  const review = renewReview(draft, command);
  if (review) return review;
  const holding = holderOf(draft, command, ["claimed", "running"]);
  if (!holding.ok) return holding;
  const { claim, task } = holding;
  const note = command.note ?? claim.progress?.note ?? null;
  const percent = command.percent ?? claim.progress?.percent ?? null;
  draft.putClaim({
    ...renewed(draft, claim, claim.ttlMs),
    progress: { note, percent, at: draft.now },
    acknowledged: true,
    updatedAt: draft.now,
  });
  if (task.lostCount > 0 || task.responsePending) {
    draft.putTask({ ...task, lostCount: 0, responsePending: false, updatedAt: draft.now });
  }
  closeBreaker(draft, claim);
  endProbe(draft, claim);
  draft.emit("task:progress", {
    project: task.project,
    taskId: task.id,
    sessionId: claim.sessionId,
    epoch: claim.epoch,
    actor: `agent:${claim.sessionId}`,
    data: { note, percent },
  });
  return accept(null);
}
