// A decision in the making: reads fall through to the view, writes are collected as changes. Point lookups see the
// draft's own writes; sets (children, dependents, claims of a session, the ready queue) are those before the decision.

import { attemptKey, type Changes, keyOf, noChanges } from "./changes.js";
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
import type { Session } from "./session.js";
import type { Task, TaskText } from "./task.js";
import type { View } from "./view.js";

export interface Context {
  now: number;
  /** `user:…`, `agent:…` or `system`. */
  actor: string;
}

export class Draft {
  readonly changes: Changes = noChanges();

  constructor(
    readonly view: View,
    readonly context: Context,
  ) {}

  get now(): number {
    return this.context.now;
  }

  org(): Org {
    return this.changes.org ?? this.view.org();
  }

  private writableOrg(): Org {
    this.changes.org ??= { ...this.view.org() };
    return this.changes.org;
  }

  project(id: string): Project {
    const project = this.changes.projects.get(id) ?? this.view.project(id);
    assert(project, `project ${id} was checked to exist`);
    return project;
  }

  putProject(project: Project): void {
    this.changes.projects.set(project.id, project);
  }

  task(project: string, id: string): Task | undefined {
    return this.changes.tasks.get(keyOf(project, id)) ?? this.view.task(project, id);
  }

  putTask(task: Task): Task {
    this.changes.tasks.set(keyOf(task.project, task.id), task);
    return task;
  }

  text(project: string, id: string): TaskText | undefined {
    return this.changes.texts.get(keyOf(project, id)) ?? this.view.text(project, id);
  }

  putText(project: string, id: string, text: TaskText): void {
    this.changes.texts.set(keyOf(project, id), text);
  }

  claim(project: string, taskId: string): Claim | undefined {
    const changed = this.changes.claims.get(keyOf(project, taskId));
    return changed === undefined ? this.view.claim(project, taskId) : (changed ?? undefined);
  }

  putClaim(claim: Claim): Claim {
    this.changes.claims.set(keyOf(claim.project, claim.taskId), claim);
    return claim;
  }

  dropClaim(claim: Claim): void {
    this.changes.claims.set(keyOf(claim.project, claim.taskId), null);
  }

  attempt(project: string, taskId: string, epoch: number): Attempt | undefined {
    return (
      this.changes.attempts.get(attemptKey(project, taskId, epoch)) ??
      this.view.attempt(project, taskId, epoch)
    );
  }

  putAttempt(attempt: Attempt): void {
    this.changes.attempts.set(attemptKey(attempt.project, attempt.taskId, attempt.epoch), attempt);
  }

  session(project: string, id: string): Session | undefined {
    return this.changes.sessions.get(keyOf(project, id)) ?? this.view.session(project, id);
  }

  putSession(session: Session): Session {
    this.changes.sessions.set(keyOf(session.project, session.id), session);
    return session;
  }

  counter(project: string, parent: string): number {
    return this.changes.counters.get(keyOf(project, parent))?.value ?? this.view.counter(project, parent);
  }

  putCounter(project: string, parent: string, value: number): void {
    this.changes.counters.set(keyOf(project, parent), { project, parent, value });
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
    this.changes.events.push(event);
  }

  nextNotificationNumber(): number {
    return ++this.writableOrg().notificationSeq;
  }

  notify(
    type: NotificationType,
    on: { task: Task; title: string; message: string; number?: number },
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
      data: { id: notification.id, type, severity: notification.severity, taskId: on.task.id },
    });
    return notification;
  }

  notification(id: string): Notification | undefined {
    return this.changes.notifications.get(id) ?? this.view.notification(id);
  }

  putNotification(notification: Notification): void {
    this.changes.notifications.set(notification.id, notification);
  }
}
