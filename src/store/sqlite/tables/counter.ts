import type { Counter } from "../../../core/changes.js";
import type { Lists } from "../../../core/view.js";
import type { Value } from "../../columns.js";
import { counterLayout } from "../../layouts.js";
import { Where } from "../../where.js";
import { marks } from "../converters.js";
import type { Scope } from "../scope.js";

const { columns } = counterLayout;
const sql = {
  find: "SELECT value FROM counter WHERE org = ? AND project = ? AND parent = ?",
  put: `INSERT OR REPLACE INTO counter (org, ${columns}) VALUES (?, ${marks(columns)})`,
};

export function find({ db, org }: Scope, project: string, parent: string): number {
  return db.get(sql.find, org, project, parent)?.[0] ?? 0;
}

export function list({ db, org }: Scope, page: Parameters<Lists["counters"]>[0]): Counter[] {
  const where = new Where<Value>()
    .and("org = ? AND project = ?", org, page.project)
    .andIf(page.afterParent, "parent > ?");
  const text = `SELECT ${columns} FROM counter WHERE ${where.text} ORDER BY parent LIMIT ?`;
  return db.all(text, ...where.values, page.limit).map((row) => counterLayout.decode(row));
}

export function put({ db, org }: Scope, counter: Counter): void {
  db.run(sql.put, org, ...counterLayout.encode(counter));
}
