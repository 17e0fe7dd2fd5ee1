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

/** What hangs on a task is stored under the task's ordinal. */
export interface OfTask<T, Ordinal = number> {
  ordinal: Ordinal;
  row: T;
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
  texts: Iterable<OfTask<TaskText>>;
  claims: Iterable<OfTask<Change<Claim>>>;
  attempts: Iterable<OfTask<Change<Attempt>>>;
  sessions: Iterable<Session>;
  records: Iterable<SessionRecord>;
  counters: Iterable<Counter>;
  edges: Iterable<{ edge: Edge; isAdded: boolean }>;
  notifications: Iterable<Notification>;
  /** Some are not about a task. */
  events: Iterable<OfTask<DibsEvent, number | null>>;
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

type AskedOtherwise =
  | "readyLanes"
  | "readyLevels"
  | "readyEntries"
  | "text"
  | "claim"
  | "attempt"
  | "attempts";

export interface Rows extends Omit<Reads, AskedOtherwise> {
  readonly ready: ReadyRows;
  text(task: Task): TaskText | undefined;
  claim(task: Task): Claim | undefined;
  attempt(task: Task, epoch: number): Attempt | undefined;
  attempts(task: Task, limit: number): Attempt[];
  write(flush: Flush): void;
  /** Writes the ready rows of a project anew, after its order has changed. */
  rebuildReady(project: string): void;
}
