import { timerMsMax } from "../common/abort.js";

/** The longest time that a command can run, without the time that a person takes to answer. */
export class TimeLimit {
  private timer: NodeJS.Timeout | null = null;
  private since = 0;
  private leftMs: number | null;

  constructor(
    limitMs: number | null,
    private readonly onEnd: () => void,
  ) {
    this.leftMs = limitMs;
  }

  run(): void {
    if (this.leftMs === null || this.timer) return;
    this.since = performance.now();
    this.timer = setTimeout(this.onEnd, Math.min(this.leftMs, timerMsMax));
  }

  pause(): void {
    if (!this.timer || this.leftMs === null) return;
    clearTimeout(this.timer);
    this.timer = null;
    this.leftMs = Math.max(0, this.leftMs - (performance.now() - this.since));
  }
}
