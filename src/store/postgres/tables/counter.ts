import type { Counter } from "../../../core/changes.js";
import type { Lists } from "../../../core/view.js";
import { prefixed } from "../../columns.js";
import { counterLayout } from "../../layouts.js";
import { Where } from "../../where.js";
import { type ByName, byName, keyValues, type RowKind, singleRow } from "../asking.js";
import { insertInto, numbered, type Statement, typed, type Value } from "../statement.js";

const { columns } = counterLayout;
export const decode = counterLayout.decode.bind(counterLayout);

export const kind: RowKind<ByName> = singleRow(
  "counter",
  (org, keys) => ({
    text: `SELECT ${prefixed("c", columns)} FROM ${byName}
      JOIN dibs.counter c ON c.org = $1 AND c.project = q.project AND c.parent = q.id`,
    values: keyValues(org, keys, 2),
  }),
  ([project, parent]) => [project, parent],
  (row) => decode(row).value,
  0,
);

export function list(org: string, page: Parameters<Lists["counters"]>[0]): Statement {
  const where = new Where<Value>()
    .and("org = ? AND project = ?", org, page.project)
    .andIf(page.afterParent, "parent > ?");
  return numbered(`SELECT ${columns} FROM dibs.counter WHERE ${where.text} ORDER BY parent LIMIT ?`, [
    ...where.values,
    page.limit,
  ]);
}

const put = insertInto("counter", typed(columns, { value: "bigint" }), "project, parent");

export const write = (org: string, counters: Iterable<Counter>): Statement[] =>
  put.of(
    org,
    [...counters].flatMap((counter) => counterLayout.encode(counter)),
  );
