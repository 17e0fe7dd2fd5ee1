// A copy of an org, looked at for as long as needed.

import { runRead, settled } from "../runs.js";
import { type Clock, type ReadJob, type Snapshot, StoreError } from "../store.js";
import type { OrgKeys } from "./keys.js";
import type { KnownItems } from "./known-items.js";
import { OrgReads } from "./org-reads.js";
import { Overlay } from "./overlay.js";

export class DynamoSnapshot implements Snapshot {
  private items: KnownItems | null;
  private readonly now: number;

  constructor(
    private readonly keys: OrgKeys,
    items: KnownItems,
    private readonly options: { head: number; clock: Clock; onClose(snapshot: DynamoSnapshot): void },
  ) {
    this.items = items;
    this.now = this.reads(items).now();
  }

  private reads(items: KnownItems): OrgReads {
    const { head, clock } = this.options;
    const source = { keys: this.keys, overlay: new Overlay(), head, generation: 0, isKeptSettled: true };
    return new OrgReads(source, items, null, clock);
  }

  async read<T>(job: ReadJob<T>): Promise<T> {
    if (!this.items) throw new StoreError("STORE_CLOSED", "This snapshot was closed.");
    const reads = this.reads(this.items);
    const { confirm, ...fetching } = reads.fetching(1);
    return settled(await runRead(fetching, { job, lists: reads.lists, now: () => this.now }));
  }

  async close(): Promise<void> {
    if (!this.items) return;
    this.items = null;
    this.options.onClose(this);
  }
}
