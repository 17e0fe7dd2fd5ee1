// A read transaction that stays open: it sees the org as it was when it began, and stops nobody. Only dead rows cannot be
// cleared away meanwhile.

import { timeIn } from "../org-facts.js";
import { runRead, settled } from "../runs.js";
import { type ReadJob, type Snapshot, StoreError } from "../store.js";
import { translate } from "./errors.js";
import { OrgReads } from "./org-reads.js";
import type { Begun } from "./rows.js";
import type { PostgresTransaction } from "./transaction.js";

/** Whoever holds a snapshot for longer has forgotten it. */
export const snapshotIdle = "1h";

export class PostgresSnapshot implements Snapshot {
  private closed = false;
  private readonly now: number;
  /** One connection: looks follow each other. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly transaction: PostgresTransaction,
    private readonly org: string,
    private readonly begun: Begun,
    private readonly options: { where: string; onClose(snapshot: PostgresSnapshot): void },
  ) {
    this.now = timeIn(begun.org, begun);
  }

  read<T>(job: ReadJob<T>): Promise<T> {
    const turn = this.last.then(() => this.look(job));
    this.last = turn.catch(() => undefined);
    return turn;
  }

  private async look<T>(job: ReadJob<T>): Promise<T> {
    if (this.closed) throw new StoreError("STORE_CLOSED", "This snapshot was closed.");
    const reads = new OrgReads(this.org);
    const fetching = reads.in(this.transaction, this.begun, 1);
    const result = await runRead(fetching, { job, lists: reads.lists, now: () => this.now }).catch(
      (error) => {
        throw translate(error, this.options.where);
      },
    );
    return settled(result);
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.last;
    await this.transaction.end();
    this.options.onClose(this);
  }
}
