import type { Notification } from "../../../core/event.js";
import type { Lists } from "../../../core/view.js";
import { notificationLayout, notificationNumber } from "../../layouts.js";
import { Where } from "../../where.js";
import { type RowKind, singleRow } from "../asking.js";
import { arrayOf, insertInto, numbered, type Statement, typed, type Value } from "../statement.js";

const { columns } = notificationLayout;
export const decode = notificationLayout.decode.bind(notificationLayout);

export const kind: RowKind<readonly [id: string]> = singleRow(
  "notification",
  (org, keys) => ({
    text: `SELECT ${columns} FROM dibs.notification WHERE org = $1 AND number = ANY($2::bigint[])`,
    values: [org, arrayOf(keys.map(([id]) => notificationNumber(id)))],
  }),
  (row) => [decode(row).id],
  decode,
);

export function list(org: string, filter: Parameters<Lists["notifications"]>[0]): Statement {
  const where = new Where<Value>().and("org = ?", org).andIf(filter.project, "project = ?");
  if (filter.unread) where.and("read_at IS NULL");
  where.andIf(filter.before, "number < ?");
  return numbered(
    `SELECT ${columns} FROM dibs.notification WHERE ${where.text} ORDER BY number DESC LIMIT ?`,
    [...where.values, filter.limit],
  );
}

export function unreadCount(org: string, project: string | null): Statement {
  const where = new Where<Value>().and("org = ? AND read_at IS NULL", org).andIf(project, "project = ?");
  return numbered(`SELECT count(*) FROM dibs.notification WHERE ${where.text}`, where.values);
}

const put = insertInto(
  "notification",
  typed(columns, { number: "bigint", created_at: "bigint", read_at: "bigint" }),
  "number",
);

export const write = (org: string, notifications: Iterable<Notification>): Statement[] =>
  put.of(
    org,
    [...notifications].flatMap((notification) => notificationLayout.encode(notification)),
  );

export const check = (own: string) => ({
  sql: `SELECT ${columns} FROM dibs.notification WHERE ${own}`,
  decode,
});
