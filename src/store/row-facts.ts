// Small questions about rows that the workspace asks.

import type { Edge } from "../core/changes.js";
import type { DibsEvent } from "../core/event.js";
import type { Session } from "../core/session.js";
import type { Task, TaskText } from "../core/task.js";
import type { Change, DueClaim, OfTask } from "./rows.js";

/** A session that changed in what it may take, or is over; not only in when it was heard of. */
export function canDoMore(before: Session | undefined, after: Session): boolean {
  return (
    before?.capacity !== after.capacity ||
    before.endedAt !== after.endedAt || // Whoever waits for it need not wait any longer.
    before.agentType !== after.agentType ||
    before.name !== after.name ||
    before.capabilities !== after.capabilities
  );
}

/** How much memory a cached text takes, roughly. */
export function lengthOf({ prompt, description, metadata }: TaskText): number {
  return prompt.length + (description?.length ?? 0) + (metadata ? JSON.stringify(metadata).length : 0);
}

export function edgeKey({ project, taskId, dependsOn }: Edge): string {
  return `${project}/${taskId}/${dependsOn}`;
}

interface Tasks {
  task(project: string, id: string): Task | undefined;
}

/** What changed, with the ordinals of the tasks that it hangs on. */
export function ofTasks<T extends { project: string; taskId: string }>(
  changes: readonly Change<T>[],
  tasks: Tasks,
): OfTask<Change<T>>[] {
  const found: OfTask<Change<T>>[] = [];
  for (const row of changes) {
    const either = row.after ?? row.before;
    if (either) found.push({ ordinal: tasks.task(either.project, either.taskId)!.ordinal, row });
  }
  return found;
}

export function eventsOfTasks(
  events: readonly DibsEvent[],
  tasks: Tasks,
): OfTask<DibsEvent, number | null>[] {
  return events.map((row) => {
    const { project, taskId } = row;
    const task = project === null || taskId === null ? undefined : tasks.task(project, taskId);
    return { ordinal: task?.ordinal ?? null, row };
  });
}

export function byDue(a: DueClaim, b: DueClaim): number {
  return a.dueAt - b.dueAt || byText(a.project, b.project) || byText(a.taskId, b.taskId);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
