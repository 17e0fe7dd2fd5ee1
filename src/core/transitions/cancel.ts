import type { Claim } from "../claim.js";
import type { CancelCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { accept, type Outcome, refuse } from "../refusal.js";
import { isReady, isTerminal, stateOf, type Task } from "../task.js";
import { closeClaim } from "./close.js";
import { setFree } from "./finish.js";
import { noSuchTask } from "./holder.js";
import { closeQuestion } from "./notification.js";
import { endHolds, endSubmission, landingNow } from "./unsubmit.js";

export interface Cancelled {
  cancelled: string[];
}

export function cancel(draft: Draft, command: CancelCommand): Outcome<Cancelled> {
  const { project, taskId } = command;
  const task = draft.task(project, taskId);
  if (!task) return noSuchTask(draft, project, taskId);
  const state = stateOf(task, draft.claim(project, taskId));
  const refused = () =>
    refuse("TASK_NOT_CANCELLABLE", `Task ${taskId} is already ${state}.`, { details: { taskId, state } });
  // Subtasks of a cancelled task can still be open: a first cancel without cascade leaves them.
  if (isTerminal(state) && !(state === "cancelled" && command.cascade)) return refused();
  const reason = command.reason ?? "cancelled";
  const cancelled: Task[] = [];
  // Top down: a parent that is cancelled itself is not re-evaluated when its children go.
  const family = [task];
  for (let at = 0; at < family.length; at++) {
    const member = family[at]!;
    const now = landingNow(member);
    if (now) return now;
    if (!isTerminal(stateOf(member, draft.claim(project, member.id)))) {
      cancelled.push(endByCancel(draft, member, reason));
    }
    if (!command.cascade) break;
    for (const id of draft.view.children(project, member.id)) family.push(draft.task(project, id)!);
  }
  if (cancelled.length === 0) return refused();
  for (const each of cancelled.reverse()) setFree(draft, each);
  return accept({ cancelled: cancelled.map((each) => each.id).reverse() });
}

function endByCancel(draft: Draft, task: Task, reason: string): Task {
  const claim = draft.claim(task.project, task.id);
  const rest = claim ? closeClaim(draft, task, claim, { end: "cancel", reason: "cancelled" }) : task;
  closeQuestion(draft, task);
  if (task.state === "submitted") {
    endSubmission(draft, task, { as: "cancelled", reason, detail: null });
    endHolds(draft, task);
  }
  draft.emit("task:cancelled", {
    project: task.project,
    taskId: task.id,
    sessionId: claim?.sessionId ?? null,
    epoch: claim?.epoch ?? null,
    data: { reason, from: stateOf(task, claim), ...waited(draft, task, claim) },
  });
  return draft.putTask({
    ...rest,
    state: "cancelled",
    endedAt: draft.now,
    updatedAt: draft.now,
    readyAt: null,
    question: null,
    responsePending: false,
  });
}

/** Of a task that could have been claimed: for how long. */
function waited(draft: Draft, task: Task, claim: Claim | undefined): { waitedMs?: number } {
  if (!isReady(task, claim) || task.readyAt === null || task.readyAt > draft.now) return {};
  return { waitedMs: draft.now - task.readyAt };
}
