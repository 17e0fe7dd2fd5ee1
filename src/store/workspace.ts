// A SQL store's view of one org: rows that were read, overlaid with what jobs have applied, written out at the end of the
// transaction in one go. Between transactions the rows stay, as a cache, for as long as the adapter can tell that nobody
// else has written; a failed transaction or a foreign one clears it. Sets that are rarely read are not overlaid: the
// pending changes are written first, inside the same transaction, and the database answers.

import { type Changes, type Key, keyOf } from "../core/changes.js";
import { type Claim, dueAt } from "../core/claim.js";
import type { DibsEvent } from "../core/event.js";
import { type ReadyEntry, readyEntries } from "../core/ready.js";
import { isReady, isTerminal, type Task, type TaskText } from "../core/task.js";
import { tokenKind } from "../core/token.js";
import { breakerKind } from "../core/transitions/breaker.js";
import { KnownRows } from "./known-rows.js";
import { movesBetween, QueueMoves } from "./queue-moves.js";
import { canDoMore, edgeKey, eventsOfTasks, lengthOf, ofTasks } from "./row-facts.js";
import type { Flush, OfTask } from "./rows.js";

const absentDocumentsMax = 100;
const rowsCachedMax = 50_000;
const textLengthCachedMax = 16 * 1024 * 1024;

interface Place {
  key: Key;
  entries: ReadyEntry[];
}

export class Workspace extends KnownRows {
  private orgDirty = false;
  private isReordered = false;
  private readonly queueMoves = new QueueMoves();
  private newEvents: DibsEvent[] = [];
  private archived: Flush["archived"] = null;
  private wrote = false;
  /** Something in this transaction may have made a task claimable for somebody. */
  private mayFree = false;
  /** Tasks that ended in this transaction: nobody will look at them soon. */
  private ended: Key[] = [];

  apply(changes: Changes): void {
    const before = this.placesBefore(changes);
    const reordered = changes.projects.size > 0 ? this.applyProjects(changes) : [];
    this.mayFree ||= changes.projects.size > 0;
    if (changes.org) {
      this.archiveBelow(changes.org.eventMin);
      this.orgRow = changes.org;
      this.orgDirty = true;
    }
    for (const [key, task] of changes.tasks) this.applyTask(key, task);
    for (const text of changes.texts.values()) this.textLength += lengthOf(text);
    this.textRows.putAll(changes.texts);
    for (const [key, claim] of changes.claims) this.applyClaim(key, claim ?? undefined);
    this.attemptRows.putAll(changes.attempts);
    for (const [key, session] of changes.sessions) {
      const before = this.sessionRows.put(key, session);
      this.mayFree ||= canDoMore(before, session);
    }
    this.recordRows.putAll(changes.records);
    this.counterRows.putAll(changes.counters);
    this.notificationRows.putAll(changes.notifications);
    // Claims that wait with a token end with it; those that heed a breaker try again when it has changed.
    for (const { kind, value } of changes.documents.values()) {
      this.mayFree ||= kind === breakerKind || (kind === tokenKind && value === null);
    }
    this.documentRows.putAll(changes.documents);
    if (changes.removed.size > 0) this.applyRemoved(changes.removed);
    for (const edge of changes.edgesAdded) this.edges.set(edgeKey(edge), { edge, isAdded: true });
    for (const edge of changes.edgesRemoved) this.edges.set(edgeKey(edge), { edge, isAdded: false });
    for (const event of changes.events) this.newEvents.push(event);
    if (changes.idempotency) this.newKeys.push(changes.idempotency);
    for (const place of before) this.moveInQueue(place);
    if (reordered.length === 0) return;
    this.beforeList();
    for (const project of reordered) {
      this.rows.rebuildReady(project);
      this.queue.forget(project);
    }
    this.isReordered = true;
  }

  /** Where the tasks stand in the queue that these changes may move. */
  private placesBefore({ tasks, claims }: Changes): Place[] {
    const places: Place[] = [];
    for (const key of tasks.keys()) places.push({ key, entries: this.entriesAt(key) });
    for (const key of claims.keys()) {
      if (!tasks.has(key)) places.push({ key, entries: this.entriesAt(key) });
    }
    return places;
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

  private archiveBelow(eventMin: number): void {
    const from = this.org().eventMin;
    if (eventMin <= from) return;
    this.newEvents = this.newEvents.filter(({ seq }) => seq >= eventMin);
    this.archived = { from: this.archived?.from ?? from, below: eventMin };
  }

  private applyTask(key: Key, task: Task): void {
    const known = this.taskRows.put(key, task);
    if (!known && task.parentId !== null) {
      const parent = keyOf(task.project, task.parentId);
      const siblings = this.newChildren.get(parent);
      if (siblings) siblings.push(task.id);
      else this.newChildren.set(parent, [task.id]);
    }
    if (!known) this.claimRows.keep(key, undefined);
  }

  private applyRemoved(removed: Changes["removed"]): void {
    for (const [key, task] of removed) {
      this.removed.set(key, task);
      this.taskRows.put(key, undefined);
      this.textRows.put(key, undefined);
    }
    for (const [key, attempt] of this.attemptRows.rows()) {
      if (attempt && removed.has(keyOf(attempt.project, attempt.taskId)))
        this.attemptRows.put(key, undefined);
    }
  }

  private applyClaim(key: Key, claim: Claim | undefined): void {
    const known = this.claimRows.put(key, claim);
    // A claim that closes gives its session room for another.
    this.mayFree ||= claim === undefined;
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
    const task = this.taskRows.known(key) ?? this.loadByKey(key);
    if (!task || !isReady(task, undefined) || this.claim(task.project, task.id)) return [];
    return readyEntries(task, this.project(task.project)!.settings.order);
  }

  private loadByKey(key: Key): Task | undefined {
    const slash = key.indexOf("/");
    return this.task(key.slice(0, slash), key.slice(slash + 1));
  }

  private moveInQueue({ key, entries: before }: Place): void {
    const after = this.entriesAt(key);
    if (before.length === 0 && after.length === 0) return;
    const project = key.slice(0, key.indexOf("/"));
    const { left, joined } = movesBetween(before, after);
    for (const entry of left) this.queue.take(project, entry);
    for (const entry of joined) this.queue.add(project, entry);
    this.mayFree ||= joined.length > 0;
    this.queueMoves.note(key, { project, before, after });
  }

  protected beforeList(): void {
    if (this.rows.lookAhead) this.rows.lookAhead(() => (this.isDirty() ? this.pending() : null));
    else this.flush();
  }

  private pending(): Flush {
    const tasks = this.removed.size === 0 ? this : { task: this.taskOrRemoved.bind(this) };
    return {
      org: this.orgDirty ? this.orgRow : null,
      projects: this.projectRows.changed(),
      tasks: this.taskRows.changes(),
      removed: this.removed.values(),
      texts: this.changedTexts(),
      claims: ofTasks(this.claimRows.changes(), tasks),
      attempts: ofTasks(this.attemptRows.changes(), tasks),
      sessions: this.sessionRows.changed(),
      records: this.recordRows.changed(),
      counters: this.counterRows.changed(),
      edges: this.edges.values(),
      notifications: this.notificationRows.changed(),
      events: eventsOfTasks(this.newEvents, tasks),
      archived: this.archived,
      idempotency: this.newKeys,
      documents: this.documentRows.changed(),
      ...this.queueMoves.sum(),
    };
  }

  private taskOrRemoved(project: string, id: string): Task | undefined {
    return this.removed.get(keyOf(project, id)) ?? this.task(project, id);
  }

  /** Looks up the tasks that writing needs, so that a store which must fetch them learns of it in time. */
  lookBeforeFlush(): void {
    for (const { key } of this.textRows.changes()) this.loadByKey(key);
    for (const { key } of this.claimRows.changes()) this.loadByKey(key);
    for (const attempt of this.attemptRows.changed()) {
      if (attempt) this.task(attempt.project, attempt.taskId);
    }
    for (const { project, taskId } of this.newEvents) {
      if (project !== null && taskId !== null) this.task(project, taskId);
    }
  }

  /** Writes all pending changes into the open transaction. */
  flush(): void {
    if (!this.isDirty()) return;
    this.wrote = true;
    this.rows.write(this.pending());
    for (const { key, after: task } of this.taskRows.changes()) {
      if (!task || isTerminal(task.state)) this.ended.push(key);
    }
    for (const key of this.removed.keys()) {
      const text = this.textRows.before(key);
      if (text) this.textLength -= lengthOf(text);
    }
    for (const { edge } of this.edges.values()) this.knownFree.delete(keyOf(edge.project, edge.dependsOn));
    for (const table of this.tables) table.settle();
    this.forgetPending();
    this.queue.settle();
  }

  private isDirty(): boolean {
    const added = this.newKeys.length + this.newEvents.length + this.edges.size;
    return this.orgDirty || added > 0 || this.tables.some((table) => table.dirtyCount > 0);
  }

  private *changedTexts(): Generator<OfTask<TaskText>> {
    for (const { key, after: row } of this.textRows.changes()) {
      if (row) yield { ordinal: this.loadByKey(key)!.ordinal, row };
    }
  }

  /** The transaction is committed: keep the rows as a cache, within bounds. Says what was written, or null for nothing. */
  committed(): { mayFree: boolean } | null {
    const written = this.wrote ? { mayFree: this.mayFree } : null;
    this.wrote = false;
    this.mayFree = false;
    this.attemptRows.clear();
    this.notificationRows.clear();
    // Documents can be large. That there is none costs nothing to know: every completion looks for a breaker.
    this.documentRows.keepAbsent(absentDocumentsMax);
    for (const key of this.ended) {
      const text = this.textRows.known(key);
      if (text) this.textLength -= lengthOf(text);
      this.taskRows.forget(key);
      this.textRows.forget(key);
      this.claimRows.forget(key);
      this.knownFree.delete(key);
    }
    this.ended = [];
    if (this.textLength > textLengthCachedMax) {
      this.textRows.clear();
      this.textLength = 0;
    }
    const size = this.tables.reduce((sum, table) => sum + table.size, this.claimsBySession.size);
    if (size + this.queue.size + this.knownFree.size > rowsCachedMax) this.clear();
    return written;
  }

  /** Takes back everything that is pending; what was read stays known. */
  undo(): void {
    for (const { before, after } of this.claimRows.changes()) {
      // What was before may have been guessed: better forget whose claims they were than mend the sets.
      if (after) this.claimsBySession.delete(keyOf(after.project, after.sessionId));
      if (before) this.claimsBySession.delete(keyOf(before.project, before.sessionId));
    }
    for (const key of this.putTogether) this.claimsBySession.delete(key);
    const created = this.taskRows.changes().filter(({ before }) => before === undefined);
    for (const table of this.tables) table.undo();
    // A new task was known to be unclaimed; one that only seemed new may be held.
    for (const { key } of created) this.claimRows.forget(key);
    this.queue.undo();
    if (this.isReordered) this.queue.clear();
    this.orgRow = null;
    this.forgetPending();
    this.mayFree = false;
    this.dueFloor = Number.NEGATIVE_INFINITY;
  }

  private forgetPending(): void {
    this.putTogether.clear();
    this.orgDirty = false;
    this.isReordered = false;
    this.newChildren.clear();
    this.removed.clear();
    this.edges.clear();
    this.queueMoves.clear();
    this.newEvents = [];
    this.archived = null;
    this.newKeys = [];
  }

  clear(): void {
    for (const table of this.tables) table.clear();
    this.orgRow = null;
    this.forgetPending();
    this.claimsBySession.clear();
    this.knownFree.clear();
    this.textLength = 0;
    this.wrote = false;
    this.mayFree = false;
    this.ended = [];
    this.queue.clear();
    this.dueFloor = Number.NEGATIVE_INFINITY;
  }
}
