// What is left of a task that was archived: its id, so that nobody gets it again, and when it went.

import type { DocumentValue } from "./view.js";

export const archivedKind = "archived";

interface Documents {
  document(kind: string, key: string): DocumentValue | undefined;
}

export const archivedKey = (project: string, taskId: string) => `${project}/${taskId}`;

/** When the task was archived; null: there was none of this id, or it is still there. */
export function archivedAt(view: Documents, project: string, taskId: string): number | null {
  const value = view.document(archivedKind, archivedKey(project, taskId));
  return value ? (value.at as number) : null;
}
