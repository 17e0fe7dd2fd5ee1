// The ready queue in a transaction. The first question for a lane fetches the heads of all its levels, with their tasks: one round
// trip for a whole group of claims.

import type { ReadyEntry } from "../../core/ready.js";
import type { Row } from "../columns.js";
import type { Chunk, ReadyRows } from "../rows.js";
import type { ListQuery } from "./asking.js";
import type { Statement } from "./statement.js";
import * as table from "./tables/ready.js";

const lowest = Number.MIN_SAFE_INTEGER;

/** So many levels of lanes are fetched at once. */
const levelsMax = 100;

/** Rows of one level that follow `after` without a gap. */
interface Stretch {
  lane: string;
  level: number;
  after: ReadyEntry | null;
  heads: table.Head[];
  isEnd: boolean;
}

interface Where {
  project: string;
  lane: string;
  level: number;
  after: ReadyEntry | null;
}

interface Following extends ListQuery {
  key: string;
  decode(rows: Row[]): Stretch;
}

type Ask = <T>(key: string, statement: Statement, decode: (rows: Row[]) => T) => T;
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
    const statement = table.heads(this.org, { project, prefix, size, most });
    const stretches = this.ask(`heads ${project}/${prefix}`, statement, (rows) => {
      const byLevel = new Map<string, Stretch>();
      for (const row of rows) {
        const head = table.decodeHead(row);
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
    const { key, statement, decode } = this.following({ project, lane, level, after }, limit);
    const stretch = this.ask(key, statement, decode);
    this.note(project, stretch);
    return stretch;
  }

  /** What `chunk` asks for at this place, so that it can be asked for before. */
  following({ project, lane, level, after }: Where, limit = 0): Following {
    const size = Math.max(limit, this.size);
    const from = after ?? { k1: lowest, k2: lowest };
    return {
      key: `more ${project}/${lane}/${level}/${from.k1}/${from.k2}`,
      statement: table.following(this.org, { project, lane, level, after: from }, size),
      decode: (rows) => ({
        lane,
        level,
        after,
        heads: rows.map(table.decodeHead),
        isEnd: rows.length < size,
      }),
    };
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
