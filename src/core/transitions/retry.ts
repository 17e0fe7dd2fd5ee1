import type { RetryCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { accept, type Outcome, refuse } from "../refusal.js";
import { resourceNotFound, resourceOf } from "../resource.js";
import { isTerminal, stateOf, type Task } from "../task.js";
import { withReadiness } from "./close.js";
import { endGroupIfOver } from "./finish.js";
import { noSuchTask } from "./holder.js";
import { closeFailure } from "./notification.js";

/** failed, cancelled → queued, by a person, with all counts back to zero. The epoch never goes back. */
export function retry(draft: Draft, command: RetryCommand): Outcome<null> {
  const { project, taskId } = command;
  const task = draft.task(project, taskId);
  if (!task) return noSuchTask(draft, project, taskId);
  const state = stateOf(task, draft.claim(project, taskId));
  if (state !== "failed" && state !== "cancelled") {
    return refuse(
      "TASK_NOT_RETRYABLE",
      `Task ${taskId} is ${state}; only failed and cancelled tasks can be retried.`,
      {
        ...(state === "submitted" ? { hint: `Run: dibs withdraw ${taskId}` } : {}),
        details: { taskId, state },
      },
    );
  }
  if (state === "cancelled") {
    const closed = closedAncestor(draft, task);
    if (closed) {
      return refuse(
        "TASK_NOT_RETRYABLE",
        `Task ${taskId} belongs to ${closed.id}, which is ${closed.state} already.`,
        {
          hint: closed.state === "completed" ? "Create a new task instead." : `Retry ${closed.id} first.`,
          details: { taskId, state, parentId: closed.id },
        },
      );
    }
  }
  const missing = Object.keys(task.uses ?? {}).find((id) => !resourceOf(draft, id));
  if (missing !== undefined) return resourceNotFound(missing);
  revive(draft, task);
  return accept(null);
}

/** A cancelled child counts as open again, so its parent must not be over. A cancelled group comes back with its child. */
function closedAncestor(draft: Draft, task: Task): Task | null {
  const parent = task.parentId === null ? undefined : draft.task(task.project, task.parentId);
  if (!parent || !isTerminal(parent.state)) return null;
  if (parent.type === "group" && parent.state === "cancelled") return closedAncestor(draft, parent);
  return parent;
}

function revive(draft: Draft, task: Task): void {
  const wasCancelled = task.state === "cancelled";
  draft.putTask(
    withReadiness(
      draft,
      {
        ...task,
        state: "queued",
        error: null,
        startedAt: null,
        endedAt: null,
        retryCount: 0,
        lostCount: 0,
        returnCount: 0,
        notBefore: null,
        updatedAt: draft.now,
      },
      { keep: false },
    ),
  );
  closeFailure(draft, task);
  draft.emit("task:retried", { project: task.project, taskId: task.id, data: { from: task.state } });
  const parent = task.parentId === null ? undefined : draft.task(task.project, task.parentId);
  if (wasCancelled && parent) reopen(draft, parent);
  // Its children may all be done by now. If all were cancelled, it waits for one of them to be retried.
  const revived = draft.task(task.project, task.id)!;
  if (revived.type === "group" && revived.completedChildren > 0) endGroupIfOver(draft, revived);
}

function reopen(draft: Draft, parent: Task): void {
  const reopened = { ...parent, openChildren: parent.openChildren + 1 };
  const unready = draft.claim(parent.project, parent.id) ? reopened : { ...reopened, readyAt: null };
  draft.putTask(unready);
  if (parent.type === "group" && parent.state === "cancelled") revive(draft, unready);
}
