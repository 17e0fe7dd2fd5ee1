// Everything of one org as lines. All pages are read from one snapshot: not even a heartbeat, which leaves no event to notice
// it by, can come between two pages, and a fleet that never rests does not make the export start again.

import { type ArchivedTask, archivedTasks } from "../core/archive.js";
import type { Counter } from "../core/changes.js";
import type { DibsEvent, Notification } from "../core/event.js";
import { type Submission, submissionsOf } from "../core/landing.js";
import { limits } from "../core/limits.js";
import { type PlanRecord, planRecords } from "../core/plan.js";
import { resourceRecords } from "../core/resource.js";
import type { Session, SessionRecord } from "../core/session.js";
import type { IdempotencyRecord, Reads, WholeTask } from "../core/view.js";
import type { Snapshot, Store } from "../store/store.js";
import { endLine, headerLine, noRows, notificationNumber, type Row, rowLine } from "./format.js";

/** How many rows are read at once; fewer of those that may carry long texts. */
const pageMax = { light: 1000, heavy: 100 };

/**
 * The lines of a whole org, without their ends. The org must have been opened; it may be in use. Its documents stay behind, but
 * for the ids of archived tasks, what plans have created, and resources: tokens, locks and breakers belong to an installation.
 */
export async function* exportOrg(
  store: Store,
  org: string,
  max = pageMax,
): AsyncGenerator<string, void, undefined> {
  const snapshot = await store.snapshot(org);
  try {
    const counts = noRows();
    yield headerLine(org);
    for await (const page of pagesOf(snapshot, max)) {
      for (const row of page) {
        counts[row.kind]++;
        yield rowLine(row);
      }
    }
    yield endLine(counts);
  } finally {
    await snapshot.close();
  }
}

type Pages = AsyncGenerator<Row[], void, undefined>;

async function* pagesOf(snapshot: Snapshot, { light, heavy }: typeof pageMax): Pages {
  const { org, projects, now } = await snapshot.read((view, now) => ({
    org: view.org(),
    projects: view.projects(),
    now,
  }));
  yield [{ kind: "org", row: org }];
  yield projects.map((row) => ({ kind: "project", row }));
  yield* paged(snapshot, heavy, tasks, taskRows);
  for (const { id } of projects) yield* paged(snapshot, light, countersOf(id), counterRows);
  for (const { id } of projects) yield* paged(snapshot, light, archivedOf(id), archivedRows);
  for (const { id } of projects) yield* paged(snapshot, heavy, plansOf(id), planRows);
  yield await snapshot.read((view) => resourceRecords(view).map((row): Row => ({ kind: "resource", row })));
  for (const { id } of projects) yield* paged(snapshot, light, sessionsOf(id), sessionRows);
  yield* paged(snapshot, light, notifications, notificationRows);
  yield* paged(snapshot, light, eventsAfter(org.eventMin - 1), eventRows);
  yield* paged(snapshot, heavy, keys, keyRowsAt(now));
}

/** What comes after the last one of the page before. */
type Look<T> = (view: Reads, limit: number, last: T | undefined) => T[];

async function* paged<T>(
  snapshot: Snapshot,
  limit: number,
  look: Look<T>,
  rowsOf: (each: T) => Row[],
): Pages {
  for (let last: T | undefined; ; ) {
    const page = await snapshot.read((view) => look(view, limit, last));
    yield page.flatMap(rowsOf);
    if (page.length < limit) return;
    last = page[page.length - 1];
  }
}

interface SubmittedTask extends WholeTask {
  submissions: Submission[];
}

const tasks: Look<SubmittedTask> = (view, limit, last) =>
  view
    .wholeTasks({ limit, afterOrdinal: last?.task.ordinal ?? 0 })
    .map((whole) => ({ ...whole, submissions: submissionsOf(view, whole.task) }));

function taskRows({ task, text, claim, attempts, submissions }: SubmittedTask): Row[] {
  // The intent of a landing belongs to an installation, as leases of landers do.
  const submission = task.submission && { ...task.submission, landing: null };
  const rows: Row[] = [{ kind: "task", row: { ...task, submission } }];
  if (text) rows.push({ kind: "text", row: { project: task.project, taskId: task.id, ...text } });
  if (claim) rows.push({ kind: "claim", row: claim });
  for (const row of attempts) rows.push({ kind: "attempt", row });
  for (const each of submissions) {
    // Verdicts move; a review that somebody is at is a lease.
    const reviews = each.reviews.filter(({ verdict }) => verdict !== null);
    rows.push({ kind: "submission", row: { project: task.project, taskId: task.id, ...each, reviews } });
  }
  return rows;
}

const countersOf =
  (project: string): Look<Counter> =>
  (view, limit, last) =>
    view.counters({ project, limit, ...(last && { afterParent: last.parent }) });

const counterRows = (row: Counter): Row[] => [{ kind: "counter", row }];

const archivedOf =
  (project: string): Look<ArchivedTask> =>
  (view, limit, last) =>
    archivedTasks(view, { project, limit, afterId: last?.taskId });

const archivedRows = (row: ArchivedTask): Row[] => [{ kind: "archived", row }];

const plansOf =
  (project: string): Look<PlanRecord> =>
  (view, limit, last) =>
    planRecords(view, { project, limit, afterName: last?.name });

const planRows = (row: PlanRecord): Row[] => [{ kind: "plan", row }];

interface WholeSession {
  session: Session;
  record: SessionRecord | undefined;
}

/** Those that have ended, too. */
const sessionsOf =
  (project: string): Look<WholeSession> =>
  (view, limit, last) =>
    view
      .sessions({ project, live: false, limit, ...(last && { afterId: `${project}/${last.session.id}` }) })
      .map((session) => ({ session, record: view.record(project, session.id) }));

function sessionRows({ session, record }: WholeSession): Row[] {
  const rows: Row[] = [{ kind: "session", row: session }];
  if (record) rows.push({ kind: "record", row: record });
  return rows;
}

const notifications: Look<Notification> = (view, limit, last) =>
  view.notifications({
    project: null,
    unread: false,
    limit,
    ...(last && { before: notificationNumber(last) }),
  });

const notificationRows = (row: Notification): Row[] => [{ kind: "notification", row }];

const eventsAfter =
  (first: number): Look<DibsEvent> =>
  (view, limit, last) =>
    view.events({ limit, after: last?.seq ?? first });

const eventRows = (row: DibsEvent): Row[] => [{ kind: "event", row }];

const keys: Look<IdempotencyRecord> = (view, limit, last) =>
  view.idempotencyRecords({ limit, ...(last && { afterKey: last.key }) });

/** Those that are too old to be honoured stay behind: every store forgets them in its own time. */
const keyRowsAt =
  (now: number) =>
  (row: IdempotencyRecord): Row[] =>
    now - row.createdAt < limits.idempotencyMs ? [{ kind: "key", row }] : [];
