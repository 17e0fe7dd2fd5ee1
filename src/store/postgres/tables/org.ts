import type { Org } from "../../../core/project.js";
import { orgLayout } from "../../layouts.js";
import { numbered, type Statement } from "../statement.js";

export const { columns } = orgLayout;
export const width = orgLayout.width;
export const decode = orgLayout.decode.bind(orgLayout);

const changing = orgLayout.part((field) => field !== "org");
const assigned = changing.columns.replaceAll(/\w+/g, "$& = ?");
const marks = columns.replaceAll(/\w+/g, "?");

export const insert = (org: Org): Statement =>
  numbered(`INSERT INTO dibs.org (version, ${columns}) VALUES (0, ${marks})`, orgLayout.encode(org));

/** Every commit raises the version, whatever else of the org changes. */
export function update(org: string, changed: Org | null): Statement {
  if (!changed) return numbered("UPDATE dibs.org SET version = version + 1 WHERE org = ?", [org]);
  const values = [...changing.encode(changed), org];
  return numbered(`UPDATE dibs.org SET ${assigned}, version = version + 1 WHERE org = ?`, values);
}
