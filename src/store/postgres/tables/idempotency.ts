import type { IdempotencyRecord, Lists } from "../../../core/view.js";
import { idempotencyLayout } from "../../layouts.js";
import { keysDroppedMax } from "../../org-facts.js";
import { Where } from "../../where.js";
import { column, type RowKind, singleRow } from "../asking.js";
import { insertInto, numbered, type Statement, typed, type Value } from "../statement.js";

const { columns } = idempotencyLayout;
export const decode = idempotencyLayout.decode.bind(idempotencyLayout);

export const kind: RowKind<readonly [key: string]> = singleRow(
  "idempotency",
  (org, keys) => ({
    text: `SELECT ${columns} FROM dibs.idempotency WHERE org = $1 AND key = ANY($2::text[])`,
    values: [org, column(keys, 0)],
  }),
  ([key]) => [key],
  decode,
);

export function list(org: string, page: Parameters<Lists["idempotencyRecords"]>[0]): Statement {
  const where = new Where<Value>().and("org = ?", org).andIf(page.afterKey, "key > ?");
  return numbered(`SELECT ${columns} FROM dibs.idempotency WHERE ${where.text} ORDER BY key LIMIT ?`, [
    ...where.values,
    page.limit,
  ]);
}

const put = insertInto("idempotency", typed(columns, { created_at: "bigint" }), "key");

/** A key used twice in one group is written once, with its last record. */
export function write(org: string, records: readonly IdempotencyRecord[]): Statement[] {
  const last = new Map(records.map((record) => [record.key, record]));
  return put.of(
    org,
    [...last.values()].flatMap((record) => idempotencyLayout.encode(record)),
  );
}

/** Answers with a row for each key that was dropped. */
export const drop = (org: string, before: number): Statement => ({
  text: `DELETE FROM dibs.idempotency WHERE org = $1 AND key IN (SELECT key FROM dibs.idempotency
    WHERE org = $1 AND created_at < $2 ORDER BY created_at LIMIT ${keysDroppedMax}) RETURNING 1`,
  values: [org, before],
});
