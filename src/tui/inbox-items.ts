// What needs a human, in this order: questions, the longest waiting first; tasks that failed and that nobody has seen to, the newest
// first; what else was told and not read.

import { keyOf } from "../client/view/shelf.js";
import type { WireNotification, WireTask } from "../contract/shapes.js";
import type { WireTaskRow } from "../contract/tasks/rows.js";
import type { TaskName } from "./detail.js";

export type InboxItem = { key: string; name: TaskName | null } & (
  | { kind: "question"; task: WireTask }
  /** With all that is unread about it, the newest first. */
  | { kind: "failure"; row: WireTaskRow; notes: [WireNotification, ...WireNotification[]] }
  | { kind: "note"; note: WireNotification }
);

interface Unread {
  questions: readonly WireTask[];
  /** The newest first. */
  notifications: readonly WireNotification[];
}

type Find = (project: string, taskId: string) => WireTaskRow | undefined;

export function inboxItems({ questions, notifications }: Unread, find: Find): InboxItem[] {
  const asked = [...questions].sort((a, b) => (askedAt(a) < askedAt(b) ? -1 : 1)).map(questionOf);
  const failures = failuresIn(notifications, find);
  const told = new Set([...asked, ...failures].map(({ name }) => keyOf(name!.project, name!.taskId)));
  // A question or a failure that still stands is shown above already.
  const rest = notifications.filter(
    ({ project, taskId }) => taskId === null || !told.has(keyOf(project, taskId)),
  );
  return [...asked, ...failures, ...rest.map(noteOf)];
}

const askedAt = ({ question, updatedAt }: WireTask) => question?.askedAt ?? updatedAt;

function questionOf(task: WireTask): InboxItem {
  const { project, id: taskId } = task;
  return { kind: "question", key: `question ${keyOf(project, taskId)}`, name: { project, taskId }, task };
}

function noteOf(note: WireNotification): InboxItem {
  const { id, project, taskId } = note;
  return { kind: "note", key: `note ${id}`, name: taskId === null ? null : { project, taskId }, note };
}

const tellsOfFailure = ({ type }: WireNotification) => type === "TASK_ERROR" || type === "WORKER_LOST";

/** Those that are failed still; what was retried meanwhile needs nobody. */
function failuresIn(notifications: readonly WireNotification[], find: Find): InboxItem[] {
  const failures = new Map<string, Extract<InboxItem, { kind: "failure" }>>();
  for (const note of notifications) {
    const { project, taskId } = note;
    if (taskId === null || !tellsOfFailure(note)) continue;
    const key = `failure ${keyOf(project, taskId)}`;
    const row = find(project, taskId);
    const known = failures.get(key);
    if (known) known.notes.push(note);
    else if (row?.state === "failed")
      failures.set(key, { kind: "failure", key, name: { project, taskId }, row, notes: [note] });
  }
  return [...failures.values()];
}
