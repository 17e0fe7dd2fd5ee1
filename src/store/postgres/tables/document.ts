import type { Document } from "../../../core/changes.js";
import type { DocumentPage } from "../../../core/view.js";
import type { Row } from "../../columns.js";
import { Where } from "../../where.js";
import { keyValues, type RowKind, singleRow } from "../asking.js";
import { deleteFrom, insertInto, numbered, type Statement, type Value } from "../statement.js";

export const kind: RowKind<readonly [kind: string, key: string]> = singleRow(
  "document",
  (org, keys) => ({
    text: `SELECT d.kind, d.key, d.value FROM unnest($2::text[], $3::text[]) AS q(kind, key)
      CROSS JOIN LATERAL (SELECT * FROM dibs.document WHERE org = $1 AND kind = q.kind AND key = q.key OFFSET 0) d`,
    values: keyValues(org, keys, 2),
  }),
  (row) => row.slice(0, 2),
  ([, , value]) => value,
);

export const decode = ([key, value]: Row) => ({ key, value });

export function list(org: string, page: DocumentPage): Statement {
  const where = new Where<Value>()
    .and("org = ? AND kind = ?", org, page.kind)
    .andIf(page.afterKey, "key > ?")
    .andIf(page.beforeKey, "key < ?");
  return numbered(`SELECT key, value FROM dibs.document WHERE ${where.text} ORDER BY key LIMIT ?`, [
    ...where.values,
    page.limit,
  ]);
}

const put = insertInto("document", "kind text, key text, value json", "kind, key");
const remove = deleteFrom("document", "kind text, key text");

export function write(org: string, documents: Iterable<Document>): Statement[] {
  const written: Value[] = [];
  const removed: Value[] = [];
  for (const { kind, key, value } of documents) {
    if (value) written.push(kind, key, JSON.stringify(value));
    else removed.push(kind, key);
  }
  return [...put.of(org, written), ...remove.of(org, removed)];
}
