import type { Org } from "../../../core/project.js";
import { UnknownOrgError } from "../../../core/refusal.js";
import { orgLayout } from "../../layouts.js";
import { assignments, marks } from "../converters.js";
import type { Scope } from "../scope.js";
import type { Statements } from "../statements.js";

const { columns } = orgLayout;
/** Without the name: an update would write its index as well. */
const changing = orgLayout.part((field) => field !== "org");
const sql = {
  find: `SELECT ${columns} FROM org WHERE org = ?`,
  count: "SELECT count(*) FROM org",
  insert: `INSERT INTO org (${columns}) VALUES (${marks(columns)})`,
  update: `UPDATE org SET ${assignments(changing.columns)} WHERE org = ?`,
};

export function find({ db, org }: Scope): Org | undefined {
  const row = db.get(sql.find, org);
  return row && orgLayout.decode(row);
}

export function get(scope: Scope): Org {
  const found = find(scope);
  if (!found) throw new UnknownOrgError(scope.org);
  return found;
}

export const count = (db: Statements): number => db.get(sql.count)![0];

export function insert({ db }: Scope, org: Org): void {
  db.run(sql.insert, ...orgLayout.encode(org));
}

export function update({ db, org }: Scope, changed: Org): void {
  db.run(sql.update, ...changing.encode(changed), org);
}
