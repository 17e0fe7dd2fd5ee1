// What is old goes: events by their numbers, and finished tasks once nothing hangs on them. Of a task its id stays (archive.ts).

import { noteArchived } from "../archive.js";
import type { ArchiveEventsCommand, ArchiveTasksCommand } from "../command.js";
import type { Draft } from "../draft.js";
import type { DibsEvent } from "../event.js";
import { removeSubmissions } from "../landing.js";
import { latestLogKey, logKey, logKind, toLatestLog } from "../log.js";
import { accept, type Outcome } from "../refusal.js";
import type { Task } from "../task.js";

/** The number below which all events are older; those that follow a younger one stay, whatever the clock said then. */
export function olderBelow(events: readonly DibsEvent[], at: number): number {
  let below = 0;
  for (const event of events) {
    if (event.at >= at) break;
    below = event.seq + 1;
  }
  return below;
}

/** The events below a number go, but none that the figures have not counted yet. */
export function archiveEvents(draft: Draft, command: ArchiveEventsCommand): Outcome<{ archived: number }> {
  const { eventMin, eventSeq } = draft.org();
  const figures = draft.document("metrics", "totals");
  const counted = typeof figures?.cursor === "number" ? figures.cursor : eventSeq;
  const below = Math.min(command.below, counted + 1, eventSeq + 1);
  if (below <= eventMin) return accept({ archived: 0 });
  draft.archiveEvents(below);
  return accept({ archived: below - eventMin });
}

/** Completed or cancelled before that instant. What failed waits for somebody, however long. */
export function isOldEnough({ state, endedAt }: Task, before: number): boolean {
  return (state === "completed" || state === "cancelled") && endedAt !== null && endedAt < before;
}

/** Of these tasks, those that may go do, the last ones first: what depends on a task, and its children, come before it. */
export function archiveTasks(draft: Draft, command: ArchiveTasksCommand): Outcome<{ archived: number }> {
  const asked = new Map<number, Task>();
  for (const { project, id } of command.tasks) {
    const task = draft.task(project, id);
    if (task) asked.set(task.ordinal, task);
  }
  const inOrder = [...asked.values()].sort((a, b) => b.ordinal - a.ordinal);
  let archived = 0;
  for (const task of inOrder) {
    if (!mayGo(draft, task, command.before)) continue;
    archive(draft, task);
    archived++;
  }
  return accept({ archived });
}

function mayGo(draft: Draft, task: Task, before: number): boolean {
  const { project, id, parentId } = task;
  if (!isOldEnough(task, before)) return false;
  const parent = parentId === null ? undefined : draft.task(project, parentId);
  if (parent && !isOldEnough(parent, before)) return false;
  const isLeft = (other: string) => draft.task(project, other) !== undefined;
  return !draft.view.dependents(project, id).some(isLeft) && !draft.view.children(project, id).some(isLeft);
}

function archive(draft: Draft, task: Task): void {
  const { project, id, state } = task;
  draft.removeTask(task);
  removeLogs(draft, task);
  removeSubmissions(draft, task);
  noteArchived(draft, project, id);
  draft.emit("task:updated", { project, taskId: id, actor: "system", data: { archived: true, from: state } });
}

function removeLogs(draft: Draft, { project, id }: Task): void {
  const latest = draft.document(logKind, latestLogKey(project, id));
  if (!latest) return;
  for (let { epoch } = toLatestLog(latest); epoch > 0; epoch--) {
    draft.putDocument(logKind, logKey(project, id, epoch), null);
  }
  draft.putDocument(logKind, latestLogKey(project, id), null);
}
