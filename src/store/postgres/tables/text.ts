import type { TaskText } from "../../../core/task.js";
import { Layout, type Row } from "../../columns.js";
import type { OfTask } from "../../rows.js";
import { column, type RowKind, singleRow } from "../asking.js";
import { deleteFrom, insertInto, type Statement, typed } from "../statement.js";

const layout = new Layout<TaskText>({
  prompt: "prompt",
  description: "description",
  metadata: {
    column: "metadata",
    encode: (metadata) => (metadata === null ? null : JSON.stringify(metadata)),
    decode: (stored) => stored,
  },
});

export const { columns, width } = layout;
export const decode = (row: Row): TaskText => layout.decode(row);

/** The text is fetched along only if it is short: lists and queues should not carry megabytes. */
export const shortText = (table: string) =>
  `CASE WHEN octet_length(${table}.prompt) <= 4096 THEN ${table}.prompt END, ${table}.description, ${table}.metadata`;

export const kind: RowKind<readonly [no: number]> = singleRow(
  "text",
  (org, keys) => ({
    text: `SELECT no, ${columns} FROM dibs.task_text WHERE org = $1 AND no = ANY($2::bigint[])`,
    values: [org, column(keys, 0)],
  }),
  ([no]) => [no],
  ([, ...row]) => decode(row),
);

const put = insertInto("task_text", typed(`no, ${columns}`, { no: "bigint", metadata: "json" }), "no");
export const remove = deleteFrom("task_text", "no bigint");

export const write = (org: string, texts: Iterable<OfTask<TaskText>>): Statement[] =>
  put.of(
    org,
    [...texts].flatMap(({ ordinal, row }) => [ordinal, ...layout.encode(row)]),
  );
