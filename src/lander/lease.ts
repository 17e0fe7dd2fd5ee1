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

  /** Null: another lander works. */
  static async take(
    dibs: Dibs,
    input: LeaseInput,
    onTrouble: (error: unknown) => void,
  ): Promise<Lease | null> {
    const askedAt = performance.now();
    try {
      const { lease } = await dibs.landings.lease(input);
      return new Lease(dibs, input, lease, askedAt, onTrouble);
    } catch (error) {
      if (error instanceof DibsError && error.code === "SESSION_BUSY") return null;
      throw error;
    }
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
