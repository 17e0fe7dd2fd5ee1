// A decision in the making: reads fall through to the view, writes are collected as changes. Point lookups see the
// draft's own writes; sets (children, dependents, claims of a session, the ready queue) are those before the decision.

import {
  attemptKey,
  type Changes,
  type Counter,
  type Document,
  documentKey,
  type Edge,
  type Key,
  keyOf,
} from "./changes.js";
import type { Attempt, Claim } from "./claim.js";
import {
  type DibsEvent,
  type EventType,
  type Notification,
  type NotificationType,
  severityOf,
} from "./event.js";
import type { Org, Project } from "./project.js";
import { assert } from "./refusal.js";
import type { Session, SessionRecord } from "./session.js";
import type { Task, TaskText } from "./task.js";
import type { DocumentValue, View } from "./view.js";

export interface Context {
  now: number;
  /** `user:…`, `agent:…` or `system`. */
  actor: string;
}

/** Collected changes. The maps are few and made on first use: most commands write two or three kinds of rows. */
class Collected implements Changes {
  org: Org | null = null;
  projects = untouched as Map<string, Project>;
  tasks = untouched as Map<Key, Task>;
  removed = untouched as Map<Key, Task>;
  texts = untouched as Map<Key, TaskText>;
  claims = untouched as Map<Key, Claim | null>;
  attempts = untouched as Map<Key, Attempt>;
  sessions = untouched as Map<Key, Session>;
  records = untouched as Map<Key, SessionRecord>;
  counters = untouched as Map<Key, Counter>;
  notifications = untouched as Map<string, Notification>;
  documents = untouched as Map<string, Document>;
  readonly edgesAdded: Edge[] = [];
  readonly edgesRemoved: Edge[] = [];
  readonly events: DibsEvent[] = [];
  readonly idempotency = null;
}

const untouched = new Map<string, never>();

/** The rows with one more. */
function put<T>(rows: Map<string, T>, key: string, row: T): Map<string, T> {
  const own = (rows as unknown) === untouched ? new Map<string, T>() : rows;
  return own.set(key, row);
}

export class Draft {
  private readonly collected = new Collected();

  constructor(
    readonly view: View,
    readonly context: Context,
  ) {}

  get changes(): Changes {
    return this.collected;
  }

  addEdge(edge: Edge): void {
    this.collected.edgesAdded.push(edge);
  }

  removeEdge(edge: Edge): void {
    this.collected.edgesRemoved.push(edge);
  }

  get now(): number {
    return this.context.now;
  }

  org(): Org {
    return this.collected.org ?? this.view.org();
  }

  private writableOrg(): Org {
    this.collected.org ??= copyOf(this.view.org());
    return this.collected.org;
  }

  /** The org's time, also where it goes back. */
  setTime(): void {
    this.writableOrg().lastAt = this.now;
  }

  project(id: string): Project {
    const project = this.collected.projects.get(id) ?? this.view.project(id);
    assert(project, `project ${id} was checked to exist`);
    return project;
  }

  putProject(project: Project): void {
    this.collected.projects = put(this.collected.projects, project.id, project);
  }

  task(project: string, id: string): Task | undefined {
    const key = keyOf(project, id);
    if (this.collected.removed.has(key)) return undefined;
    return this.collected.tasks.get(key) ?? this.view.task(project, id);
  }

  putTask(task: Task): Task {
    this.collected.tasks = put(this.collected.tasks, keyOf(task.project, task.id), task);
    return task;
  }

  /** With all that is stored under it. */
  removeTask(task: Task): void {
    const { project, id } = task;
    this.collected.removed = put(this.collected.removed, keyOf(project, id), task);
    for (const dependsOn of task.dependsOn) this.removeEdge({ project, taskId: id, dependsOn });
  }

  text(project: string, id: string): TaskText | undefined {
    return this.collected.texts.get(keyOf(project, id)) ?? this.view.text(project, id);
  }

  putText(project: string, id: string, text: TaskText): void {
    this.collected.texts = put(this.collected.texts, keyOf(project, id), text);
  }

  claim(project: string, taskId: string): Claim | undefined {
    const changed = this.collected.claims.get(keyOf(project, taskId));
    return changed === undefined ? this.view.claim(project, taskId) : (changed ?? undefined);
  }

  putClaim(claim: Claim): Claim {
    this.collected.claims = put(this.collected.claims, keyOf(claim.project, claim.taskId), claim);
    return claim;
  }

  dropClaim(claim: Claim): void {
    this.collected.claims = put(this.collected.claims, keyOf(claim.project, claim.taskId), null);
  }

  attempt(project: string, taskId: string, epoch: number): Attempt | undefined {
    return (
      this.collected.attempts.get(attemptKey(project, taskId, epoch)) ??
      this.view.attempt(project, taskId, epoch)
    );
  }

  putAttempt(attempt: Attempt): void {
    this.collected.attempts = put(
      this.collected.attempts,
      attemptKey(attempt.project, attempt.taskId, attempt.epoch),
      attempt,
    );
  }

  session(project: string, id: string): Session | undefined {
    return this.collected.sessions.get(keyOf(project, id)) ?? this.view.session(project, id);
  }

  putSession(session: Session): Session {
    this.collected.sessions = put(this.collected.sessions, keyOf(session.project, session.id), session);
    return session;
  }

  record(project: string, sessionId: string): SessionRecord | undefined {
    return this.collected.records.get(keyOf(project, sessionId)) ?? this.view.record(project, sessionId);
  }

  putRecord(record: SessionRecord): void {
    this.collected.records = put(this.collected.records, keyOf(record.project, record.id), record);
  }

  counter(project: string, parent: string): number {
    return this.collected.counters.get(keyOf(project, parent))?.value ?? this.view.counter(project, parent);
  }

  putCounter(project: string, parent: string, value: number): void {
    this.collected.counters = put(this.collected.counters, keyOf(project, parent), {
      project,
      parent,
      value,
    });
  }

  nextOrdinal(): number {
    return ++this.writableOrg().ordinal;
  }

  emit(
    type: EventType,
    on: {
      project: string | null;
      taskId?: string | null;
      sessionId?: string | null;
      epoch?: number | null;
      actor?: string;
      data?: Record<string, unknown>;
    },
  ): void {
    const org = this.writableOrg();
    org.lastAt = this.now;
    if (this.now > org.highestAt) org.highestAt = this.now;
    const event: DibsEvent = {
      seq: ++org.eventSeq,
      type,
      at: this.now,
      org: org.org,
      project: on.project,
      taskId: on.taskId ?? null,
      sessionId: on.sessionId ?? null,
      epoch: on.epoch ?? null,
      actor: on.actor ?? this.context.actor,
      data: on.data ?? {},
    };
    this.collected.events.push(event);
  }

  nextNotificationNumber(): number {
    return ++this.writableOrg().notificationSeq;
  }

  notify(
    type: NotificationType,
    on: { task: { project: string; id: string | null }; title: string; message: string; number?: number },
  ): Notification {
    const notification: Notification = {
      id: `n${on.number ?? this.nextNotificationNumber()}`,
      type,
      severity: severityOf[type],
      title: on.title,
      message: on.message,
      taskId: on.task.id,
      project: on.task.project,
      createdAt: this.now,
      readAt: null,
    };
    this.putNotification(notification);
    this.emit("notification:created", {
      project: on.task.project,
      taskId: on.task.id,
      actor: "system",
      data: { id: notification.id, type, severity: notification.severity },
    });
    return notification;
  }

  document(kind: string, key: string): DocumentValue | undefined {
    const changed = this.collected.documents.get(documentKey(kind, key));
    return changed ? (changed.value ?? undefined) : this.view.document(kind, key);
  }

  /** null removes it. */
  putDocument(kind: string, key: string, value: DocumentValue | null): void {
    this.collected.documents = put(this.collected.documents, documentKey(kind, key), { kind, key, value });
  }

  /** The events below this number go. */
  archiveEvents(below: number): void {
    this.writableOrg().eventMin = below;
  }

  notification(id: string): Notification | undefined {
    return this.collected.notifications.get(id) ?? this.view.notification(id);
  }

  putNotification(notification: Notification): void {
    this.collected.notifications = put(this.collected.notifications, notification.id, notification);
  }
}

/** By name: every command copies it, and spreading it cost several times as much. */
function copyOf(org: Org): Org {
  return {
    org: org.org,
    eventSeq: org.eventSeq,
    eventMin: org.eventMin,
    ordinal: org.ordinal,
    notificationSeq: org.notificationSeq,
    lastAt: org.lastAt,
    highestAt: org.highestAt,
    defaultProject: org.defaultProject,
    createdAt: org.createdAt,
  };
}
