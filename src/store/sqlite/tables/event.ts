import type { DibsEvent } from "../../../core/event.js";
import type { EventFilter } from "../../../core/view.js";
import { prefixed, type Row, type Value } from "../../columns.js";
import type { Flush } from "../../rows.js";
import { decodeAll, isObject, need, readable } from "../../unreadable.js";
import { Where } from "../../where.js";
import { numbersPerOrg } from "../schema.js";
import type { Scope } from "../scope.js";
import { Batches, insertInto } from "../statements.js";

const columns = "no, project, type, body";
const sql = {
  all: `SELECT o.org, ${prefixed("e", columns)} FROM event e JOIN org o ON o.no = e.no / ${numbersPerOrg}`,
  archive: "DELETE FROM event WHERE no >= ? AND no < ?",
};
const insert = insertInto("event", { shared: "project", columns: "task_no, no, type, body" });

const decode = readable(
  "event",
  ([no]: Row, org: string) => `${org}/${no % numbersPerOrg}`,
  ([no, project, type, body]: Row, org: string): DibsEvent => {
    const [at, taskId, sessionId, epoch, actor, data] = JSON.parse(body);
    need(typeof at === "number", "at");
    need(isObject(data), "data");
    return { org, seq: no % numbersPerOrg, type, at, project, taskId, sessionId, epoch, actor, data };
  },
);

/** In the order that `decode` expects. */
function bodyOf({ at, taskId, sessionId, epoch, actor, data }: DibsEvent): string {
  return JSON.stringify([at, taskId, sessionId, epoch, actor, data]);
}

export const check = { sql: sql.all, decode: ([org, ...row]: Row) => decode(row, org) };

export function list({ db, org, first }: Scope, filter: EventFilter): DibsEvent[] {
  const { after, limit, project, taskId, types, readableOnly } = filter;
  const where = new Where<Value>()
    .and("no > ? AND no < ?", first + after, first + numbersPerOrg)
    .andIf(project, "project = ?");
  if (taskId !== undefined) {
    const task = new Where<Value>().and("org = ?", org).andIf(project, "project = ?").and("id = ?", taskId);
    where.and(`task_no IN (SELECT no FROM task WHERE ${task.text})`, ...task.values);
  }
  if (types) where.and(`type IN (${types.map(() => "?").join(",")})`, ...types);
  const text = `SELECT ${columns} FROM event WHERE ${where.text} ORDER BY no LIMIT ?`;
  const values = [...where.values, limit];
  const rows = types || taskId !== undefined ? db.once(text, values) : db.all(text, ...values);
  return decodeAll(rows, (row) => decode(row, org), readableOnly);
}

export function write(scope: Scope, { events, archived }: Pick<Flush, "events" | "archived">): void {
  const { db, first } = scope;
  if (archived) db.run(sql.archive, first + archived.from, first + archived.below);
  const batches = new Batches();
  for (const { ordinal, row } of events) {
    const taskNo = ordinal === null ? null : first + ordinal;
    batches.of(row.project).push(taskNo, first + row.seq, row.type, bodyOf(row));
  }
  scope.runAll(insert, batches);
}
