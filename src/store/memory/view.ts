import { attemptKey, type Counter, documentKey, keyOf } from "../../core/changes.js";
import { type Attempt, type Claim, dueAt, isOver } from "../../core/claim.js";
import type { DibsEvent, Notification } from "../../core/event.js";
import type { Org, Project } from "../../core/project.js";
import { laneOf, type ReadyCount, type ReadyEntry, readyEntries } from "../../core/ready.js";
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
  TaskFilter,
  WholeTask,
} from "../../core/view.js";
import type { MemoryOrg } from "./tables.js";

const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
/** As databases order: by bytes. A word of two surrogates comes after all others. */
const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const lowerAscii = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

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

  documents({ kind, afterKey, beforeKey, limit }: DocumentPage): { key: string; value: DocumentValue }[] {
    return [...this.tables.documents.values()]
      .filter((each) => each.kind === kind)
      .filter(({ key }) => afterKey === undefined || byBytes(key, afterKey) > 0)
      .filter(({ key }) => beforeKey === undefined || byBytes(key, beforeKey) < 0)
      .sort((a, b) => byBytes(a.key, b.key))
      .slice(0, limit)
      .map(({ key, value }) => ({ key, value }));
  }

  tasks(filter: TaskFilter): Task[] {
    const needle = filter.text === undefined ? undefined : lowerAscii(filter.text);
    const { beforeOrdinal } = filter;
    const found = this.tasksWhere((task) => {
      const claim = this.claim(task.project, task.id);
      if (task.ordinal <= filter.afterOrdinal) return false;
      if (beforeOrdinal !== undefined && task.ordinal >= beforeOrdinal) return false;
      if (filter.project !== null && task.project !== filter.project) return false;
      if (filter.states && !filter.states.includes(stateOf(task, claim))) return false;
      if (filter.label !== undefined && !task.labels.includes(filter.label)) return false;
      if (filter.assignee !== undefined && task.assignee !== filter.assignee) return false;
      if (filter.parentId !== undefined && task.parentId !== filter.parentId) return false;
      if (filter.queued && filter.queued.as !== standingOf(task, claim, filter.queued.at)) return false;
      if (needle === undefined) return true;
      const prompt = this.text(task.project, task.id)?.prompt ?? "";
      return [task.id, task.title, prompt].some((text) => lowerAscii(text).includes(needle));
    });
    return (beforeOrdinal === undefined ? found : found.reverse()).slice(0, filter.limit);
  }

  openClaims({ project, sessionId, limit }: Parameters<Reads["openClaims"]>[0]): Claim[] {
    return this.claimsWhere(
      (claim) =>
        (project === null || claim.project === project) &&
        (sessionId === undefined || claim.sessionId === sessionId),
    ).slice(0, limit);
  }

  lostClaims({ project, sessionId, limit }: ClaimFilter): Attempt[] {
    return this.tasksWhere((task) => task.state === "queued" && task.lostCount > 0)
      .filter((task) => (project === null || task.project === project) && !this.claim(task.project, task.id))
      .map((task) => this.attempt(task.project, task.id, task.epoch)!)
      .filter((attempt) => sessionId === undefined || attempt.sessionId === sessionId)
      .sort((a, b) => b.releasedAt - a.releasedAt || byText(a.taskId, b.taskId))
      .slice(0, limit);
  }

  events({ after, limit, project, taskId, types }: EventFilter): DibsEvent[] {
    const found: DibsEvent[] = [];
    for (let at = Math.max(0, after - this.tables.org.eventMin + 1); at < this.tables.events.length; at++) {
      const event = this.tables.events[at]!;
      if (project !== null && project !== undefined && event.project !== project) continue;
      if (taskId !== undefined && !(event.taskId === taskId && this.task(event.project!, taskId))) continue;
      if (types && !types.includes(event.type)) continue;
      if (found.push(event) === limit) break;
    }
    return found;
  }

  sessions(filter: Parameters<Reads["sessions"]>[0]): Session[] {
    return [...this.tables.sessions.entries()]
      .filter(
        ([key, session]) =>
          (filter.project === null || session.project === filter.project) &&
          (!filter.live || session.endedAt === null) &&
          (filter.seenSince === undefined ||
            session.lastSeenAt >= filter.seenSince ||
            this.claimsOf(session.project, session.id).length > 0) &&
          (filter.afterId === undefined || key > filter.afterId),
      )
      .sort(([a], [b]) => byText(a, b))
      .slice(0, filter.limit)
      .map(([, session]) => session);
  }

  notifications(filter: Parameters<Reads["notifications"]>[0]): Notification[] {
    const number = (notification: Notification) => Number(notification.id.slice(1));
    return [...this.tables.notifications.values()]
      .filter(
        (each) =>
          (filter.project === null || each.project === filter.project) &&
          (!filter.unread || each.readAt === null) &&
          (filter.before === undefined || number(each) < filter.before),
      )
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

  idempotencyRecords({ afterKey, limit }: Parameters<Reads["idempotencyRecords"]>[0]): IdempotencyRecord[] {
    return [...this.tables.idempotency.values()]
      .filter(({ key }) => afterKey === undefined || byBytes(key, afterKey) > 0)
      .sort((a, b) => byBytes(a.key, b.key))
      .slice(0, limit);
  }
}

/** Of a queued task. */
function standingOf(task: Task, claim: Claim | undefined, at: number) {
  if (stateOf(task, claim) !== "queued") return null;
  if (!isReady(task, claim)) return "blocked";
  return (task.notBefore ?? 0) <= at ? "ready" : "scheduled";
}
