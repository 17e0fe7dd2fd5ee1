// The lander's lease, renewed while it works. A lander whose lease may have ended stops what it does.

import type { Dibs } from "../client/client.js";
import { Heartbeat, isTransient } from "../client/holding/index.js";
import { DibsError } from "../contract/error.js";
import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import { LeaseLost } from "./hold.js";

export type WireLease = OutputOf<OperationNamed<"landings.lease">>["lease"];

export interface LeaseInput {
  project: string;
  repository: string;
  target: string;
  holder: string;
  host: string;
  ttlMs: number;
}

/** Who has the lease. */
export interface Busy {
  /** Its process is known to have ended: its lease ends by itself. */
  isGone: boolean;
}

export interface LeaseWatch {
  /** Whether a holder's process on this machine has ended. */
  isGone(holder: string): boolean;
  onTrouble(error: unknown): void;
}

export class Lease {
  private readonly ending = new AbortController();
  private readonly heartbeat: Heartbeat;
  private deadline: number;

  private constructor(
    private readonly dibs: Dibs,
    private readonly input: LeaseInput,
    readonly first: WireLease,
    askedAt: number,
    private readonly onTrouble: (error: unknown) => void,
  ) {
    this.deadline = askedAt + input.ttlMs;
    this.heartbeat = new Heartbeat(() => this.renew());
    this.heartbeat.within(input.ttlMs / 3);
  }

  /** At once from a lander that was killed on this machine, unless it was moving the target. */
  static async take(dibs: Dibs, input: LeaseInput, watch: LeaseWatch): Promise<Lease | Busy> {
    const ask = async (more: { replaces?: string } = {}): Promise<Lease | DibsError> => {
      const askedAt = performance.now();
      try {
        const { lease } = await dibs.landings.lease({ ...input, ...more });
        return new Lease(dibs, input, lease, askedAt, (error) => watch.onTrouble(error));
      } catch (error) {
        if (error instanceof DibsError && error.code === "SESSION_BUSY") return error;
        throw error;
      }
    };
    const first = await ask();
    if (first instanceof Lease) return first;
    const { holder, host } = first.details;
    if (typeof holder !== "string" || host !== input.host || !watch.isGone(holder)) return { isGone: false };
    const second = await ask({ replaces: holder });
    return second instanceof Lease ? second : { isGone: true };
  }

  get epoch(): number {
    return this.first.epoch;
  }

  /** Fires when the lease is lost. */
  get lost(): AbortSignal {
    return this.ending.signal;
  }

  /** Before anything that cannot be taken back. */
  refuseLost(): void {
    if (performance.now() >= this.deadline) this.lose();
    if (this.lost.aborted) throw new LeaseLost("The lander's lease has ended.");
  }

  private async renew(): Promise<number> {
    const { ttlMs } = this.input;
    const askedAt = performance.now();
    try {
      const { lease } = await this.dibs.landings.lease(this.input);
      if (lease.epoch === this.epoch) this.deadline = askedAt + ttlMs;
      else this.lose();
    } catch (error) {
      if (!isTransient(error)) this.lose();
      else this.onTrouble(error);
    }
    if (performance.now() >= this.deadline) this.lose();
    return ttlMs / 3;
  }

  lose(): void {
    this.heartbeat.stop();
    this.ending.abort(new LeaseLost("The lander's lease has ended."));
  }

  async giveBack(): Promise<void> {
    this.heartbeat.stop();
    if (this.lost.aborted) return;
    const { repository, target } = this.input;
    await this.dibs.landings.release({ repository, target, epoch: this.epoch }).catch(this.onTrouble);
  }
}
