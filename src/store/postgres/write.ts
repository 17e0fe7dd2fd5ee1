// Everything a transaction changed, as statements: one or two per table, however many rows.

import type { Attempt, Claim } from "../../core/claim.js";
import type { Task } from "../../core/task.js";
import { attemptBody, isOnlyFreed, isOnlyMoved, notificationRow, taskRow } from "../row-codec.js";
import type { Change, Flush, OfTask, Queued } from "../rows.js";
import { claimRow, pushEvent, recordRow, sessionRow } from "./codec.js";
import { deleteFrom, insertInto, type Statement, updateOf, type Value } from "./statement.js";

const taskDefinition = `no bigint, project text, id text, type text, parent_id text, title text, state text, priority integer,
  assignee text, lost_count integer, not_before bigint, epoch bigint, created_at bigint, updated_at bigint, ready_at bigint,
  started_at bigint, ended_at bigint, pending_deps integer, open_children integer, completed_children integer, more json`;

const claimDefinition =
  "no bigint, project text, task_id text, session_id text, state text, claimed_at bigint, due_at bigint, body json";

const readyKey = "project text, lane text, level bigint, k1 bigint, k2 bigint";

const make = {
  project: insertInto(
    "project",
    "id text, settings json, paused boolean, created_at bigint, updated_at bigint",
    "id",
  ),
  taskInsert: insertInto("task", taskDefinition),
  taskReplace: insertInto("task", taskDefinition, "no"),
  taskMoved: updateOf(
    "task",
    "no bigint, state text, epoch bigint, updated_at bigint, ready_at bigint, started_at bigint, ended_at bigint",
  ),
  taskFreed: updateOf(
    "task",
    "no bigint, pending_deps integer, open_children integer, completed_children integer, ready_at bigint",
  ),
  taskRemove: deleteFrom("task", "no bigint"),
  textRemove: deleteFrom("task_text", "no bigint"),
  attemptsRemove: deleteFrom("attempt", "no bigint"),
  text: insertInto("task_text", "no bigint, prompt text, description text, metadata json", "no"),
  claimOpen: insertInto("claim", claimDefinition),
  claimUpdate: updateOf("claim", claimDefinition),
  claimClose: deleteFrom("claim", "no bigint"),
  attempt: insertInto(
    "attempt",
    "no bigint, epoch bigint, session_id text, released_at bigint, body json",
    "no, epoch",
  ),
  session: insertInto(
    "session",
    "project text, id text, last_seen_at bigint, ended_at bigint, body json",
    "project, id",
  ),
  record: insertInto(
    "session_record",
    "project text, id text, completed bigint, history json",
    "project, id",
  ),
  counter: insertInto("counter", "project text, parent text, value bigint", "project, parent"),
  edgeAdd: insertInto(
    "dependency",
    "project text, depends_on text, task_id text",
    "project, depends_on, task_id",
  ),
  edgeRemove: deleteFrom("dependency", "project text, depends_on text, task_id text"),
  notification: insertInto(
    "notification",
    `number bigint, type text, severity text, title text, message text, task_id text, project text, created_at bigint,
      read_at bigint`,
    "number",
  ),
  event: insertInto(
    "event",
    `task_no bigint, seq bigint, type text, at bigint, project text, task_id text, session_id text, epoch bigint, actor text,
      data json`,
  ),
  idempotency: insertInto("idempotency", "key text, request text, answer text, created_at bigint", "key"),
  document: insertInto("document", "kind text, key text, value json", "kind, key"),
  documentRemove: deleteFrom("document", "kind text, key text"),
  queueLeave: deleteFrom("ready", readyKey),
  queueJoin: insertInto("ready", `${readyKey}, no bigint, id text, not_before bigint`),
};

/** Every commit raises the version, whatever else of the org changes. */
const org = `UPDATE dibs.org SET event_seq = $2, event_min = $3, ordinal = $4, notification_seq = $5, last_at = $6,
  highest_at = $7, default_project = $8, created_at = $9, version = version + 1 WHERE org = $1`;

const orgVersion = "UPDATE dibs.org SET version = version + 1 WHERE org = $1";

const archive = "DELETE FROM dibs.event WHERE org = $1 AND seq >= $2 AND seq < $3";

/** `rebuilt` projects have their queue written anew afterwards: what moved in it does not matter. */
export function statementsFor(orgId: string, flush: Flush, rebuilt: ReadonlySet<string>): Statement[] {
  const statements: Statement[] = [];
  const add = (kind: (org: string, flat: readonly Value[]) => Statement, values: readonly Value[]) => {
    if (values.length > 0) statements.push(kind(orgId, values));
  };
  const each = <T>(rows: Iterable<T>, row: (each: T) => Value[]): Value[] => {
    const values: Value[] = [];
    for (const one of rows) values.push(...row(one));
    return values;
  };
  if (flush.org) {
    const { eventSeq, eventMin, ordinal, notificationSeq, lastAt, highestAt, defaultProject, createdAt } =
      flush.org;
    const counters = [eventSeq, eventMin, ordinal, notificationSeq];
    const values = [orgId, ...counters, lastAt, highestAt, defaultProject, createdAt];
    statements.push({ text: org, values });
  } else {
    statements.push({ text: orgVersion, values: [orgId] });
  }
  add(
    make.project,
    each(flush.projects, ({ id, settings, paused, createdAt, updatedAt }) => [
      id,
      JSON.stringify(settings),
      paused,
      createdAt,
      updatedAt,
    ]),
  );
  addTasks(add, flush.tasks);
  const removed = [...flush.removed].map(({ ordinal }) => ordinal);
  add(make.taskRemove, removed);
  add(make.textRemove, removed);
  add(make.attemptsRemove, removed);
  add(
    make.text,
    each(flush.texts, ({ ordinal, row: { prompt, description, metadata } }) => [
      ordinal,
      prompt,
      description,
      metadata === null ? null : JSON.stringify(metadata),
    ]),
  );
  addClaims(add, flush.claims);
  add(make.attempt, attempts(flush.attempts));
  add(make.session, each(flush.sessions, sessionRow));
  add(make.record, each(flush.records, recordRow));
  add(
    make.counter,
    each(flush.counters, ({ project, parent, value }) => [project, parent, value]),
  );
  const edges = [...flush.edges];
  const edge = ({ edge: { project, dependsOn, taskId } }: (typeof edges)[0]) => [project, dependsOn, taskId];
  add(
    make.edgeAdd,
    each(
      edges.filter(({ isAdded }) => isAdded),
      edge,
    ),
  );
  add(
    make.edgeRemove,
    each(
      edges.filter(({ isAdded }) => !isAdded),
      edge,
    ),
  );
  add(make.notification, each(flush.notifications, notificationRow));
  if (flush.archived) {
    statements.push({ text: archive, values: [orgId, flush.archived.from, flush.archived.below] });
  }
  const events: Value[] = [];
  for (const event of flush.events) pushEvent(events, event);
  add(make.event, events);
  // A key used twice in one group is written once, with its last word.
  const keys = new Map(flush.idempotency.map((record) => [record.key, record]));
  add(
    make.idempotency,
    each(keys.values(), ({ key, request, answer, createdAt }) => [key, request, answer, createdAt]),
  );
  addDocuments(add, flush.documents);
  const moved = (queued: readonly Queued[]) => queued.filter(({ project }) => !rebuilt.has(project));
  add(
    make.queueLeave,
    each(moved(flush.leftQueue), ({ project, entry: { lane, level, k1, k2 } }) => [
      project,
      lane,
      level,
      k1,
      k2,
    ]),
  );
  add(make.queueJoin, queued(moved(flush.joinedQueue)));
  return statements;
}

/** Rows of the ready queue, put in. */
export function joinQueue(orgId: string, entries: readonly Queued[]): Statement {
  return make.queueJoin(orgId, queued(entries));
}

type Add = (kind: (org: string, flat: readonly Value[]) => Statement, values: readonly Value[]) => void;

function queued(entries: readonly Queued[]): Value[] {
  return entries.flatMap(({ project, entry: { lane, level, k1, k2, id, notBefore } }) => [
    project,
    lane,
    level,
    k1,
    k2,
    Math.abs(k2), // In either order, the task's number or its negative.
    id,
    notBefore,
  ]);
}

function addTasks(add: Add, tasks: Iterable<Change<Task>>): void {
  const values = {
    created: [] as Value[],
    replaced: [] as Value[],
    moved: [] as Value[],
    freed: [] as Value[],
  };
  for (const { before, after } of tasks) {
    if (!after) continue;
    const { ordinal, project, id } = after;
    if (!before) values.created.push(ordinal, project, id, ...taskRow(after));
    else if (isOnlyMoved(before, after)) {
      const { state, epoch, updatedAt, readyAt, startedAt, endedAt } = after;
      values.moved.push(ordinal, state, epoch, updatedAt, readyAt, startedAt, endedAt);
    } else if (isOnlyFreed(before, after)) {
      const { pendingDeps, openChildren, completedChildren, readyAt } = after;
      values.freed.push(ordinal, pendingDeps, openChildren, completedChildren, readyAt);
    } else values.replaced.push(ordinal, project, id, ...taskRow(after));
  }
  add(make.taskInsert, values.created);
  add(make.taskReplace, values.replaced);
  add(make.taskMoved, values.moved);
  add(make.taskFreed, values.freed);
}

function addClaims(add: Add, claims: Iterable<OfTask<Change<Claim>>>): void {
  const values = { opened: [] as Value[], changed: [] as Value[], closed: [] as Value[] };
  for (const { ordinal, row } of claims) {
    if (row.after) (row.before ? values.changed : values.opened).push(ordinal, ...claimRow(row.after));
    else if (row.before) values.closed.push(ordinal);
  }
  add(make.claimOpen, values.opened);
  add(make.claimUpdate, values.changed);
  add(make.claimClose, values.closed);
}

function addDocuments(add: Add, documents: Flush["documents"]): void {
  const values = { written: [] as Value[], removed: [] as Value[] };
  for (const { kind, key, value } of documents) {
    if (value) values.written.push(kind, key, JSON.stringify(value));
    else values.removed.push(kind, key);
  }
  add(make.document, values.written);
  add(make.documentRemove, values.removed);
}

function attempts(changes: Iterable<OfTask<Change<Attempt>>>): Value[] {
  const values: Value[] = [];
  for (const { ordinal, row } of changes) {
    if (!row.after) continue;
    const { epoch, sessionId, releasedAt } = row.after;
    values.push(ordinal, epoch, sessionId, releasedAt, attemptBody(row.after));
  }
  return values;
}
