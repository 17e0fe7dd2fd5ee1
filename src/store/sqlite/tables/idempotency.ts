import type { IdempotencyRecord, Lists } from "../../../core/view.js";
import type { Row } from "../../columns.js";
import { idempotencyLayout } from "../../layouts.js";
import { keysDroppedMax } from "../../org-facts.js";
import { readable } from "../../unreadable.js";
import { marks } from "../converters.js";
import type { Scope } from "../scope.js";

const { columns } = idempotencyLayout;
const sql = {
  all: "SELECT key, answer FROM idempotency",
  find: `SELECT ${columns} FROM idempotency WHERE org = ? AND key = ?`,
  // No key is empty.
  list: `SELECT ${columns} FROM idempotency WHERE org = ? AND key > ? ORDER BY key LIMIT ?`,
  put: `INSERT OR REPLACE INTO idempotency (org, ${columns}) VALUES (?, ${marks(columns)})`,
  drop: `DELETE FROM idempotency WHERE org = ? AND key IN
    (SELECT key FROM idempotency WHERE org = ? AND created_at < ? ORDER BY created_at LIMIT ${keysDroppedMax})`,
};

const decode = (row: Row) => idempotencyLayout.decode(row);

/** Answers are kept as text, and parsed when the request is repeated. */
export const check = {
  sql: sql.all,
  decode: readable(
    "idempotency",
    ([key]: Row) => key,
    ([, answer]: Row) => JSON.parse(answer),
  ),
};

export function find(scope: Scope, key: string): IdempotencyRecord | undefined {
  return scope.find(decode, sql.find, scope.org, key);
}

export function list(
  { db, org }: Scope,
  page: Parameters<Lists["idempotencyRecords"]>[0],
): IdempotencyRecord[] {
  return db.all(sql.list, org, page.afterKey ?? "", page.limit).map(decode);
}

export function put({ db, org }: Scope, record: IdempotencyRecord): void {
  db.run(sql.put, org, ...idempotencyLayout.encode(record));
}

/** Returns how many were dropped. */
export function drop({ db, org }: Scope, before: number): number {
  return db.count(sql.drop, org, org, before);
}
