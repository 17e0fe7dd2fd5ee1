// Items that are known as they are at the head of the log, absent ones included. Every record of the log is taken in, so that
// nothing is read again because others commit.

import {
  compareKeys,
  endOf,
  type Found,
  following,
  type Place,
  partitionOf,
  type Span,
  type Write,
} from "./items.js";

export interface Range {
  from: string;
  to: string;
}

/** Whether a range begins within the other, or directly behind it. */
const touches = (range: Range, next: Range): boolean =>
  compareKeys(next.from, range.to) <= 0 || next.from === following(range.to);

/** Of an item besides its row. */
const itemWeight = 100;

let lastVersion = 0;
const nextVersion = (): number => ++lastVersion;

class Partition {
  private readonly items = new Map<string, string | null>();
  /** Of the items that exist, sorted. */
  private readonly keys: string[] = [];
  /** In which every item is known, sorted and apart from each other. */
  private ranges: Range[] = [];
  /** No two contents have the same, not even of a partition that was forgotten and read again. */
  version = nextVersion();
  /** Roughly how many characters it takes. */
  weight = 0;

  get(sk: string): string | null | undefined {
    const item = this.items.get(sk);
    if (item !== undefined) return item;
    return this.rangeAt(sk) ? null : undefined;
  }

  set(sk: string, data: string | null): void {
    this.version = nextVersion();
    const before = this.items.get(sk);
    this.weight += (data?.length ?? 0) - (before?.length ?? 0);
    if (before === undefined && data !== null) this.weight += itemWeight;
    if (typeof before === "string" && data === null) this.keys.splice(this.indexOf(sk), 1);
    if (typeof before !== "string" && data !== null) this.keys.splice(this.indexOf(sk), 0, sk);
    if (data !== null || !this.rangeAt(sk)) this.items.set(sk, data);
    else if (this.items.delete(sk)) this.weight -= itemWeight;
  }

  cover(range: Range): void {
    this.weight += itemWeight;
    const ranges: Range[] = [];
    let { from, to } = range;
    for (const known of this.ranges) {
      if (touches(known, { from, to }) && touches({ from, to }, known)) {
        if (compareKeys(known.from, from) < 0) from = known.from;
        if (compareKeys(known.to, to) > 0) to = known.to;
      } else ranges.push(known);
    }
    ranges.push({ from, to });
    this.ranges = ranges.sort((a, b) => compareKeys(a.from, b.from));
  }

  rangeAt(sk: string): Range | undefined {
    let [low, high] = [0, this.ranges.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const range = this.ranges[middle]!;
      if (compareKeys(sk, range.from) < 0) high = middle - 1;
      else if (compareKeys(sk, range.to) > 0) low = middle + 1;
      else return range;
    }
    return undefined;
  }

  between({ from, to }: Range): Found[] {
    const found: Found[] = [];
    for (let at = this.indexOf(from); at < this.keys.length; at++) {
      const sk = this.keys[at]!;
      if (compareKeys(sk, to) > 0) break;
      found.push({ sk, data: this.items.get(sk)! });
    }
    return found;
  }

  /** The place of the first key that is not smaller. */
  private indexOf(sk: string): number {
    let [low, high] = [0, this.keys.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareKeys(this.keys[middle]!, sk) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const everything: Range = { from: "", to: endOf("") };

export class KnownItems {
  private readonly partitions = new Map<string, Partition>();

  /** `isWhole`: a copy of everything, in which what is not known is absent. */
  constructor(private readonly isWhole = false) {}

  /** `undefined`: not known; `null`: known to be absent. */
  get(place: Place): string | null | undefined {
    const item = this.partitions.get(partitionOf(place))?.get(place.sk);
    return item === undefined && this.isWhole ? null : item;
  }

  /** The range around a key in which every item is known. */
  rangeAt(place: Place): Range | undefined {
    return this.isWhole ? everything : this.partitions.get(partitionOf(place))?.rangeAt(place.sk);
  }

  between(span: Span): Found[] {
    return this.partitions.get(partitionOf(span))?.between(span) ?? [];
  }

  /** Another one after every change of the partition. */
  versionOf(span: Pick<Span, "table" | "pk">): number {
    return this.partitions.get(partitionOf(span))?.version ?? 0;
  }

  put({ data, ...place }: Write): void {
    this.of(place).set(place.sk, data);
  }

  /** All items of the span. */
  putAll(span: Span, found: readonly Found[]): void {
    const partition = this.of(span);
    partition.cover(span);
    for (const { sk, data } of found) partition.set(sk, data);
  }

  /** A write that was committed. An item that is not known stays so, unless it is to be kept. */
  follow(write: Write, keep = false): void {
    if (keep || this.get(write) !== undefined) this.put(write);
  }

  get weight(): number {
    let weight = 0;
    for (const partition of this.partitions.values()) weight += partition.weight;
    return weight;
  }

  clear(): void {
    this.partitions.clear();
  }

  private of(place: Pick<Place, "table" | "pk">): Partition {
    const name = partitionOf(place);
    let partition = this.partitions.get(name);
    if (!partition) {
      partition = new Partition();
      this.partitions.set(name, partition);
    }
    return partition;
  }
}
