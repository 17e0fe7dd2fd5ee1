import { type ReadyCount, type ReadyEntry, unlabelledLanes } from "../../../core/ready.js";
import { prefixed, type Row } from "../../columns.js";
import { readyLayout } from "../../layouts.js";
import type { Fetched, Flush, Queued } from "../../rows.js";
import { orUnreadable, UnreadableRowError } from "../../unreadable.js";
import { Where } from "../../where.js";
import { deleteFrom, insertInto, numbered, type Statement, typed, type Value } from "../statement.js";
import * as task from "./task.js";
import * as text from "./text.js";

const { columns, width } = readyLayout;

const headColumns = `${prefixed("r", columns)}, ${task.columns}, ${text.shortText("x")}, NOT EXISTS (SELECT 1
  FROM dibs.dependency d WHERE d.org = t.org AND d.project = t.project AND d.depends_on = t.id)`;
/** By number: by id, a planner without statistics would try all tasks. */
const headTasks = `JOIN dibs.task t ON t.org = r.org AND t.no = r.no
  LEFT JOIN dibs.task_text x ON x.org = t.org AND x.no = t.no`;

/** Steps from lane to lane and level to level by seeks: the cost is their number, not that of tasks. */
const headsText = `WITH RECURSIVE lanes AS (
    (SELECT lane FROM dibs.ready WHERE org = $1 AND project = $2 AND lane >= $3 AND lane < $4 ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT (SELECT r.lane FROM dibs.ready r WHERE r.org = $1 AND r.project = $2 AND r.lane > l.lane AND r.lane < $4
      ORDER BY r.lane LIMIT 1) FROM lanes l WHERE l.lane IS NOT NULL
  ), levels AS (
    SELECT l.lane, (SELECT r.level FROM dibs.ready r WHERE r.org = $1 AND r.project = $2 AND r.lane = l.lane
      ORDER BY r.level DESC LIMIT 1) AS level FROM lanes l WHERE l.lane IS NOT NULL
    UNION ALL
    SELECT v.lane, (SELECT r.level FROM dibs.ready r WHERE r.org = $1 AND r.project = $2 AND r.lane = v.lane
      AND r.level < v.level ORDER BY r.level DESC LIMIT 1) FROM levels v WHERE v.level IS NOT NULL
  )
  SELECT h.* FROM (SELECT * FROM levels WHERE level IS NOT NULL LIMIT $6) v CROSS JOIN LATERAL (
    SELECT ${headColumns} FROM dibs.ready r ${headTasks}
    WHERE r.org = $1 AND r.project = $2 AND r.lane = v.lane AND r.level = v.level ORDER BY r.k1, r.k2 LIMIT $5
  ) h`;

const moreText = `SELECT ${headColumns} FROM dibs.ready r ${headTasks}
  WHERE r.org = $1 AND r.project = $2 AND r.lane = $3 AND r.level = $4 AND (r.k1, r.k2) > ($5, $6)
  ORDER BY r.k1, r.k2 LIMIT $7`;

/** The heads of all levels of the lanes that begin with a prefix. */
export function heads(
  org: string,
  { project, prefix, size, most }: { project: string; prefix: string; size: number; most: number },
): Statement {
  return { text: headsText, values: [org, project, prefix, `${prefix}\u{10ffff}`, size, most] };
}

export interface Place {
  project: string;
  lane: string;
  level: number;
  after: Pick<ReadyEntry, "k1" | "k2">;
}

/** Rows of one level. */
export function following(org: string, { project, lane, level, after }: Place, size: number): Statement {
  return { text: moreText, values: [org, project, lane, level, after.k1, after.k2, size] };
}

export interface Head {
  entry: ReadyEntry;
  /** Null if it cannot be decoded: looking it up by id says why. */
  fetched: Fetched | null;
}

export function decodeHead(row: Row): Head {
  const entry = readyLayout.decode(row);
  const found = orUnreadable(() => task.decode(row.slice(width)));
  if (found instanceof UnreadableRowError) return { entry, fetched: null };
  const [prompt, description, metadata, isFree] = row.slice(width + task.width);
  const short = prompt === null ? null : text.decode([prompt, description, metadata]);
  return { entry, fetched: { task: found, text: short, isFree } };
}

export function counts(org: string, project: string | null, now: number): Statement {
  const where = new Where<Value>()
    .and("org = ?", org)
    .andIf(project, "project = ?")
    .and("lane >= ? AND lane < ?", unlabelledLanes.from, unlabelledLanes.to);
  return numbered(
    `SELECT lane, count(*) FILTER (WHERE not_before <= ?), count(*) FILTER (WHERE not_before > ?)
      FROM dibs.ready WHERE ${where.text} GROUP BY lane`,
    [now, now, ...where.values],
  );
}

export const toCount = ([lane, ready, scheduled]: Row): ReadyCount => ({ lane, ready, scheduled });

const types = { level: "bigint", k1: "bigint", k2: "bigint", no: "bigint", not_before: "bigint" };
const remove = deleteFrom("ready", typed("project, lane, level, k1, k2", types));
const insert = insertInto("ready", typed(`project, no, ${columns}`, types));

/** In either order, k2 is the task's number or its negative. */
export const join = (org: string, entries: readonly Queued[]): Statement[] =>
  insert.of(
    org,
    entries.flatMap(({ project, entry }) => [project, Math.abs(entry.k2), ...readyLayout.encode(entry)]),
  );

export const write = (org: string, { leftQueue, joinedQueue }: Flush): Statement[] => [
  ...remove.of(
    org,
    leftQueue.flatMap(({ project, entry: { lane, level, k1, k2 } }) => [project, lane, level, k1, k2]),
  ),
  ...join(org, joinedQueue),
];

export const clear = (org: string, project: string): Statement => ({
  text: "DELETE FROM dibs.ready WHERE org = $1 AND project = $2",
  values: [org, project],
});
