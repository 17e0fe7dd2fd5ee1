// Shell scripts write files in place. A file is read when it has not changed for `settleMs`, measured with our own clock.

import type { Stats } from "node:fs";

export class Settling {
  private readonly seen = new Map<string, { stamp: string; since: number; poll: number }>();
  private poll = 0;

  constructor(
    private readonly now: () => number,
    private readonly settleMs: number,
  ) {}

  /** A file may still be written: the next poll should come early. */
  get isAny(): boolean {
    return [...this.seen.values()].some(({ since }) => this.now() - since < this.settleMs);
  }

  isSettled(path: string, stats: Stats | null): boolean {
    const stamp = stats ? `${stats.ino}:${stats.size}:${stats.mtimeMs}` : "";
    const known = this.seen.get(path);
    const since = known?.stamp === stamp ? known.since : this.now();
    this.seen.set(path, { stamp, since, poll: this.poll });
    return this.now() - since >= this.settleMs;
  }

  /** After a poll: forgets files that it did not find. */
  endPoll(): void {
    for (const [path, { poll }] of this.seen) if (poll !== this.poll) this.seen.delete(path);
    this.poll++;
  }
}
