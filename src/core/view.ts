// What a decision may look at: one org as of one instant inside one transaction. Lookups are synchronous. A store that
// must fetch asynchronously may interrupt a decision by throwing from a lookup, fetch, and run it again: decisions are pure.

import type { Counter } from "./changes.js";
import type { Attempt, Claim } from "./claim.js";
import type { DibsEvent, EventType, Notification } from "./event.js";
import type { Org, Project } from "./project.js";
import type { ReadyCount, ReadyEntry } from "./ready.js";
import type { Session, SessionRecord } from "./session.js";
import type { Task, TaskState, TaskText } from "./task.js";

export interface IdempotencyRecord {
  key: string;
  /** Fingerprint of the request that used the key first. */
  request: string;
  answer: string;
  createdAt: number;
}

export type DocumentValue = Record<string, unknown>;

/** Lists fail where a row cannot be decoded, unless they are asked to leave such rows out. `limit` counts them all the same. */
export interface Tolerant {
  readableOnly?: boolean | undefined;
}

export interface DocumentPage extends Tolerant {
  kind: string;
  /** Both exclusive. */
  afterKey?: string | undefined;
  beforeKey?: string | undefined;
  limit: number;
}

export interface ClaimKey {
  project: string;
  taskId: string;
}

export interface TaskFilter {
  /** null: all projects of the org. */
  project: string | null;
  states?: readonly TaskState[] | undefined;
  label?: string | undefined;
  assignee?: string | undefined;
  /** null: top level only. */
  parentId?: string | null | undefined;
  /** Case-insensitive part of id, title or prompt. */
  text?: string | undefined;
  /** Of what is queued, how it stands at this instant. A group counts as blocked. */
  queued?: { as: "ready" | "scheduled" | "blocked"; at: number } | undefined;
  afterOrdinal: number;
  /** Given: only those before it, and the newest first. */
  beforeOrdinal?: number | undefined;
  limit: number;
}

export interface EventFilter extends Tolerant {
  after: number;
  limit: number;
  project?: string | null | undefined;
  /** A task that is there: those of one that was archived are found in the whole log only. */
  taskId?: string | undefined;
  types?: readonly EventType[] | undefined;
}

export interface View {
  org(): Org;
  project(id: string): Project | undefined;

  task(project: string, id: string): Task | undefined;
  text(project: string, id: string): TaskText | undefined;
  dependents(project: string, id: string): string[];
  children(project: string, id: string): string[];
  counter(project: string, parent: string): number;

  /** The open claim of a task. */
  claim(project: string, taskId: string): Claim | undefined;
  /** Open claims of a session, oldest first. */
  claimsOf(project: string, sessionId: string): Claim[];
  attempt(project: string, taskId: string, epoch: number): Attempt | undefined;
  /** Closed attempts of a task, newest first. */
  attempts(project: string, taskId: string, limit: number): Attempt[];
  /** Open claims whose lease is over, earliest first. */
  due(now: number, limit: number): ClaimKey[];
  /** When the next lease after `now` will be over, or null. */
  nextDue(now: number): number | null;

  session(project: string, id: string): Session | undefined;
  /** What the session has done. */
  record(project: string, sessionId: string): SessionRecord | undefined;

  readyLanes(project: string, prefix: string): Iterable<string>;
  readyLevels(project: string, lane: string): Iterable<number>;
  readyEntries(project: string, lane: string, level: number): Iterable<ReadyEntry>;

  notification(id: string): Notification | undefined;
  idempotency(key: string): IdempotencyRecord | undefined;
  document(kind: string, key: string): DocumentValue | undefined;
}

export interface ClaimFilter extends Tolerant {
  project: string | null;
  sessionId?: string | undefined;
  limit: number;
}

export interface SessionFilter extends Tolerant {
  project: string | null;
  /** Only those that nobody has ended. */
  live: boolean;
  /** Only those heard of since, or holding something. */
  seenSince?: number;
  /** `project/id` */
  afterId?: string;
  limit: number;
}

/** A task with all that hangs on it. */
export interface WholeTask {
  task: Task;
  text: TaskText | undefined;
  /** The open claim. */
  claim: Claim | undefined;
  /** The closed ones, oldest first. */
  attempts: Attempt[];
}

export type OpenCounts = Partial<Record<TaskState, number>>;

/** What read jobs see in addition to the rows of a view. Each list is bounded by its limit. Commits see no lists. */
export interface Lists {
  projects(filter?: Tolerant): Project[];
  tasks(filter: TaskFilter): Task[];
  openClaims(filter: ClaimFilter): Claim[];
  /** Claims that were lost, of tasks that nobody has claimed since; of the last ones first. */
  lostClaims(filter: ClaimFilter): Attempt[];
  events(filter: EventFilter): DibsEvent[];
  sessions(filter: SessionFilter): Session[];
  notifications(filter: {
    project: string | null;
    unread: boolean;
    before?: number;
    limit: number;
  }): Notification[];
  unreadCount(project: string | null): number;
  taskCounts(project: string | null): Partial<Record<TaskState, number>>;
  /** Of a project, by state: what is neither completed nor cancelled, without groups. */
  openCounts(project: string): OpenCounts;
  /** The ready queue by lane, each task once; null: of all projects. */
  readyCounts(project: string | null, now: number): ReadyCount[];
  /** Of the whole org, in creation order. */
  wholeTasks(page: { afterOrdinal: number; limit: number }): WholeTask[];
  /** How far the generated ids have come, by parent; the top level's parent is empty. */
  counters(page: { project: string; afterParent?: string; limit: number }): Counter[];
  /** In the order of their keys' UTF-8 bytes; there may be some that are too old to be honoured. */
  idempotencyRecords(page: { afterKey?: string; limit: number }): IdempotencyRecord[];
  /** Of one kind, in the order of their keys' UTF-8 bytes. */
  documents(page: DocumentPage): { key: string; value: DocumentValue }[];
}

export interface Reads extends View, Lists {}
