// The figures are a projection of the event log, kept in the store. Commands pay nothing for them: the recorder reads the events
// that are not counted yet and writes what changed together with how far it has come, in one transaction. So any number of servers,
// commands and crashes count each event once.

import { type Changes, type Document, documentKey, noChanges } from "../../core/changes.js";
import { carryOut } from "../../core/decide.js";
import { limits } from "../../core/limits.js";
import { type MetricStep, Tally, wholeOrg } from "../../core/tally.js";
import type { DocumentValue, Reads } from "../../core/view.js";
import { StoreError, type Transaction } from "../../store/store.js";
import type { Executor } from "../execute.js";
import {
  bucketIn,
  bucketKey,
  bucketKind,
  cursorIn,
  cursorKey,
  storedTotals,
  timeKey,
  totalsKey,
  totalsKind,
} from "./documents.js";

/** Events counted in one transaction: others wait for it. */
const chunkDefault = 1000;

const hourMs = 60 * 60 * 1000;
/** How long what happened in a minute or an hour is kept. */
const keptMs = { minute: 48 * hourMs, hour: 400 * 24 * hourMs } as const;
/** Documents removed in one transaction. */
const prunedMax = 500;

type Line = { running: Promise<void>; next: Promise<void> | null };
const lines = new WeakMap<Executor, Map<string, Line>>();

/**
 * Counts all events up to now. Calls at the same time share a run, but not the one that is under way: it may be past the end that
 * the caller has seen.
 */
export function catchUp(executor: Executor, org: string): Promise<void> {
  const byOrg = lines.get(executor) ?? new Map<string, Line>();
  lines.set(executor, byOrg);
  const line = byOrg.get(org);
  if (!line) return begin(executor, org, byOrg);
  const again = () => begin(executor, org, byOrg);
  line.next ??= line.running.then(again, again);
  return line.next;
}

/** The same before figures are shown: those of a store that cannot be written are shown as they are. */
export async function catchUpIfWritable(executor: Executor, org: string): Promise<void> {
  try {
    await catchUp(executor, org);
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "STORE_READ_ONLY")) throw error;
  }
}

function begin(executor: Executor, org: string, byOrg: Map<string, Line>): Promise<void> {
  const line: Line = { running: runOnce(executor, org), next: null };
  byOrg.set(org, line);
  const end = () => {
    if (byOrg.get(org) === line && !line.next) byOrg.delete(org);
  };
  line.running.then(end, end);
  return line.running;
}

/** Up to the end that the log had at the beginning: a busy fleet may write faster than anybody counts. */
export async function runOnce(executor: Executor, org: string, chunk = chunkDefault): Promise<void> {
  const seen = await executor.store.read(org, (view, now) => {
    const isBehind = cursorIn(view).cursor < view.org().eventSeq || view.due(now, 1).length > 0;
    return isBehind ? view.org().eventSeq : null;
  });
  if (seen === null) return;
  for (let end = seen; ; ) {
    const done = await executor.submit(org, (transaction) => record(transaction, chunk));
    if (done.swept > 0) end = done.end;
    if (done.cursor >= end && done.swept < limits.sweepMax) return;
  }
}

interface Recorded {
  cursor: number;
  end: number;
  /** Leases that were over and were ended first, as before every look. */
  swept: number;
}

function record(transaction: Transaction, chunk: number): Recorded {
  const swept = sweep(transaction);
  const { view, now } = transaction;
  const before = cursorIn(view);
  const { eventSeq: end, eventMin } = view.org();
  // By number, so that an unreadable event is passed over, and not counted.
  const from = Math.max(before.cursor, eventMin - 1);
  const cursor = Math.min(end, from + chunk);
  const page = view.events({ after: from, limit: chunk, readableOnly: true });
  const events = page.filter(({ seq }) => seq <= cursor);
  const tally = new Tally({
    totals: (project) => storedTotals(view, project),
    bucket: (place) => bucketIn(view, place),
  });
  for (const event of events) tally.count(event);
  const isExact = !before.inexact && tally.isExact && before.cursor + events.length === cursor;
  const isRecounted = !isExact && cursor === end;
  if (isRecounted) recount(view, tally, now);
  const written = new Written();
  if (cursor !== before.cursor || isRecounted) {
    written.put(totalsKind, cursorKey, { cursor, ...(isExact || isRecounted ? {} : { inexact: true }) });
  }
  for (const [project, totals] of tally.totals) written.put(totalsKind, totalsKey(project), totals);
  for (const each of tally.buckets.values()) {
    if (each.at < now - keptMs[each.step]) continue;
    written.put(bucketKind[each.step], bucketKey(each), each.bucket);
  }
  prune(view, now, written);
  transaction.apply(written.changes());
  return { cursor, end, swept };
}

function sweep(transaction: Transaction): number {
  if (transaction.view.due(transaction.now, 1).length === 0) return 0;
  const outcome = carryOut(transaction, { type: "sweep", limit: limits.sweepMax }, "system");
  return outcome.ok ? outcome.value.length : 0;
}

/** The log does not reach back, or was written by an older program: what the tasks are in now is counted once. */
function recount(view: Reads, tally: Tally, now: number): void {
  for (const { id } of view.projects({ readableOnly: true })) tally.recount(id, view.taskCounts(id), now);
  tally.recount(wholeOrg, view.taskCounts(null), now);
}

function prune(view: Reads, now: number, written: Written): void {
  for (const step of ["minute", "hour"] as const satisfies MetricStep[]) {
    const kind = bucketKind[step];
    const beforeKey = timeKey(step, Math.max(0, now - keptMs[step]));
    for (const { key } of view.documents({ kind, beforeKey, limit: prunedMax })) written.put(kind, key, null);
  }
}

class Written {
  private readonly documents = new Map<string, Document>();

  put(kind: string, key: string, value: object | null): void {
    this.documents.set(documentKey(kind, key), { kind, key, value: value as DocumentValue | null });
  }

  changes(): Changes {
    return { ...noChanges(), documents: this.documents };
  }
}
