// One org in a transaction: jobs look at `view` and apply changes, which later lookups see; at the end `pending` is written in one go.
// Between transactions the rows stay cached for as long as the adapter can tell that no other process has written.

import { type Changes, type Key, keyOf } from "../core/changes.js";
import type { DibsEvent } from "../core/event.js";
import { mayFree } from "../core/may-free.js";
import { movesBetween, type ReadyEntry, readyEntries } from "../core/ready.js";
import { isReady, isTerminal, type Task, type TaskText } from "../core/task.js";
import { edgeKey, OrgTables } from "./org-tables.js";
import { OrgView } from "./org-view.js";
import { QueueMoves } from "./queue-moves.js";
import type { NextRows } from "./ready-queue.js";
import type { Change, Flush, OfTask, Rows } from "./rows.js";

interface Place {
  key: Key;
  entries: ReadyEntry[];
}

export class Workspace {
  readonly view: OrgView;
  private readonly tables: OrgTables;
  private readonly queueMoves = new QueueMoves();
  /** What is pending may let a waiting claim succeed. */
  mayFree = false;

  constructor(rows: Rows) {
    this.tables = new OrgTables(rows);
    this.view = new OrgView(this.tables);
  }

  apply(changes: Changes): void {
    const { tables } = this;
    const { pending } = tables;
    const places = this.placesBefore(changes);
    if (changes.projects.size > 0) this.applyProjects(changes);
    if (changes.org) {
      this.archiveBelow(changes.org.eventMin);
      pending.org = changes.org;
    }
    for (const [key, task] of changes.tasks) this.applyTask(key, task);
    tables.texts.putAll(changes.texts);
    for (const [key, claim] of changes.claims) tables.claims.put(key, claim ?? undefined);
    tables.attempts.putAll(changes.attempts);
    tables.sessions.putAll(changes.sessions);
    tables.records.putAll(changes.records);
    tables.counters.putAll(changes.counters);
    tables.notifications.putAll(changes.notifications);
    tables.documents.putAll(changes.documents);
    if (changes.removed.size > 0) this.applyRemoved(changes.removed);
    for (const edge of changes.edgesAdded) pending.edges.set(edgeKey(edge), { edge, isAdded: true });
    for (const edge of changes.edgesRemoved) pending.edges.set(edgeKey(edge), { edge, isAdded: false });
    for (const event of changes.events) pending.events.push(event);
    if (changes.idempotency) pending.keys.push(changes.idempotency);
    let joinedQueue = false;
    for (const place of places) joinedQueue = this.moveInQueue(place) || joinedQueue;
    this.mayFree ||= mayFree(changes, { joinedQueue, session: (key) => tables.sessions.before(key) });
  }

  /** The places in the queue of the tasks that these changes may move. */
  private placesBefore({ tasks, claims }: Changes): Place[] {
    const places: Place[] = [];
    for (const key of tasks.keys()) places.push({ key, entries: this.entriesAt(key) });
    for (const key of claims.keys()) {
      if (!tasks.has(key)) places.push({ key, entries: this.entriesAt(key) });
    }
    return places;
  }

  private applyProjects({ projects }: Changes): void {
    for (const [id, project] of projects) {
      const known = this.view.project(id);
      if (known && known.settings.order !== project.settings.order) this.tables.pending.reordered.add(id);
      this.tables.projects.put(id, project);
    }
  }

  private archiveBelow(eventMin: number): void {
    const from = this.view.org().eventMin;
    if (eventMin <= from) return;
    const { pending } = this.tables;
    pending.events = pending.events.filter(({ seq }) => seq >= eventMin);
    pending.archived = { from: pending.archived?.from ?? from, below: eventMin };
  }

  private applyTask(key: Key, task: Task): void {
    if (this.tables.tasks.put(key, task)) return;
    this.tables.claims.table.keep(key, undefined);
    if (task.parentId === null) return;
    const { newChildren } = this.tables.pending;
    const parent = keyOf(task.project, task.parentId);
    const siblings = newChildren.get(parent);
    if (siblings) siblings.push(task.id);
    else newChildren.set(parent, [task.id]);
  }

  private applyRemoved(removed: Changes["removed"]): void {
    const { tasks, texts, attempts, pending } = this.tables;
    for (const [key, task] of removed) {
      pending.removed.set(key, task);
      tasks.put(key, undefined);
      texts.remove(key);
    }
    for (const [key, attempt] of attempts.rows()) {
      if (attempt && removed.has(keyOf(attempt.project, attempt.taskId))) attempts.put(key, undefined);
    }
  }

  /** The place in the ready queue that a task has now. */
  private entriesAt(key: Key): ReadyEntry[] {
    const task = this.tables.tasks.get(key);
    if (!task || !isReady(task, undefined) || this.tables.claims.table.get(key)) return [];
    return readyEntries(task, this.view.project(task.project)!.settings.order);
  }

  /** Returns whether the task has joined the queue, or moved within it. */
  private moveInQueue({ key, entries: before }: Place): boolean {
    const after = this.entriesAt(key);
    if (before.length === 0 && after.length === 0) return false;
    const project = key.slice(0, key.indexOf("/"));
    const { left, joined } = movesBetween(before, after);
    const { queue, pending } = this.tables;
    // A queue in another order is written again, and looked at by no job before that.
    if (pending.reordered.size === 0 || !pending.reordered.has(project)) {
      for (const entry of left) queue.take(project, entry);
      for (const entry of joined) queue.add(project, entry);
    }
    this.queueMoves.note(key, { project, before, after });
    return joined.length > 0;
  }

  get isDirty(): boolean {
    return this.tables.isDirty;
  }

  /** What the transaction has changed so far; null: nothing. To be written before the next change. */
  pending(): Flush | null {
    const { tables } = this;
    if (!tables.isDirty) return null;
    const { pending } = tables;
    return {
      org: pending.org,
      projects: tables.projects.changed(),
      tasks: tables.tasks.changes(),
      removed: pending.removed.values(),
      texts: this.changedTexts(),
      claims: this.ofTasks(tables.claims.table.changes()),
      attempts: this.ofTasks(tables.attempts.changes()),
      sessions: tables.sessions.changed(),
      records: tables.records.changed(),
      counters: tables.counters.changed(),
      edges: pending.edges.values(),
      notifications: tables.notifications.changed(),
      events: this.newEvents(),
      archived: pending.archived,
      idempotency: pending.keys,
      documents: tables.documents.changed(),
      ...this.queueMoves.sum(pending.reordered),
      reordered: pending.reordered,
    };
  }

  private taskOrRemoved(key: Key): Task | undefined {
    return this.tables.pending.removed.get(key) ?? this.tables.tasks.get(key);
  }

  private *changedTexts(): Generator<OfTask<TaskText> & { task: Task }> {
    for (const { key, after: row } of this.tables.texts.table.changes()) {
      if (!row) continue;
      const task = this.tables.tasks.get(key)!;
      yield { ordinal: task.ordinal, row, task };
    }
  }

  private ofTasks<T extends { project: string; taskId: string }>(
    changes: readonly Change<T>[],
  ): OfTask<Change<T>>[] {
    const found: OfTask<Change<T>>[] = [];
    for (const row of changes) {
      const either = row.after ?? row.before;
      if (!either) continue;
      const task = this.taskOrRemoved(keyOf(either.project, either.taskId))!;
      found.push({ ordinal: task.ordinal, row });
    }
    return found;
  }

  private newEvents(): OfTask<DibsEvent, number | null>[] {
    return this.tables.pending.events.map((row) => {
      const { project, taskId } = row;
      const task =
        project === null || taskId === null ? undefined : this.taskOrRemoved(keyOf(project, taskId));
      return { ordinal: task?.ordinal ?? null, row };
    });
  }

  /** Looks up the tasks that `pending` needs, so that a store which must fetch them learns of it in time. */
  lookBeforeFlush(): void {
    const { tasks, texts, claims, attempts, pending } = this.tables;
    for (const { key } of texts.table.changes()) tasks.get(key);
    for (const { key } of claims.table.changes()) tasks.get(key);
    for (const attempt of attempts.changed()) {
      if (attempt) this.view.task(attempt.project, attempt.taskId);
    }
    for (const { project, taskId } of pending.events) {
      if (project !== null && taskId !== null) this.view.task(project, taskId);
    }
  }

  /** Rows of the queue that a transaction of so many jobs is likely to look up. */
  nextRows(most: number): NextRows[] {
    return this.tables.queue.nextRows(most);
  }

  /** Before the first change of a transaction. */
  extend(next: NextRows): void {
    this.tables.queue.extend(next);
  }

  /** The transaction is committed: keeps the rows as a cache, within bounds. Returns null if nothing was written. */
  committed(): { mayFree: boolean } | null {
    const { tables } = this;
    const written = tables.isDirty ? { mayFree: this.mayFree } : null;
    // Tasks that have ended are not looked up soon.
    const ended: Key[] = [];
    for (const { key, after: task } of tables.tasks.changes()) {
      if (!task || isTerminal(task.state)) ended.push(key);
    }
    if (written) tables.settle();
    tables.trim(ended);
    this.forgetMoves();
    return written;
  }

  /** Undoes everything that is pending; what was read stays cached. */
  undo(): void {
    this.tables.undo();
    this.forgetMoves();
  }

  clear(): void {
    this.tables.clear();
    this.forgetMoves();
  }

  private forgetMoves(): void {
    this.queueMoves.clear();
    this.mayFree = false;
  }
}
