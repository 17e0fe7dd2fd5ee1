// Ids of new tasks: generated ones come from a counter per parent, which never goes back.

import { archivedAt } from "../archive.js";
import type { ReserveIdCommand } from "../command.js";
import type { Draft } from "../draft.js";
import { asPart, childId, topLevelId, topLevelNumber } from "../ids.js";
import { limits } from "../limits.js";
import { accept, type Outcome, refuse } from "../refusal.js";
import { at } from "./invalid.js";

/** The next free id under a parent (or at the top); the counter moves even past ids that callers have taken. */
export function allocateId(
  draft: Draft,
  project: string,
  parent: { id: string; depth: number } | undefined,
  reserved: (id: string) => boolean,
): Outcome<{ id: string; sequence: number }> {
  const counter = parent?.id ?? "";
  for (let n = draft.counter(project, counter) + 1; ; n++) {
    const id = parent ? childId(parent, n) : topLevelId(n);
    if (id === null)
      return refuse("COUNTER_EXHAUSTED", `All generated ids of project ${project} are used up.`);
    if (id.length > limits.idLengthMax) return at(0, "parentId", `Id '${id}' would be too long.`);
    draft.putCounter(project, counter, n);
    const isTaken = reserved(id) || draft.task(project, id) || archivedAt(draft, project, id) !== null;
    if (!isTaken) return accept({ id, sequence: n });
  }
}

export function reserveId(draft: Draft, { project, parentId }: ReserveIdCommand): Outcome<{ id: string }> {
  const depth = parentId === undefined ? null : depthOf(draft, project, parentId);
  if (parentId !== undefined && depth === null) {
    return refuse("TASK_NOT_FOUND", `Task ${parentId} not found, and its id is not reserved.`, {
      details: { taskId: parentId },
    });
  }
  const parent = parentId === undefined ? undefined : { id: parentId, depth: depth! };
  const allocated = allocateId(draft, project, parent, () => false);
  return allocated.ok ? accept({ id: allocated.value.id }) : allocated;
}

function depthOf(draft: Draft, project: string, id: string): number | null {
  return draft.task(project, id)?.depth ?? reservedDepth(draft, project, id);
}

/** How deep a task with this generated id would be; null: it was never given out. */
export function reservedDepth(draft: Draft, project: string, id: string): number | null {
  const top = topLevelNumber(id);
  if (top !== null) return top <= draft.counter(project, "") ? 0 : null;
  const part = asPart(id);
  const depth = part && depthOf(draft, project, part.parentId);
  if (!part || depth === null) return null;
  const isGiven = part.n <= draft.counter(project, part.parentId);
  return isGiven && childId({ id: part.parentId, depth }, part.n) === id ? depth + 1 : null;
}
