// What needs a human, for the dashboard and the terminal: open questions, submissions that wait for a review, held landings, and
// failed tasks. All but questions have an unread notification. The badge counts these; other unread notifications are listed and
// not counted.

import type { WireNotification, WireTask } from "../../contract/shapes.js";
import type { WireTaskRow } from "../../contract/tasks/rows.js";
import type { Dibs } from "../client.js";
import { asksForReview } from "./reviews.js";
import { keyOf } from "./row-set.js";

export type AskingTask = WireTask & { question: NonNullable<WireTask["question"]> };

/** A task that is still failed, with its unread notifications, the newest first. */
export interface Failure {
  row: WireTaskRow;
  notes: [WireNotification, ...WireNotification[]];
}

/** A submitted task that waits for a person's review, with its unread notifications, the newest first. */
export type WaitingReview = Failure;

export interface InboxContent {
  /** The longest waiting first. */
  questions: AskingTask[];
  /** The longest waiting first. */
  reviews: WaitingReview[];
  /** Why nothing lands, or no lander runs; the newest first. They are among `notes`, too. */
  holds: WireNotification[];
  /** The newest first. */
  failures: Failure[];
  /** Unread, about no question and no failure; the newest first. */
  notes: WireNotification[];
  /** There may be more than were read. */
  hasMoreQuestions: boolean;
  hasMoreFailures: boolean;
  /** There may be more reviews and holds than were read. */
  hasMoreReviews: boolean;
}

type Counted = Pick<InboxContent, "questions" | "failures"> &
  Partial<Pick<InboxContent, "reviews" | "holds">>;

/** The store takes it out of the inbox when a verdict is given, or the hold has ended. */
export const staysUnread = ({ type }: Pick<WireNotification, "type">): boolean =>
  type === "REVIEW_NEEDED" || type === "LANDING_HELD";

const countMax = 99;

/** `0`, `12`, `99+`. */
export function badgeOf({ questions, failures, reviews = [], holds = [] }: Counted): string {
  const count = questions.length + reviews.length + holds.length + failures.length;
  return count > countMax ? `${countMax}+` : String(count);
}

/** The command that helps is the end of a notification's message: `… Run: dibs land`. */
export function helpIn(message: string): { text: string; command: string | null } {
  const at = message.lastIndexOf(runs);
  if (at < 0) return { text: message, command: null };
  return { text: message.slice(0, at).trimEnd(), command: message.slice(at + runs.length).trim() || null };
}

const runs = "Run: ";

type Reads = Pick<Dibs, "notifications" | "tasks">;

const pageMax = 1_000;
/** Bounds what is read where thousands of notifications are unread. */
const pagesMax = 5;
const rowsPerCall = 100;

/** At most `limit` questions, `limit` reviews, `limit` holds and `limit` failures. */
export async function readInbox(dibs: Reads, project: string, limit: number): Promise<InboxContent> {
  const inbox = await dibs.notifications.inbox({ project, limit });
  const questions = byWaiting(inbox.questions);
  const isAll = inbox.notifications.length < limit;
  const failed = isAll
    ? { failures: await failuresIn(dibs, inbox.notifications), unread: inbox.notifications, isCut: false }
    : await readFailures(dibs, project, limit);
  const failures = failed.failures.slice(0, limit);
  const reviews = (await reviewsIn(dibs, failed.unread)).reverse();
  const holds = failed.unread.filter(({ type }) => type === "LANDING_HELD");
  const shown = new Set([
    ...questions.map((task) => keyOf(task.project, task.id)),
    ...failures.map(({ row }) => keyOf(row.project, row.id)),
  ]);
  return {
    questions,
    reviews: reviews.slice(0, limit),
    holds: holds.slice(0, limit),
    failures,
    notes: failed.unread.filter(
      ({ project: own, taskId }) => taskId === null || !shown.has(keyOf(own, taskId)),
    ),
    hasMoreQuestions: inbox.questions.length === limit,
    hasMoreFailures: failed.isCut || failed.failures.length > limit,
    hasMoreReviews: failed.isCut || reviews.length > limit || holds.length > limit,
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
const failuresIn = (
  dibs: Reads,
  unread: readonly WireNotification[],
  rows = new Map<string, WireTaskRow>(),
): Promise<Failure[]> => tasksIn(dibs, unread.filter(reportsFailure), "failed", rows);

const reviewsIn = (dibs: Reads, unread: readonly WireNotification[]): Promise<WaitingReview[]> =>
  tasksIn(dibs, unread.filter(asksForReview), "submitted", new Map());

/** The tasks that notifications are about, as far as they are in this state. */
async function tasksIn(
  dibs: Reads,
  about: readonly WireNotification[],
  state: WireTaskRow["state"],
  rows: Map<string, WireTaskRow>,
): Promise<Failure[]> {
  const notes = groupedBy(about, ({ project, taskId }) => keyOf(project, taskId!));
  const missing = [...notes].flatMap(([key, [newest]]) => (rows.has(key) ? [] : [newest!]));
  for (const row of await rowsOf(dibs, missing)) rows.set(keyOf(row.project, row.id), row);
  return [...notes].flatMap(([key, group]) => {
    const row = rows.get(key);
    return row?.state === state ? [{ row, notes: group as Failure["notes"] }] : [];
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
