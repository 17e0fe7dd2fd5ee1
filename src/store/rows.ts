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

/** A row of the ready queue. */
export interface Queued {
  project: string;
  entry: ReadyEntry;
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
  leftQueue: readonly Queued[];
  joinedQueue: readonly Queued[];
}

/** A task that is about to be claimed; its text only if it is short. */
export interface Fetched {
  task: Task;
  text: TaskText | null;
}

export interface Chunk {
  entries: ReadyEntry[];
  /** The tasks of a large chunk come along. */
  tasks: Fetched[];
}

export interface ReadyRows extends Omit<ReadySource, "chunk"> {
  chunk(...where: Parameters<ReadySource["chunk"]>): Chunk;
}

export interface Rows extends Omit<Reads, "readyLanes" | "readyLevels" | "readyEntries"> {
  readonly ready: ReadyRows;
  write(flush: Flush): void;
  /** Writes the ready rows of a project anew, after its order has changed. */
  rebuildReady(project: string): void;
}
