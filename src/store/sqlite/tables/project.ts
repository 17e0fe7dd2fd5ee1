import { type Project, type Settings, wholeSettings } from "../../../core/project.js";
import type { Tolerant } from "../../../core/view.js";
import { Layout, type Row } from "../../columns.js";
import { decodeAll, isObject, need, readable } from "../../unreadable.js";
import { flag, marks } from "../converters.js";
import type { Scope } from "../scope.js";

const layout = new Layout<Project>({
  id: "id",
  settings: {
    column: "settings",
    encode: (settings) => JSON.stringify(settings),
    decode(stored): Settings {
      const settings = JSON.parse(stored);
      need(isObject(settings), "settings");
      return wholeSettings(settings);
    },
  },
  paused: flag("paused"),
  createdAt: "created_at",
  updatedAt: "updated_at",
});

const { columns } = layout;
const sql = {
  all: `SELECT ${columns} FROM project`,
  find: `SELECT ${columns} FROM project WHERE org = ? AND id = ?`,
  list: `SELECT ${columns} FROM project WHERE org = ? ORDER BY id`,
  put: `INSERT OR REPLACE INTO project (org, ${columns}) VALUES (?, ${marks(columns)})`,
};

const decode = readable(
  "project",
  (row: Row) => String(row[0]),
  (row: Row) => layout.decode(row),
);

export const check = { sql: sql.all, decode };

export function find(scope: Scope, id: string): Project | undefined {
  return scope.find(decode, sql.find, scope.org, id);
}

export function list({ db, org }: Scope, { readableOnly }: Tolerant = {}): Project[] {
  return decodeAll(db.all(sql.list, org), decode, readableOnly);
}

export function put({ db, org }: Scope, project: Project): void {
  db.run(sql.put, org, ...layout.encode(project));
}
