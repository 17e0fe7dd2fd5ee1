import { type Claim, dueAt } from "../../../core/claim.js";
import type { Task } from "../../../core/task.js";
import type { ClaimFilter } from "../../../core/view.js";
import { Layout, type Row, type Value } from "../../columns.js";
import { dueColumns, toDueClaim } from "../../layouts.js";
import type { Change, DueClaim, OfTask } from "../../rows.js";
import { decodeAll, readable } from "../../unreadable.js";
import { Where } from "../../where.js";
import { assignments, flag, object, ofFirstTwo } from "../converters.js";
import type { Scope } from "../scope.js";
import { Batches, insertInto, keyed } from "../statements.js";

const layout = new Layout<Claim>({
  project: "project",
  taskId: "task_id",
  sessionId: "session_id",
  epoch: "epoch",
  state: "state",
  agentType: "agent_type",
  claimedAt: "claimed_at",
  startedAt: "started_at",
  expiresAt: "expires_at",
  ttlMs: "ttl_ms",
  lastHeartbeat: "last_heartbeat",
  heartbeatCount: "heartbeat_count",
  progress: object("progress"),
  metadata: object("metadata"),
  uses: object("uses"),
  usage: object("usage"),
  updatedAt: "updated_at",
  startBy: "start_by",
  deadlineAt: "deadline_at",
  silentAt: "silent_at",
  pausedAt: "paused_at",
  acknowledged: flag("acknowledged"),
});

/** What of a claim can change. */
const changing = layout.part((field) => field !== "project" && field !== "taskId");

/**
 * As it was granted, and nothing has happened since: most claims are written like this, and those of one group share nearly all of
 * it. Fields that are neither shared nor constant are NULL.
 */
const granted = {
  state: "claimed",
  startedAt: null,
  heartbeatCount: 0,
  progress: null,
  usage: null,
  pausedAt: null,
  acknowledged: false,
} satisfies Partial<Claim>;
const constant = { state: "'claimed'", heartbeat_count: "0", acknowledged: "0" };
const grantedFields = Object.keys(granted) as (keyof typeof granted)[];
const isShared = (field: string) => field !== "sessionId" && !(field in granted);
const sharedByGranted = changing.part(isShared);

const { columns } = layout;
const sql = {
  all: `SELECT ${columns} FROM claim`,
  find: `SELECT ${columns} FROM claim WHERE no = ?`,
  ofSession: `SELECT ${columns} FROM claim WHERE org = ? AND project = ? AND session_id = ?`,
  due: `SELECT ${dueColumns} FROM claim WHERE org = ? AND due_at <= ? ORDER BY due_at, project, task_id LIMIT ?`,
  nextDue: `SELECT ${dueColumns} FROM claim WHERE org = ? AND due_at > ? ORDER BY due_at LIMIT ?`,
  update: `UPDATE claim SET ${assignments(changing.columns)}, due_at = ? WHERE no = ?`,
};
const insertGranted = insertInto("claim", {
  shared: `org, project, ${sharedByGranted.columns}, due_at`,
  columns: "no, task_id, session_id",
  constant,
});
const insert = insertInto("claim", {
  shared: "org, project",
  columns: `no, task_id, ${changing.columns}, due_at`,
});
const close = keyed("DELETE FROM claim WHERE no");

const decode = readable("claim", ofFirstTwo, (row: Row) => layout.decode(row));

export const check = { sql: sql.all, decode };

export function find(scope: Scope, { ordinal }: Task): Claim | undefined {
  return scope.find(decode, sql.find, scope.first + ordinal);
}

export function ofSession({ db, org }: Scope, project: string, sessionId: string): Claim[] {
  return db.all(sql.ofSession, org, project, sessionId).map(decode);
}

export function due({ db, org }: Scope, now: number, limit: number): DueClaim[] {
  return db.all(sql.due, org, now, limit).map(toDueClaim);
}

export function nextDue({ db, org }: Scope, now: number, limit: number): DueClaim[] {
  return db.all(sql.nextDue, org, now, limit).map(toDueClaim);
}

export function list({ db, org }: Scope, { project, sessionId, limit, readableOnly }: ClaimFilter): Claim[] {
  const where = new Where<Value>()
    .and("org = ?", org)
    .andIf(project, "project = ?")
    .andIf(sessionId, "session_id = ?");
  const text = `SELECT ${columns} FROM claim WHERE ${where.text} ORDER BY claimed_at, project, task_id LIMIT ?`;
  return decodeAll(db.once(text, [...where.values, limit]), decode, readableOnly);
}

function isAsGranted(claim: Claim): boolean {
  return grantedFields.every((field) => claim[field] === granted[field]);
}

export function write(scope: Scope, claims: Iterable<OfTask<Change<Claim>>>): void {
  const { db, org, first } = scope;
  const asGranted = new Batches();
  const opened = new Batches();
  const closed: Value[] = [];
  for (const { ordinal, row } of claims) {
    const no = first + ordinal;
    const claim = row.after;
    if (!claim) {
      if (row.before) closed.push(no);
    } else if (row.before) {
      db.run(sql.update, ...changing.encode(claim), dueAt(claim), no);
    } else if (isAsGranted(claim)) {
      const shared = [org, claim.project, ...sharedByGranted.encode(claim), dueAt(claim)];
      asGranted.of(...shared).push(no, claim.taskId, claim.sessionId);
    } else {
      opened.of(org, claim.project).push(no, claim.taskId, ...changing.encode(claim), dueAt(claim));
    }
  }
  db.runMany(close, { sharedCount: 0, values: closed });
  scope.runAll(insertGranted, asGranted);
  scope.runAll(insert, opened);
}
