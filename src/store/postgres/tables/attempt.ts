import type { Attempt } from "../../../core/claim.js";
import type { ClaimFilter } from "../../../core/view.js";
import { attemptBody, attemptColumns, toAttempt } from "../../attempt-body.js";
import { prefixed, type Row } from "../../columns.js";
import type { Change, OfTask } from "../../rows.js";
import { Where } from "../../where.js";
import { keyValues, noteReadable, type RowKind, singleRow } from "../asking.js";
import { deleteFrom, insertInto, numbered, type Statement, typed, type Value } from "../statement.js";

export const columns = prefixed("a", attemptColumns);

/** With the project and the id of its task in front. */
export const decode = ([project, id, ...row]: Row): Attempt => toAttempt(project, id, row);

/** A number of an attempt, or of attempts at most; the name of the task comes along for the decoder. */
type OfTaskKey = readonly [no: number, number: number, project: string, id: string];

const ofTasks = "unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[]) AS q(no, number, project, id)";

export const kind: RowKind<OfTaskKey> = singleRow(
  "attempt",
  (org, keys) => ({
    text: `SELECT q.no, q.number, q.project, q.id, ${columns} FROM ${ofTasks}
      JOIN dibs.attempt a ON a.org = $1 AND a.no = q.no AND a.epoch = q.number`,
    values: keyValues(org, keys, 4),
  }),
  (row) => row.slice(0, 4),
  ([, , ...row]) => decode(row),
);

/** The newest of a task. */
export const ofTask: RowKind<OfTaskKey> = {
  name: "attempts",
  statement: (org, keys) => ({
    text: `SELECT q.no, q.number, q.project, q.id, ${columns} FROM ${ofTasks} CROSS JOIN LATERAL
      (SELECT * FROM dibs.attempt b WHERE b.org = $1 AND b.no = q.no ORDER BY b.epoch DESC LIMIT q.number) a`,
    values: keyValues(org, keys, 4),
  }),
  take(rows, keys, note) {
    const found = new Map<string, Row[]>(keys.map((key) => [key.join("/"), []]));
    for (const row of rows) found.get(row.slice(0, 4).join("/"))?.push(row.slice(2));
    for (const key of keys) {
      noteReadable(note, "attempts", key, () => (found.get(key.join("/")) ?? []).map(decode));
    }
  },
};

/** Of tasks without a claim that were lost, the last ones first. */
export function listLost(org: string, { project, sessionId, limit }: ClaimFilter): Statement {
  const where = new Where<Value>()
    .and("t.org = ? AND t.state = 'queued' AND t.lost_count > 0", org)
    .andIf(project, "t.project = ?")
    .andIf(sessionId, "a.session_id = ?");
  return numbered(
    `SELECT t.project, t.id, ${columns} FROM dibs.task t
      JOIN dibs.attempt a ON a.org = t.org AND a.no = t.no AND a.epoch = t.epoch
      WHERE ${where.text} AND NOT EXISTS (SELECT 1 FROM dibs.claim c WHERE c.org = t.org AND c.no = t.no)
      ORDER BY a.released_at DESC, t.id LIMIT ?`,
    [...where.values, limit],
  );
}

const put = insertInto(
  "attempt",
  typed(`no, ${attemptColumns}`, { no: "bigint", epoch: "bigint", released_at: "bigint", body: "json" }),
  "no, epoch",
);
export const remove = deleteFrom("attempt", "no bigint");

export function write(org: string, attempts: Iterable<OfTask<Change<Attempt>>>): Statement[] {
  const values: Value[] = [];
  for (const { ordinal, row } of attempts) {
    if (!row.after) continue;
    const { epoch, sessionId, releasedAt } = row.after;
    values.push(ordinal, epoch, sessionId, releasedAt, attemptBody(row.after));
  }
  return put.of(org, values);
}

export const check = (own: string) => ({
  sql: `SELECT t.project, t.id, ${columns} FROM dibs.attempt a
    JOIN dibs.task t ON t.org = a.org AND t.no = a.no WHERE a.${own}`,
  decode,
});
