// The ready queue's rows. The first question for a lane fetches the heads of all its levels, with their tasks: one round trip
// for a whole group of claims.

import type { ReadyEntry } from "../../core/ready.js";
import type { Row } from "../row-codec.js";
import type { Chunk, Fetched, ReadyRows } from "../rows.js";
import { orUnreadable, UnreadableRowError } from "../unreadable.js";
import {
  prefixed,
  readyColumns,
  readyWidth,
  shortText,
  taskOf,
  taskWidth,
  toEntry,
  toTask,
  toText,
} from "./codec.js";
import type { Statement } from "./statement.js";

const lowest = Number.MIN_SAFE_INTEGER;

/** So many levels of lanes are fetched at once. */
const levelsMax = 100;

const headColumns = `${prefixed("r", readyColumns)}, ${taskOf("t")}, ${shortText("x")}, NOT EXISTS (SELECT 1
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

interface Head {
  entry: ReadyEntry;
  /** Null if it cannot be decoded: looking it up by id says why. */
  fetched: Fetched | null;
}

/** Rows of one level that follow `after` without a gap. */
interface Stretch {
  lane: string;
  level: number;
  after: ReadyEntry | null;
  heads: Head[];
  isEnd: boolean;
}

type Ask = <T>(key: string, project: string, statement: Statement, decode: (rows: Row[]) => T) => T;
type Levels = Map<number, Stretch[]>;

export class ReadyQuestions implements ReadyRows {
  /** How many rows of each level are fetched at once. */
  size = 64;
  /** What is known, by `project/lane`, and of which `project/prefix` everything is. */
  private readonly fetched = new Map<string, Levels>();
  private readonly covered = new Set<string>();
  /** Projects with too many lanes to fetch the heads of all. */
  private readonly crowded = new Set<string>();

  constructor(
    private readonly org: string,
    private readonly ask: Ask,
  ) {}

  forget(): void {
    this.fetched.clear();
    this.covered.clear();
  }

  lanes(project: string, prefix: string): string[] {
    this.coverAround(project, prefix);
    const lanes = [...this.fetched.keys()].filter((key) => key.startsWith(`${project}/${prefix}`));
    return lanes.map((key) => key.slice(project.length + 1)).sort();
  }

  levels(project: string, lane: string): number[] {
    return [...this.levelsOf(project, lane).keys()].sort((a, b) => b - a);
  }

  /** As many as are at hand, but at least so many unless the level ends. */
  chunk(project: string, lane: string, level: number, after: ReadyEntry | null, limit: number): Chunk {
    const levels = after === null ? this.levelsOf(project, lane) : this.fetched.get(`${project}/${lane}`);
    const known = levels?.get(level);
    // A lane of which everything is known and that has no such level: there is nothing.
    if (!known && after === null) return { entries: [], tasks: [] };
    for (const stretch of known ?? []) {
      const chunk = served(stretch, after, limit);
      if (chunk) return chunk;
    }
    return served(this.more(project, lane, level, after, limit), after, limit) ?? { entries: [], tasks: [] };
  }

  private levelsOf(project: string, lane: string): Levels {
    this.coverAround(project, lane);
    return this.fetched.get(`${project}/${lane}`) ?? new Map();
  }

  /** The whole project at first; only where that is too much, what is asked for. */
  private coverAround(project: string, prefix: string): void {
    if (this.covered.has(`${project}/`) || this.covered.has(`${project}/${prefix}`)) return;
    if (!this.crowded.has(project)) this.cover(project, "");
    if (this.crowded.has(project)) this.cover(project, prefix);
  }

  /** Every lane that begins so, with its levels and their heads. */
  private cover(project: string, prefix: string): void {
    const { size } = this;
    const most = prefix === "" ? levelsMax + 1 : Number.MAX_SAFE_INTEGER;
    const values = [this.org, project, prefix, `${prefix}\u{10ffff}`, size, most];
    const stretches = this.ask(`heads ${project}/${prefix}`, project, { text: headsText, values }, (rows) => {
      const byLevel = new Map<string, Stretch>();
      for (const row of rows) {
        const head = toHead(row);
        const { lane, level } = head.entry;
        const stretch = byLevel.get(`${lane}/${level}`);
        if (stretch) stretch.heads.push(head);
        else byLevel.set(`${lane}/${level}`, { lane, level, after: null, heads: [head], isEnd: true });
      }
      for (const stretch of byLevel.values()) stretch.isEnd = stretch.heads.length < size;
      return [...byLevel.values()];
    });
    if (prefix === "" && stretches.length > levelsMax) {
      this.crowded.add(project);
      return;
    }
    for (const stretch of stretches) this.note(project, stretch);
    this.covered.add(`${project}/${prefix}`);
  }

  private more(
    project: string,
    lane: string,
    level: number,
    after: ReadyEntry | null,
    limit: number,
  ): Stretch {
    const size = Math.max(limit, this.size);
    const from = after ?? { k1: lowest, k2: lowest };
    const values = [this.org, project, lane, level, from.k1, from.k2, size];
    const key = `more ${project}/${lane}/${level}/${from.k1}/${from.k2}`;
    const stretch = this.ask(key, project, { text: moreText, values }, (rows): Stretch => {
      return { lane, level, after, heads: rows.map(toHead), isEnd: rows.length < size };
    });
    this.note(project, stretch);
    return stretch;
  }

  private note(project: string, stretch: Stretch): void {
    const key = `${project}/${stretch.lane}`;
    const levels = this.fetched.get(key) ?? new Map<number, Stretch[]>();
    this.fetched.set(key, levels);
    const stretches = levels.get(stretch.level) ?? [];
    levels.set(stretch.level, stretches);
    if (!stretches.includes(stretch)) stretches.push(stretch);
  }
}

function toHead(row: Row): Head {
  const text = row.slice(readyWidth + taskWidth);
  const task = orUnreadable(() => toTask(row.slice(readyWidth)));
  if (task instanceof UnreadableRowError) return { entry: toEntry(row), fetched: null };
  const fetched = { task, text: text[0] === null ? null : toText(text), isFree: text[3] };
  return { entry: toEntry(row), fetched };
}

const samePlace = (a: ReadyEntry, b: ReadyEntry) => a.k1 === b.k1 && a.k2 === b.k2;

/** The rows after that one, or null if they are not so many and the stretch is not the end. */
function served(
  { after: start, heads, isEnd }: Stretch,
  after: ReadyEntry | null,
  limit: number,
): Chunk | null {
  const isStart = after === null ? start === null : start !== null && samePlace(start, after);
  const before = after === null || isStart ? -1 : heads.findIndex(({ entry }) => samePlace(entry, after));
  if (!isStart && before < 0) return null;
  const some = heads.slice(before + 1);
  if (some.length < limit && !isEnd) return null;
  const tasks = some.flatMap(({ fetched }) => fetched ?? []);
  return { entries: some.map(({ entry }) => entry), tasks };
}
