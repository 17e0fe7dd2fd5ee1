import { attemptKey, type Changes, type Counter, documentKey, type Key, keyOf } from "../../core/changes.js";
import { type Attempt, type Claim, dueAt, isOver } from "../../core/claim.js";
import type { DibsEvent, Notification } from "../../core/event.js";
import type { Org, Project } from "../../core/project.js";
import { laneOf, movesBetween, type ReadyCount, type ReadyEntry, readyEntries } from "../../core/ready.js";
import type { Session, SessionRecord } from "../../core/session.js";
import { isReady, stateOf, type Task, type TaskState, type TaskText } from "../../core/task.js";
import type {
  ClaimFilter,
  ClaimKey,
  DocumentPage,
  DocumentValue,
  EventFilter,
  IdempotencyRecord,
  OpenCounts,
  Reads,
  SessionFilter,
  TaskFilter,
  WholeTask,
} from "../../core/view.js";
import {
  byBytes,
  matchesClaim,
  matchesEvent,
  matchesKey,
  matchesNotification,
  matchesSession,
  matchesTask,
} from "../filters.js";
import type { MemoryOrg } from "./tables.js";

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
export class MemoryView implements Reads {
  constructor(private readonly tables: MemoryOrg) {}

  org(): Org {
    return this.tables.org;
  }

  project(id: string): Project | undefined {
    return this.tables.projects.get(id);
  }

  projects(): Project[] {
    return [...this.tables.projects.values()].sort((a, b) => byText(a.id, b.id));
  }

  task(project: string, id: string): Task | undefined {
    return this.tables.tasks.get(keyOf(project, id));
  }

  text(project: string, id: string): TaskText | undefined {
    return this.tables.texts.get(keyOf(project, id));
  }

  private tasksWhere(test: (task: Task) => boolean): Task[] {
    return [...this.tables.tasks.values()].filter(test).sort((a, b) => a.ordinal - b.ordinal);
  }

  dependents(project: string, id: string): string[] {
    const waiting = this.tasksWhere((task) => task.project === project && task.dependsOn.includes(id));
    return waiting.map((task) => task.id).sort();
  }

  children(project: string, id: string): string[] {
    return this.tasksWhere((task) => task.project === project && task.parentId === id).map((task) => task.id);
  }

  counter(project: string, parent: string): number {
    return this.tables.counters.get(keyOf(project, parent)) ?? 0;
  }

  claim(project: string, taskId: string): Claim | undefined {
    return this.tables.claims.get(keyOf(project, taskId));
  }

  private claimsWhere(test: (claim: Claim) => boolean): Claim[] {
    return [...this.tables.claims.values()]
      .filter(test)
      .sort(
        (a, b) => a.claimedAt - b.claimedAt || byText(a.project, b.project) || byText(a.taskId, b.taskId),
      );
  }

  claimsOf(project: string, sessionId: string): Claim[] {
    return this.claimsWhere((claim) => claim.project === project && claim.sessionId === sessionId);
  }

  attempt(project: string, taskId: string, epoch: number): Attempt | undefined {
    return this.tables.attempts.get(attemptKey(project, taskId, epoch));
  }

  attempts(project: string, taskId: string, limit: number): Attempt[] {
    return [...this.tables.attempts.values()]
      .filter((attempt) => attempt.project === project && attempt.taskId === taskId)
      .sort((a, b) => b.epoch - a.epoch)
      .slice(0, limit);
  }

  due(now: number, limit: number): ClaimKey[] {
    return this.claimsWhere((claim) => isOver(claim, now))
      .sort((a, b) => dueAt(a)! - dueAt(b)! || byText(a.project, b.project) || byText(a.taskId, b.taskId))
      .slice(0, limit)
      .map(({ project, taskId }) => ({ project, taskId }));
  }

  nextDue(now: number): number | null {
    const later = [...this.tables.claims.values()].map(dueAt).filter((due) => due !== null && due > now);
    return later.length === 0 ? null : Math.min(...(later as number[]));
  }

  session(project: string, id: string): Session | undefined {
    return this.tables.sessions.get(keyOf(project, id));
  }

  record(project: string, sessionId: string): SessionRecord | undefined {
    return this.tables.records.get(keyOf(project, sessionId));
  }

  private ready(project: string): ReadyEntry[] {
    const order = this.project(project)?.settings.order ?? "priority";
    return this.tasksWhere(
      (task) => task.project === project && isReady(task, this.claim(project, task.id)),
    ).flatMap((task) => readyEntries(task, order));
  }

  /** To be asked before and after changes: whether they let a task join the queue, or move within it. */
  queueMoves(changes: Changes): { hasJoined(): boolean } {
    const keys = new Set([...changes.tasks.keys(), ...changes.claims.keys()]);
    const entries = (key: Key) => {
      const task = this.tables.tasks.get(key);
      const isIn = task && isReady(task, this.tables.claims.get(key));
      return isIn ? readyEntries(task, this.project(task.project)!.settings.order) : [];
    };
    const before = new Map([...keys].map((key) => [key, entries(key)]));
    return {
      hasJoined: () =>
        [...before].some(
          ([key, entriesBefore]) => movesBetween(entriesBefore, entries(key)).joined.length > 0,
        ),
    };
  }

  readyLanes(project: string, prefix: string): string[] {
    const lanes = this.ready(project).map((entry) => entry.lane);
    return [...new Set(lanes)].filter((lane) => lane.startsWith(prefix)).sort();
  }

  readyLevels(project: string, lane: string): number[] {
    const inLane = this.ready(project).filter((entry) => entry.lane === lane);
    return [...new Set(inLane.map((entry) => entry.level))].sort((a, b) => b - a);
  }

  readyEntries(project: string, lane: string, level: number): ReadyEntry[] {
    return this.ready(project)
      .filter((entry) => entry.lane === lane && entry.level === level)
      .sort((a, b) => a.k1 - b.k1 || a.k2 - b.k2);
  }

  notification(id: string): Notification | undefined {
    return this.tables.notifications.get(id);
  }

  idempotency(key: string): IdempotencyRecord | undefined {
    return this.tables.idempotency.get(key);
  }

  document(kind: string, key: string): DocumentValue | undefined {
    return this.tables.documents.get(documentKey(kind, key))?.value;
  }

  documents(page: DocumentPage): { key: string; value: DocumentValue }[] {
    return [...this.tables.documents.values()]
      .filter(({ kind, key }) => kind === page.kind && matchesKey(page, key))
      .sort((a, b) => byBytes(a.key, b.key))
      .slice(0, page.limit)
      .map(({ key, value }) => ({ key, value }));
  }

  tasks(filter: TaskFilter): Task[] {
    const found = this.tasksWhere((task) => {
      const { project, id } = task;
      return matchesTask(filter, task, this.claim(project, id), () => this.text(project, id)?.prompt ?? "");
    });
    return (filter.beforeOrdinal === undefined ? found : found.reverse()).slice(0, filter.limit);
  }

  openClaims(filter: ClaimFilter): Claim[] {
    return this.claimsWhere((claim) => matchesClaim(filter, claim)).slice(0, filter.limit);
  }

  lostClaims(filter: ClaimFilter): Attempt[] {
    return this.tasksWhere((task) => task.state === "queued" && task.lostCount > 0)
      .filter((task) => !this.claim(task.project, task.id))
      .map((task) => this.attempt(task.project, task.id, task.epoch)!)
      .filter((attempt) => matchesClaim(filter, attempt))
      .sort((a, b) => b.releasedAt - a.releasedAt || byText(a.taskId, b.taskId))
      .slice(0, filter.limit);
  }

  events(filter: EventFilter): DibsEvent[] {
    const found: DibsEvent[] = [];
    const isThere = (project: string, taskId: string) => this.task(project, taskId) !== undefined;
    const { org, events } = this.tables;
    for (let at = Math.max(0, filter.after - org.eventMin + 1); at < events.length; at++) {
      if (matchesEvent(filter, events[at]!, isThere) && found.push(events[at]!) === filter.limit) break;
    }
    return found;
  }

  sessions(filter: SessionFilter): Session[] {
    const isHolding = ({ project, id }: Session) => this.claimsOf(project, id).length > 0;
    return [...this.tables.sessions.entries()]
      .filter(([, session]) => matchesSession(filter, session, () => isHolding(session)))
      .sort(([a], [b]) => byText(a, b))
      .slice(0, filter.limit)
      .map(([, session]) => session);
  }

  notifications(filter: Parameters<Reads["notifications"]>[0]): Notification[] {
    const number = (notification: Notification) => Number(notification.id.slice(1));
    return [...this.tables.notifications.values()]
      .filter((each) => matchesNotification(filter, each))
      .sort((a, b) => number(b) - number(a))
      .slice(0, filter.limit);
  }

  unreadCount(project: string | null): number {
    return this.notifications({ project, unread: true, limit: Number.MAX_SAFE_INTEGER }).length;
  }

  taskCounts(project: string | null): Partial<Record<TaskState, number>> {
    const counts: Partial<Record<TaskState, number>> = {};
    for (const task of this.tables.tasks.values()) {
      if (project !== null && task.project !== project) continue;
      const state = stateOf(task, this.claim(task.project, task.id));
      counts[state] = (counts[state] ?? 0) + 1;
    }
    return counts;
  }

  openCounts(project: string): OpenCounts {
    const counts: OpenCounts = {};
    for (const task of this.tasksWhere((each) => each.project === project && each.type !== "group")) {
      const state = stateOf(task, this.claim(project, task.id));
      if (state !== "completed" && state !== "cancelled") counts[state] = (counts[state] ?? 0) + 1;
    }
    return counts;
  }

  readyCounts(project: string | null, now: number): ReadyCount[] {
    const byLane = new Map<string, ReadyCount>();
    const isMeant = (task: Task) => project === null || task.project === project;
    for (const task of this.tasksWhere(
      (each) => isMeant(each) && isReady(each, this.claim(each.project, each.id)),
    )) {
      const lane = laneOf(task);
      const count = byLane.get(lane) ?? { lane, ready: 0, scheduled: 0 };
      count[(task.notBefore ?? 0) <= now ? "ready" : "scheduled"]++;
      byLane.set(lane, count);
    }
    return [...byLane.values()];
  }

  wholeTasks({ afterOrdinal, limit }: Parameters<Reads["wholeTasks"]>[0]): WholeTask[] {
    const tasks = this.tasksWhere((task) => task.ordinal > afterOrdinal).slice(0, limit);
    const attemptsOf = new Map(tasks.map(({ project, id }) => [keyOf(project, id), [] as Attempt[]]));
    for (const attempt of this.tables.attempts.values()) {
      attemptsOf.get(keyOf(attempt.project, attempt.taskId))?.push(attempt);
    }
    return tasks.map((task) => ({
      task,
      text: this.text(task.project, task.id),
      claim: this.claim(task.project, task.id),
      attempts: attemptsOf.get(keyOf(task.project, task.id))!.sort((a, b) => a.epoch - b.epoch),
    }));
  }

  counters({ project, afterParent, limit }: Parameters<Reads["counters"]>[0]): Counter[] {
    const prefix = `${project}/`;
    return [...this.tables.counters]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, value]) => ({ project, parent: key.slice(prefix.length), value }))
      .filter(({ parent }) => afterParent === undefined || parent > afterParent)
      .sort((a, b) => byText(a.parent, b.parent))
      .slice(0, limit);
  }

  idempotencyRecords(page: Parameters<Reads["idempotencyRecords"]>[0]): IdempotencyRecord[] {
    return [...this.tables.idempotency.values()]
      .filter(({ key }) => matchesKey(page, key))
      .sort((a, b) => byBytes(a.key, b.key))
      .slice(0, page.limit);
  }
}
