import type { AskCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { accept, type Outcome } from "../refusal.js";
import { closeBreaker } from "./breaker.js";
import { holderOf } from "./holder.js";
import { markStarted } from "./start.js";
import { endProbe } from "./take.js";

/** claimed, running → awaiting_response. The lease clock stops; a human is told. */
export function ask(draft: Draft, command: AskCommand): Outcome<{ questionId: string }> {
  const holding = holderOf(draft, command, ["claimed", "running"]);
  if (!holding.ok) return holding;
  const { task } = holding;
  const claim = holding.claim.state === "claimed" ? markStarted(draft, holding.claim) : holding.claim;
  closeBreaker(draft, claim);
  endProbe(draft, claim);
  const number = draft.nextNotificationNumber();
  const question = {
    id: `q${number}`,
    text: command.question,
    ...(command.options ? { options: command.options } : {}),
    ...(command.default === undefined ? {} : { default: command.default }),
    askedAt: draft.now,
  };
  draft.putClaim({
    ...claim,
    state: "awaiting_response",
    pausedAt: draft.now,
    acknowledged: true,
    updatedAt: draft.now,
  });
  draft.putTask({ ...task, question, response: null, responsePending: false, updatedAt: draft.now });
  draft.emit("task:awaiting-response", {
    project: task.project,
    taskId: task.id,
    sessionId: claim.sessionId,
    epoch: claim.epoch,
    actor: `agent:${claim.sessionId}`,
    data: { questionId: question.id, question: question.text },
  });
  draft.notify("TASK_AWAITING_RESPONSE", {
    task,
    number,
    title: "Task needs response",
    message: command.question,
  });
  return accept({ questionId: question.id });
}
