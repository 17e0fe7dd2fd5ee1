// Lookups in one org, as decisions see it: from the cache, from the database, and with what is pending.

import { attemptKey, documentKey, keyOf } from "../core/changes.js";
import type { Attempt, Claim } from "../core/claim.js";
import type { Notification } from "../core/event.js";
import type { Org, Project } from "../core/project.js";
import type { ReadyEntry } from "../core/ready.js";
import type { Session, SessionRecord } from "../core/session.js";
import type { Task, TaskText } from "../core/task.js";
import type { ClaimKey, DocumentValue, IdempotencyRecord, Lists, Reads, View } from "../core/view.js";
import { QueueReordered } from "./jobs.js";
import type { OrgTables } from "./org-tables.js";

export class OrgView implements View {
  constructor(private readonly tables: OrgTables) {}

  org(): Org {
    return this.tables.org();
  }

  project(id: string): Project | undefined {
    return this.tables.projects.get(id);
  }

  task(project: string, id: string): Task | undefined {
    return this.tables.tasks.get(keyOf(project, id));
  }

  /** Tasks of a list are cached: what belongs to them is mostly looked up next. */
  keepTasks(tasks: Task[]): Task[] {
    for (const task of tasks) this.tables.tasks.keep(keyOf(task.project, task.id), task);
    return tasks;
  }

  text(project: string, id: string): TaskText | undefined {
    return this.tables.texts.table.get(keyOf(project, id));
  }

  claim(project: string, taskId: string): Claim | undefined {
    return this.tables.claims.table.get(keyOf(project, taskId));
  }

  claimsOf(project: string, sessionId: string): Claim[] {
    return this.tables.claims.of(project, sessionId);
  }

  attempt(project: string, taskId: string, epoch: number): Attempt | undefined {
    // If the task is deleted, nothing is cached: the deletion may be undone.
    return this.task(project, taskId) && this.tables.attempts.get(attemptKey(project, taskId, epoch));
  }

  attempts(project: string, taskId: string, limit: number): Attempt[] {
    const task = this.task(project, taskId);
    const stored = task ? this.tables.rows.attempts(task, limit) : [];
    const byEpoch = new Map(stored.map((attempt) => [attempt.epoch, attempt]));
    for (const attempt of this.tables.attempts.changed()) {
      if (attempt?.project === project && attempt.taskId === taskId) byEpoch.set(attempt.epoch, attempt);
    }
    return [...byEpoch.values()].sort((a, b) => b.epoch - a.epoch).slice(0, limit);
  }

  due(now: number, limit: number): ClaimKey[] {
    return this.tables.claims.due(now, limit);
  }

  nextDue(now: number): number | null {
    return this.tables.claims.nextDue(now);
  }

  session(project: string, id: string): Session | undefined {
    return this.tables.sessions.get(keyOf(project, id));
  }

  record(project: string, sessionId: string): SessionRecord | undefined {
    return this.tables.records.get(keyOf(project, sessionId));
  }

  counter(project: string, parent: string): number {
    return this.tables.counters.get(keyOf(project, parent))!.value;
  }

  notification(id: string): Notification | undefined {
    return this.tables.notifications.get(id);
  }

  idempotency(key: string): IdempotencyRecord | undefined {
    const { pending, rows } = this.tables;
    return pending.keys.find((record) => record.key === key) ?? rows.idempotency(key);
  }

  document(kind: string, key: string): DocumentValue | undefined {
    return this.tables.documents.get(documentKey(kind, key))?.value ?? undefined;
  }

  dependents(project: string, id: string): string[] {
    const { free, pending, rows } = this.tables;
    const stored = free.has(keyOf(project, id)) ? [] : rows.dependents(project, id);
    if (pending.edges.size === 0) return stored;
    const ids = new Set(stored);
    for (const { edge, isAdded } of pending.edges.values()) {
      if (edge.project !== project || edge.dependsOn !== id) continue;
      if (isAdded) ids.add(edge.taskId);
      else ids.delete(edge.taskId);
    }
    return [...ids].sort();
  }

  children(project: string, id: string): string[] {
    const { newChildren, removed } = this.tables.pending;
    const added = newChildren.get(keyOf(project, id));
    const stored = this.tables.rows.children(project, id);
    const children = added ? [...stored, ...added] : stored;
    return removed.size === 0 ? children : children.filter((child) => !removed.has(keyOf(project, child)));
  }

  readyLanes(project: string, prefix: string): Iterable<string> {
    this.refuseReordered(project);
    return this.tables.queue.lanesOf(project, prefix);
  }

  readyLevels(project: string, lane: string): Iterable<number> {
    this.refuseReordered(project);
    return this.tables.queue.levelsOf(project, lane);
  }

  readyEntries(project: string, lane: string, level: number): Iterable<ReadyEntry> {
    this.refuseReordered(project);
    return this.tables.queue.entriesOf(project, lane, level);
  }

  private refuseReordered(project: string): void {
    const { reordered } = this.tables.pending;
    if (reordered.size > 0 && reordered.has(project)) throw new QueueReordered(project);
  }
}

const listNames = Object.keys({
  projects: 0,
  tasks: 0,
  openClaims: 0,
  lostClaims: 0,
  events: 0,
  sessions: 0,
  notifications: 0,
  unreadCount: 0,
  taskCounts: 0,
  openCounts: 0,
  readyCounts: 0,
  wholeTasks: 0,
  counters: 0,
  idempotencyRecords: 0,
  documents: 0,
} satisfies Record<keyof Lists, 0>) as (keyof Lists)[];

/** What read jobs see: lookups and lists. */
export function withLists(view: OrgView, lists: Lists): Reads {
  const bound = Object.fromEntries(listNames.map((name) => [name, lists[name].bind(lists)]));
  const tasks: Lists["tasks"] = (filter) => view.keepTasks(lists.tasks(filter));
  return Object.assign(view, bound as unknown as Lists, { tasks });
}
