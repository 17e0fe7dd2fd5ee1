// What needs a human: open questions, the longest waiting first, and failures that nobody has seen to.

import { useEffect, useState } from "react";
import { dibs, type Notification, type Task } from "../../data/dibs.js";
import { useLive } from "../../data/live.js";

/** Questions and failures each: at first, with each step, and at most. */
const shown = { first: 100, step: 300, max: 1_000 };
const pageMax = 1_000;
const pagesMax = 5;
const rowsPerCall = 100;

type Row = Awaited<ReturnType<typeof dibs.tasks.rows>>["rows"][number];

export type AskingTask = Task & { question: NonNullable<Task["question"]> };

/** A failed task and what was told about it. */
export interface Failure {
  row: Row;
  message: string;
  at: string;
  /** All that is unread about it. */
  notificationIds: string[];
}

export interface InboxContent {
  questions: AskingTask[];
  failures: Failure[];
  /** As many came as were asked for: there may be more. */
  hasMoreQuestions: boolean;
  hasMoreFailures: boolean;
}

const concerns =
  /^(?:task:(?:awaiting|response|completed|failed|cancelled|released|retr|updated|claim-)|notification:)/;

/** `more` is null where no more can be shown. */
export function useInbox(project: string) {
  const [count, setCount] = useState(shown.first);
  const live = useLive(`inbox ${project}`, () => inboxOf(project, count), {
    on: ({ type }) => concerns.test(type),
    calmMs: 150,
  });
  const { reload } = live;
  useEffect(() => {
    if (count > shown.first) reload();
  }, [count, reload]);
  const more = count < shown.max ? () => setCount(Math.min(shown.max, count + shown.step)) : null;
  return { live, more };
}

async function inboxOf(project: string, count: number): Promise<InboxContent> {
  const { questions, notifications } = await dibs.notifications.inbox({ project, limit: count });
  const told =
    notifications.length < count
      ? { found: notifications.filter(isFailure), isCut: false }
      : await toldFailures(project, count);
  return {
    questions: byWaiting(questions),
    failures: await failuresOf(told.found),
    hasMoreQuestions: questions.length === count,
    hasMoreFailures: told.isCut,
  };
}

/** The newest that nobody has seen; questions are among what is told, and may be many. */
async function toldFailures(project: string, count: number) {
  const found: Notification[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page: Awaited<ReturnType<typeof dibs.notifications.list>> = await dibs.notifications.list({
      project,
      unread: true,
      limit: pageMax,
      ...(cursor === null ? {} : { cursor }),
    });
    found.push(...page.notifications.filter(isFailure));
    cursor = page.nextCursor;
  } while (cursor !== null && found.length < count && ++pages < pagesMax);
  return { found: found.slice(0, count), isCut: cursor !== null || found.length > count };
}

const isAsking = (task: Task): task is AskingTask => task.question !== null;

function byWaiting(tasks: Task[]): AskingTask[] {
  return tasks.filter(isAsking).sort((a, b) => (a.question.askedAt < b.question.askedAt ? -1 : 1));
}

const isFailure = ({ type, taskId }: Notification) =>
  taskId !== null && (type === "TASK_ERROR" || type === "WORKER_LOST");

/** Those that are failed still. */
async function failuresOf(told: readonly Notification[]): Promise<Failure[]> {
  const projects = [...new Set(told.map(({ project }) => project))];
  const failures = await Promise.all(
    projects.map(async (project) => {
      const about = told.filter((each) => each.project === project);
      const rows = await rowsOf(project, [...new Set(about.map(({ taskId }) => taskId!))]);
      return rows.filter(({ state }) => state === "failed").map((row) => failureOf(row, about));
    }),
  );
  return failures.flat().sort((a, b) => (a.at > b.at ? -1 : 1));
}

async function rowsOf(project: string, ids: readonly string[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (let at = 0; at < ids.length; at += rowsPerCall) {
    const taskIds = ids.slice(at, at + rowsPerCall);
    rows.push(...(await dibs.tasks.rows({ project, taskIds, limit: rowsPerCall })).rows);
  }
  return rows;
}

function failureOf(row: Row, about: Notification[]): Failure {
  const own = about.filter(({ taskId }) => taskId === row.id);
  const [newest] = own;
  return { row, message: newest!.message, at: newest!.createdAt, notificationIds: own.map(({ id }) => id) };
}

/** Few at a time; one that is gone already is as good as read. */
export async function markRead(ids: readonly string[]): Promise<void> {
  const rest = [...ids];
  const reader = async () => {
    for (let id = rest.pop(); id !== undefined; id = rest.pop()) await dibs.notifications.read({ id });
  };
  await Promise.all(Array.from({ length: 6 }, reader));
}

/** How many there were. */
export async function markAllRead(project: string): Promise<number> {
  let count = 0;
  for (;;) {
    const { notifications, unread } = await dibs.notifications.list({ project, unread: true, limit: 500 });
    if (notifications.length === 0) return count;
    await markRead(notifications.map(({ id }) => id));
    count += notifications.length;
    // What arrives meanwhile was not meant.
    if (unread <= notifications.length) return count;
  }
}
