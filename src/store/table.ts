import type { Key } from "../core/changes.js";
import type { Change } from "./rows.js";

interface KnownChange<T> extends Change<T> {
  key: Key;
  /** Changed without having been known before. */
  isFresh: boolean;
}

/** What is known of a row; `undefined` means absent. `before` is valid only while `isDirty`. */
interface Cell<T> extends KnownChange<T> {
  isDirty: boolean;
}

/** How many answers were guessed. A row is not kept if a guess was made while it was loaded. */
export interface Guessing {
  readonly guesses: number;
}

/** Cached rows by key, with those that the transaction changed. Rows that are not cached are loaded. */
export class Table<T> {
  private readonly cells = new Map<Key, Cell<T>>();
  private dirty: Cell<T>[] = [];

  constructor(
    private readonly source: Guessing,
    private readonly load: (key: Key) => T | undefined,
  ) {}

  get size(): number {
    return this.cells.size;
  }

  get dirtyCount(): number {
    return this.dirty.length;
  }

  /** The row, from the cache or loaded. */
  get(key: Key): T | undefined {
    const cell = this.cells.get(key);
    if (cell !== undefined) return cell.after;
    const { guesses } = this.source;
    const row = this.load(key);
    return this.source.guesses === guesses ? this.keep(key, row) : row;
  }

  /** The cached row; `null` when it has not been read yet. */
  known(key: Key): T | undefined | null {
    const cell = this.cells.get(key);
    return cell === undefined ? null : cell.after;
  }

  /** As it was read; a changed row stays changed. */
  keep(key: Key, row: T | undefined): T | undefined {
    const cell = this.cells.get(key);
    if (cell) cell.after = row;
    else this.cells.set(key, { key, before: undefined, after: row, isDirty: false, isFresh: false });
    return row;
  }

  /** The value before the transaction must have been read, or be known to be absent. Returns it, or that of the last change. */
  put(key: Key, row: T | undefined): T | undefined {
    const cell = this.cells.get(key);
    if (!cell) {
      const fresh = { key, before: undefined, after: row, isDirty: true, isFresh: true };
      this.cells.set(key, fresh);
      this.dirty.push(fresh);
      return undefined;
    }
    const last = cell.after;
    if (!cell.isDirty) {
      cell.isDirty = true;
      cell.before = last;
      this.dirty.push(cell);
    }
    cell.after = row;
    return last;
  }

  putAll(rows: ReadonlyMap<Key, T>): void {
    if (rows.size === 0) return;
    for (const [key, row] of rows) this.put(key, row);
  }

  isDirty(key: Key): boolean {
    return this.cells.get(key)?.isDirty === true;
  }

  /** What a changed row was before. */
  before(key: Key): T | undefined {
    return this.cells.get(key)?.before;
  }

  /** To be used before the next change. */
  changes(): readonly KnownChange<T>[] {
    return this.dirty;
  }

  changed(): T[] {
    return this.dirty.map(({ after }) => after!);
  }

  rows(): [Key, T | undefined][] {
    return [...this.cells.values()].map(({ key, after }) => [key, after]);
  }

  /** Of a row that is not changed: what is pending is settled or undone first. */
  forget(key: Key): void {
    this.cells.delete(key);
  }

  /** The changes are stored. */
  settle(): void {
    if (this.dirty.length === 0) return;
    for (const cell of this.dirty) {
      cell.isDirty = false;
      cell.isFresh = false;
      cell.before = undefined;
    }
    this.dirty = [];
  }

  /** Back to the rows before the changes. */
  undo(): void {
    for (const cell of this.dirty) {
      if (cell.isFresh) this.cells.delete(cell.key);
      else cell.after = cell.before;
    }
    this.settle();
  }

  /** Between transactions: forgets all rows but those that are known to be absent, as long as these are few. */
  keepAbsent(max: number): void {
    for (const { key, after } of this.cells.values()) if (after !== undefined) this.cells.delete(key);
    if (this.cells.size > max) this.cells.clear();
  }

  clear(): void {
    this.cells.clear();
    this.dirty = [];
  }
}
