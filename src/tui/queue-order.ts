// The queue as it will go: what is in flight, what can be claimed in the order of claiming, what waits for a time, what is blocked,
// and below that what is over, newest first.

import { standing } from "../client/view/words.js";
import { claimKeys } from "../contract/priority.js";
import type { WireProject } from "../contract/shapes.js";
import type { WireTaskRow } from "../contract/tasks/rows.js";

type Settings = Pick<WireProject["settings"], "ageing" | "order">;

interface Ranked {
  row: WireTaskRow;
  /** Lower first, one after the other. */
  keys: readonly number[];
}

interface Context {
  settingsOf(project: string): Settings | undefined;
  now: number;
}

function compare({ keys: a }: Ranked, { keys: b }: Ranked): number {
  const at = a.findIndex((key, n) => key !== b[n]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

/** Rows come in the order of creation, which decides between equals. */
export function inQueueOrder(rows: readonly WireTaskRow[], context: Context): WireTaskRow[] {
  const { now } = context;
  const held: Ranked[] = [];
  const ready: Ranked[] = [];
  const scheduled: Ranked[] = [];
  const blocked: WireTaskRow[] = [];
  const failed: WireTaskRow[] = [];
  const over: WireTaskRow[] = [];
  for (const [ordinal, row] of rows.entries()) {
    switch (standing(row, now)) {
      case "claimed":
      case "running":
      case "awaiting_response":
      case "submitted":
        held.push({ row, keys: [Date.parse(row.claim?.claimedAt ?? row.updatedAt)] });
        break;
      case "ready":
        ready.push({ row, keys: readyKeys(row, ordinal, context) });
        break;
      case "scheduled":
        scheduled.push({ row, keys: [Date.parse(row.notBefore!)] });
        break;
      case "failed":
        failed.push(row);
        break;
      case "completed":
      case "cancelled":
        over.push(row);
        break;
      default:
        blocked.push(row);
    }
  }
  const sorted = (ranked: Ranked[]) => ranked.sort(compare).map(({ row }) => row);
  return [
    ...sorted(held),
    ...sorted(ready),
    ...sorted(scheduled),
    ...blocked,
    ...failed.reverse(),
    ...over.reverse(),
  ];
}

/** Before the settings of its project are known, by priority. */
const usual: Settings = { order: "priority", ageing: { enabled: false, stepMs: 1, boost: 0, boostMax: 0 } };

function readyKeys(row: WireTaskRow, ordinal: number, { settingsOf, now }: Context): number[] {
  const readyAt = Date.parse(row.readyAt ?? row.createdAt);
  return claimKeys({ ...row, readyAt, ordinal }, settingsOf(row.project) ?? usual, now);
}
