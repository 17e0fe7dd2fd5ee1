// The work loop: slots that claim, run and claim again. Ends when it is stopped, or when there is nothing more to do.

import type { WireBreaker } from "../../contract/shapes.js";
import type { Outcome } from "./reports.js";

/** What a claim brought, or why it brought nothing. */
export interface Answer<Claimed> {
  claimed: Claimed | null;
  /** When the next task that fits is ready, if time alone makes one ready. */
  scheduledAt?: string | undefined;
  /** A lander is at work on submitted tasks: they can return, and their dependents become ready. */
  isLanding?: boolean | undefined;
  breaker?: WireBreaker | undefined;
}

export interface LoopOptions<Claimed> {
  slots: number;
  /** `idle`: end when nothing runs here and nothing can be claimed now. `empty`: nor will be, by time or by landing. */
  ends: "never" | "idle" | "empty";
  /** Each slot runs one task. */
  once?: boolean;
  /** How long one claim waits for a task; and how long while nothing runs here, with `ends`. */
  claimWaitMs: number;
  idleWaitMs: number;
  /** Null: the loop was stopped meanwhile. */
  claim(slot: number, ask: { waitMs: number; signal: AbortSignal }): Promise<Answer<Claimed> | null>;
  /** `askNext` asks for the next task at once: sent together with a report, both share a commit. */
  run(slot: number, claimed: Claimed, askNext: () => void): Promise<Outcome>;
  endSlot?(slot: number): Promise<void>;
  /** The agent fails at once, again and again. Called once each time that begins. */
  onBreaker?: ((breaker: WireBreaker) => void) | undefined;
}

/** After so many quick failures in a row, with pauses of 15 minutes by then, only a person can repair the agent. */
const failuresMax = 11;

export class WorkLoop<Claimed> {
  private running = 0;
  /** The breaker was reported. */
  private isHeldBack = false;
  /** Ends the claims that wait now; replaced after each use. */
  private waiting = new AbortController();
  private readonly stopped = new AbortController();
  /** Fires when nothing more is claimed. */
  readonly stopping: AbortSignal = this.stopped.signal;

  constructor(private readonly options: LoopOptions<Claimed>) {}

  /** If one slot cannot continue, the others finish what they run; then the loop ends with that error. */
  async run(): Promise<void> {
    const slots = Array.from({ length: this.options.slots }, (_, slot) =>
      this.slot(slot)
        .finally(() => this.options.endSlot?.(slot))
        .catch((error) => {
          this.stop();
          throw error;
        }),
    );
    const failed = (await Promise.allSettled(slots)).find((slot) => slot.status === "rejected");
    if (failed) throw failed.reason;
  }

  /** Claims nothing more. */
  stop(): void {
    this.stopped.abort();
    this.wakeWaits();
  }

  get isStopping(): boolean {
    return this.stopping.aborted;
  }

  private async slot(slot: number): Promise<void> {
    let next: Promise<Answer<Claimed> | null> | null = null;
    // Without waiting at first: an answer that comes at once says why there is nothing.
    let waits = false;
    while (next || !this.isStopping) {
      // A wait that was cut short, or a claim sent together with a report, can miss what the report has just unblocked. The last
      // look comes after both.
      const isLastLook = !next && !waits && this.isIdle;
      const isAhead = next !== null;
      const answer: Answer<Claimed> | null = await (next ?? this.claim(slot, waits));
      next = null;
      if (answer?.claimed) {
        waits = false;
        ({ next } = await this.runOne(slot, answer.claimed));
        if (this.options.once) return;
        continue;
      }
      if (answer?.breaker) this.holdBack(answer.breaker);
      if (isLastLook && this.isIdle && !this.isMoreToCome(answer)) return;
      waits = isAhead ? !this.ends : !(waits && this.ends);
    }
  }

  /** In an object: awaiting the run must not await the claim that was sent ahead. */
  private async runOne(
    slot: number,
    claimed: Claimed,
  ): Promise<{ next: Promise<Answer<Claimed> | null> | null }> {
    let next: Promise<Answer<Claimed> | null> | null = null;
    this.running++;
    try {
      const outcome = await this.options.run(slot, claimed, () => {
        if (this.isStopping || next) return;
        next = this.claim(slot, false);
        next.catch(() => undefined);
      });
      if (outcome !== "failed") this.isHeldBack = false;
    } finally {
      this.running--;
      if (this.ends && this.running === 0) this.wakeWaits();
    }
    return { next };
  }

  private claim(slot: number, waits: boolean): Promise<Answer<Claimed> | null> {
    const { claimWaitMs, idleWaitMs } = this.options;
    const waitMs = !waits ? 0 : this.isIdle ? Math.min(idleWaitMs, claimWaitMs) : claimWaitMs;
    return this.options.claim(slot, { waitMs, signal: this.waiting.signal });
  }

  private get ends(): boolean {
    return this.options.ends !== "never";
  }

  /** Nothing runs that could unblock something. */
  private get isIdle(): boolean {
    return this.ends && this.running === 0;
  }

  /** Whether time or a lander brings something to do. An agent that does not recover is given up. */
  private isMoreToCome(answer: Answer<Claimed> | null): boolean {
    if (this.options.ends !== "empty" || !answer) return false;
    const { scheduledAt, breaker, isLanding } = answer;
    if (isLanding) return true;
    return breaker ? breaker.failures < failuresMax : scheduledAt !== undefined;
  }

  private holdBack(breaker: WireBreaker): void {
    if (!this.isHeldBack) this.options.onBreaker?.(breaker);
    this.isHeldBack = true;
  }

  private wakeWaits(): void {
    const { waiting } = this;
    this.waiting = new AbortController();
    waiting.abort();
  }
}
