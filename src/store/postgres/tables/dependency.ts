import type { Edge } from "../../../core/changes.js";
import { deleteFrom, insertInto, type Statement } from "../statement.js";

const definition = "project text, depends_on text, task_id text";
const add = insertInto("dependency", definition, "project, depends_on, task_id");
const remove = deleteFrom("dependency", definition);

const values = ({ project, dependsOn, taskId }: Edge) => [project, dependsOn, taskId];

export function write(org: string, edges: Iterable<{ edge: Edge; isAdded: boolean }>): Statement[] {
  const all = [...edges];
  return [
    ...add.of(
      org,
      all.flatMap(({ edge, isAdded }) => (isAdded ? values(edge) : [])),
    ),
    ...remove.of(
      org,
      all.flatMap(({ edge, isAdded }) => (isAdded ? [] : values(edge))),
    ),
  ];
}
