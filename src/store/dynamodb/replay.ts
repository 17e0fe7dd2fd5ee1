// After a restore, the rows are older than META says: it is set back, so that readers overlay the log again and an applier brings
// it into the tables once more. Records have whole rows, so it does no harm to rows that are newer.

import { StoreError } from "../store.js";
import type { Settings } from "./address.js";
import { type DynamoClient, DynamoError, type Key, keyOf } from "./client.js";
import { OrgKeys } from "./keys.js";
import { logKey } from "./log-record.js";
import { metaKey, readMeta } from "./meta.js";
import { tableNames } from "./tables.js";

/** A process that was killed may have left commits of this time to be brought into the tables. */
const marginMs = 3_600_000;

export interface Replay {
  org: string;
  /** To which time the tables other than the log were restored. */
  rowsAt: number;
}

/** Returns how many commits are replayed. */
export async function replayLog(
  client: DynamoClient,
  { prefix, where }: Pick<Settings, "prefix" | "where">,
  { org, rowsAt }: Replay,
): Promise<number> {
  const table = tableNames(prefix).log;
  const { root } = new OrgKeys(org);
  const { item } = await client.getItem({ table, key: keyOf(root, metaKey) });
  if (!item) throw new StoreError("STORE_NOT_FOUND", `No organization '${org}' in ${where}.`);
  const { applied, step } = readMeta(item);

  /** When a version was committed; null: its record is gone. */
  const timeOf = async (version: number): Promise<number | null> => {
    const { item: record } = await client.getItem({ table, key: keyOf(root, logKey(version)) });
    const at = record?.at;
    return at && "N" in at ? Number(at.N) : null;
  };
  let first = 1;
  let last = applied + 1;
  while (first < last) {
    const middle = (first + last) >> 1;
    const at = await timeOf(middle);
    if (at !== null && at >= rowsAt - marginMs) last = middle;
    else first = middle + 1;
  }
  if (first > 1 && first <= applied && (await timeOf(first - 1)) === null) {
    const at = await timeOf(first);
    if (at !== null && at > rowsAt) {
      throw new StoreError(
        "STORE_UNAVAILABLE",
        `The log of ${where} begins at ${new Date(at).toISOString()}, after ${new Date(rowsAt).toISOString()}.`,
        "Restore the tables to a later time.",
      );
    }
  }
  await setBack(client, { table, key: keyOf(root, metaKey), where }, { applied, step }, first - 1);
  return applied - first + 1;
}

async function setBack(
  client: DynamoClient,
  { table, key, where }: { table: string; key: Key; where: string },
  { applied, step }: { applied: number; step: number },
  to: number,
): Promise<void> {
  const N = (value: number) => ({ N: String(value) });
  try {
    await client.updateItem({
      table,
      key,
      set: { applied: N(to), step: N(step + 1) },
      conditions: [
        { attribute: "applied", equals: N(applied) },
        { attribute: "step", equals: N(step) },
      ],
    });
  } catch (error) {
    if (!(error instanceof DynamoError) || error.kind !== "condition-failed") throw error;
    throw new StoreError(
      "STORE_BUSY",
      `Another process uses ${where}.`,
      "Stop every server and command on it, and run this again.",
    );
  }
}
