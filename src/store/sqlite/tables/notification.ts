import type { Notification } from "../../../core/event.js";
import type { Lists } from "../../../core/view.js";
import type { Row, Value } from "../../columns.js";
import { notificationLayout, notificationNumber } from "../../layouts.js";
import { Where } from "../../where.js";
import { marks } from "../converters.js";
import type { Scope } from "../scope.js";

const { columns } = notificationLayout;
const sql = {
  all: `SELECT ${columns} FROM notification`,
  find: `SELECT ${columns} FROM notification WHERE org = ? AND number = ?`,
  put: `INSERT OR REPLACE INTO notification (org, ${columns}) VALUES (?, ${marks(columns)})`,
};

const decode = (row: Row) => notificationLayout.decode(row);

export const check = { sql: sql.all, decode };

export function find(scope: Scope, id: string): Notification | undefined {
  return scope.find(decode, sql.find, scope.org, notificationNumber(id));
}

export function list({ db, org }: Scope, filter: Parameters<Lists["notifications"]>[0]): Notification[] {
  const where = new Where<Value>().and("org = ?", org).andIf(filter.project, "project = ?");
  if (filter.unread) where.and("read_at IS NULL");
  where.andIf(filter.before, "number < ?");
  const text = `SELECT ${columns} FROM notification WHERE ${where.text} ORDER BY number DESC LIMIT ?`;
  return db.once(text, [...where.values, filter.limit]).map(decode);
}

export function unreadCount({ db, org }: Scope, project: string | null): number {
  const where = new Where<Value>().and("org = ?", org).andIf(project, "project = ?").and("read_at IS NULL");
  return db.get(`SELECT count(*) FROM notification WHERE ${where.text}`, ...where.values)![0];
}

export function put({ db, org }: Scope, notification: Notification): void {
  db.run(sql.put, org, ...notificationLayout.encode(notification));
}
