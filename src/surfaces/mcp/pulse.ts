/** A beat after every beat: each says how long the next may take. A beat that is needed sooner can be asked for. */
export class Pulse {
  private timer: NodeJS.Timeout | null = null;
  private dueAt = Number.POSITIVE_INFINITY;
  private isBeating = false;
  private isStopped = false;

  constructor(private readonly beat: () => Promise<number>) {}

  within(ms: number): void {
    const dueAt = performance.now() + ms;
    if (this.isStopped || this.isBeating || dueAt >= this.dueAt) return;
    this.dueAt = dueAt;
    if (this.timer) clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.run(), ms);
  }

  private async run(): Promise<void> {
    this.isBeating = true;
    const nextMs = await this.beat();
    this.isBeating = false;
    this.dueAt = Number.POSITIVE_INFINITY;
    this.within(nextMs);
  }

  stop(): void {
    this.isStopped = true;
    if (this.timer) clearTimeout(this.timer);
  }
}
