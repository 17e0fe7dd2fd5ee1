// Read models inside a transaction: what is pending is written first, then the database answers.

import type { Attempt, Claim } from "../core/claim.js";
import type { DibsEvent, Notification } from "../core/event.js";
import type { Project } from "../core/project.js";
import type { Session } from "../core/session.js";
import type { Task } from "../core/task.js";
import type { ClaimFilter, EventFilter, Reads, TaskFilter } from "../core/view.js";
import type { Rows } from "./rows.js";

export abstract class FlushedReads {
  constructor(protected readonly rows: Rows) {}

  abstract flush(): void;
  abstract task(project: string, id: string): Task | undefined;

  nextDue(now: number): number | null {
    this.flush();
    return this.rows.nextDue(now);
  }

  attempts(project: string, taskId: string, limit: number): Attempt[] {
    const task = this.task(project, taskId);
    if (!task) return [];
    this.flush();
    return this.rows.attempts(task, limit);
  }

  projects(): Project[] {
    this.flush();
    return this.rows.projects();
  }

  tasks(filter: TaskFilter): Task[] {
    this.flush();
    return this.rows.tasks(filter);
  }

  openClaims(filter: Parameters<Reads["openClaims"]>[0]): Claim[] {
    this.flush();
    return this.rows.openClaims(filter);
  }

  lostClaims(filter: ClaimFilter): Attempt[] {
    this.flush();
    return this.rows.lostClaims(filter);
  }

  events(filter: EventFilter): DibsEvent[] {
    this.flush();
    return this.rows.events(filter);
  }

  sessions(filter: Parameters<Reads["sessions"]>[0]): Session[] {
    this.flush();
    return this.rows.sessions(filter);
  }

  notifications(filter: Parameters<Reads["notifications"]>[0]): Notification[] {
    this.flush();
    return this.rows.notifications(filter);
  }

  unreadCount(project: string | null): number {
    this.flush();
    return this.rows.unreadCount(project);
  }

  taskCounts(project: string | null): ReturnType<Reads["taskCounts"]> {
    this.flush();
    return this.rows.taskCounts(project);
  }
}
