// Tasks that are not completed, by state: lists start here, because no index of `task` names its state (schema.ts).

import type { Task } from "../../../core/task.js";
import type { Change } from "../../rows.js";
import { deleteFrom, insertInto, type Statement, type Value } from "../statement.js";

const definition = "project text, state text, no bigint";
const add = insertInto("task_state", definition);
const remove = deleteFrom("task_state", definition);

const rowOf = (task: Task | undefined): Value[] =>
  !task || task.state === "completed" ? [] : [task.project, task.state, task.ordinal];

export function write(org: string, tasks: Iterable<Change<Task>>): Statement[] {
  const left: Value[] = [];
  const joined: Value[] = [];
  for (const { before, after } of tasks) {
    if (before?.state === after?.state) continue;
    left.push(...rowOf(before));
    joined.push(...rowOf(after));
  }
  return [...remove.of(org, left), ...add.of(org, joined)];
}
