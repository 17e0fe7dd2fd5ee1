// One action on many tasks: in calls of at most a thousand, each of one project, one after the other. Each task is done or refused
// by itself; a preview asks the same and changes nothing.

import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { dibs, type InputOf, type OperationNamed, type OutputOf } from "../../data/dibs.js";

type BulkInput = InputOf<OperationNamed<"tasks.bulk">>;
export type Refusal = OutputOf<OperationNamed<"tasks.bulk">>["refused"][number];

export type Deed =
  | { kind: "cancel"; cascade: boolean; reason: string }
  | { kind: "retry" }
  | { kind: "release"; reason: string }
  | { kind: "priority"; priority: number }
  | { kind: "label"; label: string };

export interface Tally {
  /** Asked about so far. */
  asked: number;
  done: number;
  refusedCount: number;
  /** The first ones. */
  refused: Refusal[];
  /** How often each code came, as far as answers tell. */
  byCode: Map<string, { count: number; example: string }>;
  /** They were so already. */
  unchanged: number;
}

const perCall = 1_000;
const refusedShown = 200;

export const emptyTally = (): Tally => ({
  asked: 0,
  done: 0,
  refusedCount: 0,
  refused: [],
  byCode: new Map(),
  unchanged: 0,
});

interface Running {
  isPreview: boolean;
  signal: AbortSignal;
  onProgress: (tally: Tally) => void;
}

/** Where a call fails, what the calls before it have done stands in the tally that was told last. */
export async function carryOut(deed: Deed, rows: readonly WireTaskRow[], running: Running): Promise<Tally> {
  const { calls, unchanged } = callsFor(deed, rows);
  let tally = { ...emptyTally(), unchanged, asked: unchanged };
  for (const call of calls) {
    if (running.signal.aborted) break;
    const answer = await dibs.tasks.bulk(
      { ...call, ...(running.isPreview ? { dryRun: true } : {}) },
      { signal: running.signal },
    );
    tally = added(tally, answer, running.isPreview);
    running.onProgress(tally);
  }
  return tally;
}

function added(tally: Tally, answer: OutputOf<OperationNamed<"tasks.bulk">>, isPreview: boolean): Tally {
  const { matched, done, refusedCount, refused } = answer;
  const byCode = new Map(tally.byCode);
  for (const { error, message } of refused) {
    const known = byCode.get(error);
    byCode.set(error, { count: (known?.count ?? 0) + 1, example: known?.example ?? message });
  }
  return {
    ...tally,
    asked: tally.asked + matched,
    done: tally.done + (isPreview ? matched - refusedCount : done),
    refusedCount: tally.refusedCount + refusedCount,
    refused: [...tally.refused, ...refused].slice(0, refusedShown),
    byCode,
  };
}

interface Part {
  project: string;
  changes?: BulkInput["changes"];
  taskIds: string[];
}

function callsFor(deed: Deed, rows: readonly WireTaskRow[]): { calls: BulkInput[]; unchanged: number } {
  const parts = new Map<string, Part>();
  let unchanged = 0;
  for (const row of rows) {
    const changes = changesFor(deed, row);
    if (changes === null) {
      unchanged++;
      continue;
    }
    const key = JSON.stringify([row.project, changes]);
    const part = parts.get(key) ?? { project: row.project, ...(changes ? { changes } : {}), taskIds: [] };
    part.taskIds.push(row.id);
    parts.set(key, part);
  }
  const calls = [...parts.values()].flatMap((part) =>
    chunks(part.taskIds).map((taskIds): BulkInput => ({ ...part, ...sharedInput(deed), taskIds })),
  );
  return { calls, unchanged };
}

/** Undefined: the action has none. Null: the task is so already. */
function changesFor(deed: Deed, { labels, priority }: WireTaskRow): BulkInput["changes"] | null {
  if (deed.kind === "priority") return deed.priority === priority ? null : { priority: deed.priority };
  if (deed.kind === "label") return labels.includes(deed.label) ? null : { addLabels: [deed.label] };
  return undefined;
}

function sharedInput(deed: Deed): Pick<BulkInput, "action" | "cascade" | "reason"> {
  switch (deed.kind) {
    case "cancel":
      return { action: "cancel", ...(deed.cascade ? { cascade: true } : {}), ...reasonOf(deed) };
    case "release":
      return { action: "release", ...reasonOf(deed) };
    case "retry":
      return { action: "retry" };
    default:
      return { action: "update" };
  }
}

const reasonOf = ({ reason }: { reason: string }) => (reason.trim() === "" ? {} : { reason: reason.trim() });

function chunks(ids: string[]): string[][] {
  const all: string[][] = [];
  for (let at = 0; at < ids.length; at += perCall) all.push(ids.slice(at, at + perCall));
  return all;
}
