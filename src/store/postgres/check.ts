// Reads every row of an org through its decoder, for `dibs doctor`.

import { attemptColumns, attemptOf, notificationColumns, type Row, toNotification } from "../row-codec.js";
import { Unreadable } from "../unreadable.js";
import {
  claimColumns,
  eventColumns,
  prefixed,
  projectColumns,
  recordColumns,
  sessionColumns,
  taskOf,
  toClaim,
  toEvent,
  toProject,
  toRecord,
  toSession,
  toTask,
} from "./codec.js";
import type { Database } from "./database.js";
import type { PostgresTransaction } from "./transaction.js";

/** The transaction's setting names the org: a cursor takes no values. */
const own = "org = current_setting('dibs.org')";
const pageRows = 1000;

/** Texts and documents are JSON of any shape, which PostgreSQL has checked. */
const tables: readonly { sql: string; decode: (row: Row, org: string) => unknown }[] = [
  { sql: `SELECT ${projectColumns} FROM dibs.project WHERE ${own}`, decode: (row) => toProject(row) },
  { sql: `SELECT ${taskOf("t")} FROM dibs.task t WHERE t.${own}`, decode: (row) => toTask(row) },
  { sql: `SELECT ${claimColumns} FROM dibs.claim WHERE ${own}`, decode: (row) => toClaim(row) },
  {
    sql: `SELECT t.project, t.id, ${prefixed("a", attemptColumns)} FROM dibs.attempt a
      JOIN dibs.task t ON t.org = a.org AND t.no = a.no WHERE a.${own}`,
    decode: ([project, id, ...row]) => attemptOf(project, id, row, row[3]),
  },
  { sql: `SELECT ${sessionColumns} FROM dibs.session WHERE ${own}`, decode: (row) => toSession(row) },
  { sql: `SELECT ${recordColumns} FROM dibs.session_record WHERE ${own}`, decode: (row) => toRecord(row) },
  { sql: `SELECT ${eventColumns} FROM dibs.event WHERE ${own}`, decode: toEvent },
  {
    sql: `SELECT ${notificationColumns} FROM dibs.notification WHERE ${own}`,
    decode: (row) => toNotification(row),
  },
];

export async function unreadableRows(database: Database, org: string): Promise<string[]> {
  const transaction = await database.begin(org, { write: false });
  try {
    return await readAll(transaction, org);
  } finally {
    await transaction.end();
  }
}

async function readAll(transaction: PostgresTransaction, org: string): Promise<string[]> {
  const found = new Unreadable();
  for (const { sql, decode } of tables) {
    await transaction.send({ text: `DECLARE every_row NO SCROLL CURSOR FOR ${sql}`, values: [] });
    for (;;) {
      const rows = await transaction.send({ text: `FETCH ${pageRows} FROM every_row`, values: [] });
      for (const row of rows) found.check(() => decode(row, org));
      if (rows.length < pageRows) break;
    }
    await transaction.send({ text: "CLOSE every_row", values: [] });
  }
  return found.problems;
}
