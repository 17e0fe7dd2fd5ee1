// Connections, kept for the next transaction until they break or get old.

import { StoreError } from "../store.js";
import { Line, lost, type Settings } from "./line.js";

const idleMsMax = 60_000;
const waitMsMax = 30_000;
const ageMsMax = 30 * 60_000;

interface Waiter {
  resolve(line: Line): void;
  reject(error: unknown): void;
}

export class Pool {
  private readonly idle: { line: Line; timer: NodeJS.Timeout }[] = [];
  private readonly lines = new Set<Line>();
  private readonly waiting: Waiter[] = [];
  private count = 0;
  private isEnded = false;

  constructor(
    private readonly settings: Settings,
    private readonly name: string,
  ) {}

  async take(): Promise<Line> {
    if (this.isEnded) throw lost("CONNECTION_ENDED");
    for (let next = this.idle.pop(); next; next = this.idle.pop()) {
      clearTimeout(next.timer);
      if (next.line.isUsable) return next.line;
      this.drop(next.line);
    }
    if (this.count < this.settings.max) return this.open();
    return this.wait();
  }

  private wait(): Promise<Line> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(waiter), 1);
        const hint = "Raise ?pool=… in the address, or look for long transactions in pg_stat_activity.";
        reject(new StoreError("STORE_BUSY", `All ${this.settings.max} connections are in use.`, hint));
      }, waitMsMax);
      const waiter: Waiter = {
        resolve: (line) => {
          clearTimeout(timer);
          resolve(line);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      this.waiting.push(waiter);
    });
  }

  private async open(): Promise<Line> {
    this.count++;
    try {
      const line = await Line.open(this.settings, this.name);
      this.lines.add(line);
      return line;
    } catch (error) {
      this.count--;
      this.serve();
      throw error;
    }
  }

  giveBack(line: Line): void {
    if (!line.isUsable || this.isEnded || performance.now() - line.openedAt > ageMsMax) {
      this.drop(line);
      return;
    }
    const waiter = this.waiting.shift();
    if (waiter) {
      waiter.resolve(line);
      return;
    }
    const timer = setTimeout(() => {
      this.idle.splice(
        this.idle.findIndex((each) => each.line === line),
        1,
      );
      this.drop(line);
    }, idleMsMax).unref();
    this.idle.push({ line, timer });
  }

  private drop(line: Line): void {
    this.lines.delete(line);
    this.count--;
    void line.end();
    this.serve();
  }

  /** There is room for one more connection. */
  private serve(): void {
    if (this.isEnded) return;
    const waiter = this.waiting.shift();
    if (waiter) this.open().then(waiter.resolve, waiter.reject);
  }

  async end(): Promise<void> {
    this.isEnded = true;
    for (const { reject } of this.waiting.splice(0)) reject(lost("CONNECTION_ENDED"));
    for (const { timer } of this.idle.splice(0)) clearTimeout(timer);
    await Promise.all([...this.lines].map((line) => line.end()));
    this.lines.clear();
  }
}
