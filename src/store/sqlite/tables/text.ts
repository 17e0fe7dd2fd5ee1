import type { Task, TaskText } from "../../../core/task.js";
import { Layout, type Row } from "../../columns.js";
import type { OfTask } from "../../rows.js";
import { readable } from "../../unreadable.js";
import { marks } from "../converters.js";
import type { Scope } from "../scope.js";

export const layout = new Layout<TaskText>({
  prompt: "prompt",
  description: "description",
  metadata: {
    column: "metadata",
    encode: (metadata) => (metadata === null ? null : JSON.stringify(metadata)),
    decode: (stored) => (stored === null ? null : JSON.parse(stored)),
  },
});

const { columns } = layout;
const sql = {
  all: `SELECT t.project || '/' || t.id, x.prompt, x.description, x.metadata FROM task_text x JOIN task t ON t.no = x.no`,
  find: `SELECT ${columns} FROM task_text WHERE no = ?`,
  put: `INSERT OR REPLACE INTO task_text (no, ${columns}) VALUES (?, ${marks(columns)})`,
  remove: "DELETE FROM task_text WHERE no = ?",
};

const decode = readable(
  "task_text",
  (_row: Row, id: string) => id,
  (row: Row) => layout.decode(row),
);

export const check = { sql: sql.all, decode: ([id, ...row]: Row) => decode(row, id) };

export function find(scope: Scope, { project, id, ordinal }: Task): TaskText | undefined {
  return scope.find((row) => decode(row, `${project}/${id}`), sql.find, scope.first + ordinal);
}

export function put({ db, first }: Scope, { ordinal, row }: OfTask<TaskText>): void {
  db.run(sql.put, first + ordinal, ...layout.encode(row));
}

export function remove({ db, first }: Scope, { ordinal }: Task): void {
  db.run(sql.remove, first + ordinal);
}
