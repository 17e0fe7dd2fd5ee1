// The figures are a projection of the event log, kept in the store. Commands pay nothing for them: the recorder takes the events
// that are not counted yet, then writes what changed and the cursor in one commit, if the cursor is still the one it read. So any
// number of servers, commands and crashes count each event once. What this process has committed is at hand (own-events.ts);
// only what others wrote is read.

import { type Changes, type Document, documentKey, noChanges } from "../../core/changes.js";
import type { DibsEvent } from "../../core/event.js";
import { limits } from "../../core/limits.js";
import { type MetricStep, Tally, wholeOrg } from "../../core/tally.js";
import type { DocumentValue, Reads } from "../../core/view.js";
import { StoreError } from "../../store/store.js";
import type { Executor } from "../execute.js";
import {
  bucketIn,
  bucketKey,
  bucketKind,
  type Cursor,
  cursorIn,
  cursorKey,
  storedTotals,
  timeKey,
  totalsKey,
  totalsKind,
} from "./documents.js";

/** Events counted in one commit. */
const chunkDefault = 1000;

const hourMs = 60 * 60 * 1000;
/** How long what happened in a minute or an hour is kept. */
const keptMs = { minute: 48 * hourMs, hour: 400 * 24 * hourMs } as const;
/** Documents removed in one commit. */
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
  await sweep(executor, org);
  for (let end: number | null = null; ; ) {
    const page = await executor.store.read(org, (view, now) =>
      countPage(view, { now, chunk, own: executor.own.begin(org, cursorIn(view).cursor) }),
    );
    end ??= page.end;
    if (page.before.cursor >= end) return;
    // The cursor is the guard: if another process has counted these events meanwhile, they are read again from its cursor.
    await executor.submit(org, ({ view, apply }) => {
      if (isSameCursor(cursorIn(view), page.before)) apply(page.changes);
    });
  }
}

/** Expired leases are ended first, as before every query. */
async function sweep(executor: Executor, org: string): Promise<void> {
  const isDue = await executor.store.read(org, (view, now) => view.due(now, 1).length > 0);
  for (let swept = isDue ? limits.sweepMax : 0; swept >= limits.sweepMax; ) {
    const outcome = await executor.system(org, { type: "sweep", limit: limits.sweepMax });
    swept = outcome.ok ? (outcome.value as unknown[]).length : 0;
  }
}

interface Page {
  before: Cursor;
  /** The number of the last event. */
  end: number;
  changes: Changes;
}

interface Counting {
  now: number;
  chunk: number;
  own: ReadonlyMap<number, DibsEvent>;
}

/** Events, documents and task counts are of one state of the org, so the counts are those at the new cursor. */
function countPage(view: Reads, { now, chunk, own }: Counting): Page {
  const before = cursorIn(view);
  const { eventSeq: end, eventMin } = view.org();
  // By number, so that an unreadable event is passed over, and not counted.
  const from = Math.max(before.cursor, eventMin - 1);
  const cursor = Math.min(end, from + chunk);
  const events = eventsBetween(view, own, from, cursor);
  const tally = new Tally({
    totals: (project) => storedTotals(view, project),
    bucket: (place) => bucketIn(view, place),
  });
  for (const event of events) tally.count(event);
  const isExact = !before.inexact && tally.isExact && before.cursor + events.length === cursor;
  const isRecounted = !isExact && cursor === end;
  if (isRecounted) recount(view, tally, now);
  const written = new Written();
  written.put(totalsKind, cursorKey, { cursor, ...(isExact || isRecounted ? {} : { inexact: true }) });
  for (const [project, totals] of tally.totals) written.put(totalsKind, totalsKey(project), totals);
  for (const each of tally.buckets.values()) {
    if (each.at < now - keptMs[each.step]) continue;
    written.put(bucketKind[each.step], bucketKey(each), each.bucket);
  }
  prune(view, now, written);
  return { before, end, changes: written.changes() };
}

/** With more gaps than this, one read of everything is cheaper. */
const gapsMax = 4;

/** The events after `from` up to `to`: this process's own, and what others wrote in between. */
function eventsBetween(
  view: Reads,
  own: ReadonlyMap<number, DibsEvent>,
  from: number,
  to: number,
): DibsEvent[] {
  const gaps: { after: number; last: number }[] = [];
  for (let seq = from + 1; seq <= to; seq++) {
    if (own.has(seq)) continue;
    const gap = gaps.at(-1);
    if (gap?.last === seq - 1) gap.last = seq;
    else gaps.push({ after: seq - 1, last: seq });
  }
  const read = ({ after, last }: { after: number; last: number }) =>
    view.events({ after, limit: last - after, readableOnly: true }).filter(({ seq }) => seq <= last);
  if (gaps.length > gapsMax) return read({ after: from, last: to });
  const others = gaps.flatMap(read);
  if (others.length === to - from) return others;
  const mine: DibsEvent[] = [];
  for (let seq = from + 1; seq <= to; seq++) if (own.has(seq)) mine.push(own.get(seq)!);
  return [...mine, ...others].sort((a, b) => a.seq - b.seq);
}

function isSameCursor(a: Cursor, b: Cursor): boolean {
  return a.cursor === b.cursor && a.inexact === b.inexact;
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
