// Holding a task while a command runs: heartbeats, what events say about the claim, and this process's own idea of when the
// lease is over, for when the store cannot be reached.

import type { Dibs } from "../client/client.js";
import { type HolderOf, isLost } from "../client/reporting.js";
import { DibsError } from "../contract/error.js";
import type { WireEvent } from "../contract/shapes.js";

export interface LeaseOptions {
  dibs: Dibs;
  by: HolderOf;
  ttlMs: number;
  beatMs: number;
  /** The command must be gone when the lease is: it is told so much earlier. */
  marginMs: number;
  /** By this process's clock, when the claim was asked for. */
  askedAt: number;
  /** The longest time the command may run, not counting the time a human takes to answer. */
  timeoutMs: number | null;
  onLost(error: unknown): void;
  onTimeout(): void;
  onTrouble(error: unknown): void;
}

export class Lease {
  /** A question is open: the lease stands still. */
  isWaiting = false;
  /** When the lease is over, by this process's clock, unless renewed. */
  until: number;
  private isOver = false;
  private beating: NodeJS.Timeout | null = null;
  private deadline: NodeJS.Timeout | null = null;
  private timeout: NodeJS.Timeout | null = null;
  private timeoutLeftMs: number | null;
  private timeoutSince = 0;
  private hasStarted = false;

  constructor(private readonly options: LeaseOptions) {
    this.until = options.askedAt + options.ttlMs;
    this.timeoutLeftMs = options.timeoutMs;
    this.beating = setInterval(() => void this.beat(), options.beatMs);
    this.arm();
  }

  /** The task's own time runs from here. */
  started(): void {
    this.hasStarted = true;
    this.runTimeout();
  }

  end(): void {
    this.isOver = true;
    if (this.beating) clearInterval(this.beating);
    if (this.deadline) clearTimeout(this.deadline);
    if (this.timeout) clearTimeout(this.timeout);
  }

  async beat(): Promise<void> {
    if (this.isOver) return;
    const { dibs, by, beatMs, ttlMs } = this.options;
    const { taskId: _, epoch: __, ...session } = by;
    const signal = AbortSignal.timeout(Math.max(beatMs, 1_000));
    // While a question is open only the session can be heard of.
    const heard = dibs.sessions.heartbeat(session, { signal }).catch((error) => this.judge(error));
    const askedAt = performance.now();
    try {
      await dibs.tasks.heartbeat(by, { signal });
      this.until = askedAt + ttlMs;
      this.wait(false);
      this.arm();
    } catch (error) {
      if (error instanceof DibsError && error.code === "INVALID_STATE") this.wait(true);
      else this.judge(error);
    }
    await heard;
  }

  private judge(error: unknown): void {
    if (this.isOver) return;
    if (isLost(error)) this.options.onLost(error);
    else this.options.onTrouble(error);
  }

  notice(event: WireEvent): void {
    const { by } = this.options;
    if (this.isOver || event.taskId !== by.taskId || event.epoch !== by.epoch) return;
    if (event.type === "task:awaiting-response") this.wait(true);
    else if (event.type === "task:response-received") {
      this.until = performance.now() + this.options.ttlMs;
      this.wait(false);
      void this.beat();
    } else if (endings.has(event.type)) {
      const code = event.type === "task:cancelled" ? "TASK_CANCELLED" : endings.get(event.type)!;
      const why = event.data.reason === undefined ? event.type : `${event.type}: ${event.data.reason}`;
      const { reason } = event.data;
      this.options.onLost(
        new DibsError(code, `This runner no longer holds task ${by.taskId} (${why}).`, {
          details: { reason },
        }),
      );
    }
  }

  private wait(isWaiting: boolean): void {
    if (this.isWaiting === isWaiting) return;
    this.isWaiting = isWaiting;
    this.arm();
    if (isWaiting) this.pauseTimeout();
    else this.runTimeout();
  }

  private arm(): void {
    if (this.deadline) clearTimeout(this.deadline);
    this.deadline = null;
    if (this.isOver || this.isWaiting) return;
    const ms = this.until - this.options.marginMs - performance.now();
    const lost = () =>
      this.options.onLost(
        new DibsError("CLAIM_EXPIRED", "The lease expired: it could not be renewed in time."),
      );
    this.deadline = setTimeout(lost, timerMs(ms));
  }

  private runTimeout(): void {
    if (this.timeoutLeftMs === null || this.isOver || !this.hasStarted || this.isWaiting || this.timeout) {
      return;
    }
    this.timeoutSince = performance.now();
    this.timeout = setTimeout(() => this.options.onTimeout(), timerMs(this.timeoutLeftMs));
  }

  private pauseTimeout(): void {
    if (!this.timeout || this.timeoutLeftMs === null) return;
    clearTimeout(this.timeout);
    this.timeout = null;
    this.timeoutLeftMs = Math.max(0, this.timeoutLeftMs - (performance.now() - this.timeoutSince));
  }
}

/** A longer timer would fire at once. */
const timerMs = (ms: number) => Math.min(Math.max(0, ms), 2 ** 31 - 1);

/** Events with which a claim ends, and what the holder's next call would be refused with. */
const endings = new Map<WireEvent["type"], DibsError["code"]>([
  ["task:cancelled", "TASK_CANCELLED"],
  ["task:released", "TASK_NOT_CLAIMED"],
  ["task:completed", "TASK_NOT_CLAIMED"],
  ["task:failed", "TASK_NOT_CLAIMED"],
  ["task:retry-scheduled", "TASK_NOT_CLAIMED"],
  ["task:claim-expired", "CLAIM_EXPIRED"],
  ["task:claim-orphaned", "CLAIM_EXPIRED"],
]);

export const watchedTypes: WireEvent["type"][] = [
  ...endings.keys(),
  "task:awaiting-response",
  "task:response-received",
];
