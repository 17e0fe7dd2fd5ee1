// A read transaction that stays open: it sees the org as it was when it began, and stops nobody. Only dead rows cannot be
// cleared away meanwhile.

import { type ReadJob, type Snapshot, StoreError } from "../store.js";
import { Workspace } from "../workspace.js";
import { translate } from "./errors.js";
import { type Begun, PostgresRows } from "./read.js";
import { runLook } from "./runs.js";
import type { PostgresTransaction } from "./transaction.js";

/** Whoever holds a snapshot for longer has forgotten it. */
export const snapshotIdle = "1h";

export class PostgresSnapshot implements Snapshot {
  private closed = false;
  /** One connection: looks follow each other. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly transaction: PostgresTransaction,
    private readonly org: string,
    private readonly begun: Begun,
    private readonly now: number,
    private readonly options: { where: string; onClose(snapshot: PostgresSnapshot): void },
  ) {}

  read<T>(job: ReadJob<T>): Promise<T> {
    const turn = this.last.then(() => this.look(job));
    this.last = turn.catch(() => undefined);
    return turn;
  }

  private async look<T>(job: ReadJob<T>): Promise<T> {
    if (this.closed) throw new StoreError("STORE_CLOSED", "This snapshot was closed.");
    const { org, now } = this;
    const rows = new PostgresRows(org);
    rows.begin(this.begun, 1);
    try {
      return await runLook(this.transaction, { rows, workspace: new Workspace(rows) }, { org, job, now });
    } catch (error) {
      throw translate(error, this.options.where);
    }
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.last;
    await this.transaction.end();
    this.options.onClose(this);
  }
}
