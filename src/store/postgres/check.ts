// Reads every row of an org through its decoder, for `dibs doctor`.

import type { Row } from "../columns.js";
import { Unreadable } from "../unreadable.js";
import type { Database } from "./database.js";
import * as attempt from "./tables/attempt.js";
import * as claim from "./tables/claim.js";
import * as event from "./tables/event.js";
import * as notification from "./tables/notification.js";
import * as project from "./tables/project.js";
import * as record from "./tables/record.js";
import * as session from "./tables/session.js";
import * as task from "./tables/task.js";
import type { PostgresTransaction } from "./transaction.js";

/** The transaction's setting names the org: a cursor takes no values. */
const own = "org = current_setting('dibs.org')";
const pageRows = 1000;

/** Texts and documents are JSON of any shape, which PostgreSQL has checked. */
const tables: readonly { check(own: string): { sql: string; decode(row: Row, org: string): unknown } }[] = [
  project,
  task,
  claim,
  attempt,
  session,
  record,
  event,
  notification,
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
  for (const { check } of tables) {
    const { sql, decode } = check(own);
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
