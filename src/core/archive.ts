// What is left of a task that was archived: its id, so that nobody gets it again, and when it went.

import type { Document } from "./changes.js";
import type { Draft } from "./draft.js";
import type { DocumentValue, Reads } from "./view.js";

export const archivedKind = "archived";

interface Documents {
  document(kind: string, key: string): DocumentValue | undefined;
}

/** A task that was archived, and when. */
export interface ArchivedTask {
  project: string;
  taskId: string;
  at: number;
}

const keyOfTask = (project: string, taskId: string) => `${project}/${taskId}`;

/** Under the project's own name: something of it was archived. */
const some = { some: true };

export function noteArchived(draft: Draft, project: string, taskId: string): void {
  draft.putDocument(archivedKind, keyOfTask(project, taskId), { at: draft.now });
  if (!draft.document(archivedKind, project)) draft.putDocument(archivedKind, project, some);
}

/** When the task was archived; null: there was none of this id, or it is still there. */
export function archivedAt(view: Documents, project: string, taskId: string): number | null {
  // Whoever creates thousands asks once, as long as nothing was ever archived.
  if (!view.document(archivedKind, project)) return null;
  const value = view.document(archivedKind, keyOfTask(project, taskId));
  return value ? (value.at as number) : null;
}

/** Those of a project, by their ids. */
export function archivedTasks(
  view: Pick<Reads, "documents">,
  { project, afterId = "", limit }: { project: string; afterId?: string | undefined; limit: number },
): ArchivedTask[] {
  const page = { afterKey: keyOfTask(project, afterId), beforeKey: `${project}0`, limit }; // 0 comes after the slash.
  return view
    .documents({ kind: archivedKind, ...page })
    .map(({ key, value }) => ({ project, taskId: key.slice(project.length + 1), at: value.at as number }));
}

/** As they are stored, for one that was archived elsewhere. */
export function archivedDocuments({ project, taskId, at }: ArchivedTask): Document[] {
  return [
    { kind: archivedKind, key: keyOfTask(project, taskId), value: { at } },
    { kind: archivedKind, key: project, value: some },
  ];
}
