import type { Key } from "../core/changes.js";
import type { Change } from "./rows.js";

/** Rows by key, with those that the transaction changed. */
export class Table<T> {
  readonly rows = new Map<Key, T | undefined>();
  readonly dirty = new Map<Key, T | undefined>();
  /** Changed without having been known before. */
  private readonly fresh = new Set<Key>();

  /** What is known of a row; `null` when it has not been read yet. */
  known(key: Key): T | undefined | null {
    const row = this.rows.get(key);
    return row === undefined && !this.rows.has(key) ? null : row;
  }

  keep(key: Key, row: T | undefined): T | undefined {
    this.rows.set(key, row);
    return row;
  }

  /** The value before the transaction must have been read, or be known to be absent. */
  put(key: Key, row: T | undefined): void {
    if (!this.dirty.has(key)) {
      const before = this.rows.get(key);
      if (before === undefined && !this.rows.has(key)) this.fresh.add(key);
      this.dirty.set(key, before);
    }
    this.rows.set(key, row);
  }

  changes(): Change<T>[] {
    const changes: Change<T>[] = [];
    for (const [key, before] of this.dirty) changes.push({ before, after: this.rows.get(key) });
    return changes;
  }

  changed(): T[] {
    const changed: T[] = [];
    for (const key of this.dirty.keys()) changed.push(this.rows.get(key)!);
    return changed;
  }

  /** The changes are stored. */
  settle(): void {
    this.dirty.clear();
    this.fresh.clear();
  }

  /** Back to what was before the changes. */
  undo(): void {
    for (const [key, before] of this.dirty) {
      if (this.fresh.has(key)) this.rows.delete(key);
      else this.rows.set(key, before);
    }
    this.settle();
  }

  clear(): void {
    this.rows.clear();
    this.settle();
  }
}
