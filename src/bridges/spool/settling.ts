// Shell scripts write files in place: first empty, then in pieces. One is read when it has stayed the same for a moment, by our own
// clock; the times in a file say nothing about that.

import type { Stats } from "node:fs";

export class Settling {
  private readonly seen = new Map<string, { stamp: string; since: number; look: number }>();
  private look = 0;

  constructor(
    private readonly now: () => number,
    private readonly settleMs: number,
  ) {}

  /** Something may still be written: it is worth looking again soon. */
  get isAny(): boolean {
    return [...this.seen.values()].some(({ since }) => this.now() - since < this.settleMs);
  }

  isSettled(path: string, stats: Stats | null): boolean {
    const stamp = stats ? `${stats.ino}:${stats.size}:${stats.mtimeMs}` : "";
    const known = this.seen.get(path);
    const since = known?.stamp === stamp ? known.since : this.now();
    this.seen.set(path, { stamp, since, look: this.look });
    return this.now() - since >= this.settleMs;
  }

  /** After a look: what it did not meet is forgotten. */
  endLook(): void {
    for (const [path, { look }] of this.seen) if (look !== this.look) this.seen.delete(path);
    this.look++;
  }
}
