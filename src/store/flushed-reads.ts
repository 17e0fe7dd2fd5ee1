// Read models inside a transaction: the database answers, with what is pending.

import type { Counter } from "../core/changes.js";
import type { Attempt, Claim } from "../core/claim.js";
import type { DibsEvent, Notification } from "../core/event.js";
import type { Project } from "../core/project.js";
import type { ReadyCount } from "../core/ready.js";
import type { Session } from "../core/session.js";
import type { Task } from "../core/task.js";
import type {
  ClaimFilter,
  DocumentPage,
  EventFilter,
  IdempotencyRecord,
  OpenCounts,
  Reads,
  TaskFilter,
  Tolerant,
  WholeTask,
} from "../core/view.js";
import type { Rows } from "./rows.js";

export abstract class FlushedReads {
  constructor(protected readonly rows: Rows) {}

  /** The list that is asked next must contain what is pending. */
  protected abstract beforeList(): void;

  projects(filter?: Tolerant): Project[] {
    this.beforeList();
    return this.rows.projects(filter);
  }

  tasks(filter: TaskFilter): Task[] {
    this.beforeList();
    return this.rows.tasks(filter);
  }

  openClaims(filter: Parameters<Reads["openClaims"]>[0]): Claim[] {
    this.beforeList();
    return this.rows.openClaims(filter);
  }

  lostClaims(filter: ClaimFilter): Attempt[] {
    this.beforeList();
    return this.rows.lostClaims(filter);
  }

  events(filter: EventFilter): DibsEvent[] {
    this.beforeList();
    return this.rows.events(filter);
  }

  sessions(filter: Parameters<Reads["sessions"]>[0]): Session[] {
    this.beforeList();
    return this.rows.sessions(filter);
  }

  notifications(filter: Parameters<Reads["notifications"]>[0]): Notification[] {
    this.beforeList();
    return this.rows.notifications(filter);
  }

  unreadCount(project: string | null): number {
    this.beforeList();
    return this.rows.unreadCount(project);
  }

  taskCounts(project: string | null): ReturnType<Reads["taskCounts"]> {
    this.beforeList();
    return this.rows.taskCounts(project);
  }

  openCounts(project: string): OpenCounts {
    this.beforeList();
    return this.rows.openCounts(project);
  }

  readyCounts(project: string | null, now: number): ReadyCount[] {
    this.beforeList();
    return this.rows.readyCounts(project, now);
  }

  wholeTasks(page: Parameters<Reads["wholeTasks"]>[0]): WholeTask[] {
    this.beforeList();
    return this.rows.wholeTasks(page);
  }

  counters(page: Parameters<Reads["counters"]>[0]): Counter[] {
    this.beforeList();
    return this.rows.counters(page);
  }

  idempotencyRecords(page: Parameters<Reads["idempotencyRecords"]>[0]): IdempotencyRecord[] {
    this.beforeList();
    return this.rows.idempotencyRecords(page);
  }

  documents(page: DocumentPage): ReturnType<Reads["documents"]> {
    this.beforeList();
    return this.rows.documents(page);
  }
}
