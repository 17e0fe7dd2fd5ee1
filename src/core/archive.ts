// What is left of a task that was archived: its id, so that nobody gets it again, and when it went.

import type { Draft } from "./draft.js";
import type { DocumentValue } from "./view.js";

export const archivedKind = "archived";

interface Documents {
  document(kind: string, key: string): DocumentValue | undefined;
}

const keyOfTask = (project: string, taskId: string) => `${project}/${taskId}`;

export function noteArchived(draft: Draft, project: string, taskId: string): void {
  draft.putDocument(archivedKind, keyOfTask(project, taskId), { at: draft.now });
  if (!draft.document(archivedKind, project)) draft.putDocument(archivedKind, project, { since: draft.now });
}

/** When the task was archived; null: there was none of this id, or it is still there. */
export function archivedAt(view: Documents, project: string, taskId: string): number | null {
  // Whoever creates thousands asks once, as long as nothing was ever archived.
  if (!view.document(archivedKind, project)) return null;
  const value = view.document(archivedKind, keyOfTask(project, taskId));
  return value ? (value.at as number) : null;
}
