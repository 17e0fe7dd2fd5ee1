// One session kept: registered, registered again when the store has forgotten it, and ended.

import type { Dibs } from "../client.js";
import type { DibsSource } from "./claim.js";
import { hasCode } from "./endings.js";

type Registration = NonNullable<Parameters<Dibs["sessions"]["register"]>[0]>;

export class HeldSession {
  isRegistered = false;

  constructor(
    private readonly dibs: DibsSource,
    readonly facts: Registration,
  ) {}

  get id(): string {
    return this.facts.id ?? "";
  }

  private get named(): { project?: string; sessionId: string } {
    const { project } = this.facts;
    return { ...(project === undefined ? {} : { project }), sessionId: this.id };
  }

  async register(more: Partial<Registration> = {}): Promise<void> {
    const { session } = await (await this.dibs()).sessions.register({ ...this.facts, ...more });
    // Where the caller named none, the store did.
    this.facts.id = session.id;
    this.isRegistered = true;
  }

  /** A session that was silent for long is forgotten. */
  async known<T>(call: () => Promise<T>): Promise<T> {
    if (!this.isRegistered) await this.register();
    try {
      return await call();
    } catch (error) {
      if (!hasCode(error, "SESSION_NOT_FOUND")) throw error;
      await this.register();
      return call();
    }
  }

  async heartbeat(signal?: AbortSignal): Promise<void> {
    await (await this.dibs()).sessions.heartbeat(this.named, signal ? { signal } : {});
  }

  /** What it still holds goes back. */
  async end(signal?: AbortSignal): Promise<void> {
    this.isRegistered = false;
    const dibs = await this.dibs();
    await dibs.sessions.end(this.named, signal ? { signal } : {}).catch((error) => {
      if (!hasCode(error, "SESSION_NOT_FOUND")) throw error;
    });
  }
}
