// Empties records of the log whose rows are in the tables, when they are too old to be needed after a restore. Their places stay
// taken: a writer that slept must not find the place of its commit free.

import type { Stored } from "./calls.js";
import { keyOf } from "./client.js";
import { chunksBelow, logKey, stubOf, tokenIn, versionIn } from "./log-record.js";
import type { OrgLog } from "./org-log.js";

/** How long a record stays whole. The tables are restored one by one, to times that differ a little. */
const wholeMs = 25 * 60 * 60 * 1000;
/** How long its place stays taken after that. */
const stubMs = 30 * 24 * 60 * 60 * 1000;
/** How often a process looks for old records, and how many it empties then. */
const everyMs = 60_000;
const recordsMax = 100;
const trimKey = "TRIM";

export class Trimmer {
  private lastAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly log: OrgLog) {}

  /** To be called after rows were applied. */
  async trimSometimes(): Promise<void> {
    if (performance.now() - this.lastAt < everyMs) return;
    this.lastAt = performance.now();
    // What fails now is tried again.
    await this.trim().catch(() => undefined);
  }

  /** Returns how many records were emptied. */
  async trim(): Promise<number> {
    const { calls, keys, applied } = this.log;
    const table = calls.tables.log;
    const before = calls.clock.now() - wholeMs;
    const from = await this.trimmed();
    const page = await calls.repeated(() =>
      calls.client.query({
        table,
        partition: keys.root,
        from: logKey(from + 1),
        to: logKey(applied),
        limit: recordsMax,
        attributes: ["PK", "SK", "token", "at"],
      }),
    );
    const isOld = (item: Stored) => Number((item as unknown as { at?: { N: string } }).at?.N ?? 0) < before;
    const old = page.items.slice(0, page.items.findIndex((item) => !isOld(item)) >>> 0);
    if (old.length === 0) return 0;
    const expiresAt = Math.ceil((calls.clock.now() + stubMs) / 1000);
    // The same stub, whoever writes it.
    for (const item of old) {
      const conditions = [{ attribute: "token", equals: { S: tokenIn(item) } }];
      await calls.repeated(() => calls.client.putItem({ table, item: stubOf(item, expiresAt), conditions }));
    }
    const last = versionIn(old.at(-1)!);
    await this.dropChunks(last);
    const item = { ...keyOf(keys.root, trimKey), trimmed: { N: String(last) } };
    await calls.repeated(() => calls.client.putItem({ table, item }));
    return old.length;
  }

  private async trimmed(): Promise<number> {
    const { calls, keys } = this.log;
    const item = await calls.get({ table: calls.tables.log, key: keyOf(keys.root, trimKey) });
    return Number((item as { trimmed?: { N: string } } | undefined)?.trimmed?.N ?? 0);
  }

  /** Chunks of emptied records, and those of commits that lost or were never finished. */
  private async dropChunks(version: number): Promise<void> {
    const { calls, keys } = this.log;
    const table = calls.tables.log;
    const range = chunksBelow(version);
    const found = await calls.all({ table, partition: keys.root, ...range, attributes: ["PK", "SK"] });
    await calls.writeAll(found.map(({ PK, SK }) => ({ table, delete: { PK, SK } })));
  }
}
