// What a SQL adapter provides to the workspace: rows in, rows out. No rule lives here or behind it.

import type { Counter, Edge } from "../core/changes.js";
import type { Attempt, Claim } from "../core/claim.js";
import type { DibsEvent, Notification } from "../core/event.js";
import type { Org, Project } from "../core/project.js";
import type { ReadyEntry } from "../core/ready.js";
import type { Session, SessionRecord } from "../core/session.js";
import type { Task, TaskText } from "../core/task.js";
import type { IdempotencyRecord, Reads } from "../core/view.js";
import type { ReadySource } from "./ready-queue.js";

/** Before and after a transaction; `undefined` means absent. */
export interface Change<T> {
  before: T | undefined;
  after: T | undefined;
}

/** A task's rows in the ready queue before and after. */
export interface QueueMove {
  project: string;
  before: readonly ReadyEntry[];
  after: readonly ReadyEntry[];
}

export interface Flush {
  org: Org | null;
  projects: Iterable<Project>;
  tasks: Iterable<Change<Task>>;
  texts: Iterable<{ project: string; id: string; text: TaskText }>;
  claims: Iterable<Change<Claim>>;
  attempts: Iterable<Change<Attempt>>;
  sessions: Iterable<Session>;
  records: Iterable<SessionRecord>;
  counters: Iterable<Counter>;
  edges: Iterable<{ edge: Edge; isAdded: boolean }>;
  notifications: Iterable<Notification>;
  events: readonly DibsEvent[];
  idempotency: readonly IdempotencyRecord[];
  queueMoves: Iterable<QueueMove>;
}

/** A task that is about to be claimed; its text only if it is short. */
export interface Fetched {
  task: Task;
  text: TaskText | null;
}

export interface Rows extends Omit<Reads, "readyLanes" | "readyLevels" | "readyEntries"> {
  readonly ready: ReadySource;
  /** Tasks that came along with the last chunk of the ready queue. */
  takeFetched(): Fetched[];
  write(flush: Flush): void;
  /** Writes the ready rows of a project anew, after its order has changed. */
  rebuildReady(project: string): void;
}
