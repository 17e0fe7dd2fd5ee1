import { type Project, type Settings, wholeSettings } from "../../../core/project.js";
import { Layout, type Row } from "../../columns.js";
import { isObject, need, readable } from "../../unreadable.js";
import { column, type RowKind, singleRow } from "../asking.js";
import { insertInto, type Statement, typed, type Value } from "../statement.js";

const layout = new Layout<Project, Value>({
  id: "id",
  settings: {
    column: "settings",
    encode: (settings) => JSON.stringify(settings),
    decode(stored): Settings {
      need(isObject(stored), "settings");
      return wholeSettings(stored as Partial<Settings>);
    },
  },
  paused: "paused",
  createdAt: "created_at",
  updatedAt: "updated_at",
});

const { columns } = layout;
const types = { settings: "json", paused: "boolean", created_at: "bigint", updated_at: "bigint" };

export const decode = readable(
  "project",
  (row: Row) => String(row[0]),
  (row: Row) => layout.decode(row),
);

export const kind: RowKind<readonly [id: string]> = singleRow(
  "project",
  (org, keys) => ({
    text: `SELECT ${columns} FROM dibs.project WHERE org = $1 AND id = ANY($2::text[])`,
    values: [org, column(keys, 0)],
  }),
  ([id]) => [id],
  decode,
);

export const list = (org: string): Statement => ({
  text: `SELECT ${columns} FROM dibs.project WHERE org = $1 ORDER BY id`,
  values: [org],
});

const put = insertInto("project", typed(columns, types), "id");

export const write = (org: string, projects: Iterable<Project>): Statement[] =>
  put.of(
    org,
    [...projects].flatMap((project) => layout.encode(project)),
  );

export const check = (own: string) => ({ sql: `SELECT ${columns} FROM dibs.project WHERE ${own}`, decode });
