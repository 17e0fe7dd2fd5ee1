// What the end of a task sets free: its dependents, its parent, and the groups above, each in the same transaction.
// A work list instead of recursion: a chain of groups may be deep, and a task may have ten thousand dependents.

import type { Draft } from "../draft.js";
import { canRead } from "../refusal.js";
import { isReady, isTerminal, type Task } from "../task.js";
import { withReadiness } from "./close.js";

/** A group may be over for other reasons than the end of a child: an edit, or its own return. */
export function endGroupIfOver(draft: Draft, group: Task): void {
  const ended = endGroup(draft, group);
  if (ended !== group) setFree(draft, draft.putTask(ended));
}

/** Ids of the tasks that became claimable because `ended` was completed or cancelled. */
export function setFree(draft: Draft, ended: Task): string[] {
  const freed: string[] = [];
  const work = [ended];
  for (let task = work.pop(); task; task = work.pop()) {
    if (task.state === "completed") {
      for (const id of draft.view.dependents(task.project, task.id)) {
        const waiting = readableTask(draft, task.project, id);
        if (!waiting) continue;
        reevaluate(draft, { ...waiting, pendingDeps: waiting.pendingDeps - 1 }, task.id, freed, work);
      }
    }
    const parent = task.parentId === null ? undefined : readableTask(draft, task.project, task.parentId);
    if (parent) {
      const completed = task.state === "completed" ? 1 : 0;
      const counted = {
        ...parent,
        openChildren: parent.openChildren - 1,
        completedChildren: parent.completedChildren + completed,
      };
      reevaluate(draft, counted, task.id, freed, work);
    }
  }
  return freed;
}

/** An unreadable dependent or parent stays as it is: the task before it must be able to end. */
function readableTask(draft: Draft, project: string, id: string): Task | undefined {
  const isReadable = canRead(() => {
    // Its claim is looked at once nothing else is pending.
    const task = draft.task(project, id);
    if (task && task.pendingDeps + task.openChildren <= 1) draft.claim(project, id);
  });
  return isReadable ? draft.task(project, id) : undefined;
}

function reevaluate(draft: Draft, task: Task, by: string, freed: string[], work: Task[]): void {
  if (task.type === "group") {
    const ended = endGroup(draft, task);
    draft.putTask(ended);
    if (ended !== task) work.push(ended);
    return;
  }
  if (task.readyAt !== null || !isReady(task, draft.claim(task.project, task.id))) {
    draft.putTask(task);
    return;
  }
  const ready = draft.putTask(withReadiness(draft, task, { keep: false }));
  if (ready.readyAt === null || ready.readyAt > draft.now) return;
  freed.push(ready.id);
  draft.emit("task:unblocked", {
    project: ready.project,
    taskId: ready.id,
    actor: "system",
    data: { by },
  });
}

/** A group is over when it waits for nothing and no child is open: completed if one child was, else cancelled. */
function endGroup(draft: Draft, group: Task): Task {
  if (isTerminal(group.state) || group.openChildren > 0 || group.pendingDeps > 0) return group;
  if (group.completedChildren === 0 && draft.view.children(group.project, group.id).length === 0)
    return group;
  const state = group.completedChildren > 0 ? "completed" : "cancelled";
  draft.emit(state === "completed" ? "task:completed" : "task:cancelled", {
    project: group.project,
    taskId: group.id,
    actor: "system",
    data: { reason: `children_${state}`, from: group.state },
  });
  return { ...group, state, endedAt: draft.now, updatedAt: draft.now };
}
