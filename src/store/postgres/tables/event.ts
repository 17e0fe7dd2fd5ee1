import type { DibsEvent } from "../../../core/event.js";
import type { EventFilter } from "../../../core/view.js";
import { Layout, type Row } from "../../columns.js";
import type { Flush } from "../../rows.js";
import { isObject, need, readable } from "../../unreadable.js";
import { Where } from "../../where.js";
import { arrayOf, insertInto, numbered, type Statement, typed, type Value } from "../statement.js";

const layout = new Layout<Omit<DibsEvent, "org">>({
  seq: "seq",
  type: "type",
  at: "at",
  project: "project",
  taskId: "task_id",
  sessionId: "session_id",
  epoch: "epoch",
  actor: "actor",
  data: {
    column: "data",
    encode: (data) => JSON.stringify(data),
    decode(stored) {
      need(isObject(stored), "data");
      return stored;
    },
  },
});

const { columns } = layout;

export const decode = readable(
  "event",
  (row: Row, org: string) => `${org}/${row[0]}`,
  (row: Row, org: string): DibsEvent => ({ org, ...layout.decode(row) }),
);

export function list(org: string, { after, limit, project, taskId, types }: EventFilter): Statement {
  const where = new Where<Value>().and("org = ? AND seq > ?", org, after).andIf(project, "project = ?");
  if (taskId !== undefined) {
    const task = new Where<Value>().and("org = ? AND id = ?", org, taskId).andIf(project, "project = ?");
    where.and(`task_no IN (SELECT no FROM dibs.task WHERE ${task.text})`, ...task.values);
  }
  if (types) where.and("type = ANY(?::text[])", arrayOf(types));
  return numbered(`SELECT ${columns} FROM dibs.event WHERE ${where.text} ORDER BY seq LIMIT ?`, [
    ...where.values,
    limit,
  ]);
}

const insert = insertInto(
  "event",
  typed(`task_no, ${columns}`, {
    task_no: "bigint",
    seq: "bigint",
    at: "bigint",
    epoch: "bigint",
    data: "json",
  }),
);

export function write(org: string, { events, archived }: Pick<Flush, "events" | "archived">): Statement[] {
  const values: Value[] = [];
  for (const { ordinal, row } of events) values.push(ordinal, ...layout.encode(row));
  const added = insert.of(org, values);
  if (!archived) return added;
  const { from, below } = archived;
  return [
    { text: "DELETE FROM dibs.event WHERE org = $1 AND seq >= $2 AND seq < $3", values: [org, from, below] },
    ...added,
  ];
}

export const check = (own: string) => ({ sql: `SELECT ${columns} FROM dibs.event WHERE ${own}`, decode });
