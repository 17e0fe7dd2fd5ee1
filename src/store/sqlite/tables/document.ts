import type { Document } from "../../../core/changes.js";
import type { DocumentPage, DocumentValue, Lists } from "../../../core/view.js";
import type { Row, Value } from "../../columns.js";
import { decodeAll, isObject, need, readable } from "../../unreadable.js";
import { Where } from "../../where.js";
import type { Scope } from "../scope.js";

const sql = {
  all: "SELECT value, kind || '/' || key FROM document",
  find: "SELECT value FROM document WHERE org = ? AND kind = ? AND key = ?",
  put: `INSERT INTO document (org, kind, key, value) VALUES (?, ?, ?, ?)
    ON CONFLICT (org, kind, key) DO UPDATE SET value = excluded.value`,
  remove: "DELETE FROM document WHERE org = ? AND kind = ? AND key = ?",
};

const decode = readable(
  "document",
  (_value: string, id: string) => id,
  (value: string): DocumentValue => {
    const document = JSON.parse(value);
    need(isObject(document), "value");
    return document;
  },
);

export const check = { sql: sql.all, decode: ([value, id]: Row) => decode(value, id) };

export function find(scope: Scope, kind: string, key: string): DocumentValue | undefined {
  return scope.find(([value]) => decode(value, `${kind}/${key}`), sql.find, scope.org, kind, key);
}

export function list({ db, org }: Scope, page: DocumentPage): ReturnType<Lists["documents"]> {
  const where = new Where<Value>()
    .and("org = ? AND kind = ?", org, page.kind)
    .andIf(page.afterKey, "key > ?")
    .andIf(page.beforeKey, "key < ?");
  const rows = db.all(
    `SELECT key, value FROM document WHERE ${where.text} ORDER BY key LIMIT ?`,
    ...where.values,
    page.limit,
  );
  const decodeRow = ([key, value]: Row) => ({ key, value: decode(value, `${page.kind}/${key}`) });
  return decodeAll(rows, decodeRow, page.readableOnly);
}

export function put({ db, org }: Scope, { kind, key, value }: Document): void {
  if (value) db.run(sql.put, org, kind, key, JSON.stringify(value));
  else db.run(sql.remove, org, kind, key);
}
