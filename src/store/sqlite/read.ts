// Rows out of the database, for one org. Every predicate starts with the org.

import type { Attempt, Claim } from "../../core/claim.js";
import type { DibsEvent, Notification } from "../../core/event.js";
import type { Org, Project } from "../../core/project.js";
import { type ReadyCount, unlabelledLanes } from "../../core/ready.js";
import { UnknownOrgError } from "../../core/refusal.js";
import type { Session, SessionRecord } from "../../core/session.js";
import type { Task, TaskState, TaskText } from "../../core/task.js";
import type {
  ClaimFilter,
  DocumentValue,
  EventFilter,
  IdempotencyRecord,
  OpenCounts,
  SessionFilter,
  TaskFilter,
  Tolerant,
} from "../../core/view.js";
import {
  attemptColumns,
  notificationColumns,
  notificationNumber,
  orgColumns,
  type Row,
  taskColumns,
  taskKeyColumns,
  toNotification,
  toOrg,
  type Value,
} from "../row-codec.js";
import type { DueClaim } from "../rows.js";
import { queuedCondition, stateCondition } from "../state-condition.js";
import { decodeAll } from "../unreadable.js";
import {
  claimColumns,
  projectColumns,
  toAttempt,
  toClaim,
  toDocument,
  toProject,
  toTask,
  toText,
} from "./codec.js";
import {
  eventColumns,
  recordColumns,
  sessionColumns,
  toEvent,
  toRecord,
  toSession,
} from "./codec-sessions.js";
import { numbersPerOrg } from "./schema.js";
import type { Statements } from "./statements.js";

const sql = {
  first: "SELECT no FROM org WHERE org = ?",
  org: `SELECT ${orgColumns} FROM org WHERE org = ?`,
  project: `SELECT ${projectColumns} FROM project WHERE org = ? AND id = ?`,
  projects: `SELECT ${projectColumns} FROM project WHERE org = ? ORDER BY id`,
  task: `SELECT ${taskKeyColumns}, ${taskColumns} FROM task WHERE org = ? AND project = ? AND id = ?`,
  text: "SELECT prompt, description, metadata FROM task_text WHERE no = ?",
  dependents:
    "SELECT task_id FROM dependency WHERE org = ? AND project = ? AND depends_on = ? ORDER BY task_id",
  children: "SELECT id FROM task WHERE org = ? AND project = ? AND parent_id = ? ORDER BY no",
  counter: "SELECT value FROM counter WHERE org = ? AND project = ? AND parent = ?",
  claim: `SELECT ${claimColumns} FROM claim WHERE no = ?`,
  claimsOf: `SELECT ${claimColumns} FROM claim WHERE org = ? AND project = ? AND session_id = ?`,
  attempt: `SELECT ${attemptColumns} FROM attempt WHERE no = ? AND epoch = ?`,
  attempts: `SELECT ${attemptColumns} FROM attempt WHERE no = ? ORDER BY epoch DESC LIMIT ?`,
  due: "SELECT project, task_id, due_at FROM claim WHERE org = ? AND due_at <= ? ORDER BY due_at, project, task_id LIMIT ?",
  nextDue: "SELECT project, task_id, due_at FROM claim WHERE org = ? AND due_at > ? ORDER BY due_at LIMIT ?",
  session: `SELECT ${sessionColumns} FROM session WHERE org = ? AND project = ? AND id = ?`,
  notification: `SELECT ${notificationColumns} FROM notification WHERE org = ? AND number = ?`,
  idempotency: "SELECT key, request, answer, created_at FROM idempotency WHERE org = ? AND key = ?",
  document: "SELECT value FROM document WHERE org = ? AND kind = ? AND key = ?",
  record: `SELECT ${recordColumns} FROM session_record WHERE org = ? AND project = ? AND id = ?`,
};

const toDueClaim = ([project, taskId, dueAt]: Row): DueClaim => ({ project, taskId, dueAt });

export class SqliteReads {
  readonly guesses = 0;
  private firstNumber: number | null = null;

  constructor(
    protected readonly db: Statements,
    protected readonly orgId: string,
  ) {}

  /** The numbers of the org's tasks and events come after this one. */
  protected get first(): number {
    this.firstNumber ??= this.db.get(sql.first, this.orgId)![0] * numbersPerOrg;
    return this.firstNumber;
  }

  org(): Org {
    const row = this.db.get(sql.org, this.orgId);
    if (!row) throw new UnknownOrgError(this.orgId);
    return toOrg(row);
  }

  project(id: string): Project | undefined {
    const row = this.db.get(sql.project, this.orgId, id);
    return row && toProject(row);
  }

  projects({ readableOnly }: Tolerant = {}): Project[] {
    return decodeAll(this.db.all(sql.projects, this.orgId), toProject, readableOnly);
  }

  task(project: string, id: string): Task | undefined {
    const row = this.db.get(sql.task, this.orgId, project, id);
    return row && toTask(row);
  }

  text({ project, id, ordinal }: Task): TaskText | undefined {
    const row = this.db.get(sql.text, this.first + ordinal);
    return row && toText(row, `${project}/${id}`);
  }

  dependents(project: string, id: string): string[] {
    return this.db.all(sql.dependents, this.orgId, project, id).map((row) => row[0]);
  }

  children(project: string, id: string): string[] {
    return this.db.all(sql.children, this.orgId, project, id).map((row) => row[0]);
  }

  counter(project: string, parent: string): number {
    return this.db.get(sql.counter, this.orgId, project, parent)?.[0] ?? 0;
  }

  claim({ ordinal }: Task): Claim | undefined {
    const row = this.db.get(sql.claim, this.first + ordinal);
    return row && toClaim(row);
  }

  claimsOf(project: string, sessionId: string): Claim[] {
    return this.db.all(sql.claimsOf, this.orgId, project, sessionId).map(toClaim);
  }

  attempt({ project, id, ordinal }: Task, epoch: number): Attempt | undefined {
    const row = this.db.get(sql.attempt, this.first + ordinal, epoch);
    return row && toAttempt(project, id, row);
  }

  attempts({ project, id, ordinal }: Task, limit: number): Attempt[] {
    const rows = this.db.all(sql.attempts, this.first + ordinal, limit);
    return rows.map((row) => toAttempt(project, id, row));
  }

  due(now: number, limit: number): DueClaim[] {
    return this.db.all(sql.due, this.orgId, now, limit).map(toDueClaim);
  }

  nextDue(now: number, limit: number): DueClaim[] {
    return this.db.all(sql.nextDue, this.orgId, now, limit).map(toDueClaim);
  }

  session(project: string, id: string): Session | undefined {
    const row = this.db.get(sql.session, this.orgId, project, id);
    return row && toSession(row);
  }

  notification(id: string): Notification | undefined {
    const row = this.db.get(sql.notification, this.orgId, notificationNumber(id));
    return row && toNotification(row);
  }

  idempotency(key: string): IdempotencyRecord | undefined {
    const row = this.db.get(sql.idempotency, this.orgId, key);
    return row && { key: row[0], request: row[1], answer: row[2], createdAt: row[3] };
  }

  document(kind: string, key: string): DocumentValue | undefined {
    const row = this.db.get(sql.document, this.orgId, kind, key);
    return row && toDocument(row[0], `${kind}/${key}`);
  }

  record(project: string, sessionId: string): SessionRecord | undefined {
    const row = this.db.get(sql.record, this.orgId, project, sessionId);
    return row && toRecord(row);
  }

  tasks(filter: TaskFilter): Task[] {
    // The numbers tell the org. Its name would make the planner, as long as it has no statistics, sort them all for each page.
    const where = ["t.no > ?", "t.no < ?"];
    const { first } = this;
    const { beforeOrdinal } = filter;
    const values: Value[] = [
      first + filter.afterOrdinal,
      first + Math.min(beforeOrdinal ?? numbersPerOrg, numbersPerOrg),
    ];
    const add = (condition: string, ...more: Value[]) => {
      where.push(condition);
      values.push(...more);
    };
    if (filter.project !== null) add("t.org = ? AND t.project = ?", this.orgId, filter.project);
    if (filter.states) {
      const state = stateCondition(filter.states, { schema: "", value: "?", org: this.orgId });
      add(state.text, ...state.values);
    }
    if (filter.label !== undefined) {
      add("EXISTS (SELECT 1 FROM json_each(t.more, '$.labels') WHERE value = ?)", filter.label);
    }
    if (filter.assignee !== undefined) add("t.assignee = ?", filter.assignee);
    if (filter.parentId === null) where.push("t.parent_id IS NULL");
    else if (filter.parentId !== undefined) add("t.parent_id = ?", filter.parentId);
    if (filter.text !== undefined) {
      const like = `%${filter.text.replace(/[\\%_]/g, "\\$&")}%`;
      add(
        `(t.id LIKE ? ESCAPE '\\' OR t.title LIKE ? ESCAPE '\\' OR EXISTS (SELECT 1 FROM task_text x
          WHERE x.no = t.no AND x.prompt LIKE ? ESCAPE '\\'))`,
        like,
        like,
        like,
      );
    }
    if (filter.queued) {
      const queued = queuedCondition(filter.queued, "?");
      add(queued.text, ...queued.values);
    }
    values.push(filter.limit);
    const columns = `${taskKeyColumns}, ${taskColumns}`.replaceAll(/\w+/g, "t.$&");
    const text = `SELECT ${columns} FROM task t
      LEFT JOIN claim c ON c.no = t.no
      WHERE ${where.join(" AND ")} ORDER BY t.no ${beforeOrdinal === undefined ? "" : "DESC"} LIMIT ?`;
    return this.db.once(text, values).map(toTask);
  }

  openClaims({ project, sessionId, limit, readableOnly }: ClaimFilter): Claim[] {
    const where = ["org = ?"];
    const values: Value[] = [this.orgId];
    if (project !== null) {
      where.push("project = ?");
      values.push(project);
    }
    if (sessionId !== undefined) {
      where.push("session_id = ?");
      values.push(sessionId);
    }
    const text = `SELECT ${claimColumns} FROM claim WHERE ${where.join(" AND ")} ORDER BY claimed_at, project, task_id LIMIT ?`;
    return decodeAll(this.db.once(text, [...values, limit]), toClaim, readableOnly);
  }

  lostClaims({ project, sessionId, limit }: ClaimFilter): Attempt[] {
    const columns = attemptColumns.replaceAll(/\w+/g, "a.$&");
    const values: Value[] = [this.orgId];
    const where = ["t.org = ?", "t.state = 'queued'", "t.lost_count > 0"];
    if (project !== null) {
      where.push("t.project = ?");
      values.push(project);
    }
    if (sessionId !== undefined) {
      where.push("a.session_id = ?");
      values.push(sessionId);
    }
    const text = `SELECT t.project, t.id, ${columns} FROM task t
      JOIN attempt a ON a.no = t.no AND a.epoch = t.epoch
      WHERE ${where.join(" AND ")} AND NOT EXISTS (SELECT 1 FROM claim c WHERE c.no = t.no)
      ORDER BY a.released_at DESC, t.id LIMIT ?`;
    const rows = this.db.once(text, [...values, limit]);
    return rows.map(([of, id, ...row]) => toAttempt(of, id, row));
  }

  events({ after, limit, project, taskId, types, readableOnly }: EventFilter): DibsEvent[] {
    const where = ["no > ?", "no < ?"];
    const values: Value[] = [this.first + after, this.first + numbersPerOrg];
    const add = (condition: string, ...more: Value[]) => {
      where.push(condition);
      values.push(...more);
    };
    if (project !== null && project !== undefined) add("project = ?", project);
    if (taskId !== undefined) {
      const one = project === null || project === undefined ? "" : "AND project = ?";
      const of = `task_no IN (SELECT no FROM task WHERE org = ? ${one} AND id = ?)`;
      add(of, this.orgId, ...(one && project ? [project] : []), taskId);
    }
    if (types) add(`type IN (${types.map(() => "?").join(",")})`, ...types);
    const text = `SELECT ${eventColumns} FROM event WHERE ${where.join(" AND ")} ORDER BY no LIMIT ?`;
    const rows =
      types || taskId !== undefined
        ? this.db.once(text, [...values, limit])
        : this.db.all(text, ...values, limit);
    return decodeAll(rows, (row) => toEvent(row, this.orgId), readableOnly);
  }

  sessions(filter: SessionFilter): Session[] {
    const where = ["org = ?"];
    const values: Value[] = [this.orgId];
    if (filter.project !== null) {
      where.push("project = ?");
      values.push(filter.project);
    }
    if (filter.live) where.push("ended_at IS NULL");
    if (filter.seenSince !== undefined) {
      where.push(
        `(last_seen_at >= ? OR EXISTS (SELECT 1 FROM claim c WHERE c.org = session.org
          AND c.project = session.project AND c.session_id = session.id))`,
      );
      values.push(filter.seenSince);
    }
    if (filter.afterId !== undefined) {
      where.push("project || '/' || id > ?");
      values.push(filter.afterId);
    }
    const text = `SELECT ${sessionColumns} FROM session WHERE ${where.join(" AND ")} ORDER BY project || '/' || id LIMIT ?`;
    return decodeAll(this.db.once(text, [...values, filter.limit]), toSession, filter.readableOnly);
  }

  notifications(filter: {
    project: string | null;
    unread: boolean;
    before?: number;
    limit: number;
  }): Notification[] {
    const where = ["org = ?"];
    const values: Value[] = [this.orgId];
    if (filter.project !== null) {
      where.push("project = ?");
      values.push(filter.project);
    }
    if (filter.unread) where.push("read_at IS NULL");
    if (filter.before !== undefined) {
      where.push("number < ?");
      values.push(filter.before);
    }
    const text = `SELECT ${notificationColumns} FROM notification WHERE ${where.join(" AND ")} ORDER BY number DESC LIMIT ?`;
    return this.db.once(text, [...values, filter.limit]).map(toNotification);
  }

  unreadCount(project: string | null): number {
    const one = project === null ? "" : "AND project = ?";
    const text = `SELECT count(*) FROM notification WHERE org = ? ${one} AND read_at IS NULL`;
    return this.db.all(text, this.orgId, ...(project === null ? [] : [project]))[0]![0];
  }

  taskCounts(project: string | null): Partial<Record<TaskState, number>> {
    const one = project === null ? "" : "AND project = ?";
    const values = project === null ? [this.orgId] : [this.orgId, project];
    const counts: Partial<Record<TaskState, number>> = {};
    for (const [state, count] of this.db.all(
      `SELECT state, count(*) FROM task WHERE org = ? ${one} GROUP BY state`,
      ...values,
    )) {
      counts[state as TaskState] = count;
    }
    for (const [state, count] of this.db.all(
      `SELECT state, count(*) FROM claim WHERE org = ? ${one} GROUP BY state`,
      ...values,
    )) {
      counts.queued = (counts.queued ?? 0) - count;
      counts[state as TaskState] = (counts[state as TaskState] ?? 0) + count;
    }
    return counts;
  }

  /** Equality with one state at a time: by several, SQLite would sort what it finds. */
  openCounts(project: string): OpenCounts {
    const counts: OpenCounts = {};
    for (const state of ["queued", "awaiting_response", "submitted", "failed"] as const) {
      const text = `SELECT count(*) FROM task WHERE org = ? AND project = ? AND state = '${state}' AND state <> 'completed'
        AND type <> 'group'`;
      const [row] = this.db.all(text, this.orgId, project);
      if (row![0] > 0) counts[state] = row![0];
    }
    const held = "SELECT state, count(*) FROM claim WHERE org = ? AND project = ? GROUP BY state";
    for (const [state, count] of this.db.all(held, this.orgId, project)) {
      counts.queued = (counts.queued ?? 0) - count;
      counts[state as TaskState] = (counts[state as TaskState] ?? 0) + count;
    }
    return counts;
  }

  readyCounts(project: string | null, now: number): ReadyCount[] {
    const one = project === null ? "" : "AND project = ?";
    const text = `SELECT lane, sum(not_before <= ?), sum(not_before > ?) FROM ready
      WHERE org = ? ${one} AND lane >= ? AND lane < ? GROUP BY lane`;
    const of = project === null ? [this.orgId] : [this.orgId, project];
    const rows = this.db.all(text, now, now, ...of, unlabelledLanes.from, unlabelledLanes.to);
    return rows.map(([lane, ready, scheduled]) => ({ lane, ready, scheduled }));
  }
}
