// Reads every row of every table through its decoder, for `dibs doctor`.

import type { Row } from "../columns.js";
import { Unreadable } from "../unreadable.js";
import type { Database } from "./connection.js";
import * as attempt from "./tables/attempt.js";
import * as claim from "./tables/claim.js";
import * as document from "./tables/document.js";
import * as event from "./tables/event.js";
import * as idempotency from "./tables/idempotency.js";
import * as notification from "./tables/notification.js";
import * as project from "./tables/project.js";
import * as record from "./tables/record.js";
import * as session from "./tables/session.js";
import * as task from "./tables/task.js";
import * as text from "./tables/text.js";

const tables: readonly { check: { sql: string; decode(row: Row): unknown } }[] = [
  project,
  task,
  text,
  claim,
  attempt,
  session,
  record,
  event,
  notification,
  document,
  idempotency,
];

export function unreadableRows(db: Database): string[] {
  const found = new Unreadable();
  for (const { check } of tables) {
    const statement = db.prepare(check.sql);
    statement.setReturnArrays(true);
    for (const row of statement.iterate() as Iterable<unknown>) found.check(() => check.decode(row as Row));
  }
  return found.problems;
}
