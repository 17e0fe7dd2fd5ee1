// Rows into the database, for one org: everything a transaction changed, a few statements per table.

import type { Attempt, Claim } from "../../core/claim.js";
import { type ReadyEntry, readyEntries } from "../../core/ready.js";
import type { Task } from "../../core/task.js";
import { busyChunk } from "../ready-queue.js";
import type { Change, Chunk, Fetched, Flush, Queued, ReadyRows, Rows } from "../rows.js";
import {
  attemptColumns,
  attemptRow,
  claimColumns,
  claimRow,
  isEdited,
  orgRow,
  projectRow,
  type Row,
  taskBirthColumns,
  taskBirthRow,
  taskColumns,
  taskFixedColumns,
  taskFixedRow,
  taskLifeColumns,
  taskLifeRow,
  toTask,
  type Value,
} from "./codec.js";
import {
  eventColumns,
  eventRow,
  notificationColumns,
  notificationRow,
  recordColumns,
  recordRow,
  sessionColumns,
  sessionRow,
} from "./codec-sessions.js";
import { SqliteReads } from "./read.js";
import type { Statements } from "./statements.js";

const assignments = (columns: string) =>
  columns
    .split(", ")
    .map((column) => `${column} = ?`)
    .join(", ");
const marks = (columns: string) =>
  columns
    .split(", ")
    .map(() => "?")
    .join(", ");
const byKey = "WHERE org = ? AND project = ? AND id = ?";
const claimWritten = `${claimColumns}, due_at`;
const insertable = `org, project, id, ${taskFixedColumns}, ${taskLifeColumns}, ${taskBirthColumns}`;

const sql = {
  org: `UPDATE org SET event_seq = ?, event_min = ?, ordinal = ?, notification_seq = ?, last_at = ?, highest_at = ?, default_project = ?,
    created_at = ? WHERE org = ?`,
  project:
    "INSERT OR REPLACE INTO project (org, id, settings, paused, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)",
  taskLife: `UPDATE task SET ${assignments(taskLifeColumns)} ${byKey}`,
  taskMoved: `UPDATE task SET state = ?, epoch = ?, updated_at = ?, ready_at = ?, started_at = ?, ended_at = ? ${byKey}`,
  taskFreed: `UPDATE task SET pending_deps = ?, open_children = ?, completed_children = ?, ready_at = ? ${byKey}`,
  taskFull: `UPDATE task SET ${assignments(`${taskFixedColumns}, ${taskLifeColumns}`)} ${byKey}`,
  text: "INSERT OR REPLACE INTO task_text (org, project, id, prompt, description, metadata) VALUES (?, ?, ?, ?, ?, ?)",
  claimUpdate: `UPDATE claim SET ${assignments(claimWritten)} WHERE org = ? AND project = ? AND task_id = ?`,
  claimDelete: "DELETE FROM claim WHERE org = ? AND project = ? AND task_id = ?",
  attemptUpdate:
    "UPDATE attempt SET late_result = ? WHERE org = ? AND project = ? AND task_id = ? AND epoch = ?",
  session: `INSERT OR REPLACE INTO session (org, ${sessionColumns}) VALUES (?, ${marks(sessionColumns)})`,
  record: `INSERT OR REPLACE INTO session_record (org, ${recordColumns}) VALUES (?, ${marks(recordColumns)})`,
  counter: "INSERT OR REPLACE INTO counter (org, project, parent, value) VALUES (?, ?, ?, ?)",
  edgeAdd: "INSERT OR IGNORE INTO dependency (org, project, depends_on, task_id) VALUES (?, ?, ?, ?)",
  edgeRemove: "DELETE FROM dependency WHERE org = ? AND project = ? AND depends_on = ? AND task_id = ?",
  notification: `INSERT OR REPLACE INTO notification (org, ${notificationColumns}) VALUES (?, ${marks(notificationColumns)})`,
  idempotency:
    "INSERT OR REPLACE INTO idempotency (org, key, request, answer, created_at) VALUES (?, ?, ?, ?, ?)",
  readyRemove:
    "DELETE FROM ready WHERE org = ? AND project = ? AND lane = ? AND level = ? AND k1 = ? AND k2 = ?",
  readyClear: "DELETE FROM ready WHERE org = ? AND project = ?",
  readyTasks: `SELECT ${taskColumns} FROM task t WHERE org = ? AND project = ? AND state = 'queued' AND type = 'task'
    AND pending_deps = 0 AND open_children = 0 AND ordinal > ?
    AND NOT EXISTS (SELECT 1 FROM claim c WHERE c.org = t.org AND c.project = t.project AND c.task_id = t.id)
    ORDER BY ordinal LIMIT 1000`,
  lane: "SELECT lane FROM ready WHERE org = ? AND project = ? AND lane >= ? AND lane < ? ORDER BY lane LIMIT 1",
  laneAfter:
    "SELECT lane FROM ready WHERE org = ? AND project = ? AND lane > ? AND lane < ? ORDER BY lane LIMIT 1",
  level:
    "SELECT level FROM ready WHERE org = ? AND project = ? AND lane = ? AND level < ? ORDER BY level DESC LIMIT 1",
  chunk: `SELECT id, lane, level, k1, k2, not_before FROM ready WHERE org = ? AND project = ? AND lane = ? AND level = ?
    AND (k1, k2) > (?, ?) ORDER BY k1, k2 LIMIT ?`,
  chunkWithTasks: `SELECT r.id, r.lane, r.level, r.k1, r.k2, r.not_before, ${taskColumns.replaceAll(/\w+/g, "t.$&")},
      CASE WHEN octet_length(x.prompt) <= 4096 THEN x.prompt END, x.description, x.metadata
    FROM ready r CROSS JOIN task t ON t.org = r.org AND t.project = r.project AND t.id = r.id
    CROSS JOIN task_text x ON x.org = r.org AND x.project = r.project AND x.id = r.id
    WHERE r.org = ? AND r.project = ? AND r.lane = ? AND r.level = ? AND (r.k1, r.k2) > (?, ?)
    ORDER BY r.k1, r.k2 LIMIT ?`,
};

const readyColumns = "org, project, lane, level, k1, k2, id, not_before";
const lowest = Number.MIN_SAFE_INTEGER;

export class SqliteRows extends SqliteReads implements Rows {
  readonly ready: ReadyRows;

  constructor(db: Statements, orgId: string) {
    super(db, orgId);
    this.ready = {
      lanes: (project, prefix) => this.lanes(project, prefix),
      levels: (project, lane) => this.levels(project, lane),
      chunk: (project, lane, level, after, limit) => this.chunk(project, lane, level, after, limit),
    };
  }

  private chunk(
    project: string,
    lane: string,
    level: number,
    after: ReadyEntry | null,
    limit: number,
  ): Chunk {
    const from = [this.orgId, project, lane, level, after?.k1 ?? lowest, after?.k2 ?? lowest, limit];
    if (limit < busyChunk) return { entries: this.db.all(sql.chunk, ...from).map(toEntry), tasks: [] };
    const rows = this.db.all(sql.chunkWithTasks, ...from);
    return { entries: rows.map(toEntry), tasks: rows.map((row) => toFetched(row.slice(entryWidth))) };
  }

  /** Steps from lane to lane by seeks: the cost is the number of lanes, not of tasks. */
  private lanes(project: string, prefix: string): string[] {
    const end = `${prefix}\u{10ffff}`;
    const lanes: string[] = [];
    let row = this.db.get(sql.lane, this.orgId, project, prefix, end);
    while (row) {
      lanes.push(row[0]);
      row = this.db.get(sql.laneAfter, this.orgId, project, row[0], end);
    }
    return lanes;
  }

  private levels(project: string, lane: string): number[] {
    const levels: number[] = [];
    let row = this.db.get(sql.level, this.orgId, project, lane, Number.MAX_SAFE_INTEGER);
    while (row) {
      levels.push(row[0]);
      row = this.db.get(sql.level, this.orgId, project, lane, row[0]);
    }
    return levels;
  }

  write(flush: Flush): void {
    const { orgId: org, db } = this;
    if (flush.org) {
      const [, ...values] = orgRow(flush.org);
      db.run(sql.org, ...values, org);
    }
    for (const project of flush.projects) db.run(sql.project, org, ...projectRow(project));
    this.writeTasks(flush.tasks);
    for (const { project, id, text } of flush.texts) {
      const metadata = text.metadata === null ? null : JSON.stringify(text.metadata);
      db.run(sql.text, org, project, id, text.prompt, text.description, metadata);
    }
    this.writeClaims(flush.claims);
    this.writeAttempts(flush.attempts);
    for (const session of flush.sessions) db.run(sql.session, org, ...sessionRow(session));
    for (const record of flush.records) db.run(sql.record, org, ...recordRow(record));
    for (const { project, parent, value } of flush.counters) db.run(sql.counter, org, project, parent, value);
    for (const { edge, isAdded } of flush.edges) {
      db.run(isAdded ? sql.edgeAdd : sql.edgeRemove, org, edge.project, edge.dependsOn, edge.taskId);
    }
    for (const notification of flush.notifications)
      db.run(sql.notification, org, ...notificationRow(notification));
    db.insertMany("event", eventColumns, flush.events.map(eventRow));
    for (const record of flush.idempotency) {
      db.run(sql.idempotency, org, record.key, record.request, record.answer, record.createdAt);
    }
    for (const { project, entry } of flush.leftQueue) {
      db.run(sql.readyRemove, org, project, entry.lane, entry.level, entry.k1, entry.k2);
    }
    this.insertReady(flush.joinedQueue);
  }

  private writeTasks(tasks: Iterable<Change<Task>>): void {
    const created: Value[][] = [];
    for (const { before, after } of tasks) {
      if (!after) continue;
      const key = [this.orgId, after.project, after.id];
      if (!before) {
        created.push([...key, ...taskFixedRow(after), ...taskLifeRow(after), ...taskBirthRow(after)]);
      } else if (isEdited(before, after)) {
        this.db.run(sql.taskFull, ...taskFixedRow(after), ...taskLifeRow(after), ...key);
      } else if (isOnlyMoved(before, after)) {
        const { state, epoch, updatedAt, readyAt, startedAt, endedAt } = after;
        this.db.run(sql.taskMoved, state, epoch, updatedAt, readyAt, startedAt, endedAt, ...key);
      } else if (isOnlyFreed(before, after)) {
        const { pendingDeps, openChildren, completedChildren, readyAt } = after;
        this.db.run(sql.taskFreed, pendingDeps, openChildren, completedChildren, readyAt, ...key);
      } else this.db.run(sql.taskLife, ...taskLifeRow(after), ...key);
    }
    this.db.insertMany("task", insertable, created);
  }

  private writeClaims(claims: Iterable<Change<Claim>>): void {
    const opened: Value[][] = [];
    for (const { before, after } of claims) {
      if (before && after) {
        this.db.run(sql.claimUpdate, ...claimRow(after), this.orgId, after.project, after.taskId);
      } else if (after) opened.push([this.orgId, ...claimRow(after)]);
      else if (before) this.db.run(sql.claimDelete, this.orgId, before.project, before.taskId);
    }
    this.db.insertMany("claim", `org, ${claimWritten}`, opened);
  }

  private writeAttempts(attempts: Iterable<Change<Attempt>>): void {
    const closed: Value[][] = [];
    for (const { before, after } of attempts) {
      if (!after) continue;
      if (before) {
        const late = after.lateResult === null ? null : JSON.stringify(after.lateResult);
        this.db.run(sql.attemptUpdate, late, this.orgId, after.project, after.taskId, after.epoch);
      } else closed.push([this.orgId, ...attemptRow(after)]);
    }
    this.db.insertMany("attempt", `org, ${attemptColumns}`, closed);
  }

  private insertReady(added: readonly Queued[]): void {
    const rows = added.map(({ project, entry }) => [
      this.orgId,
      project,
      entry.lane,
      entry.level,
      entry.k1,
      entry.k2,
      entry.id,
      entry.notBefore,
    ]);
    this.db.insertMany("ready", readyColumns, rows);
  }

  rebuildReady(project: string): void {
    const order = this.project(project)!.settings.order;
    this.db.run(sql.readyClear, this.orgId, project);
    for (let after = 0; ; ) {
      const tasks = this.db.all(sql.readyTasks, this.orgId, project, after).map(toTask);
      this.insertReady(
        tasks.flatMap((task) => readyEntries(task, order).map((entry) => ({ project, entry }))),
      );
      if (tasks.length < 1000) return;
      after = tasks[tasks.length - 1]!.ordinal;
    }
  }
}

// Most changes touch few fields, and are written by a shorter statement. The fields are compared one by one: two changes may
// share one instant, so `updatedAt` does not tell.
const moved = [
  "state",
  "epoch",
  "updatedAt",
  "startedAt",
  "endedAt",
] as const satisfies readonly (keyof Task)[];
const counted = [
  "pendingDeps",
  "openChildren",
  "completedChildren",
] as const satisfies readonly (keyof Task)[];
const told = [
  "retryCount",
  "lostCount",
  "notBefore",
  "question",
  "response",
  "responsePending",
  "error",
] as const satisfies readonly (keyof Task)[];

const differs = (before: Task, after: Task, fields: readonly (keyof Task)[]) =>
  fields.some((field) => before[field] !== after[field]);

/** It was held and came to rest, and nothing else. */
function isOnlyMoved(before: Task, after: Task): boolean {
  return !differs(before, after, told) && !differs(before, after, counted);
}

/** Only what it waits for has changed. */
function isOnlyFreed(before: Task, after: Task): boolean {
  return !differs(before, after, told) && !differs(before, after, moved);
}

const entryWidth = 6;
const taskWidth = taskColumns.split(",").length;

function toFetched(row: Row): Fetched {
  const [prompt, description, metadata] = row.slice(taskWidth);
  const text =
    prompt === null
      ? null
      : { prompt, description, metadata: metadata === null ? null : JSON.parse(metadata) };
  return { task: toTask(row), text };
}

function toEntry(row: Row): ReadyEntry {
  return { id: row[0], lane: row[1], level: row[2], k1: row[3], k2: row[4], notBefore: row[5] };
}
