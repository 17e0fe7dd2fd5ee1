// A SQL store's view of one org: rows that were read, overlaid with what jobs have applied, written out at the end of the
// transaction in one go. Between transactions the rows stay, as a cache, for as long as the adapter can tell that nobody
// else has written; a failed transaction or a foreign one clears it. Sets that are rarely read are not overlaid: the
// pending changes are written first, inside the same transaction, and the database answers.

import { attemptKey, type Changes, type Counter, type Edge, type Key, keyOf } from "../core/changes.js";
import { type Attempt, type Claim, dueAt } from "../core/claim.js";
import type { DibsEvent, Notification } from "../core/event.js";
import type { Org, Project } from "../core/project.js";
import { type ReadyEntry, readyEntries } from "../core/ready.js";
import type { Session } from "../core/session.js";
import { isReady, type Task, type TaskText } from "../core/task.js";
import type { ClaimKey, IdempotencyRecord, Reads } from "../core/view.js";
import { FlushedReads } from "./flushed-reads.js";
import { ReadyQueue } from "./ready-queue.js";
import type { Rows } from "./rows.js";
import { Table } from "./table.js";

const rowsCachedMax = 50_000;
const textLengthCachedMax = 16 * 1024 * 1024;

export class Workspace extends FlushedReads implements Reads {
  private orgRow: Org | null = null;
  private orgDirty = false;
  private readonly projectRows = new Table<Project>();
  private readonly taskRows = new Table<Task>();
  private readonly textRows = new Table<TaskText>();
  private readonly claimRows = new Table<Claim>();
  private readonly attemptRows = new Table<Attempt>();
  private readonly sessionRows = new Table<Session>();
  private readonly counterRows = new Table<Counter>();
  private readonly notificationRows = new Table<Notification>();
  private readonly tables = [
    this.projectRows,
    this.taskRows,
    this.textRows,
    this.claimRows,
    this.attemptRows,
    this.sessionRows,
    this.counterRows,
    this.notificationRows,
  ];
  private readonly claimsBySession = new Map<Key, Set<string>>();
  private readonly newChildren = new Map<Key, string[]>();
  private edgesAdded: Edge[] = [];
  private edgesRemoved: Edge[] = [];
  private events_: DibsEvent[] = [];
  private idempotencyAdded: IdempotencyRecord[] = [];
  private textLength = 0;
  private wrote = false;
  private readonly queue: ReadyQueue;
  /** No lease of the org is over before this instant. */
  private dueFloor = Number.NEGATIVE_INFINITY;

  constructor(rows: Rows) {
    super(rows);
    this.queue = new ReadyQueue(rows.ready);
  }

  org(): Org {
    this.orgRow ??= this.rows.org();
    return this.orgRow;
  }

  project(id: string): Project | undefined {
    return this.projectRows.get(id, () => this.rows.project(id));
  }

  task(project: string, id: string): Task | undefined {
    return this.taskRows.get(keyOf(project, id), () => this.rows.task(project, id));
  }

  text(project: string, id: string): TaskText | undefined {
    return this.textRows.get(keyOf(project, id), () => {
      const text = this.rows.text(project, id);
      if (text) this.textLength += text.prompt.length;
      return text;
    });
  }

  claim(project: string, taskId: string): Claim | undefined {
    return this.claimRows.get(keyOf(project, taskId), () => this.rows.claim(project, taskId));
  }

  attempt(project: string, taskId: string, epoch: number): Attempt | undefined {
    const key = attemptKey(project, taskId, epoch);
    return this.attemptRows.get(key, () => this.rows.attempt(project, taskId, epoch));
  }

  session(project: string, id: string): Session | undefined {
    return this.sessionRows.get(keyOf(project, id), () => this.rows.session(project, id));
  }

  counter(project: string, parent: string): number {
    const load = () => ({ project, parent, value: this.rows.counter(project, parent) });
    return this.counterRows.get(keyOf(project, parent), load)!.value;
  }

  notification(id: string): Notification | undefined {
    return this.notificationRows.get(id, () => this.rows.notification(id));
  }

  idempotency(key: string): IdempotencyRecord | undefined {
    return this.idempotencyAdded.find((record) => record.key === key) ?? this.rows.idempotency(key);
  }

  claimsOf(project: string, sessionId: string): Claim[] {
    const key = keyOf(project, sessionId);
    let taskIds = this.claimsBySession.get(key);
    if (!taskIds) {
      taskIds = new Set();
      for (const claim of this.rows.claimsOf(project, sessionId)) {
        const current = this.claimRows.get(keyOf(project, claim.taskId), () => claim);
        if (current?.sessionId === sessionId) taskIds.add(claim.taskId);
      }
      for (const claim of this.claimRows.changed()) {
        if (claim?.project === project && claim.sessionId === sessionId) taskIds.add(claim.taskId);
      }
      this.claimsBySession.set(key, taskIds);
    }
    if (taskIds.size === 0) return [];
    const claims = [...taskIds].map((taskId) => this.claim(project, taskId)!);
    return claims.sort(
      (a, b) => a.claimedAt - b.claimedAt || (a.taskId < b.taskId ? -1 : a.taskId > b.taskId ? 1 : 0),
    );
  }

  dependents(project: string, id: string): string[] {
    const stored = this.rows.dependents(project, id);
    if (this.edgesAdded.length === 0 && this.edgesRemoved.length === 0) return stored;
    const ids = new Set(stored);
    const isOurs = (edge: Edge) => edge.project === project && edge.dependsOn === id;
    for (const edge of this.edgesRemoved) if (isOurs(edge)) ids.delete(edge.taskId);
    for (const edge of this.edgesAdded) if (isOurs(edge)) ids.add(edge.taskId);
    return [...ids].sort();
  }

  children(project: string, id: string): string[] {
    const added = this.newChildren.get(keyOf(project, id));
    const stored = this.rows.children(project, id);
    return added ? [...stored, ...added] : stored;
  }

  due(now: number, limit: number): ClaimKey[] {
    if (now < this.dueFloor) return [];
    this.flush();
    const due = this.rows.due(now, limit);
    if (due.length === 0) this.dueFloor = this.rows.nextDue(now) ?? Number.POSITIVE_INFINITY;
    return due;
  }

  nextDue(now: number): number | null {
    this.flush();
    return this.rows.nextDue(now);
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

  apply(changes: Changes): void {
    const affected = new Set([...changes.tasks.keys(), ...changes.claims.keys()]);
    const before = [...affected].map((key) => this.entriesAt(key));
    const reordered = this.applyProjects(changes);
    if (changes.org) {
      this.orgRow = changes.org;
      this.orgDirty = true;
    }
    for (const [key, task] of changes.tasks) this.applyTask(key, task);
    for (const [key, text] of changes.texts) {
      this.textRows.put(key, text);
      this.textLength += text.prompt.length;
    }
    for (const [key, claim] of changes.claims) this.applyClaim(key, claim ?? undefined);
    for (const [key, attempt] of changes.attempts) this.attemptRows.put(key, attempt);
    for (const [key, session] of changes.sessions) this.sessionRows.put(key, session);
    for (const [key, counter] of changes.counters) this.counterRows.put(key, counter);
    for (const [id, notification] of changes.notifications) this.notificationRows.put(id, notification);
    for (const edge of changes.edgesAdded) this.edgesAdded.push(edge);
    for (const edge of changes.edgesRemoved) this.edgesRemoved.push(edge);
    for (const event of changes.events) this.events_.push(event);
    if (changes.idempotency) this.idempotencyAdded.push(changes.idempotency);
    let at = 0;
    for (const key of affected) this.moveInQueue(key, before[at++]!);
    if (reordered.length === 0) return;
    this.flush();
    for (const project of reordered) this.rows.rebuildReady(project);
    this.queue.clear();
  }

  private applyProjects(changes: Changes): string[] {
    const reordered: string[] = [];
    for (const [id, project] of changes.projects) {
      const known = this.project(id);
      if (known && known.settings.order !== project.settings.order) reordered.push(id);
      this.projectRows.put(id, project);
    }
    return reordered;
  }

  private applyTask(key: Key, task: Task): void {
    const known = this.taskRows.rows.get(key);
    if (!known && task.parentId !== null) {
      const parent = keyOf(task.project, task.parentId);
      const siblings = this.newChildren.get(parent);
      if (siblings) siblings.push(task.id);
      else this.newChildren.set(parent, [task.id]);
    }
    if (!known) this.claimRows.rows.set(key, undefined);
    this.taskRows.put(key, task);
  }

  private applyClaim(key: Key, claim: Claim | undefined): void {
    const known = this.claimRows.rows.get(key);
    this.claimRows.put(key, claim);
    const owner = claim ?? known;
    if (!owner) return;
    const held = this.claimsBySession.get(keyOf(owner.project, owner.sessionId));
    if (claim) held?.add(claim.taskId);
    else held?.delete(owner.taskId);
    const due = claim ? dueAt(claim) : null;
    if (due !== null && due < this.dueFloor) this.dueFloor = due;
  }

  private place(task: Task | undefined, claimed: () => Claim | undefined): ReadyEntry[] {
    if (!task || !isReady(task, undefined) || claimed()) return [];
    return readyEntries(task, this.project(task.project)!.settings.order);
  }

  /** The place in the ready queue that a task has now. */
  private entriesAt(key: Key): ReadyEntry[] {
    const task = this.taskRows.rows.get(key) ?? this.loadByKey(key);
    return this.place(task, () => this.claim(task!.project, task!.id));
  }

  private loadByKey(key: Key): Task | undefined {
    const slash = key.indexOf("/");
    return this.task(key.slice(0, slash), key.slice(slash + 1));
  }

  private moveInQueue(key: Key, before: ReadyEntry[]): void {
    const after = this.entriesAt(key);
    if (before.length === 0 && after.length === 0) return;
    const project = key.slice(0, key.indexOf("/"));
    for (const entry of before) if (!hasPlace(after, entry)) this.queue.take(project, entry);
    for (const entry of after) if (!hasPlace(before, entry)) this.queue.add(project, entry);
  }

  /** Writes all pending changes into the open transaction. */
  override flush(): void {
    if (!this.isDirty()) return;
    this.wrote = true;
    const { added, removed } = this.queueChanges();
    this.rows.write({
      org: this.orgDirty ? this.orgRow : null,
      projects: this.projectRows.changed(),
      tasks: this.taskRows.changes(),
      texts: this.changedTexts(),
      claims: this.claimRows.changes(),
      attempts: this.attemptRows.changes(),
      sessions: this.sessionRows.changed(),
      counters: this.counterRows.changed(),
      edgesAdded: this.edgesAdded,
      edgesRemoved: this.edgesRemoved,
      notifications: this.notificationRows.changed(),
      events: this.events_,
      idempotency: this.idempotencyAdded,
      readyRemoved: removed,
      readyAdded: added,
    });
    for (const table of this.tables) table.dirty.clear();
    this.orgDirty = false;
    this.newChildren.clear();
    this.edgesAdded = [];
    this.edgesRemoved = [];
    this.events_ = [];
    this.idempotencyAdded = [];
    this.queue.settle();
  }

  private isDirty(): boolean {
    return (
      this.orgDirty || this.idempotencyAdded.length > 0 || this.tables.some((table) => table.dirty.size > 0)
    );
  }

  private *changedTexts() {
    for (const key of this.textRows.dirty.keys()) {
      const slash = key.indexOf("/");
      yield { project: key.slice(0, slash), id: key.slice(slash + 1), text: this.textRows.rows.get(key)! };
    }
  }

  private queueChanges() {
    const added: { project: string; entry: ReadyEntry }[] = [];
    const removed: { project: string; entry: ReadyEntry }[] = [];
    const keys = new Set([...this.taskRows.dirty.keys(), ...this.claimRows.dirty.keys()]);
    for (const key of keys) {
      const taskBefore = this.taskRows.dirty.has(key) ? this.taskRows.dirty.get(key) : this.loadByKey(key);
      const claimBefore = () =>
        this.claimRows.dirty.has(key)
          ? this.claimRows.dirty.get(key)
          : this.claim(taskBefore!.project, taskBefore!.id);
      const before = this.place(taskBefore, claimBefore);
      const after = this.entriesAt(key);
      if (before.length === 0 && after.length === 0) continue;
      const project = key.slice(0, key.indexOf("/"));
      for (const entry of before) if (!hasPlace(after, entry)) removed.push({ project, entry });
      for (const entry of after) if (!hasPlace(before, entry)) added.push({ project, entry });
    }
    return { added, removed };
  }

  /** The transaction is committed: keep the rows as a cache, within bounds. Says whether anything was written. */
  committed(): boolean {
    const { wrote } = this;
    this.wrote = false;
    this.attemptRows.rows.clear();
    this.notificationRows.rows.clear();
    if (this.textLength > textLengthCachedMax) {
      this.textRows.clear();
      this.textLength = 0;
    }
    const size = this.tables.reduce((sum, table) => sum + table.rows.size, this.claimsBySession.size);
    if (size > rowsCachedMax) this.clear();
    return wrote;
  }

  clear(): void {
    for (const table of this.tables) table.clear();
    this.orgRow = null;
    this.orgDirty = false;
    this.claimsBySession.clear();
    this.newChildren.clear();
    this.edgesAdded = [];
    this.edgesRemoved = [];
    this.events_ = [];
    this.idempotencyAdded = [];
    this.textLength = 0;
    this.wrote = false;
    this.queue.clear();
    this.dueFloor = Number.NEGATIVE_INFINITY;
  }
}

function hasPlace(entries: ReadyEntry[], { lane, level, k1, k2 }: ReadyEntry): boolean {
  return entries.some(
    (entry) => entry.lane === lane && entry.level === level && entry.k1 === k1 && entry.k2 === k2,
  );
}
