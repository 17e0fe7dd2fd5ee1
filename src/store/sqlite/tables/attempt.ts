import type { Attempt } from "../../../core/claim.js";
import type { Task } from "../../../core/task.js";
import type { ClaimFilter } from "../../../core/view.js";
import { attemptBody, attemptColumns as columns, toAttempt } from "../../attempt-body.js";
import { prefixed, type Row, type Value } from "../../columns.js";
import type { Change, OfTask } from "../../rows.js";
import { Where } from "../../where.js";
import type { Scope } from "../scope.js";
import { Batches, insertInto } from "../statements.js";

const withTask = `t.project, t.id, ${prefixed("a", columns)}`;
const sql = {
  all: `SELECT ${withTask} FROM attempt a JOIN task t ON t.no = a.no`,
  find: `SELECT ${columns} FROM attempt WHERE no = ? AND epoch = ?`,
  ofTask: `SELECT ${columns} FROM attempt WHERE no = ? ORDER BY epoch DESC LIMIT ?`,
  update: "UPDATE attempt SET body = ? WHERE no = ? AND epoch = ?",
  remove: "DELETE FROM attempt WHERE no = ?",
};
const insert = insertInto("attempt", { shared: "epoch, released_at", columns: "no, session_id, body" });

const decode = ([project, id, ...row]: Row): Attempt => toAttempt(project, id, row);

export const check = { sql: sql.all, decode };

export function find(scope: Scope, { project, id, ordinal }: Task, epoch: number): Attempt | undefined {
  return scope.find((row) => toAttempt(project, id, row), sql.find, scope.first + ordinal, epoch);
}

/** Newest first. */
export function ofTask({ db, first }: Scope, { project, id, ordinal }: Task, limit: number): Attempt[] {
  return db.all(sql.ofTask, first + ordinal, limit).map((row) => toAttempt(project, id, row));
}

/** Of tasks without a claim that were lost, the last ones first. */
export function listLost({ db, org }: Scope, { project, sessionId, limit }: ClaimFilter): Attempt[] {
  const where = new Where<Value>()
    .and("t.org = ? AND t.state = 'queued' AND t.lost_count > 0", org)
    .andIf(project, "t.project = ?")
    .andIf(sessionId, "a.session_id = ?");
  const text = `SELECT ${withTask} FROM task t JOIN attempt a ON a.no = t.no AND a.epoch = t.epoch
    WHERE ${where.text} AND NOT EXISTS (SELECT 1 FROM claim c WHERE c.no = t.no)
    ORDER BY a.released_at DESC, t.id LIMIT ?`;
  return db.once(text, [...where.values, limit]).map(decode);
}

export function write(scope: Scope, attempts: Iterable<OfTask<Change<Attempt>>>): void {
  const closed = new Batches();
  for (const { ordinal, row } of attempts) {
    if (!row.after) continue;
    const no = scope.first + ordinal;
    const { epoch, sessionId, releasedAt } = row.after;
    if (row.before) scope.db.run(sql.update, attemptBody(row.after), no, epoch);
    else closed.of(epoch, releasedAt).push(no, sessionId, attemptBody(row.after));
  }
  scope.runAll(insert, closed);
}

export function remove({ db, first }: Scope, { ordinal }: Task): void {
  db.run(sql.remove, first + ordinal);
}
