import type { Edge } from "../../../core/changes.js";
import type { Scope } from "../scope.js";

const sql = {
  dependents:
    "SELECT task_id FROM dependency WHERE org = ? AND project = ? AND depends_on = ? ORDER BY task_id",
  add: "INSERT OR IGNORE INTO dependency (org, project, depends_on, task_id) VALUES (?, ?, ?, ?)",
  remove: "DELETE FROM dependency WHERE org = ? AND project = ? AND depends_on = ? AND task_id = ?",
};

export function dependents({ db, org }: Scope, project: string, id: string): string[] {
  return db.all(sql.dependents, org, project, id).map((row) => row[0]);
}

export function put({ db, org }: Scope, { edge, isAdded }: { edge: Edge; isAdded: boolean }): void {
  db.run(isAdded ? sql.add : sql.remove, org, edge.project, edge.dependsOn, edge.taskId);
}
