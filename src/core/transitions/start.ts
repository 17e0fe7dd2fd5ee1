import type { Claim } from "../claim.js";
import type { StartCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { accept, type Outcome } from "../refusal.js";
import type { Task } from "../task.js";
import { holderOf } from "./holder.js";

/** claimed → running. The clock of the task's own `timeoutMs` starts here. */
export function markStarted(draft: Draft, claim: Claim, known?: Task): Claim {
  const task = known ?? draft.task(claim.project, claim.taskId);
  const started = draft.putClaim({
    ...claim,
    state: "running",
    startedAt: draft.now,
    startBy: null,
    deadlineAt: task?.timeoutMs == null ? null : draft.now + task.timeoutMs,
    acknowledged: true,
    updatedAt: draft.now,
  });
  draft.emit("task:started", {
    project: claim.project,
    taskId: claim.taskId,
    sessionId: claim.sessionId,
    epoch: claim.epoch,
    actor: `agent:${claim.sessionId}`,
    data: {},
  });
  return started;
}

export function start(draft: Draft, command: StartCommand): Outcome<null> {
  const holding = holderOf(draft, command, ["claimed", "running"]);
  if (!holding.ok) return holding;
  if (holding.claim.state === "claimed") markStarted(draft, holding.claim);
  return accept(null);
}
