// The queue as it will go: what is in flight, what can be claimed in the order of claiming, what waits for a time, what is blocked,
// and below that what is over, newest first.

import { standing } from "../client/view/words.js";
import { effectivePriority } from "../contract/priority.js";
import type { WireProject } from "../contract/shapes.js";
import type { WireTaskRow } from "../contract/tasks/rows.js";

type Settings = Pick<WireProject["settings"], "ageing" | "order">;

interface Ranked {
  row: WireTaskRow;
  /** Higher first. */
  rank: number;
  /** Then lower first. */
  time: number;
}

interface Context {
  settingsOf(project: string): Settings | undefined;
  /** Any task, also one that is not shown. */
  find(project: string, id: string): WireTaskRow | undefined;
  now: number;
}

const later = (a: Ranked, b: Ranked) => b.rank - a.rank || a.time - b.time;

/** Rows come in the order of creation, which decides between equals. */
export function inQueueOrder(rows: readonly WireTaskRow[], context: Context): WireTaskRow[] {
  const { now } = context;
  const held: Ranked[] = [];
  const ready: Ranked[] = [];
  const scheduled: Ranked[] = [];
  const blocked: WireTaskRow[] = [];
  const failed: WireTaskRow[] = [];
  const over: WireTaskRow[] = [];
  for (const [sequence, row] of rows.entries()) {
    switch (standing(row, now)) {
      case "claimed":
      case "running":
      case "awaiting_response":
        held.push({ row, rank: 0, time: Date.parse(row.claim?.claimedAt ?? row.updatedAt) });
        break;
      case "ready":
        ready.push(readyRank(row, sequence, context));
        break;
      case "scheduled":
        scheduled.push({ row, rank: 0, time: Date.parse(row.notBefore!) });
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
  const sorted = (ranked: Ranked[]) => ranked.sort(later).map(({ row }) => row);
  return [
    ...sorted(held),
    ...sorted(ready),
    ...sorted(scheduled),
    ...blocked,
    ...failed.reverse(),
    ...over.reverse(),
  ];
}

function readyRank(row: WireTaskRow, sequence: number, { settingsOf, find, now }: Context): Ranked {
  const settings = settingsOf(row.project);
  if (settings?.order === "depth-first") return { row, rank: depthOf(row, find), time: -sequence };
  const readyAt = row.readyAt === null ? now : Date.parse(row.readyAt);
  const rank = settings
    ? effectivePriority({ priority: row.priority, readyAt }, settings.ageing, now)
    : row.priority;
  return { row, rank, time: readyAt };
}

function depthOf({ project, parentId }: WireTaskRow, find: Context["find"]): number {
  let depth = 0;
  for (let id = parentId; id !== null; id = find(project, id)?.parentId ?? null) depth++;
  return depth;
}
