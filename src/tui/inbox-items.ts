// The lines of the inbox: questions, failures, reviews, then other unread notifications.

import type { AskingTask, Failure, InboxContent } from "../client/view/inbox.js";
import { asksForReview } from "../client/view/reviews.js";
import { keyOf } from "../client/view/row-set.js";
import type { WireNotification } from "../contract/shapes.js";
import type { TaskName } from "./detail.js";

export type InboxItem = { key: string; name: TaskName | null } & (
  | { kind: "question"; task: AskingTask }
  | ({ kind: "failure" } & Failure)
  | { kind: "review"; note: WireNotification }
  | { kind: "note"; note: WireNotification }
);

type Listed = Pick<InboxContent, "questions" | "failures" | "notes">;

export function inboxItems({ questions, failures, notes }: Listed): InboxItem[] {
  const [reviews, others] = [notes.filter(asksForReview), notes.filter((note) => !asksForReview(note))];
  return [
    ...questions.map(questionOf),
    ...failures.map(failureOf),
    ...reviews.map((note): InboxItem => ({ ...noteOf(note), kind: "review", note })),
    ...others.map(noteOf),
  ];
}

function questionOf(task: AskingTask): InboxItem {
  const { project, id: taskId } = task;
  return { kind: "question", key: `question ${keyOf(project, taskId)}`, name: { project, taskId }, task };
}

function failureOf(failure: Failure): InboxItem {
  const { project, id: taskId } = failure.row;
  return { kind: "failure", key: `failure ${keyOf(project, taskId)}`, name: { project, taskId }, ...failure };
}

function noteOf(note: WireNotification): InboxItem {
  const { id, project, taskId } = note;
  return { kind: "note", key: `note ${id}`, name: taskId === null ? null : { project, taskId }, note };
}
