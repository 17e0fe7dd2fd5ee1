// What a SQL adapter provides to the workspace: rows in, rows out. No rule lives here or behind it.

import type { Counter, Document, Edge } from "../core/changes.js";
import type { Attempt, Claim } from "../core/claim.js";
import type { DibsEvent, Notification } from "../core/event.js";
import type { Org, Project } from "../core/project.js";
import type { ReadyEntry } from "../core/ready.js";
import type { Session, SessionRecord } from "../core/session.js";
import type { Task, TaskText } from "../core/task.js";
import type { ClaimKey, IdempotencyRecord, Reads } from "../core/view.js";
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
  /** They go, with their texts and attempts; what else is told of them does not matter. */
  removed: Iterable<Task>;
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
  /** From the one number up to, not with, the other: they go. */
  archived: { from: number; below: number } | null;
  idempotency: readonly IdempotencyRecord[];
  documents: Iterable<Document>;
  leftQueue: readonly Queued[];
  joinedQueue: readonly Queued[];
}

/** A task that is about to be claimed; its text only if it is short. */
export interface Fetched {
  task: Task;
  text: TaskText | null;
  /** Known to have nothing that depends on it. */
  isFree?: boolean;
}

export interface Chunk {
  entries: ReadyEntry[];
  /** The tasks of a large chunk come along. */
  tasks: Fetched[];
}

export interface ReadyRows extends Omit<ReadySource, "chunk"> {
  chunk(...where: Parameters<ReadySource["chunk"]>): Chunk;
}

/** An open claim, by when its lease is over. */
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

export interface Rows extends Omit<Reads, AskedOtherwise> {
  readonly ready: ReadyRows;
  text(task: Task): TaskText | undefined;
  claim(task: Task): Claim | undefined;
  attempt(task: Task, epoch: number): Attempt | undefined;
  attempts(task: Task, limit: number): Attempt[];
  /** Open claims whose lease is over, earliest first. */
  due(now: number, limit: number): DueClaim[];
  /** No stored lease is over before this instant; where it is known without asking. */
  earliestDue?(): number;
  /** Those whose lease is over after `now`, earliest first. */
  nextDue(now: number, limit: number): DueClaim[];
  write(flush: Flush): void;
  /** Lists are asked of the database, which must know of what is pending: a store that cannot write at once is given it. */
  lookAhead?(pending: () => Flush | null): void;
  /** How many answers were only guessed, to go on and find what else to ask; a guess is not kept. */
  readonly guesses: number;
  /** Writes the ready rows of a project anew, after its order has changed. */
  rebuildReady(project: string): void;
}
