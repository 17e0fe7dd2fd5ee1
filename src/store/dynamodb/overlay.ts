// What the log has and the tables might not have yet: the last write of each item, and the version that wrote it.

import { compareKeys, type Found, type Place, partitionOf, type Span, type Write } from "./items.js";

interface Entry extends Write {
  version: number;
}

export class Overlay {
  private readonly partitions = new Map<string, Map<string, Entry>>();
  size = 0;

  add(version: number, writes: readonly Write[]): void {
    for (const write of writes) {
      const name = partitionOf(write);
      let entries = this.partitions.get(name);
      if (!entries) {
        entries = new Map();
        this.partitions.set(name, entries);
      }
      if (!entries.has(write.sk)) this.size++;
      entries.set(write.sk, { ...write, version });
    }
  }

  get(place: Place): Write | undefined {
    return this.partitions.get(partitionOf(place))?.get(place.sk);
  }

  /** The items of a span as they were read, with what the log has since. */
  over(span: Span, items: readonly Found[]): Found[] {
    const entries = this.partitions.get(partitionOf(span));
    if (!entries) return [...items];
    const found = new Map(items.map((item) => [item.sk, item.data]));
    for (const { sk, data } of entries.values()) {
      if (compareKeys(sk, span.from) < 0 || compareKeys(sk, span.to) > 0) continue;
      if (data === null) found.delete(sk);
      else found.set(sk, data);
    }
    return [...found].map(([sk, data]) => ({ sk, data }));
  }

  /** Everything that was written after that version. */
  since(version: number): Write[] {
    const writes: Write[] = [];
    for (const entries of this.partitions.values()) {
      for (const entry of entries.values()) if (entry.version > version) writes.push(entry);
    }
    return writes;
  }

  /** The tables have everything up to this version. */
  prune(version: number): void {
    for (const [name, entries] of this.partitions) {
      for (const [sk, entry] of entries) {
        if (entry.version > version) continue;
        entries.delete(sk);
        this.size--;
      }
      if (entries.size === 0) this.partitions.delete(name);
    }
  }

  clear(): void {
    this.partitions.clear();
    this.size = 0;
  }
}
