// The heads of the ready queue as a transaction sees them: rows fetched in sorted chunks, with what the transaction has
// added and taken. One fetch serves a whole group of claims.

import type { ReadyEntry } from "../core/ready.js";

export interface ReadySource {
  lanes(project: string, prefix: string): string[];
  /** Levels of a lane, highest first. */
  levels(project: string, lane: string): number[];
  /** The rows of a level after `after`, in order: at least so many, unless there are no more. */
  chunk(project: string, lane: string, level: number, after: ReadyEntry | null, limit: number): ReadyEntry[];
}

/** From this many rows at once on, a process is busy claiming, and the tasks themselves are fetched along. */
export const busyChunk = 16;

/** Rows are fetched in growing chunks: a lone claim pays for few, a busy process has many at hand. */
const chunkSize = { first: 8, max: 64 };
const rowsKeptMax = 8 * chunkSize.max;

/** The next rows of so many levels are fetched before they are asked for. */
const aheadMax = 8;

function compareEntries(a: ReadyEntry, b: ReadyEntry): number {
  return a.k1 - b.k1 || a.k2 - b.k2;
}

/** A row's place within its level; no two rows share one. */
function placeOf({ k1, k2 }: ReadyEntry): string {
  return `${k1}/${k2}`;
}

/** The rows of a level after those at hand. */
export interface NextRows {
  project: string;
  lane: string;
  level: number;
  after: ReadyEntry;
}

/** One level of one lane: the stored rows up to `boundary`, merged with the changes of the transaction. */
class Level {
  rows: ReadyEntry[] = [];
  private boundary: ReadyEntry | null = null;
  private exhausted = false;
  private next = chunkSize.first;
  /** Added behind the boundary, and places taken behind it. */
  private added = new Map<string, ReadyEntry>();
  private taken = new Set<string>();
  private saved: Pick<Level, "rows"> | null = null;

  constructor(
    private readonly of: Omit<NextRows, "after">,
    private readonly fetch: (after: ReadyEntry | null, limit: number) => ReadyEntry[],
  ) {}

  /** Where its next rows begin, if fewer than `most` are at hand and more may be stored. */
  whereLow(most: number): NextRows | null {
    if (this.exhausted || !this.boundary || this.rows.length >= most) return null;
    return { ...this.of, after: this.boundary };
  }

  [Symbol.iterator](): Iterator<ReadyEntry> {
    let at = 0;
    return {
      next: () => {
        while (at >= this.rows.length && !this.exhausted) this.extend();
        const value = this.rows[at++];
        return value ? { done: false, value } : { done: true, value: undefined };
      },
    };
  }

  extend(): void {
    const chunk = this.fetch(this.boundary, this.next);
    this.exhausted = chunk.length < this.next;
    this.next = Math.min(2 * this.next, chunkSize.max);
    this.boundary = chunk[chunk.length - 1] ?? this.boundary;
    for (const row of chunk) if (!this.isChanged(row)) this.rows.push(row);
    for (const [place, row] of this.added) {
      if (this.exhausted || (this.boundary && compareEntries(row, this.boundary) <= 0)) {
        this.added.delete(place);
        this.insert(row);
      }
    }
  }

  /** Whether the transaction has taken a stored row, or put it there itself. Mostly it has done neither, and no place is made. */
  private isChanged(row: ReadyEntry): boolean {
    if (this.taken.size === 0 && this.added.size === 0) return false;
    return this.taken.delete(placeOf(row)) || this.added.has(placeOf(row));
  }

  add(entry: ReadyEntry): void {
    if (this.exhausted || (this.boundary && compareEntries(entry, this.boundary) <= 0)) this.insert(entry);
    else this.added.set(placeOf(entry), entry);
  }

  take(entry: ReadyEntry): void {
    const at = this.rows.findIndex((row) => row.k1 === entry.k1 && row.k2 === entry.k2);
    if (at >= 0) this.rows.splice(at, 1);
    else if (!this.added.delete(placeOf(entry)) && !this.exhausted) this.taken.add(placeOf(entry));
  }

  /** To be called before the first change, if the changes may have to be taken back. */
  save(): void {
    const { rows, boundary, exhausted, next, added, taken } = this;
    const copy = { rows: [...rows], boundary, exhausted, next, added: new Map(added), taken: new Set(taken) };
    this.saved = copy;
  }

  /** Back to what was saved. (What was changed may have been guessed: undoing it move by move would add what never was.) */
  restore(): void {
    if (this.saved) Object.assign(this, this.saved);
    this.saved = null;
  }

  /** The store has all changes now: forget what it can tell, and keep the head only. */
  settle(): void {
    this.saved = null;
    this.added.clear();
    this.taken.clear();
    if (this.rows.length <= rowsKeptMax) return;
    this.rows.length = chunkSize.max;
    this.boundary = this.rows[chunkSize.max - 1]!;
    this.exhausted = false;
  }

  private insert(entry: ReadyEntry): void {
    let at = this.rows.length;
    while (at > 0 && compareEntries(entry, this.rows[at - 1]!) < 0) at--;
    this.rows.splice(at, 0, entry);
  }
}

class Lane {
  readonly levels = new Map<number, Level>();
  private order: number[] | null = null;

  constructor(
    private readonly source: ReadySource,
    private readonly project: string,
    private readonly lane: string,
  ) {}

  sorted(): number[] {
    if (!this.order) {
      const known = new Set(this.source.levels(this.project, this.lane));
      for (const level of this.levels.keys()) known.add(level);
      this.order = [...known].sort((a, b) => b - a);
    }
    return this.order;
  }

  level(level: number): Level {
    let found = this.levels.get(level);
    if (!found) {
      const { source, project, lane } = this;
      const fetch = (after: ReadyEntry | null, limit: number) =>
        source.chunk(project, lane, level, after, limit);
      found = new Level({ project, lane, level }, fetch);
      this.levels.set(level, found);
    }
    return found;
  }

  add(entry: ReadyEntry): void {
    this.level(entry.level).add(entry);
    if (this.order && !this.order.includes(entry.level)) this.order = null;
  }
}

/** The lanes of one project, and which of them begin with a prefix that was asked for. */
class ProjectQueue {
  readonly lanes = new Map<string, Lane>();
  readonly prefixes = new Map<string, string[]>();

  constructor(
    private readonly source: ReadySource,
    private readonly project: string,
  ) {}

  lanesOf(prefix: string): string[] {
    let lanes = this.prefixes.get(prefix);
    if (!lanes) {
      const known = new Set(this.source.lanes(this.project, prefix));
      for (const lane of this.lanes.keys()) if (lane.startsWith(prefix)) known.add(lane);
      lanes = [...known].sort();
      this.prefixes.set(prefix, lanes);
    }
    return lanes;
  }

  lane(name: string): Lane {
    let lane = this.lanes.get(name);
    if (!lane) {
      lane = new Lane(this.source, this.project, name);
      this.lanes.set(name, lane);
    }
    return lane;
  }

  /** To be called before a row is added: its lane may be new. */
  expect(name: string): void {
    if (this.lanes.has(name)) return;
    for (const [prefix, lanes] of this.prefixes) {
      if (name.startsWith(prefix) && !lanes.includes(name)) this.prefixes.delete(prefix);
    }
  }
}

export class ReadyQueue {
  private readonly projects = new Map<string, ProjectQueue>();
  private readonly touched = new Set<Level>();
  /** Changed by the last transaction. */
  private recent: Level[] = [];

  constructor(
    private readonly source: ReadySource,
    /** Changes may be taken back by `undo`. */
    private readonly canUndo: boolean,
  ) {}

  private touch(level: Level): void {
    if (this.touched.has(level)) return;
    if (this.canUndo) level.save();
    this.touched.add(level);
  }

  /** Takes back all changes since the last `settle`. */
  undo(): void {
    for (const level of this.touched) level.restore();
    this.touched.clear();
  }

  lanesOf(project: string, prefix: string): string[] {
    return this.of(project).lanesOf(prefix);
  }

  levelsOf(project: string, lane: string): number[] {
    return this.of(project).lane(lane).sorted();
  }

  entriesOf(project: string, lane: string, level: number): Iterable<ReadyEntry> {
    return this.of(project).lane(lane).level(level);
  }

  add(project: string, entry: ReadyEntry): void {
    const queue = this.of(project);
    queue.expect(entry.lane);
    const lane = queue.lane(entry.lane);
    this.touch(lane.level(entry.level));
    lane.add(entry);
  }

  take(project: string, entry: ReadyEntry): void {
    const level = this.of(project).lane(entry.lane).level(entry.level);
    this.touch(level);
    level.take(entry);
  }

  /** How much it remembers. */
  get size(): number {
    let size = 0;
    for (const { lanes, prefixes } of this.projects.values()) size += lanes.size + prefixes.size;
    return size;
  }

  /** To be called when all changes are written. */
  settle(): void {
    if (this.touched.size === 0) return;
    for (const level of this.touched) level.settle();
    this.recent = [...this.touched];
    this.touched.clear();
  }

  /** What a transaction that takes `most` rows is likely to ask for. */
  nextRows(most: number): NextRows[] {
    return this.recent.slice(0, aheadMax).flatMap((level) => level.whereLow(most) ?? []);
  }

  /** Adds these rows to those at hand, outside of a transaction's changes. */
  extend({ project, lane, level }: NextRows): void {
    this.of(project).lane(lane).level(level).extend();
  }

  /** The rows of a project were written again. */
  forget(project: string): void {
    this.projects.delete(project);
    this.recent = [];
  }

  clear(): void {
    this.projects.clear();
    this.touched.clear();
    this.recent = [];
  }

  private of(project: string): ProjectQueue {
    let queue = this.projects.get(project);
    if (!queue) {
      queue = new ProjectQueue(this.source, project);
      this.projects.set(project, queue);
    }
    return queue;
  }
}
