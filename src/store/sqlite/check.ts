// Reads every row of every table through its decoder, for `dibs doctor`.

import {
  attemptColumns,
  notificationColumns,
  prefixed,
  type Row,
  taskColumns,
  taskKeyColumns,
  toNotification,
} from "../row-codec.js";
import { readable, Unreadable } from "../unreadable.js";
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
import type { Database } from "./connection.js";
import { numbersPerOrg } from "./schema.js";

/** Kept as it was answered, and parsed when the request is repeated. */
const toAnswer = readable(
  "idempotency",
  ([key]: Row) => key,
  ([, answer]: Row) => JSON.parse(answer),
);

const tables: readonly { sql: string; decode: (row: Row) => unknown }[] = [
  { sql: `SELECT ${projectColumns} FROM project`, decode: toProject },
  { sql: `SELECT ${taskKeyColumns}, ${taskColumns} FROM task`, decode: toTask },
  {
    sql: `SELECT t.project, t.id, x.prompt, x.description, x.metadata FROM task_text x JOIN task t ON t.no = x.no`,
    decode: ([project, id, ...row]) => toText(row, `${project}/${id}`),
  },
  { sql: `SELECT ${claimColumns} FROM claim`, decode: toClaim },
  {
    sql: `SELECT t.project, t.id, ${prefixed("a", attemptColumns)} FROM attempt a JOIN task t ON t.no = a.no`,
    decode: ([project, id, ...row]) => toAttempt(project, id, row),
  },
  { sql: `SELECT ${sessionColumns} FROM session`, decode: toSession },
  { sql: `SELECT ${recordColumns} FROM session_record`, decode: toRecord },
  {
    sql: `SELECT o.org, ${prefixed("e", eventColumns)} FROM event e JOIN org o ON o.no = e.no / ${numbersPerOrg}`,
    decode: ([org, ...row]) => toEvent(row, org),
  },
  { sql: `SELECT ${notificationColumns} FROM notification`, decode: toNotification },
  {
    sql: "SELECT kind, key, value FROM document",
    decode: ([kind, key, value]) => toDocument(value, `${kind}/${key}`),
  },
  { sql: "SELECT key, answer FROM idempotency", decode: toAnswer },
];

export function unreadableRows(db: Database): string[] {
  const found = new Unreadable();
  for (const { sql, decode } of tables) {
    const statement = db.prepare(sql);
    statement.setReturnArrays(true);
    for (const row of statement.iterate() as Iterable<unknown>) found.check(() => decode(row as Row));
  }
  return found.problems;
}
