// What a database provides to the workspace: rows in, rows out. No rule is in here or behind it.

import type { Counter, Document, Edge } from "../core/changes.js";
import type { Attempt, Claim } from "../core/claim.js";
import type { DibsEvent, Notification } from "../core/event.js";
import type { Org, Project } from "../core/project.js";
import type { ReadyEntry } from "../core/ready.js";
import type { Session, SessionRecord } from "../core/session.js";
import type { Task, TaskText } from "../core/task.js";
import type { ClaimKey, IdempotencyRecord, View } from "../core/view.js";
import type { ReadySource } from "./ready-queue.js";
import type { Guessing } from "./table.js";

/** Before and after a transaction; `undefined` means absent. */
export interface Change<T> {
  before: T | undefined;
  after: T | undefined;
}

/** Rows that belong to a task are stored under the task's ordinal. */
export interface OfTask<T, Ordinal = number> {
  ordinal: Ordinal;
  row: T;
}

/** A row of the ready queue. */
export interface Queued {
  project: string;
  entry: ReadyEntry;
}

/** All that a transaction changes. */
export interface Flush {
  org: Org | null;
  projects: Iterable<Project>;
  tasks: Iterable<Change<Task>>;
  /** Deleted with their texts and attempts, whatever else is in here about them. */
  removed: Iterable<Task>;
  texts: Iterable<OfTask<TaskText> & { task: Task }>;
  claims: Iterable<OfTask<Change<Claim>>>;
  attempts: Iterable<OfTask<Change<Attempt>>>;
  sessions: Iterable<Session>;
  records: Iterable<SessionRecord>;
  counters: Iterable<Counter>;
  edges: Iterable<{ edge: Edge; isAdded: boolean }>;
  notifications: Iterable<Notification>;
  /** Some are not about a task. */
  events: Iterable<OfTask<DibsEvent, number | null>>;
  /** Events from the first number up to the second, exclusive, are deleted. */
  archived: { from: number; below: number } | null;
  idempotency: readonly IdempotencyRecord[];
  documents: Iterable<Document>;
  leftQueue: readonly Queued[];
  joinedQueue: readonly Queued[];
  /** Projects whose whole queue is written again, after all else: their order has changed. */
  reordered: ReadonlySet<string>;
}

/** A task that is about to be claimed; its text only if it is short. */
export interface Fetched {
  task: Task;
  text: TaskText | null;
  /** Known to have no dependents. */
  isFree?: boolean;
}

export interface Chunk {
  entries: ReadyEntry[];
  /** The tasks of a large chunk are fetched along. */
  tasks: Fetched[];
}

export interface ReadyRows extends Omit<ReadySource, "chunk"> {
  chunk(...where: Parameters<ReadySource["chunk"]>): Chunk;
}

/** An open claim, by when its lease expires. */
export interface DueClaim extends ClaimKey {
  dueAt: number;
}

type AskedOtherwise =
  | "readyLanes"
  | "readyLevels"
  | "readyEntries"
  | "text"
  | "claim"
  | "attempt"
  | "attempts"
  | "due"
  | "nextDue";

/** Lookups of stored rows. A store that fetches them later answers with guesses until it has them. */
export interface Rows extends Omit<View, AskedOtherwise>, Guessing {
  /** Transactions are undone and run again; false: every lookup is answered from the database at once. */
  readonly canGuess: boolean;
  readonly ready: ReadyRows;
  text(task: Task): TaskText | undefined;
  claim(task: Task): Claim | undefined;
  attempt(task: Task, epoch: number): Attempt | undefined;
  attempts(task: Task, limit: number): Attempt[];
  /** Open claims whose lease has expired, earliest first. */
  due(now: number, limit: number): DueClaim[];
  /** No stored lease expires before this instant; where it is known without a query. */
  earliestDue?(): number;
  /** Those whose lease expires after `now`, earliest first. */
  nextDue(now: number, limit: number): DueClaim[];
}
