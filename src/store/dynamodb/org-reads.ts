// One org as runs see it: the workspace of the commits, or that of a read.

import { InvariantError } from "../../core/refusal.js";
import type { Lists } from "../../core/view.js";
import { timeIn } from "../org-facts.js";
import { unanswered } from "../questions.js";
import type { Fetching } from "../runs.js";
import type { Clock } from "../store.js";
import { Workspace } from "../workspace.js";
import { withChains } from "./chains.js";
import { Claims } from "./claims.js";
import { fetchInto } from "./fetch.js";
import type { KnownItems } from "./known-items.js";
import type { OrgLog } from "./org-log.js";
import { Reader } from "./reader.js";
import { type DynamoRows, listsIn, orgIn, rowsIn } from "./rows.js";

/** A lookup that keeps asking is a defect. */
const roundsMax = 1_000;

/** A copy: everything is known. */
export type Frozen = Pick<OrgLog, "keys" | "overlay" | "head" | "generation" | "isKeptSettled"> & {
  poll?: never;
};

export class OrgReads {
  readonly workspace: Workspace;
  readonly lists: Lists;
  readonly reader: Reader;
  readonly claims: Claims;
  private readonly rows: DynamoRows;
  /** The head that the workspace belongs to, and that the last run has seen. */
  seen = -1;
  private generation = -1;

  constructor(
    private readonly log: OrgLog | Frozen,
    /** Is filled by fetches. */
    private readonly own: KnownItems,
    /** Seen as well, while none of its rows is newer than the head. */
    private readonly kept: KnownItems | null,
    private readonly clock: Clock,
  ) {
    this.reader = new Reader([own], log.overlay);
    this.claims = new Claims(log.keys, this.reader);
    this.rows = rowsIn(log.keys, this.reader, this.claims);
    this.workspace = new Workspace(this.rows);
    this.lists = listsIn(log.keys, this.reader, this.claims);
  }

  /** The time of a run, by what it sees. */
  readonly now = (): number => timeIn(orgIn(this.log.keys, this.reader), this.clock);

  /** For one group of jobs or one read: what counts was true after it began. */
  fetching(groupSize: number): Fetching {
    const { log, workspace, reader, rows } = this;
    const { wanted } = reader;
    wanted.forget();
    rows.ready.expect(groupSize);
    let isPolled = false;
    return {
      workspace,
      questions: wanted,
      restart: () => this.restart(),
      answer: async (round) => {
        await this.fetch(round);
        isPolled = false;
      },
      // A fetch can have brought newer rows: the log is asked after the last one.
      confirm: async () => {
        if (!isPolled) await log.poll?.();
        isPolled = true;
        return this.isAtHead;
      },
    };
  }

  private get isAtHead(): boolean {
    return this.seen === this.log.head && this.generation === this.log.generation;
  }

  private restart(): void {
    const { log, kept, own, reader } = this;
    if (kept) reader.caches = log.isKeptSettled ? [own, kept] : [own];
    if (this.isAtHead) return;
    this.workspace.clear();
    this.seen = this.log.head;
    this.generation = this.log.generation;
  }

  /** What the last run has changed is committed, as this version. */
  committed(version: number): void {
    this.seen = version;
    this.workspace.committed();
  }

  private async fetch(round: number): Promise<void> {
    const { log, own, reader } = this;
    const wanted = reader.wanted.take();
    if (!log.poll) throw new InvariantError("a copy has everything that is looked up");
    await fetchInto(log, own, wanted);
    await withChains(log, own, reader, wanted.places, round);
  }

  /** Looks up until everything is known. */
  async answered<T>(look: () => T): Promise<T> {
    const { wanted } = this.reader;
    for (let round = 0; round < roundsMax; round++) {
      wanted.forget();
      try {
        const found = look();
        if (!wanted.isOpen) return found;
      } catch (error) {
        if (error !== unanswered) throw error;
      }
      await this.fetch(0);
    }
    throw new TypeError("a lookup does not come to an end");
  }
}
