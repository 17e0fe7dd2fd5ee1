import type { Task, TaskState } from "../../../core/task.js";
import type { OpenCounts, TaskFilter } from "../../../core/view.js";
import { prefixed, type Row, type Value } from "../../columns.js";
import type { Change } from "../../rows.js";
import { queuedCondition, readyCondition, stateCondition } from "../../state-condition.js";
import {
  changeOf,
  freedPart,
  movedPart,
  taskKeyColumns,
  taskRow,
  taskRowColumns,
  toTask,
} from "../../task-fields.js";
import { readable } from "../../unreadable.js";
import { likePart, Where } from "../../where.js";
import { assignments } from "../converters.js";
import { numbersPerOrg } from "../schema.js";
import type { Scope } from "../scope.js";
import { Batches, insertInto, keyed } from "../statements.js";

const columns = `${taskKeyColumns}, ${taskRowColumns}`;
const listed = prefixed("t", columns);
const readyPage = 1000;

const sql = {
  all: `SELECT ${columns} FROM task`,
  find: `SELECT ${columns} FROM task WHERE org = ? AND project = ? AND id = ?`,
  children: "SELECT id FROM task WHERE org = ? AND project = ? AND parent_id = ? ORDER BY no",
  ready: `SELECT ${listed} FROM task t WHERE t.org = ? AND t.project = ?
    AND ${readyCondition("NOT EXISTS (SELECT 1 FROM claim c WHERE c.no = t.no)")} AND t.no > ? ORDER BY t.no LIMIT ${readyPage}`,
  move: `UPDATE task SET ${assignments(movedPart.names.join(", "))} WHERE no = ?`,
  free: `UPDATE task SET ${assignments(freedPart.names.join(", "))} WHERE no = ?`,
  update: `UPDATE task SET ${assignments(taskRowColumns)} WHERE no = ?`,
  remove: "DELETE FROM task WHERE no = ?",
};
const insert = insertInto("task", { shared: "org, project", columns: `no, id, ${taskRowColumns}` });
/** Completed tasks of one group share all else that has changed. */
const complete = keyed(
  "UPDATE task SET state = 'completed', ready_at = NULL, epoch = ?1, updated_at = ?2, started_at = ?3, ended_at = ?4 WHERE no",
);

export const decode = readable(
  "task",
  (row: Row) => `${row[1]}/${row[2]}`,
  (row: Row): Task => toTask(row, row[0] % numbersPerOrg),
);

export const check = { sql: sql.all, decode };

export function find(scope: Scope, project: string, id: string): Task | undefined {
  return scope.find(decode, sql.find, scope.org, project, id);
}

export function children({ db, org }: Scope, project: string, id: string): string[] {
  return db.all(sql.children, org, project, id).map((row) => row[0]);
}

/** Pages of the ready tasks of a project, in creation order. */
export function* readyPages({ db, org, first }: Scope, project: string): Generator<Task[]> {
  for (let after = first; ; ) {
    const tasks = db.all(sql.ready, org, project, after).map(decode);
    yield tasks;
    if (tasks.length < readyPage) return;
    after = first + tasks[tasks.length - 1]!.ordinal;
  }
}

export function list({ db, org, first }: Scope, filter: TaskFilter): Task[] {
  const { beforeOrdinal, parentId, text } = filter;
  // The numbers tell the org. Its name would make the planner, as long as it has no statistics, sort them all for each page.
  const where = new Where<Value>()
    .and("t.no > ?", first + filter.afterOrdinal)
    .and("t.no < ?", first + Math.min(beforeOrdinal ?? numbersPerOrg, numbersPerOrg));
  if (filter.project !== null) where.and("t.org = ? AND t.project = ?", org, filter.project);
  if (filter.states) {
    const state = stateCondition(filter.states, { claims: "claim", states: "task", org });
    where.and(state.text, ...state.values);
  }
  where.andIf(filter.label, "EXISTS (SELECT 1 FROM json_each(t.more, '$.labels') WHERE value = ?)");
  where.andIf(filter.assignee, "t.assignee = ?");
  if (parentId === null) where.and("t.parent_id IS NULL");
  else where.andIf(parentId, "t.parent_id = ?");
  if (text !== undefined) {
    const like = likePart(text);
    where.and(
      `(t.id LIKE ? ESCAPE '\\' OR t.title LIKE ? ESCAPE '\\' OR EXISTS (SELECT 1 FROM task_text x
        WHERE x.no = t.no AND x.prompt LIKE ? ESCAPE '\\'))`,
      ...[like, like, like],
    );
  }
  if (filter.queued) {
    const queued = queuedCondition(filter.queued);
    where.and(queued.text, ...queued.values);
  }
  const statement = `SELECT ${listed} FROM task t LEFT JOIN claim c ON c.no = t.no
    WHERE ${where.text} ORDER BY t.no ${beforeOrdinal === undefined ? "" : "DESC"} LIMIT ?`;
  return db.once(statement, [...where.values, filter.limit]).map(decode);
}

/** By the states of the tasks; `held` are those of the claims, whose tasks rest as queued. */
function withHeld(
  counts: Partial<Record<TaskState, number>>,
  held: Row[],
): Partial<Record<TaskState, number>> {
  for (const [state, count] of held) {
    counts.queued = (counts.queued ?? 0) - count;
    counts[state as TaskState] = (counts[state as TaskState] ?? 0) + count;
  }
  return counts;
}

export function counts({ db, org }: Scope, project: string | null): Partial<Record<TaskState, number>> {
  const where = new Where<Value>().and("org = ?", org).andIf(project, "project = ?");
  const of = (table: string) =>
    db.all(`SELECT state, count(*) FROM ${table} WHERE ${where.text} GROUP BY state`, ...where.values);
  return withHeld(Object.fromEntries(of("task")), of("claim"));
}

/** Equality with one state at a time: by several, SQLite would sort what it finds. */
export function openCounts({ db, org }: Scope, project: string): OpenCounts {
  const found: OpenCounts = {};
  for (const state of ["queued", "awaiting_response", "submitted", "failed"] as const) {
    const text = `SELECT count(*) FROM task WHERE org = ? AND project = ? AND state = '${state}' AND state <> 'completed'
      AND type <> 'group'`;
    const [row] = db.all(text, org, project);
    if (row![0] > 0) found[state] = row![0];
  }
  const held = "SELECT state, count(*) FROM claim WHERE org = ? AND project = ? GROUP BY state";
  return withHeld(found, db.all(held, org, project));
}

export function write(scope: Scope, tasks: Iterable<Change<Task>>): void {
  const { db, org, first } = scope;
  const created = new Batches();
  const completed = new Batches();
  const move = db.prepared(sql.move);
  for (const { before, after } of tasks) {
    if (!after) continue;
    const no = first + after.ordinal;
    if (!before) {
      created.of(org, after.project).push(no, after.id, ...taskRow(after));
      continue;
    }
    const change = changeOf(before, after);
    if (change === "moved" && after.state === "completed" && after.readyAt === null) {
      completed.of(after.epoch, after.updatedAt, after.startedAt, after.endedAt).push(no);
    } else if (change === "moved") move.get(...movedPart.values(after), no);
    else if (change === "freed") db.run(sql.free, ...freedPart.values(after), no);
    else db.run(sql.update, ...taskRow(after), no);
  }
  scope.runAll(complete, completed);
  scope.runAll(insert, created);
}

export function remove({ db, first }: Scope, { ordinal }: Task): void {
  db.run(sql.remove, first + ordinal);
}
