// Something that is read again when asked and every few seconds: one request at a time, and not too soon after the last.

export interface ReadingOptions {
  /** The least time between two. */
  gapMs: number;
  /** Read anyway after so long. */
  everyMs: number;
}

export class Reading {
  /** Why the last one failed. */
  error: Error | null = null;
  private askedAt: number | null = null;
  private timer: NodeJS.Timeout | null = null;
  private dueAt = Number.POSITIVE_INFINITY;
  private isBusy = false;
  private isWanted = false;
  private isClosed = false;
  private endedAt = Number.NEGATIVE_INFINITY;
  private tookMs = 0;

  constructor(
    private readonly read: () => Promise<void>,
    private readonly options: ReadingOptions,
  ) {
    this.plan(0);
  }

  /** As soon as may be. */
  ask(): void {
    if (this.isBusy) this.isWanted = true;
    else this.plan(Math.max(0, this.endedAt + this.gapMs - performance.now()));
  }

  /** For how long there has been no answer to what was asked. */
  get unansweredMs(): number {
    return this.askedAt === null ? 0 : performance.now() - this.askedAt;
  }

  /** What takes long is read less often. */
  private get gapMs(): number {
    return Math.max(this.options.gapMs, this.tookMs * 4);
  }

  close(): void {
    this.isClosed = true;
    if (this.timer) clearTimeout(this.timer);
  }

  private plan(ms: number): void {
    const at = performance.now() + ms;
    if (this.isClosed || at >= this.dueAt) return;
    if (this.timer) clearTimeout(this.timer);
    this.dueAt = at;
    this.timer = setTimeout(() => void this.run(), ms);
  }

  private async run(): Promise<void> {
    this.dueAt = Number.POSITIVE_INFINITY;
    this.isBusy = true;
    this.isWanted = false;
    const began = performance.now();
    this.askedAt ??= began;
    try {
      await this.read();
      this.error = null;
    } catch (error) {
      this.error = error as Error;
    }
    if (!isAway(this.error)) this.askedAt = null;
    this.isBusy = false;
    this.endedAt = performance.now();
    this.tookMs = this.endedAt - began;
    this.plan(this.isWanted && this.error === null ? this.gapMs : this.options.everyMs);
  }
}

/** A refusal is an answer too. */
const isAway = (error: (Error & { code?: string }) | null) => error?.code === "STORE_UNAVAILABLE";
