// The open claims of an org: by task, by session, and by when their leases expire. Sets are merged from stored and pending claims.

import { type Key, keyOf } from "../core/changes.js";
import { type Claim, dueAt } from "../core/claim.js";
import type { ClaimKey } from "../core/view.js";
import type { DueClaim, Rows } from "./rows.js";
import { Table } from "./table.js";

export class KnownClaims {
  readonly table: Table<Claim>;
  private readonly bySession = new Map<Key, Set<string>>();
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
    if (known) this.setOf(known)?.delete(known.taskId);
    if (claim) this.setOf(claim)?.add(claim.taskId);
    const due = claim ? dueAt(claim) : null;
    if (due !== null && due < this.dueFloor) this.dueFloor = due;
  }

  private setOf({ project, sessionId }: Claim): Set<string> | undefined {
    return this.bySession.get(keyOf(project, sessionId));
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
      this.bySession.set(keyOf(project, sessionId), taskIds);
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
  }

  undo(): void {
    for (const { before, after, isFresh } of this.table.changes()) {
      if (after) this.setOf(after)?.delete(after.taskId);
      if (before) this.setOf(before)?.add(before.taskId);
      // Whose the claim was is not known: a set that was merged since may lack it.
      if (isFresh) this.bySession.clear();
    }
    this.dueFloor = Number.NEGATIVE_INFINITY;
    this.table.undo();
  }

  clear(): void {
    this.table.clear();
    this.bySession.clear();
    this.dueFloor = Number.NEGATIVE_INFINITY;
  }
}

function byDue(a: DueClaim, b: DueClaim): number {
  return a.dueAt - b.dueAt || byText(a.project, b.project) || byText(a.taskId, b.taskId);
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
