// What needs a human, for the dashboard and the terminal: open questions, and failed tasks with an unread notification.
// The badge counts these two; other unread notifications are listed and not counted.

import type { WireNotification, WireTask } from "../../contract/shapes.js";
import type { WireTaskRow } from "../../contract/tasks/rows.js";
import type { Dibs } from "../client.js";
import { keyOf } from "./row-set.js";

export type AskingTask = WireTask & { question: NonNullable<WireTask["question"]> };

/** A task that is still failed, with its unread notifications, the newest first. */
export interface Failure {
  row: WireTaskRow;
  notes: [WireNotification, ...WireNotification[]];
}

export interface InboxContent {
  /** The longest waiting first. */
  questions: AskingTask[];
  /** The newest first. */
  failures: Failure[];
  /** Unread, about neither of them; the newest first. */
  notes: WireNotification[];
  /** There may be more than were read. */
  hasMoreQuestions: boolean;
  hasMoreFailures: boolean;
}

const countMax = 99;

/** `0`, `12`, `99+`. */
export function badgeOf({ questions, failures }: Pick<InboxContent, "questions" | "failures">): string {
  const count = questions.length + failures.length;
  return count > countMax ? `${countMax}+` : String(count);
}

type Reads = Pick<Dibs, "notifications" | "tasks">;

const pageMax = 1_000;
/** Bounds what is read where thousands of notifications are unread. */
const pagesMax = 5;
const rowsPerCall = 100;

/** At most `limit` questions and `limit` failures. */
export async function readInbox(dibs: Reads, project: string, limit: number): Promise<InboxContent> {
  const inbox = await dibs.notifications.inbox({ project, limit });
  const questions = byWaiting(inbox.questions);
  const isAll = inbox.notifications.length < limit;
  const failed = isAll
    ? { failures: await failuresIn(dibs, inbox.notifications), unread: inbox.notifications, isCut: false }
    : await readFailures(dibs, project, limit);
  const failures = failed.failures.slice(0, limit);
  const shown = new Set([
    ...questions.map((task) => keyOf(task.project, task.id)),
    ...failures.map(({ row }) => keyOf(row.project, row.id)),
  ]);
  return {
    questions,
    failures,
    notes: failed.unread.filter(
      ({ project: own, taskId }) => taskId === null || !shown.has(keyOf(own, taskId)),
    ),
    hasMoreQuestions: inbox.questions.length === limit,
    hasMoreFailures: failed.isCut || failed.failures.length > limit,
  };
}

const isAsking = (task: WireTask): task is AskingTask => task.question !== null;

function byWaiting(tasks: readonly WireTask[]): AskingTask[] {
  return tasks.filter(isAsking).sort((a, b) => (a.question.askedAt < b.question.askedAt ? -1 : 1));
}

/** Page by page: most of what is unread can be about questions, or about tasks that were retried since. */
async function readFailures(dibs: Reads, project: string, limit: number) {
  const unread: WireNotification[] = [];
  const known = new Map<string, WireTaskRow>();
  let failures: Failure[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page: Awaited<ReturnType<Dibs["notifications"]["list"]>> = await dibs.notifications.list({
      project,
      unread: true,
      limit: pageMax,
      ...(cursor === null ? {} : { cursor }),
    });
    unread.push(...page.notifications);
    failures = await failuresIn(dibs, unread, known);
    cursor = page.nextCursor;
  } while (cursor !== null && failures.length < limit && ++pages < pagesMax);
  return { failures, unread, isCut: cursor !== null };
}

const reportsFailure = ({ type, taskId }: WireNotification) =>
  taskId !== null && (type === "TASK_ERROR" || type === "WORKER_LOST");

/** A task that was retried or cancelled since needs no human. */
async function failuresIn(
  dibs: Reads,
  unread: readonly WireNotification[],
  rows = new Map<string, WireTaskRow>(),
): Promise<Failure[]> {
  const notes = groupedBy(unread.filter(reportsFailure), ({ project, taskId }) => keyOf(project, taskId!));
  const missing = [...notes].flatMap(([key, [newest]]) => (rows.has(key) ? [] : [newest!]));
  for (const row of await rowsOf(dibs, missing)) rows.set(keyOf(row.project, row.id), row);
  return [...notes].flatMap(([key, about]) => {
    const row = rows.get(key);
    return row?.state === "failed" ? [{ row, notes: about as Failure["notes"] }] : [];
  });
}

function groupedBy<T>(items: readonly T[], keyFor: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyFor(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

async function rowsOf(dibs: Reads, notes: readonly WireNotification[]): Promise<WireTaskRow[]> {
  const rows: WireTaskRow[] = [];
  for (const [project, about] of groupedBy(notes, (note) => note.project)) {
    for (let at = 0; at < about.length; at += rowsPerCall) {
      const taskIds = about.slice(at, at + rowsPerCall).map(({ taskId }) => taskId!);
      rows.push(...(await dibs.tasks.rows({ project, taskIds, limit: rowsPerCall })).rows);
    }
  }
  return rows;
}
