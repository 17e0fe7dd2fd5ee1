// The rows of one org that were read, with what a transaction has changed since. Sets are put together from what is stored and
// what is pending.

import {
  attemptKey,
  type Counter,
  type Document,
  documentKey,
  type Edge,
  type Key,
  keyOf,
} from "../core/changes.js";
import { type Attempt, type Claim, dueAt } from "../core/claim.js";
import type { Notification } from "../core/event.js";
import type { Org, Project } from "../core/project.js";
import type { ReadyEntry } from "../core/ready.js";
import type { Session, SessionRecord } from "../core/session.js";
import type { Task, TaskText } from "../core/task.js";
import type { ClaimKey, DocumentValue, IdempotencyRecord, Reads } from "../core/view.js";
import { FlushedReads } from "./flushed-reads.js";
import { ReadyQueue } from "./ready-queue.js";
import { byDue, lengthOf } from "./row-facts.js";
import type { Chunk, DueClaim, Rows } from "./rows.js";
import { Table } from "./table.js";

export abstract class KnownRows extends FlushedReads implements Reads {
  protected orgRow: Org | null = null;
  protected readonly projectRows = new Table<Project>();
  protected readonly taskRows = new Table<Task>();
  protected readonly textRows = new Table<TaskText>();
  protected readonly claimRows = new Table<Claim>();
  protected readonly attemptRows = new Table<Attempt>();
  protected readonly sessionRows = new Table<Session>();
  protected readonly recordRows = new Table<SessionRecord>();
  protected readonly counterRows = new Table<Counter>();
  protected readonly notificationRows = new Table<Notification>();
  protected readonly documentRows = new Table<Document>();
  protected readonly tables = [
    this.projectRows,
    this.taskRows,
    this.textRows,
    this.claimRows,
    this.attemptRows,
    this.sessionRows,
    this.recordRows,
    this.counterRows,
    this.notificationRows,
    this.documentRows,
  ];
  /** Tasks that nothing depends on, as stored. */
  protected readonly knownFree = new Set<Key>();
  /** Sessions whose claims were put together with what is pending, which may be taken back. */
  protected readonly putTogether = new Set<Key>();
  protected readonly claimsBySession = new Map<Key, Set<string>>();
  protected readonly newChildren = new Map<Key, string[]>();
  /** Tasks that go, as they were last. */
  protected readonly removed = new Map<Key, Task>();
  /** Dependencies added (true) or removed (false), the last word on each. */
  protected readonly edges = new Map<string, { edge: Edge; isAdded: boolean }>();
  protected newKeys: IdempotencyRecord[] = [];
  protected textLength = 0;
  protected readonly queue: ReadyQueue;
  /** No lease of the org is over before this instant. */
  protected dueFloor = Number.NEGATIVE_INFINITY;

  constructor(rows: Rows) {
    super(rows);
    const source = {
      lanes: (project: string, prefix: string) => rows.ready.lanes(project, prefix),
      levels: (project: string, lane: string) => rows.ready.levels(project, lane),
      chunk: (...where: Parameters<Rows["ready"]["chunk"]>) =>
        this.keepChunk(where[0], rows.ready.chunk(...where)),
    };
    this.queue = new ReadyQueue(source, rows.lookAhead !== undefined);
  }

  org(): Org {
    this.orgRow ??= this.rows.org();
    return this.orgRow;
  }

  project(id: string): Project | undefined {
    const known = this.projectRows.known(id);
    if (known !== null) return known;
    const { guesses } = this.rows;
    return this.kept(this.projectRows, id, this.rows.project(id), guesses);
  }

  task(project: string, id: string): Task | undefined {
    const key = keyOf(project, id);
    const known = this.taskRows.known(key);
    if (known !== null) return known;
    const { guesses } = this.rows;
    return this.kept(this.taskRows, key, this.rows.task(project, id), guesses);
  }

  text(project: string, id: string): TaskText | undefined {
    const key = keyOf(project, id);
    const known = this.textRows.known(key);
    if (known !== null) return known;
    const { guesses } = this.rows;
    const task = this.task(project, id);
    const text = task && this.rows.text(task);
    if (text) this.textLength += lengthOf(text);
    return this.kept(this.textRows, key, text, guesses);
  }

  claim(project: string, taskId: string): Claim | undefined {
    const key = keyOf(project, taskId);
    const known = this.claimRows.known(key);
    if (known !== null) return known;
    const { guesses } = this.rows;
    const task = this.task(project, taskId);
    return this.kept(this.claimRows, key, task && this.rows.claim(task), guesses);
  }

  attempt(project: string, taskId: string, epoch: number): Attempt | undefined {
    const key = attemptKey(project, taskId, epoch);
    const known = this.attemptRows.known(key);
    if (known !== null) return known;
    const { guesses } = this.rows;
    const task = this.task(project, taskId);
    // Not to be kept: the removal of the task may be taken back.
    if (!task) return undefined;
    return this.kept(this.attemptRows, key, this.rows.attempt(task, epoch), guesses);
  }

  attempts(project: string, taskId: string, limit: number): Attempt[] {
    const task = this.task(project, taskId);
    const stored = task ? this.rows.attempts(task, limit) : [];
    const byEpoch = new Map(stored.map((attempt) => [attempt.epoch, attempt]));
    for (const attempt of this.attemptRows.changed()) {
      if (attempt?.project === project && attempt.taskId === taskId) byEpoch.set(attempt.epoch, attempt);
    }
    return [...byEpoch.values()].sort((a, b) => b.epoch - a.epoch).slice(0, limit);
  }

  session(project: string, id: string): Session | undefined {
    const key = keyOf(project, id);
    const known = this.sessionRows.known(key);
    if (known !== null) return known;
    const { guesses } = this.rows;
    return this.kept(this.sessionRows, key, this.rows.session(project, id), guesses);
  }

  record(project: string, sessionId: string): SessionRecord | undefined {
    const key = keyOf(project, sessionId);
    const known = this.recordRows.known(key);
    if (known !== null) return known;
    const { guesses } = this.rows;
    return this.kept(this.recordRows, key, this.rows.record(project, sessionId), guesses);
  }

  counter(project: string, parent: string): number {
    const key = keyOf(project, parent);
    const known = this.counterRows.known(key);
    if (known) return known.value;
    const { guesses } = this.rows;
    const value = this.rows.counter(project, parent);
    this.kept(this.counterRows, key, { project, parent, value }, guesses);
    return value;
  }

  notification(id: string): Notification | undefined {
    const known = this.notificationRows.known(id);
    if (known !== null) return known;
    const { guesses } = this.rows;
    return this.kept(this.notificationRows, id, this.rows.notification(id), guesses);
  }

  idempotency(key: string): IdempotencyRecord | undefined {
    return this.newKeys.find((record) => record.key === key) ?? this.rows.idempotency(key);
  }

  document(kind: string, key: string): DocumentValue | undefined {
    const at = documentKey(kind, key);
    const known = this.documentRows.known(at);
    if (known !== null) return known?.value ?? undefined;
    const { guesses } = this.rows;
    const value = this.rows.document(kind, key);
    this.kept(this.documentRows, at, value && { kind, key, value }, guesses);
    return value;
  }

  claimsOf(project: string, sessionId: string): Claim[] {
    const key = keyOf(project, sessionId);
    let taskIds = this.claimsBySession.get(key);
    if (!taskIds) {
      taskIds = new Set();
      const { guesses } = this.rows;
      for (const claim of this.rows.claimsOf(project, sessionId)) {
        const key = keyOf(project, claim.taskId);
        const known = this.claimRows.known(key);
        const current = known === null ? this.claimRows.keep(key, claim) : known;
        if (current?.sessionId === sessionId) taskIds.add(claim.taskId);
      }
      for (const claim of this.claimRows.changed()) {
        if (claim?.project === project && claim.sessionId === sessionId) taskIds.add(claim.taskId);
      }
      if (this.rows.guesses === guesses) {
        this.claimsBySession.set(key, taskIds);
        this.putTogether.add(key);
      }
    }
    if (taskIds.size === 0) return [];
    const claims = [...taskIds].map((taskId) => this.claim(project, taskId)!);
    return claims.sort(
      (a, b) => a.claimedAt - b.claimedAt || (a.taskId < b.taskId ? -1 : a.taskId > b.taskId ? 1 : 0),
    );
  }

  dependents(project: string, id: string): string[] {
    const stored = this.knownFree.has(keyOf(project, id)) ? [] : this.rows.dependents(project, id);
    if (this.edges.size === 0) return stored;
    const ids = new Set(stored);
    for (const { edge, isAdded } of this.edges.values()) {
      if (edge.project !== project || edge.dependsOn !== id) continue;
      if (isAdded) ids.add(edge.taskId);
      else ids.delete(edge.taskId);
    }
    return [...ids].sort();
  }

  children(project: string, id: string): string[] {
    const added = this.newChildren.get(keyOf(project, id));
    const stored = this.rows.children(project, id);
    const children = added ? [...stored, ...added] : stored;
    return this.removed.size === 0
      ? children
      : children.filter((child) => !this.removed.has(keyOf(project, child)));
  }

  due(now: number, limit: number): ClaimKey[] {
    if (now < this.dueFloor) return [];
    const stored = this.rows.due(now, limit + this.claimRows.dirtyCount);
    const due = this.withChanged(stored, (dueAt) => dueAt <= now).slice(0, limit);
    if (due.length === 0) this.dueFloor = this.earliestDue() ?? this.nextDue(now) ?? Number.POSITIVE_INFINITY;
    return due.map(({ project, taskId }) => ({ project, taskId }));
  }

  private earliestDue(): number | undefined {
    let earliest = this.rows.earliestDue?.();
    if (earliest === undefined) return undefined;
    for (const claim of this.claimRows.changed()) {
      const at = claim ? dueAt(claim) : null;
      if (at !== null && at < earliest) earliest = at;
    }
    return earliest;
  }

  nextDue(now: number): number | null {
    // At most so many of the stored ones have changed since.
    const stored = this.rows.nextDue(now, this.claimRows.dirtyCount + 1);
    return this.withChanged(stored, (dueAt) => dueAt > now)[0]?.dueAt ?? null;
  }

  /** The stored leases without those that have changed, and the changed ones that fit. */
  private withChanged(stored: DueClaim[], fits: (dueAt: number) => boolean): DueClaim[] {
    if (this.claimRows.dirtyCount === 0) return stored;
    const leases = stored.filter(({ project, taskId }) => !this.claimRows.isDirty(keyOf(project, taskId)));
    for (const claim of this.claimRows.changed()) {
      const at = claim ? dueAt(claim) : null;
      if (at !== null && fits(at)) leases.push({ project: claim.project, taskId: claim.taskId, dueAt: at });
    }
    return leases.sort(byDue);
  }

  private kept<T>(table: Table<T>, key: Key, row: T | undefined, guesses: number): T | undefined {
    return this.rows.guesses === guesses ? table.keep(key, row) : row;
  }

  /** What came along is known now; and what stands in the queue is not claimed: no need to look. */
  private keepChunk(project: string, { entries, tasks }: Chunk): ReadyEntry[] {
    for (const { task, text, isFree } of tasks) {
      const key = keyOf(project, task.id);
      if (isFree) this.knownFree.add(key);
      if (this.taskRows.known(key) === null) this.taskRows.keep(key, task);
      if (!text || this.textRows.known(key) !== null) continue;
      this.textLength += lengthOf(text);
      this.textRows.keep(key, text);
    }
    for (const { id } of entries) {
      const key = keyOf(project, id);
      if (this.claimRows.known(key) === null) this.claimRows.keep(key, undefined);
    }
    return entries;
  }

  readyLanes(project: string, prefix: string): Iterable<string> {
    return this.queue.lanesOf(project, prefix);
  }

  readyLevels(project: string, lane: string): Iterable<number> {
    return this.queue.levelsOf(project, lane);
  }

  readyEntries(project: string, lane: string, level: number): Iterable<ReadyEntry> {
    return this.queue.entriesOf(project, lane, level);
  }
}
