// The cached texts of tasks, with roughly how much memory they take.

import type { Key } from "../core/changes.js";
import type { TaskText } from "../core/task.js";
import { type Guessing, Table } from "./table.js";

const lengthCachedMax = 16 * 1024 * 1024;

export class KnownTexts {
  readonly table: Table<TaskText>;
  private length = 0;

  constructor(source: Guessing, load: (key: Key) => TaskText | undefined) {
    this.table = new Table(source, (key) => {
      const text = load(key);
      if (text) this.length += lengthOf(text);
      return text;
    });
  }

  /** A text that was fetched along with its task. */
  keepNew(key: Key, text: TaskText): void {
    if (this.table.known(key) !== null) return;
    this.length += lengthOf(text);
    this.table.keep(key, text);
  }

  putAll(texts: ReadonlyMap<Key, TaskText>): void {
    for (const text of texts.values()) this.length += lengthOf(text);
    this.table.putAll(texts);
  }

  /** The text of a task that is deleted. */
  remove(key: Key): void {
    const before = this.table.put(key, undefined);
    if (before) this.length -= lengthOf(before);
  }

  forget(key: Key): void {
    const text = this.table.known(key);
    if (text) this.length -= lengthOf(text);
    this.table.forget(key);
  }

  /** Between transactions. */
  trim(): void {
    if (this.length > lengthCachedMax) this.clear();
  }

  clear(): void {
    this.table.clear();
    this.length = 0;
  }
}

function lengthOf({ prompt, description, metadata }: TaskText): number {
  return prompt.length + (description?.length ?? 0) + (metadata ? JSON.stringify(metadata).length : 0);
}
