// Rows into the database, for one org: everything a transaction changed, a few statements per table.

import type { Attempt, Claim } from "../../core/claim.js";
import { type ReadyEntry, readyEntries } from "../../core/ready.js";
import type { Task } from "../../core/task.js";
import { busyChunk } from "../ready-queue.js";
import {
  attemptBody,
  toTask as decodeTask,
  isOnlyFreed,
  isOnlyMoved,
  notificationColumns,
  notificationRow,
  type Row,
  taskColumns,
  taskKeyColumns,
  taskRow,
  type Value,
} from "../row-codec.js";
import type { Change, Chunk, Fetched, Flush, OfTask, Queued, ReadyRows, Rows } from "../rows.js";
import {
  claimRow,
  claimWritten,
  granted,
  isAsGranted,
  orgRow,
  projectRow,
  sharedByGranted,
  toTask,
} from "./codec.js";
import { eventWritten, historyText, pushEvent, sessionColumns, sessionRow } from "./codec-sessions.js";
import { SqliteListings } from "./listings.js";
import { Batches, insertInto, keyed, type Many, type Statements } from "./statements.js";

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

const sql = {
  org: `UPDATE org SET event_seq = ?, event_min = ?, ordinal = ?, notification_seq = ?, last_at = ?, highest_at = ?, default_project = ?,
    created_at = ? WHERE org = ?`,
  project:
    "INSERT OR REPLACE INTO project (org, id, settings, paused, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)",
  taskMoved: `UPDATE task SET state = ?, epoch = ?, updated_at = ?, ready_at = ?, started_at = ?, ended_at = ? WHERE no = ?`,
  taskFreed: `UPDATE task SET pending_deps = ?, open_children = ?, completed_children = ?, ready_at = ? WHERE no = ?`,
  taskFull: `UPDATE task SET ${assignments(taskColumns)} WHERE no = ?`,
  taskRemove: "DELETE FROM task WHERE no = ?",
  textRemove: "DELETE FROM task_text WHERE no = ?",
  attemptsRemove: "DELETE FROM attempt WHERE no = ?",
  text: "INSERT OR REPLACE INTO task_text (no, prompt, description, metadata) VALUES (?, ?, ?, ?)",
  claimUpdate: `UPDATE claim SET ${assignments(claimWritten)} WHERE no = ?`,
  attemptUpdate: "UPDATE attempt SET body = ? WHERE no = ? AND epoch = ?",
  session: `INSERT OR REPLACE INTO session (org, ${sessionColumns}) VALUES (?, ${marks(sessionColumns)})`,
  counter: "INSERT OR REPLACE INTO counter (org, project, parent, value) VALUES (?, ?, ?, ?)",
  edgeAdd: "INSERT OR IGNORE INTO dependency (org, project, depends_on, task_id) VALUES (?, ?, ?, ?)",
  edgeRemove: "DELETE FROM dependency WHERE org = ? AND project = ? AND depends_on = ? AND task_id = ?",
  notification: `INSERT OR REPLACE INTO notification (org, ${notificationColumns}) VALUES (?, ${marks(notificationColumns)})`,
  idempotency:
    "INSERT OR REPLACE INTO idempotency (org, key, request, answer, created_at) VALUES (?, ?, ?, ?, ?)",
  eventsArchive: "DELETE FROM event WHERE no >= ? AND no < ?",
  document: `INSERT INTO document (org, kind, key, value) VALUES (?, ?, ?, ?)
    ON CONFLICT (org, kind, key) DO UPDATE SET value = excluded.value`,
  documentRemove: "DELETE FROM document WHERE org = ? AND kind = ? AND key = ?",
  readyClear: "DELETE FROM ready WHERE org = ? AND project = ?",
  readyTasks: `SELECT ${taskKeyColumns}, ${taskColumns} FROM task t WHERE org = ? AND project = ? AND state = 'queued' AND type = 'task'
    AND pending_deps = 0 AND open_children = 0 AND no > ?
    AND NOT EXISTS (SELECT 1 FROM claim c WHERE c.no = t.no) ORDER BY no LIMIT 1000`,
  lane: "SELECT lane FROM ready WHERE org = ? AND project = ? AND lane >= ? AND lane < ? ORDER BY lane LIMIT 1",
  laneAfter:
    "SELECT lane FROM ready WHERE org = ? AND project = ? AND lane > ? AND lane < ? ORDER BY lane LIMIT 1",
  level:
    "SELECT level FROM ready WHERE org = ? AND project = ? AND lane = ? AND level < ? ORDER BY level DESC LIMIT 1",
  chunk: `SELECT id, lane, level, k1, k2, not_before FROM ready WHERE org = ? AND project = ? AND lane = ? AND level = ?
    AND (k1, k2) > (?, ?) ORDER BY k1, k2 LIMIT ?`,
  // Most ready tasks have none of the rest, and each column that is read costs. A row of the queue whose task is not ready must
  // not be hidden by that: whoever takes it looks at the task once more.
  chunkWithTasks: `SELECT t.id, t.title, t.priority, t.epoch, t.created_at, t.updated_at, t.ready_at, t.more,
      r.k1, r.k2, r.not_before, CASE WHEN octet_length(x.prompt) <= 4096 THEN x.prompt END,
      NOT EXISTS (SELECT 1 FROM dependency d WHERE d.org = r.org AND d.project = r.project AND d.depends_on = r.id),
      CASE WHEN coalesce(t.parent_id, t.assignee, t.not_before, t.started_at, t.ended_at, x.description, x.metadata) IS NOT NULL
          OR t.type <> 'task' OR t.state <> 'queued' OR t.lost_count <> 0 OR t.pending_deps <> 0 OR t.open_children <> 0
          OR t.completed_children <> 0 THEN
        json_array(t.type, t.parent_id, t.state, t.assignee, t.lost_count, t.not_before, t.started_at, t.ended_at,
          t.pending_deps, t.open_children, t.completed_children, x.description, x.metadata)
      END
    FROM ready r CROSS JOIN task t ON t.no = ? + abs(r.k2)
    LEFT JOIN task_text x ON x.no = t.no
    WHERE r.org = ? AND r.project = ? AND r.lane = ? AND r.level = ? AND (r.k1, r.k2) > (?, ?)
    ORDER BY r.k1, r.k2 LIMIT ?`,
};

const ofProject = "org, project";
const many = {
  task: insertInto("task", { shared: ofProject, columns: `no, id, ${taskColumns}` }),
  taskCompleted: keyed(
    "UPDATE task SET state = 'completed', ready_at = NULL, epoch = ?1, updated_at = ?2, started_at = ?3, ended_at = ?4 WHERE no",
  ),
  claimGranted: insertInto("claim", { ...granted, shared: `${ofProject}, ${granted.shared}` }),
  claim: insertInto("claim", { shared: ofProject, columns: `no, task_id, ${claimWritten}` }),
  claimDelete: keyed("DELETE FROM claim WHERE no"),
  attempt: insertInto("attempt", { shared: "epoch, released_at", columns: "no, session_id, body" }),
  record: insertInto("session_record", {
    shared: ofProject,
    columns: "id, completed, history",
    or: "REPLACE",
  }),
  event: insertInto("event", { shared: "project", columns: eventWritten }),
  ready: insertInto("ready", { shared: ofProject, columns: "lane, level, k1, k2, id, not_before" }),
  readyRemove: keyed(
    "DELETE FROM ready WHERE org = ?1 AND project = ?2 AND lane = ?3 AND level = ?4 AND k1 = ?5 AND k2",
  ),
};
const lowest = Number.MIN_SAFE_INTEGER;

export class SqliteRows extends SqliteListings implements Rows {
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
    // In either order, k2 is the task's number or its negative.
    const rows = this.db.all(sql.chunkWithTasks, this.first, ...from);
    // By the order of its columns.
    const entries = rows.map(
      (row): ReadyEntry => ({ id: row[0], lane, level, k1: row[8], k2: row[9], notBefore: row[10] }),
    );
    return { entries, tasks: rows.flatMap((row) => fetchedOrNone(row, project)) };
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
    const { orgId: org, db, first } = this;
    if (flush.org) {
      const [, ...values] = orgRow(flush.org);
      db.run(sql.org, ...values, org);
    }
    for (const project of flush.projects) db.run(sql.project, org, ...projectRow(project));
    this.writeTasks(flush.tasks);
    for (const { ordinal } of flush.removed) {
      for (const remove of [sql.taskRemove, sql.textRemove, sql.attemptsRemove])
        db.run(remove, first + ordinal);
    }
    for (const { ordinal, row: text } of flush.texts) {
      const metadata = text.metadata === null ? null : JSON.stringify(text.metadata);
      db.run(sql.text, first + ordinal, text.prompt, text.description, metadata);
    }
    this.writeClaims(flush.claims);
    this.writeAttempts(flush.attempts);
    for (const session of flush.sessions) db.run(sql.session, org, ...sessionRow(session));
    const records = new Batches();
    for (const record of flush.records) {
      records.of(org, record.project).push(record.id, record.completed, historyText(record));
    }
    this.runAll(many.record, records);
    for (const { project, parent, value } of flush.counters) db.run(sql.counter, org, project, parent, value);
    for (const { edge, isAdded } of flush.edges) {
      db.run(isAdded ? sql.edgeAdd : sql.edgeRemove, org, edge.project, edge.dependsOn, edge.taskId);
    }
    for (const notification of flush.notifications)
      db.run(sql.notification, org, ...notificationRow(notification));
    if (flush.archived) {
      db.run(sql.eventsArchive, first + flush.archived.from, first + flush.archived.below);
    }
    const events = new Batches();
    for (const event of flush.events) pushEvent(events.of(event.row.project), event, first);
    this.runAll(many.event, events);
    for (const record of flush.idempotency) {
      db.run(sql.idempotency, org, record.key, record.request, record.answer, record.createdAt);
    }
    for (const { kind, key, value } of flush.documents) {
      if (value) db.run(sql.document, org, kind, key, JSON.stringify(value));
      else db.run(sql.documentRemove, org, kind, key);
    }
    const left = new Batches();
    for (const { project, entry } of flush.leftQueue) {
      left.of(org, project, entry.lane, entry.level, entry.k1).push(entry.k2);
    }
    this.runAll(many.readyRemove, left);
    this.insertReady(flush.joinedQueue);
  }

  private runAll(statement: Many, { all }: Batches): void {
    for (const batch of all) this.db.runMany(statement, batch);
  }

  private writeTasks(tasks: Iterable<Change<Task>>): void {
    const created = new Batches();
    const move = this.db.prepared(sql.taskMoved);
    const completed = new Batches();
    for (const { before, after } of tasks) {
      if (!after) continue;
      const no = this.first + after.ordinal;
      if (!before) {
        created.of(this.orgId, after.project).push(no, after.id, ...taskRow(after));
      } else if (isOnlyMoved(before, after)) {
        const { state, epoch, updatedAt, readyAt, startedAt, endedAt } = after;
        if (state === "completed" && readyAt === null) {
          completed.of(epoch, updatedAt, startedAt, endedAt).push(no);
        } else move.get(state, epoch, updatedAt, readyAt, startedAt, endedAt, no);
      } else if (isOnlyFreed(before, after)) {
        const { pendingDeps, openChildren, completedChildren, readyAt } = after;
        this.db.run(sql.taskFreed, pendingDeps, openChildren, completedChildren, readyAt, no);
      } else this.db.run(sql.taskFull, ...taskRow(after), no);
    }
    this.runAll(many.taskCompleted, completed);
    this.runAll(many.task, created);
  }

  private writeClaims(claims: Iterable<OfTask<Change<Claim>>>): void {
    const asGranted = new Batches();
    const opened = new Batches();
    const closed: Value[] = [];
    for (const { ordinal, row } of claims) {
      const no = this.first + ordinal;
      if (row.before && row.after) this.db.run(sql.claimUpdate, ...claimRow(row.after), no);
      else if (row.before) closed.push(no);
      else if (row.after && isAsGranted(row.after)) {
        const { project, taskId, sessionId } = row.after;
        asGranted.of(this.orgId, project, ...sharedByGranted(row.after)).push(no, taskId, sessionId);
      } else if (row.after)
        opened.of(this.orgId, row.after.project).push(no, row.after.taskId, ...claimRow(row.after));
    }
    this.db.runMany(many.claimDelete, { sharedCount: 0, values: closed });
    this.runAll(many.claimGranted, asGranted);
    this.runAll(many.claim, opened);
  }

  private writeAttempts(attempts: Iterable<OfTask<Change<Attempt>>>): void {
    const closed = new Batches();
    for (const { ordinal, row } of attempts) {
      if (!row.after) continue;
      const no = this.first + ordinal;
      const { epoch, sessionId, releasedAt } = row.after;
      if (row.before) this.db.run(sql.attemptUpdate, attemptBody(row.after), no, epoch);
      else closed.of(epoch, releasedAt).push(no, sessionId, attemptBody(row.after));
    }
    this.runAll(many.attempt, closed);
  }

  private insertReady(added: readonly Queued[]): void {
    const rows = new Batches();
    for (const { project, entry } of added) {
      const { lane, level, k1, k2, id, notBefore } = entry;
      rows.of(this.orgId, project).push(lane, level, k1, k2, id, notBefore);
    }
    this.runAll(many.ready, rows);
  }

  rebuildReady(project: string): void {
    const order = this.project(project)!.settings.order;
    this.db.run(sql.readyClear, this.orgId, project);
    for (let after = this.first; ; ) {
      const tasks = this.db.all(sql.readyTasks, this.orgId, project, after).map(toTask);
      this.insertReady(
        tasks.flatMap((task) => readyEntries(task, order).map((entry) => ({ project, entry }))),
      );
      if (tasks.length < 1000) return;
      after = this.first + tasks[tasks.length - 1]!.ordinal;
    }
  }
}

/** The rest of most ready tasks, in the order of `json_array` above. */
const plain = ["task", null, "queued", null, 0, null, null, null, 0, 0, 0, null, null];

function toFetched(row: Row, project: string): Fetched {
  const [id, title, priority, epoch, createdAt, updatedAt, readyAt, more, , k2, , prompt, isFree, rest] = row;
  // biome-ignore format: in the order of the columns.
  const [type, parentId, state, assignee, lostCount, notBefore, startedAt, endedAt, pendingDeps, openChildren,
    completedChildren, description, metadata] = rest === null ? plain : JSON.parse(rest);
  const ordinal = Math.abs(k2);
  // biome-ignore format: in the order of the columns.
  const columns = [null, project, id, type, parentId, title, state, priority, assignee, lostCount, notBefore, epoch,
    createdAt, updatedAt, readyAt, startedAt, endedAt, pendingDeps, openChildren, completedChildren];
  const text =
    prompt === null
      ? null
      : { prompt, description, metadata: metadata === null ? null : JSON.parse(metadata) };
  return { task: decodeTask(columns, ordinal, JSON.parse(more)), text, isFree: isFree === 1 };
}

/** A task that cannot be decoded does not come along: looking it up by id says why. */
function fetchedOrNone(row: Row, project: string): Fetched[] {
  try {
    return [toFetched(row, project)];
  } catch {
    return [];
  }
}

function toEntry(row: Row): ReadyEntry {
  return { id: row[0], lane: row[1], level: row[2], k1: row[3], k2: row[4], notBefore: row[5] };
}
