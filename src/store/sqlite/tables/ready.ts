// The ready queue. A claim takes a row out of it; its lanes and levels are found by seeks, whatever the number of tasks.

import { type ReadyCount, type ReadyEntry, readyEntries, unlabelledLanes } from "../../../core/ready.js";
import type { Task } from "../../../core/task.js";
import { prefixed, type Row, type Value } from "../../columns.js";
import { readyLayout } from "../../layouts.js";
import { busyChunk } from "../../ready-queue.js";
import type { Chunk, Fetched, Flush, Queued } from "../../rows.js";
import { TaskPart, taskWith } from "../../task-fields.js";
import { Where } from "../../where.js";
import type { Scope } from "../scope.js";
import { Batches, insertInto, keyed } from "../statements.js";
import * as project from "./project.js";
import * as task from "./task.js";
import * as text from "./text.js";

// Most ready tasks have none of the rest, and each column that is read costs: the rest is one JSON, or NULL if it is as here.
const plain: { [F in keyof Task]?: Task[F] } = {
  type: "task",
  parentId: null,
  state: "queued",
  assignee: null,
  lostCount: 0,
  notBefore: null,
  startedAt: null,
  endedAt: null,
  pendingDeps: 0,
  openChildren: 0,
  completedChildren: 0,
};
const hot = new TaskPart(({ field }) => !(field in plain));
const rest = new TaskPart(({ field }) => field in plain);
const isOtherwise = rest.names.map((name, at) => {
  const value = rest.values(plain as Task)[at]!;
  return value === null
    ? `t.${name} IS NOT NULL`
    : `t.${name} <> ${typeof value === "string" ? `'${value}'` : value}`;
});
const restColumns = [...rest.names.map((name) => `t.${name}`), "x.description", "x.metadata"].join(", ");

const { columns } = readyLayout;
const inLevel = "r.org = ? AND r.project = ? AND r.lane = ? AND r.level = ? AND (r.k1, r.k2) > (?, ?)";
const sql = {
  clear: "DELETE FROM ready WHERE org = ? AND project = ?",
  lane: "SELECT lane FROM ready WHERE org = ? AND project = ? AND lane >= ? AND lane < ? ORDER BY lane LIMIT 1",
  laneAfter:
    "SELECT lane FROM ready WHERE org = ? AND project = ? AND lane > ? AND lane < ? ORDER BY lane LIMIT 1",
  level:
    "SELECT level FROM ready WHERE org = ? AND project = ? AND lane = ? AND level < ? ORDER BY level DESC LIMIT 1",
  chunk: `SELECT ${prefixed("r", columns)} FROM ready r WHERE ${inLevel} ORDER BY r.k1, r.k2 LIMIT ?`,
  // In either order, k2 is the task's number or its negative. A row of the queue whose task is not ready must not be hidden: the
  // claim that takes it looks at the task once more.
  chunkWithTasks: `SELECT r.k1, r.k2, r.id, r.not_before,
      NOT EXISTS (SELECT 1 FROM dependency d WHERE d.org = r.org AND d.project = r.project AND d.depends_on = r.id),
      CASE WHEN octet_length(x.prompt) <= 4096 THEN x.prompt END,
      CASE WHEN ${isOtherwise.join(" OR ")} OR x.description IS NOT NULL OR x.metadata IS NOT NULL
        THEN json_array(${restColumns}) END,
      t.more, ${prefixed("t", hot.names.join(", "))}
    FROM ready r CROSS JOIN task t ON t.no = ? + abs(r.k2) LEFT JOIN task_text x ON x.no = t.no
    WHERE ${inLevel} ORDER BY r.k1, r.k2 LIMIT ?`,
};
const insert = insertInto("ready", { shared: "org, project", columns });
const remove = keyed(
  "DELETE FROM ready WHERE org = ?1 AND project = ?2 AND lane = ?3 AND level = ?4 AND k1 = ?5 AND k2",
);

const lowest = Number.MIN_SAFE_INTEGER;
const hotFrom = 8;

function decode(
  row: Row,
  of: string,
  lane: string,
  level: number,
): { entry: ReadyEntry; fetched: Fetched[] } {
  const [k1, k2, id, notBefore, isFree, prompt, stored, more] = row;
  const entry = { id, lane, level, k1, k2, notBefore };
  try {
    const found = taskWith(of, id, Math.abs(k2), JSON.parse(more));
    hot.fill(found, row, hotFrom);
    const others: Row = stored === null ? plainValues : JSON.parse(stored);
    rest.fill(found, others);
    const short = prompt === null ? null : text.layout.decode([prompt, ...others.slice(rest.width)]);
    return { entry, fetched: [{ task: found, text: short, isFree: isFree === 1 }] };
  } catch {
    // A task that cannot be decoded is not fetched along: the lookup by id names the row.
    return { entry, fetched: [] };
  }
}

const plainValues: Row = [...rest.values(plain as Task), null, null];

export function chunk(
  { db, org, first }: Scope,
  of: string,
  lane: string,
  level: number,
  after: ReadyEntry | null,
  limit: number,
): Chunk {
  const from = [org, of, lane, level, after?.k1 ?? lowest, after?.k2 ?? lowest, limit];
  if (limit < busyChunk) {
    return { entries: db.all(sql.chunk, ...from).map((row) => readyLayout.decode(row)), tasks: [] };
  }
  const heads = db.all(sql.chunkWithTasks, first, ...from).map((row) => decode(row, of, lane, level));
  return { entries: heads.map(({ entry }) => entry), tasks: heads.flatMap(({ fetched }) => fetched) };
}

export function lanes({ db, org }: Scope, of: string, prefix: string): string[] {
  const end = `${prefix}\u{10ffff}`;
  const found: string[] = [];
  let row = db.get(sql.lane, org, of, prefix, end);
  while (row) {
    found.push(row[0]);
    row = db.get(sql.laneAfter, org, of, row[0], end);
  }
  return found;
}

export function levels({ db, org }: Scope, of: string, lane: string): number[] {
  const found: number[] = [];
  let row = db.get(sql.level, org, of, lane, Number.MAX_SAFE_INTEGER);
  while (row) {
    found.push(row[0]);
    row = db.get(sql.level, org, of, lane, row[0]);
  }
  return found;
}

export function counts({ db, org }: Scope, of: string | null, now: number): ReadyCount[] {
  const where = new Where<Value>()
    .and("org = ?", org)
    .andIf(of, "project = ?")
    .and("lane >= ? AND lane < ?", unlabelledLanes.from, unlabelledLanes.to);
  const text = `SELECT lane, sum(not_before <= ?), sum(not_before > ?) FROM ready WHERE ${where.text} GROUP BY lane`;
  const rows = db.all(text, now, now, ...where.values);
  return rows.map(([lane, ready, scheduled]) => ({ lane, ready, scheduled }));
}

export function write(scope: Scope, { leftQueue, joinedQueue, reordered }: Flush): void {
  const left = new Batches();
  for (const { project: of, entry } of leftQueue) {
    left.of(scope.org, of, entry.lane, entry.level, entry.k1).push(entry.k2);
  }
  scope.runAll(remove, left);
  join(scope, joinedQueue);
  for (const of of reordered) rebuild(scope, of);
}

function join(scope: Scope, joined: readonly Queued[]): void {
  const rows = new Batches();
  for (const { project: of, entry } of joined) rows.of(scope.org, of).push(...readyLayout.encode(entry));
  scope.runAll(insert, rows);
}

/** Writes the rows of a project again: its order has changed. */
function rebuild(scope: Scope, of: string): void {
  const { order } = project.find(scope, of)!.settings;
  scope.db.run(sql.clear, scope.org, of);
  for (const tasks of task.readyPages(scope, of)) {
    join(
      scope,
      tasks.flatMap((each) => readyEntries(each, order).map((entry) => ({ project: of, entry }))),
    );
  }
}
