// A SQL store's view of one org: rows that were read, overlaid with what jobs have applied, written out at the end of the
// transaction in one go. Between transactions the rows stay, as a cache, for as long as the adapter can tell that nobody
// else has written; a failed transaction or a foreign one clears it. Sets that are rarely read are not overlaid: the
// pending changes are written first, inside the same transaction, and the database answers.

import { attemptKey, type Changes, type Counter, type Edge, type Key, keyOf } from "../core/changes.js";
import { type Attempt, type Claim, dueAt } from "../core/claim.js";
import type { DibsEvent, Notification } from "../core/event.js";
import type { Org, Project } from "../core/project.js";
import { type ReadyEntry, readyEntries } from "../core/ready.js";
import type { Session, SessionRecord } from "../core/session.js";
import { isReady, isTerminal, type Task, type TaskText } from "../core/task.js";
import type { ClaimKey, IdempotencyRecord, Reads } from "../core/view.js";
import { FlushedReads } from "./flushed-reads.js";
import { movesBetween, QueueMoves } from "./queue-moves.js";
import { ReadyQueue } from "./ready-queue.js";
import { canDoMore, edgeKey, eventsOfTasks, lengthOf, ofTasks } from "./row-facts.js";
import type { Chunk, OfTask, Rows } from "./rows.js";
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
  private readonly recordRows = new Table<SessionRecord>();
  private readonly counterRows = new Table<Counter>();
  private readonly notificationRows = new Table<Notification>();
  private readonly tables = [
    this.projectRows,
    this.taskRows,
    this.textRows,
    this.claimRows,
    this.attemptRows,
    this.sessionRows,
    this.recordRows,
    this.counterRows,
    this.notificationRows,
  ];
  private readonly claimsBySession = new Map<Key, Set<string>>();
  private readonly newChildren = new Map<Key, string[]>();
  /** Dependencies added (true) or removed (false), the last word on each. */
  private readonly edges = new Map<string, { edge: Edge; isAdded: boolean }>();
  private readonly queueMoves = new QueueMoves();
  private newEvents: DibsEvent[] = [];
  private newKeys: IdempotencyRecord[] = [];
  private textLength = 0;
  private wrote = false;
  /** Something in this transaction may have made a task claimable for somebody. */
  private mayFree = false;
  /** Tasks that ended in this transaction: nobody will look at them soon. */
  private ended: Key[] = [];
  private readonly queue: ReadyQueue;
  /** No lease of the org is over before this instant. */
  private dueFloor = Number.NEGATIVE_INFINITY;

  constructor(rows: Rows) {
    super(rows);
    this.queue = new ReadyQueue({
      ...rows.ready,
      chunk: (...where) => this.keepChunk(where[0], rows.ready.chunk(...where)),
    });
  }

  org(): Org {
    this.orgRow ??= this.rows.org();
    return this.orgRow;
  }

  project(id: string): Project | undefined {
    const known = this.projectRows.known(id);
    return known === null ? this.projectRows.keep(id, this.rows.project(id)) : known;
  }

  task(project: string, id: string): Task | undefined {
    const key = keyOf(project, id);
    const known = this.taskRows.known(key);
    return known === null ? this.taskRows.keep(key, this.rows.task(project, id)) : known;
  }

  text(project: string, id: string): TaskText | undefined {
    const key = keyOf(project, id);
    const known = this.textRows.known(key);
    if (known !== null) return known;
    const task = this.task(project, id);
    const text = task && this.rows.text(task);
    if (text) this.textLength += lengthOf(text);
    return this.textRows.keep(key, text);
  }

  claim(project: string, taskId: string): Claim | undefined {
    const key = keyOf(project, taskId);
    const known = this.claimRows.known(key);
    if (known !== null) return known;
    const task = this.task(project, taskId);
    return this.claimRows.keep(key, task && this.rows.claim(task));
  }

  attempt(project: string, taskId: string, epoch: number): Attempt | undefined {
    const key = attemptKey(project, taskId, epoch);
    const known = this.attemptRows.known(key);
    if (known !== null) return known;
    const task = this.task(project, taskId);
    return this.attemptRows.keep(key, task && this.rows.attempt(task, epoch));
  }

  session(project: string, id: string): Session | undefined {
    const key = keyOf(project, id);
    const known = this.sessionRows.known(key);
    return known === null ? this.sessionRows.keep(key, this.rows.session(project, id)) : known;
  }

  record(project: string, sessionId: string): SessionRecord | undefined {
    const key = keyOf(project, sessionId);
    const known = this.recordRows.known(key);
    return known === null ? this.recordRows.keep(key, this.rows.record(project, sessionId)) : known;
  }

  counter(project: string, parent: string): number {
    const key = keyOf(project, parent);
    const known = this.counterRows.known(key);
    if (known) return known.value;
    const value = this.rows.counter(project, parent);
    this.counterRows.keep(key, { project, parent, value });
    return value;
  }

  notification(id: string): Notification | undefined {
    const known = this.notificationRows.known(id);
    return known === null ? this.notificationRows.keep(id, this.rows.notification(id)) : known;
  }

  idempotency(key: string): IdempotencyRecord | undefined {
    return this.newKeys.find((record) => record.key === key) ?? this.rows.idempotency(key);
  }

  claimsOf(project: string, sessionId: string): Claim[] {
    const key = keyOf(project, sessionId);
    let taskIds = this.claimsBySession.get(key);
    if (!taskIds) {
      taskIds = new Set();
      for (const claim of this.rows.claimsOf(project, sessionId)) {
        const key = keyOf(project, claim.taskId);
        const known = this.claimRows.known(key);
        const current = known === null ? this.claimRows.keep(key, claim) : known;
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
    return added ? [...stored, ...added] : stored;
  }

  due(now: number, limit: number): ClaimKey[] {
    if (now < this.dueFloor) return [];
    this.flush();
    const due = this.rows.due(now, limit);
    if (due.length === 0) this.dueFloor = this.rows.nextDue(now) ?? Number.POSITIVE_INFINITY;
    return due;
  }

  /** What came along is known now; and what stands in the queue is not claimed: no need to look. */
  private keepChunk(project: string, { entries, tasks }: Chunk): ReadyEntry[] {
    for (const { task, text } of tasks) {
      const key = keyOf(project, task.id);
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

  apply(changes: Changes): void {
    const before = new Map<Key, ReadyEntry[]>();
    for (const key of changes.tasks.keys()) before.set(key, this.entriesAt(key));
    for (const key of changes.claims.keys()) if (!before.has(key)) before.set(key, this.entriesAt(key));
    const reordered = this.applyProjects(changes);
    this.mayFree ||= changes.projects.size > 0;
    if (changes.org) {
      this.orgRow = changes.org;
      this.orgDirty = true;
    }
    for (const [key, task] of changes.tasks) this.applyTask(key, task);
    for (const [key, text] of changes.texts) {
      this.textRows.put(key, text);
      this.textLength += lengthOf(text);
    }
    for (const [key, claim] of changes.claims) this.applyClaim(key, claim ?? undefined);
    for (const [key, attempt] of changes.attempts) this.attemptRows.put(key, attempt);
    for (const [key, session] of changes.sessions) {
      this.mayFree ||= canDoMore(this.sessionRows.rows.get(key), session);
      this.sessionRows.put(key, session);
    }
    for (const [key, record] of changes.records) this.recordRows.put(key, record);
    for (const [key, counter] of changes.counters) this.counterRows.put(key, counter);
    for (const [id, notification] of changes.notifications) this.notificationRows.put(id, notification);
    for (const edge of changes.edgesAdded) this.edges.set(edgeKey(edge), { edge, isAdded: true });
    for (const edge of changes.edgesRemoved) this.edges.set(edgeKey(edge), { edge, isAdded: false });
    for (const event of changes.events) this.newEvents.push(event);
    if (changes.idempotency) this.newKeys.push(changes.idempotency);
    for (const [key, entries] of before) this.moveInQueue(key, entries);
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
    // A claim that closes gives its session room for another.
    this.mayFree ||= claim === undefined;
    this.claimRows.put(key, claim);
    const owner = claim ?? known;
    if (!owner) return;
    const held = this.claimsBySession.get(keyOf(owner.project, owner.sessionId));
    if (claim) held?.add(claim.taskId);
    else held?.delete(owner.taskId);
    const due = claim ? dueAt(claim) : null;
    if (due !== null && due < this.dueFloor) this.dueFloor = due;
  }

  /** The place in the ready queue that a task has now. */
  private entriesAt(key: Key): ReadyEntry[] {
    const task = this.taskRows.rows.get(key) ?? this.loadByKey(key);
    if (!task || !isReady(task, undefined) || this.claim(task.project, task.id)) return [];
    return readyEntries(task, this.project(task.project)!.settings.order);
  }

  private loadByKey(key: Key): Task | undefined {
    const slash = key.indexOf("/");
    return this.task(key.slice(0, slash), key.slice(slash + 1));
  }

  private moveInQueue(key: Key, before: ReadyEntry[]): void {
    const after = this.entriesAt(key);
    if (before.length === 0 && after.length === 0) return;
    const project = key.slice(0, key.indexOf("/"));
    const { left, joined } = movesBetween(before, after);
    for (const entry of left) this.queue.take(project, entry);
    for (const entry of joined) this.queue.add(project, entry);
    this.mayFree ||= joined.length > 0;
    this.queueMoves.note(key, { project, before, after });
  }

  /** Writes all pending changes into the open transaction. */
  override flush(): void {
    if (!this.isDirty()) return;
    this.wrote = true;
    this.rows.write({
      org: this.orgDirty ? this.orgRow : null,
      projects: this.projectRows.changed(),
      tasks: this.taskRows.changes(),
      texts: this.changedTexts(),
      claims: ofTasks(this.claimRows.changes(), this),
      attempts: ofTasks(this.attemptRows.changes(), this),
      sessions: this.sessionRows.changed(),
      records: this.recordRows.changed(),
      counters: this.counterRows.changed(),
      edges: this.edges.values(),
      notifications: this.notificationRows.changed(),
      events: eventsOfTasks(this.newEvents, this),
      idempotency: this.newKeys,
      ...this.queueMoves.sum(),
    });
    for (const key of this.taskRows.dirty.keys()) {
      if (isTerminal(this.taskRows.rows.get(key)!.state)) this.ended.push(key);
    }
    for (const table of this.tables) table.dirty.clear();
    this.forgetPending();
    this.queue.settle();
  }

  private isDirty(): boolean {
    return this.orgDirty || this.newKeys.length > 0 || this.tables.some((table) => table.dirty.size > 0);
  }

  private *changedTexts(): Generator<OfTask<TaskText>> {
    for (const key of this.textRows.dirty.keys()) {
      yield { ordinal: this.loadByKey(key)!.ordinal, row: this.textRows.rows.get(key)! };
    }
  }

  /** The transaction is committed: keep the rows as a cache, within bounds. Says what was written, or null for nothing. */
  committed(): { mayFree: boolean } | null {
    const written = this.wrote ? { mayFree: this.mayFree } : null;
    this.wrote = false;
    this.mayFree = false;
    this.attemptRows.rows.clear();
    this.notificationRows.rows.clear();
    for (const key of this.ended) {
      const text = this.textRows.rows.get(key);
      if (text) this.textLength -= lengthOf(text);
      this.taskRows.rows.delete(key);
      this.textRows.rows.delete(key);
      this.claimRows.rows.delete(key);
    }
    this.ended = [];
    if (this.textLength > textLengthCachedMax) {
      this.textRows.clear();
      this.textLength = 0;
    }
    const size = this.tables.reduce((sum, table) => sum + table.rows.size, this.claimsBySession.size);
    if (size + this.queue.size > rowsCachedMax) this.clear();
    return written;
  }

  private forgetPending(): void {
    this.orgDirty = false;
    this.newChildren.clear();
    this.edges.clear();
    this.queueMoves.clear();
    this.newEvents = [];
    this.newKeys = [];
  }

  clear(): void {
    for (const table of this.tables) table.clear();
    this.orgRow = null;
    this.forgetPending();
    this.claimsBySession.clear();
    this.textLength = 0;
    this.wrote = false;
    this.mayFree = false;
    this.ended = [];
    this.queue.clear();
    this.dueFloor = Number.NEGATIVE_INFINITY;
  }
}
