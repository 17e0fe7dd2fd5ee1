// Which tasks that are gone from their plan can be cancelled: those that were never attempted, and that no other task needs.

import type { Draft } from "../draft.js";
import { isOpenChild, stateOf, type Task } from "../task.js";
import { cancel } from "./cancel.js";

/** Cancels what can be; returns why each of the others stays. */
export function prune(
  draft: Draft,
  project: string,
  gone: readonly Task[],
  reason: string,
): Map<string, string> {
  const kept = new Map<string, string>();
  const candidates = new Map<string, Task>();
  for (const { id } of gone) {
    const task = draft.task(project, id)!;
    const state = stateOf(task, draft.claim(project, id));
    if (state !== "queued") kept.set(id, state);
    else if (task.epoch > 0) kept.set(id, "attempted");
    else candidates.set(id, task);
  }
  keepNeeded(draft, project, candidates, kept);
  // Parts first: a group that loses its last one ends by itself.
  for (const { id } of [...candidates.values()].sort((a, b) => b.depth - a.depth)) {
    if (draft.task(project, id)!.state === "queued")
      cancel(draft, { type: "cancel", project, taskId: id, reason });
    const { state } = draft.task(project, id)!;
    if (state !== "cancelled") kept.set(id, state);
  }
  return kept;
}

/** What stays keeps what it waits for, and its parent. */
function keepNeeded(
  draft: Draft,
  project: string,
  candidates: Map<string, Task>,
  kept: Map<string, string>,
): void {
  const work: Task[] = [];
  const keep = (id: string, why: string) => {
    const task = candidates.get(id);
    if (!task) return;
    candidates.delete(id);
    kept.set(id, why);
    work.push(task);
  };
  const addedEdges = new Map(draft.changes.edgesAdded.map(({ taskId, dependsOn }) => [dependsOn, taskId]));
  const inside = new Map<string, number>();
  for (const { parentId } of candidates.values())
    if (parentId !== null) inside.set(parentId, (inside.get(parentId) ?? 0) + 1);
  for (const task of [...candidates.values()]) {
    const dependents = draft.view.dependents(project, task.id);
    const dependent = dependents.find((id) => !candidates.has(id) && waitsFor(draft, project, id, task.id));
    const other = addedEdges.get(task.id) ?? dependent;
    if (other !== undefined) keep(task.id, `${other} waits for it`);
    else if (task.openChildren > (inside.get(task.id) ?? 0)) keep(task.id, "open subtasks");
  }
  for (let task = work.pop(); task; task = work.pop()) {
    for (const id of task.dependsOn) keep(id, `${task.id} waits for it`);
    if (task.parentId !== null) keep(task.parentId, "open subtasks");
  }
}

/** After the edits of this load. */
function waitsFor(draft: Draft, project: string, id: string, dependency: string): boolean {
  const task = draft.task(project, id);
  if (!task?.dependsOn.includes(dependency)) return false;
  return isOpenChild(stateOf(task, draft.claim(project, id)));
}
