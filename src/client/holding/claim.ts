// One claim held: renews its lease, and learns from refusals and events that a question is open or that the task is lost. Where the
// store cannot be reached, this process's own clock decides when the lease ends.

import { timerMsMax } from "../../common/abort.js";
import { DibsError } from "../../contract/error.js";
import type { WireEvent } from "../../contract/shapes.js";
import type { Dibs } from "../client.js";
import { hasCode, isLost, lossIn } from "./endings.js";

/** What names a claim in every call of its holder. */
export interface HolderOf {
  project?: string;
  taskId: string;
  sessionId: string;
  epoch: number;
}

/** The connection can be replaced while a claim is held. */
export type DibsSource = () => Dibs | Promise<Dibs>;

export interface HeldClaimOptions {
  dibs: DibsSource;
  by: HolderOf;
  ttlMs: number;
  /** By `now`, when the claim was asked for: the lease cannot end later than this plus its length. */
  askedAt: number;
  now?: () => number;
  /** With it, an unrenewed claim counts as lost this long before its lease ends. Without it, the holder asks `isLate`. */
  marginMs?: number;
  /** Called once. */
  onLost(error: unknown): void;
  /** A question was asked, or is no longer open. */
  onWaiting?(isWaiting: boolean): void;
  onAnswer?(answer: string): void;
  /** What the holder has changed since the last heartbeat that was answered. */
  changed?(): readonly string[] | null;
  onChangedReported?(paths: readonly string[]): void;
  onTrouble?(error: unknown): void;
}

export class HeldClaim {
  /** A question is open: the lease does not run. */
  isWaiting = false;
  /** When the lease ends unless it is renewed. */
  until: number;
  private isEnded = false;
  private deadline: ReturnType<typeof setTimeout> | null = null;
  private readonly now: () => number;

  constructor(private readonly options: HeldClaimOptions) {
    this.now = options.now ?? (() => performance.now());
    this.until = options.askedAt + options.ttlMs;
    this.armDeadline();
  }

  get by(): HolderOf {
    return this.options.by;
  }

  /** The lease ended, as far as this process knows. */
  get isLate(): boolean {
    return !this.isWaiting && this.now() >= this.until;
  }

  /** The task was reported, given back or lost: nothing more is renewed or noticed. */
  end(): void {
    this.isEnded = true;
    if (this.deadline) clearTimeout(this.deadline);
  }

  /** True: the claim is held, as the store has just confirmed. */
  async renew(signal?: AbortSignal): Promise<boolean> {
    if (this.isEnded) return false;
    const call = signal ? { signal } : {};
    try {
      const dibs = await this.options.dibs();
      await this.renewLease(dibs, call).catch((error) => this.renewSession(dibs, call, error));
      return !this.isEnded;
    } catch (error) {
      this.judge(error);
      return false;
    }
  }

  private async renewLease(dibs: Dibs, call: { signal?: AbortSignal }): Promise<void> {
    const { by, ttlMs, onAnswer, changed, onChangedReported } = this.options;
    const askedAt = this.now();
    const paths = changed?.() ?? null;
    const { response } = await dibs.tasks.heartbeat(paths ? { ...by, paths: [...paths] } : by, call);
    if (paths) onChangedReported?.(paths);
    if (this.isEnded) return;
    this.until = askedAt + ttlMs;
    this.wait(false);
    this.armDeadline();
    if (response !== null) onAnswer?.(response);
  }

  /** The lease of a claim with an open question is not renewed, but its session must be heard of. */
  private async renewSession(dibs: Dibs, call: { signal?: AbortSignal }, error: unknown): Promise<void> {
    if (!hasCode(error, "INVALID_STATE")) throw error;
    this.wait(true);
    const { taskId: _, epoch: __, ...session } = this.options.by;
    await dibs.sessions.heartbeat(session, call);
  }

  notice(event: WireEvent): void {
    const { by, ttlMs, onAnswer } = this.options;
    if (this.isEnded || event.taskId !== by.taskId || event.epoch !== by.epoch) return;
    if (event.type === "task:awaiting-response") {
      this.wait(true);
      return;
    }
    if (event.type === "task:response-received") {
      this.until = this.now() + ttlMs;
      this.wait(false);
      onAnswer?.(String(event.data.response ?? ""));
      void this.renew();
      return;
    }
    const loss = lossIn(event);
    if (loss) this.lose(loss);
  }

  /** A holder's call; if it is refused because the task is lost, the holder hears of that first. */
  async act<T>(call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (isLost(error)) this.lose(error);
      throw error;
    }
  }

  lose(error: unknown): void {
    if (this.isEnded) return;
    this.end();
    this.options.onLost(error);
  }

  private judge(error: unknown): void {
    if (isLost(error)) this.lose(error);
    else if (!this.isEnded) this.options.onTrouble?.(error);
  }

  private wait(isWaiting: boolean): void {
    if (this.isWaiting === isWaiting) return;
    this.isWaiting = isWaiting;
    this.armDeadline();
    this.options.onWaiting?.(isWaiting);
  }

  private armDeadline(): void {
    const { marginMs } = this.options;
    if (marginMs === undefined) return;
    if (this.deadline) clearTimeout(this.deadline);
    this.deadline = null;
    if (this.isEnded || this.isWaiting) return;
    const expire = () =>
      this.lose(new DibsError("CLAIM_EXPIRED", "The lease expired: it could not be renewed in time."));
    const ms = this.until - marginMs - this.now();
    this.deadline = setTimeout(expire, Math.min(Math.max(0, ms), timerMsMax));
  }
}
