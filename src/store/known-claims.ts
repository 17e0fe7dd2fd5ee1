// The open claims of an org: by task, by session, and by when their leases expire. Sets are merged from stored and pending claims.

import { type Key, keyOf } from "../core/changes.js";
import { type Claim, dueAt } from "../core/claim.js";
import type { ClaimKey } from "../core/view.js";
import type { DueClaim, Rows } from "./rows.js";
import { Table } from "./table.js";

export class KnownClaims {
  readonly table: Table<Claim>;
  private readonly bySession = new Map<Key, Set<string>>();
  /** Sessions whose sets were merged with pending claims, which may be undone. */
  private readonly merged = new Set<Key>();
  /** No lease of the org expires before this instant. */
  private dueFloor = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly rows: Rows,
    load: (key: Key) => Claim | undefined,
  ) {
    this.table = new Table(rows, load);
  }

  get size(): number {
    return this.bySession.size;
  }

  put(key: Key, claim: Claim | undefined): void {
    const known = this.table.put(key, claim);
    const owner = claim ?? known;
    if (!owner) return;
    const held = this.bySession.get(keyOf(owner.project, owner.sessionId));
    if (claim) held?.add(claim.taskId);
    else held?.delete(owner.taskId);
    const due = claim ? dueAt(claim) : null;
    if (due !== null && due < this.dueFloor) this.dueFloor = due;
  }

  /** Oldest first. */
  of(project: string, sessionId: string): Claim[] {
    const taskIds = this.bySession.get(keyOf(project, sessionId)) ?? this.merge(project, sessionId);
    if (taskIds.size === 0) return [];
    const claims = [...taskIds].map((taskId) => this.table.get(keyOf(project, taskId))!);
    return claims.sort((a, b) => a.claimedAt - b.claimedAt || byText(a.taskId, b.taskId));
  }

  private merge(project: string, sessionId: string): Set<string> {
    const taskIds = new Set<string>();
    const { guesses } = this.rows;
    for (const claim of this.rows.claimsOf(project, sessionId)) {
      const key = keyOf(project, claim.taskId);
      const known = this.table.known(key);
      const current = known === null ? this.table.keep(key, claim) : known;
      if (current?.sessionId === sessionId) taskIds.add(claim.taskId);
    }
    for (const claim of this.table.changed()) {
      if (claim?.project === project && claim.sessionId === sessionId) taskIds.add(claim.taskId);
    }
    if (this.rows.guesses === guesses) {
      const key = keyOf(project, sessionId);
      this.bySession.set(key, taskIds);
      this.merged.add(key);
    }
    return taskIds;
  }

  due(now: number, limit: number): ClaimKey[] {
    if (now < this.dueFloor) return [];
    const stored = this.rows.due(now, limit + this.table.dirtyCount);
    const due = this.withChanged(stored, (dueAt) => dueAt <= now).slice(0, limit);
    if (due.length === 0) this.dueFloor = this.earliestDue() ?? this.nextDue(now) ?? Number.POSITIVE_INFINITY;
    return due.map(({ project, taskId }) => ({ project, taskId }));
  }

  private earliestDue(): number | undefined {
    let earliest = this.rows.earliestDue?.();
    if (earliest === undefined) return undefined;
    for (const claim of this.table.changed()) {
      const at = claim ? dueAt(claim) : null;
      if (at !== null && at < earliest) earliest = at;
    }
    return earliest;
  }

  nextDue(now: number): number | null {
    // At most so many of the stored ones have changed since.
    const stored = this.rows.nextDue(now, this.table.dirtyCount + 1);
    return this.withChanged(stored, (dueAt) => dueAt > now)[0]?.dueAt ?? null;
  }

  /** The stored leases without those that have changed, and the changed ones that fit. */
  private withChanged(stored: DueClaim[], fits: (dueAt: number) => boolean): DueClaim[] {
    if (this.table.dirtyCount === 0) return stored;
    const leases = stored.filter(({ project, taskId }) => !this.table.isDirty(keyOf(project, taskId)));
    for (const claim of this.table.changed()) {
      const at = claim ? dueAt(claim) : null;
      if (at !== null && fits(at)) leases.push({ project: claim.project, taskId: claim.taskId, dueAt: at });
    }
    return leases.sort(byDue);
  }

  /** The changes are stored. */
  settle(): void {
    this.table.settle();
    this.merged.clear();
  }

  undo(): void {
    for (const { before, after } of this.table.changes()) {
      // The earlier row may have been guessed: sets are read again rather than corrected.
      if (after) this.bySession.delete(keyOf(after.project, after.sessionId));
      if (before) this.bySession.delete(keyOf(before.project, before.sessionId));
    }
    for (const key of this.merged) this.bySession.delete(key);
    this.merged.clear();
    this.dueFloor = Number.NEGATIVE_INFINITY;
    this.table.undo();
  }

  clear(): void {
    this.table.clear();
    this.bySession.clear();
    this.merged.clear();
    this.dueFloor = Number.NEGATIVE_INFINITY;
  }
}

function byDue(a: DueClaim, b: DueClaim): number {
  return a.dueAt - b.dueAt || byText(a.project, b.project) || byText(a.taskId, b.taskId);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
