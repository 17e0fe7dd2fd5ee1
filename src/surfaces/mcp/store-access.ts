// How a connection of MCP reaches the store: opened with the first call, opened again after a failure or a lost server, and created only
// by create_task.

import type { Dibs } from "../../client/client.js";
import { asDibsError } from "./refusals.js";

export interface StoreOptions {
  /** Refuses with STORE_NOT_FOUND if there is no store. */
  open(): Promise<Dibs>;
  /** Creates the store if there is none; answers its file or address then. Absent: it exists. */
  create?(): Promise<{ dibs: Dibs; created: string | null }>;
  /** What could not be reached, and will not be used again. */
  abandon?(dibs: Dibs): void;
}

export class StoreAccess {
  private opened: Promise<Dibs> | null = null;
  private creating: Promise<{ dibs: Dibs; created: string | null }> | null = null;

  constructor(private readonly options: StoreOptions) {}

  /** What calls go through now. */
  get connection(): Promise<Dibs> | null {
    return this.opened;
  }

  /** What could not be opened may be there the next time. */
  dibs(): Promise<Dibs> {
    this.opened ??= this.options.open().catch((error) => {
      this.opened = null;
      throw error;
    });
    return this.opened;
  }

  async createdDibs(): Promise<{ dibs: Dibs; created: string | null }> {
    const { create } = this.options;
    try {
      return { dibs: await this.dibs(), created: null };
    } catch (error) {
      if (!create || asDibsError(error).code !== "STORE_NOT_FOUND") throw error;
    }
    // One for all calls that find none at the same time.
    this.creating ??= create().finally(() => {
      this.creating = null;
    });
    const made = await this.creating;
    this.opened = Promise.resolve(made.dibs);
    return made;
  }

  /** The server that was used may be gone for good: the next call finds the store again. */
  reconnect(used: Promise<Dibs> | null): void {
    if (used === null || this.opened !== used) return;
    this.opened = null;
    void used.then((dibs) => this.options.abandon?.(dibs)).catch(() => undefined);
  }
}
