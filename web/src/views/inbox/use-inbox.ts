// What needs a human: open questions, the longest waiting first, and failures that nobody has seen to.

import { dibs, type Notification, type Task } from "../../data/dibs.js";
import { type Live, useLive } from "../../data/live.js";

export const questionsMax = 100;

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
  /** As many notifications came as were asked for: there may be more. */
  hasMoreFailures: boolean;
}

const concerns =
  /^(?:task:(?:awaiting|response|completed|failed|cancelled|released|retr|updated|claim-)|notification:)/;

export function useInbox(project: string): Live<InboxContent> {
  return useLive(
    `inbox ${project}`,
    async () => {
      const { questions, notifications } = await dibs.notifications.inbox({ project, limit: questionsMax });
      return {
        questions: byWaiting(questions),
        failures: await failuresOf(notifications),
        hasMoreFailures: notifications.length === questionsMax,
      };
    },
    { on: ({ type }) => concerns.test(type), calmMs: 150 },
  );
}

const isAsking = (task: Task): task is AskingTask => task.question !== null;

function byWaiting(tasks: Task[]): AskingTask[] {
  return tasks.filter(isAsking).sort((a, b) => (a.question.askedAt < b.question.askedAt ? -1 : 1));
}

const isFailure = ({ type, taskId }: Notification) =>
  taskId !== null && (type === "TASK_ERROR" || type === "WORKER_LOST");

/** Those that are failed still; what was retried meanwhile needs nobody. */
async function failuresOf(notifications: Notification[]): Promise<Failure[]> {
  const told = notifications.filter(isFailure);
  const projects = [...new Set(told.map(({ project }) => project))];
  const failures = await Promise.all(
    projects.map(async (project) => {
      const about = told.filter((each) => each.project === project);
      const taskIds = [...new Set(about.map(({ taskId }) => taskId!))];
      const { rows } = await dibs.tasks.rows({ project, taskIds });
      return rows.filter(({ state }) => state === "failed").map((row) => failureOf(row, about));
    }),
  );
  return failures.flat().sort((a, b) => (a.at > b.at ? -1 : 1));
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
