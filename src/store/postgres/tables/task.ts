import type { Task } from "../../../core/task.js";
import type { TaskFilter } from "../../../core/view.js";
import { prefixed, type Row } from "../../columns.js";
import type { Note } from "../../questions.js";
import type { Change } from "../../rows.js";
import { areWithoutClaim, queuedCondition, readyCondition, stateCondition } from "../../state-condition.js";
import {
  changeOf,
  freedPart,
  movedPart,
  taskKeyColumns,
  taskRow,
  taskRowColumns,
  taskWidth,
  toTask,
} from "../../task-fields.js";
import { readable } from "../../unreadable.js";
import { likePart, Where } from "../../where.js";
import { type ByName, byName, keyValues, noteReadable, type RowKind } from "../asking.js";
import {
  deleteFrom,
  insertInto,
  numbered,
  type Statement,
  typed,
  updateOf,
  type Value,
} from "../statement.js";
import * as claim from "./claim.js";
import * as taskText from "./text.js";

const names = `${taskKeyColumns}, ${taskRowColumns}`;
export const columns = prefixed("t", names);
export const width = taskWidth;

const types = {
  no: "bigint",
  priority: "integer",
  lost_count: "integer",
  not_before: "bigint",
  epoch: "bigint",
  created_at: "bigint",
  updated_at: "bigint",
  ready_at: "bigint",
  started_at: "bigint",
  ended_at: "bigint",
  pending_deps: "integer",
  open_children: "integer",
  completed_children: "integer",
  more: "json",
};

export const decode = readable(
  "task",
  (row: Row) => `${row[1]}/${row[2]}`,
  (row: Row): Task => toTask(row, row[0]),
);

/** Looked up one by one: joined, a planner without statistics, or with misleading ones, may read all tasks of the org. */
const where = (condition: string) =>
  `CROSS JOIN LATERAL (SELECT * FROM dibs.task WHERE org = $1 AND ${condition} OFFSET 0) t`;
/** A task with its claim and short text. */
const withMore = `${columns}, ${taskText.shortText("x")}, ${prefixed("c", claim.columns)}`;
const joinMore = `LEFT JOIN LATERAL (SELECT * FROM dibs.task_text WHERE org = $1 AND no = t.no OFFSET 0) x ON true
  LEFT JOIN LATERAL (SELECT * FROM dibs.claim WHERE org = $1 AND no = t.no OFFSET 0) c ON true`;

function noteWithMore(row: Row, note: Note): void {
  const [no, project, id] = row;
  noteReadable(note, "task", [project, id], () => decode(row));
  const text = row.slice(width, width + taskText.width);
  if (text[0] !== null) note("text", [no], taskText.decode(text));
  const held = row.slice(width + taskText.width);
  noteReadable(note, "claim", [no], () => (held[0] === null ? undefined : claim.decode(held)));
}

const byId = where("project = q.project AND id = q.id");
const oneByOne = `SELECT ${withMore} FROM ${byName} ${byId} ${joinMore}`;

const chainMax = 5_000;
/** With their dependencies and parents, recursively. */
const inChains = `WITH RECURSIVE chain(project, id) AS (
    SELECT q.project COLLATE "C", q.id COLLATE "C" FROM ${byName}
    UNION
    SELECT q.project, d.id FROM chain q ${byId}
    CROSS JOIN LATERAL (SELECT json_array_elements_text(t.more->'dependsOn') AS id
      UNION ALL SELECT t.parent_id WHERE t.parent_id IS NOT NULL) d
  ) SELECT ${withMore} FROM (SELECT project, id FROM chain LIMIT ${chainMax}) q ${byId} ${joinMore}`;

export const kind: RowKind<ByName> = {
  name: "task",
  statement: (org, keys, deep) => ({ text: deep ? inChains : oneByOne, values: keyValues(org, keys, 2) }),
  take(rows, keys, note) {
    for (const key of keys) note("task", key, undefined);
    for (const row of rows) noteWithMore(row, note);
  },
};

/** Ids of related tasks; the tasks are fetched along. */
const related = (name: string, join: string, order: string): RowKind<ByName> => ({
  name,
  statement: (org, keys) => ({
    text: `SELECT q.project, q.id, ${withMore} FROM ${byName} ${join} ${joinMore} ORDER BY ${order}`,
    values: keyValues(org, keys, 2),
  }),
  take(rows, keys, note) {
    const found = new Map<string, string[]>(keys.map((key) => [key.join("/"), []]));
    for (const [project, id, ...row] of rows) {
      noteWithMore(row, note);
      found.get(`${project}/${id}`)?.push(row[2]);
    }
    for (const key of keys) note(name, key, found.get(key.join("/")));
  },
});

export const dependents = related(
  "dependents",
  `CROSS JOIN LATERAL (SELECT task_id FROM dibs.dependency WHERE org = $1 AND project = q.project AND depends_on = q.id
      OFFSET 0) d ${where("project = q.project AND id = d.task_id")}`,
  "t.id",
);

export const children = related("children", where("project = q.project AND parent_id = q.id"), "t.no");

/** The tasks of a list, as `t`. */
function source({ project, states, afterOrdinal, beforeOrdinal }: TaskFilter, org: string, order: string) {
  if (!states || states.includes("completed") || !areWithoutClaim(states))
    return { text: "dibs.task t", values: [], isByState: false };
  const where = new Where<Value>()
    .and(`s.org = ? AND s.state IN (${states.map((state) => `'${state}'`).join(",")})`, org)
    .and("s.no > ?", afterOrdinal)
    .andIf(beforeOrdinal, "s.no < ?")
    .andIf(project, "s.project = ?");
  // Page by page, whatever the planner thinks of the rest.
  const text = `(SELECT s.no FROM dibs.task_state s WHERE ${where.text} ORDER BY s.no ${order}) s
    CROSS JOIN LATERAL (SELECT * FROM dibs.task WHERE org = ? AND no = s.no OFFSET 0) t`;
  return { text, values: [...where.values, org], isByState: true };
}

export function list(org: string, filter: TaskFilter): Statement {
  const { beforeOrdinal, parentId, text } = filter;
  const order = beforeOrdinal === undefined ? "" : "DESC";
  const from = source(filter, org, order);
  const where = new Where<Value>()
    .and("t.org = ? AND t.no > 0", org)
    .and("t.no > ?", filter.afterOrdinal)
    .andIf(beforeOrdinal, "t.no < ?")
    .andIf(filter.project, "t.project = ?");
  if (filter.states) {
    const state = stateCondition(filter.states, { claims: "dibs.claim", states: "dibs.task_state", org });
    where.and(state.text, ...state.values);
  }
  where.andIf(
    filter.label,
    "EXISTS (SELECT 1 FROM json_array_elements_text(t.more->'labels') l WHERE l = ?)",
  );
  where.andIf(filter.assignee, "t.assignee = ?");
  if (parentId === null) where.and("t.parent_id IS NULL");
  else where.andIf(parentId, "t.parent_id = ?");
  if (text !== undefined) {
    const like = likePart(text);
    where.and(
      `(t.id ILIKE ? OR t.title ILIKE ? OR EXISTS (SELECT 1 FROM dibs.task_text x WHERE x.org = t.org AND x.no = t.no
        AND x.prompt ILIKE ?))`,
      ...[like, like, like],
    );
  }
  if (filter.queued) {
    const queued = queuedCondition(filter.queued);
    where.and(queued.text, ...queued.values);
  }
  return numbered(
    `SELECT ${columns} FROM ${from.text} LEFT JOIN dibs.claim c ON c.org = t.org AND c.no = t.no
      WHERE ${where.text} ORDER BY ${from.isByState ? "s" : "t"}.no ${order} LIMIT ?`,
    [...from.values, ...where.values, filter.limit],
  );
}

const byState = `SELECT coalesce(c.state, t.state), count(*) FROM dibs.task t
  LEFT JOIN dibs.claim c ON c.org = t.org AND c.no = t.no`;

export function counts(org: string, project: string | null): Statement {
  const where = new Where<Value>().and("t.org = ?", org).andIf(project, "t.project = ?");
  return numbered(`${byState} WHERE ${where.text} GROUP BY 1`, where.values);
}

export const openCounts = (org: string, project: string): Statement => ({
  text: `SELECT coalesce(c.state, s.state), count(*) FROM dibs.task_state s
    JOIN dibs.task t ON t.org = s.org AND t.no = s.no
    LEFT JOIN dibs.claim c ON c.org = s.org AND c.no = s.no
    WHERE s.org = $1 AND s.project = $2 AND s.state IN ('queued', 'awaiting_response', 'submitted', 'failed')
    AND t.type <> 'group' GROUP BY 1`,
  values: [org, project],
});

export const readyPage = 1_000;

/** Ready tasks of a project, in creation order. */
export const ready = (org: string, project: string, after: number): Statement => ({
  text: `SELECT ${columns} FROM dibs.task t WHERE t.org = $1 AND t.project = $2 AND t.no > 0 AND t.no > $3
    AND ${readyCondition("NOT EXISTS (SELECT 1 FROM dibs.claim c WHERE c.org = t.org AND c.no = t.no)")}
    ORDER BY t.no LIMIT ${readyPage}`,
  values: [org, project, after],
});

const insert = insertInto("task", typed(names, types));
const replace = insertInto("task", typed(names, types), "no");
const move = updateOf("task", typed(["no", ...movedPart.names].join(", "), types));
const free = updateOf("task", typed(["no", ...freedPart.names].join(", "), types));
export const remove = deleteFrom("task", "no bigint");

export function write(org: string, tasks: Iterable<Change<Task>>): Statement[] {
  const created: Value[] = [];
  const changed = { whole: [] as Value[], moved: [] as Value[], freed: [] as Value[] };
  for (const { before, after } of tasks) {
    if (!after) continue;
    const { ordinal, project, id } = after;
    const change = before ? changeOf(before, after) : "new";
    if (change === "new") created.push(ordinal, project, id, ...taskRow(after));
    else if (change === "moved") changed.moved.push(ordinal, ...movedPart.values(after));
    else if (change === "freed") changed.freed.push(ordinal, ...freedPart.values(after));
    else changed.whole.push(ordinal, project, id, ...taskRow(after));
  }
  return [
    ...insert.of(org, created),
    ...replace.of(org, changed.whole),
    ...move.of(org, changed.moved),
    ...free.of(org, changed.freed),
  ];
}

export const check = (own: string) => ({ sql: `SELECT ${columns} FROM dibs.task t WHERE t.${own}`, decode });
