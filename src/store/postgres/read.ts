// What a decision may look at, for one org and one transaction: rows and lists that were asked for, or guesses until they are.

import type { Counter } from "../../core/changes.js";
import type { Attempt, Claim } from "../../core/claim.js";
import type { DibsEvent, Notification } from "../../core/event.js";
import type { Org, Project } from "../../core/project.js";
import type { ReadyCount } from "../../core/ready.js";
import { assert } from "../../core/refusal.js";
import type { Session, SessionRecord } from "../../core/session.js";
import type { Task, TaskState, TaskText } from "../../core/task.js";
import type {
  ClaimFilter,
  DocumentPage,
  DocumentValue,
  EventFilter,
  IdempotencyRecord,
  OpenCounts,
  Reads,
  SessionFilter,
  TaskFilter,
  Tolerant,
  WholeTask,
} from "../../core/view.js";
import { attemptOf, type Row, toNotification } from "../row-codec.js";
import type { DueClaim, Flush, Rows } from "../rows.js";
import { decodeAll } from "../unreadable.js";
import { toClaim, toDueClaim, toEvent, toProject, toSession, toTask } from "./codec.js";
import * as kinds from "./kinds.js";
import * as lists from "./lists.js";
import { Questions, unanswered } from "./questions.js";
import { ReadyQuestions } from "./ready.js";
import type { Statement } from "./statement.js";
import { statementsFor } from "./write.js";

/** What the first round trip of a transaction tells. */
export interface Begun {
  org: Org;
  /** Raised by every commit to the org. */
  version: number;
  /** Of the commit that made the version. */
  token: string | null;
  earliestDue: DueClaim | null;
  now: number;
}

/** Leases are asked for in these steps, so that runs which differ a little ask the same. */
const dueStep = 64;

const nothingPending = () => null;

export class PostgresRows implements Rows {
  readonly questions = new Questions();
  readonly ready: ReadyQuestions;
  private begun: Begun | null = null;
  private pending: () => Flush | null = nothingPending;
  private readonly rebuilt = new Set<string>();
  private written: Statement[] = [];
  /** How often changes were applied in this run: at the same count, the same is pending in every run. */
  private applied = 0;

  constructor(private readonly orgId: string) {
    this.ready = new ReadyQuestions(orgId, (key, project, statement, decode) => {
      // The queue is overlaid by the workspace, except after it was put in another order.
      if (!this.rebuilt.has(project)) {
        return this.questions.list(key, () => ({ statement, decode, pending: [], rebuilt: [] }));
      }
      return this.list(key, statement, decode);
    });
  }

  get guesses(): number {
    return this.questions.guesses;
  }

  begin(begun: Begun, groupSize: number): void {
    this.begun = begun;
    this.questions.forget();
    this.ready.size = Math.min(256, Math.max(64, 4 * groupSize));
    this.restart();
  }

  /** A run begins: what is asked, is asked as of now. */
  restart(): void {
    this.applied = 0;
    this.pending = nothingPending;
    this.rebuilt.clear();
    this.written = [];
    this.ready.forget();
  }

  apply(): void {
    this.applied++;
  }

  lookAhead(pending: () => Flush | null): void {
    this.pending = pending;
  }

  write(flush: Flush): void {
    this.written = statementsFor(this.orgId, flush, this.rebuilt);
  }

  rebuildReady(project: string): void {
    this.rebuilt.add(project);
    this.ready.forget();
  }

  /** What the run writes, and whose queue must be written anew after it. */
  get result(): { statements: Statement[]; rebuilt: string[] } {
    return { statements: this.written, rebuilt: [...this.rebuilt] };
  }

  private list<T>(name: string, statement: Statement, decode: (rows: Row[]) => T): T {
    const key = `${this.applied} ${name} ${statement.text} ${JSON.stringify(statement.values)}`;
    // What is pending may come from a guess: first let that be answered.
    if (this.applied > 0 && this.questions.isOpen) throw unanswered;
    return this.questions.list(key, () => {
      const pending = this.pending();
      return {
        statement,
        decode,
        pending: pending ? statementsFor(this.orgId, pending, this.rebuilt) : [],
        rebuilt: [...this.rebuilt],
      };
    });
  }

  org(): Org {
    assert(this.begun, "a transaction has begun");
    return this.begun.org;
  }

  project(id: string): Project | undefined {
    return this.questions.one(kinds.project, [id], undefined);
  }

  task(project: string, id: string): Task | undefined {
    return this.questions.one(kinds.task, [project, id], undefined);
  }

  text({ ordinal }: Task): TaskText | undefined {
    return this.questions.one(kinds.text, [ordinal], undefined);
  }

  claim({ ordinal }: Task): Claim | undefined {
    return this.questions.one(kinds.claim, [ordinal], undefined);
  }

  claimsOf(project: string, sessionId: string): Claim[] {
    return this.questions.one(kinds.session, [project, sessionId], [], "claimsOf");
  }

  attempt({ project, id, ordinal }: Task, epoch: number): Attempt | undefined {
    return this.questions.one(kinds.attempt, [ordinal, epoch, project, id], undefined);
  }

  attempts({ project, id, ordinal }: Task, limit: number): Attempt[] {
    return this.questions.one(kinds.attempts, [ordinal, limit, project, id], []);
  }

  dependents(project: string, id: string): string[] {
    return this.questions.one(kinds.dependents, [project, id], []);
  }

  children(project: string, id: string): string[] {
    return this.questions.one(kinds.children, [project, id], []);
  }

  counter(project: string, parent: string): number {
    return this.questions.one(kinds.counter, [project, parent], 0);
  }

  session(project: string, id: string): Session | undefined {
    return this.questions.one(kinds.session, [project, id], undefined);
  }

  record(project: string, sessionId: string): SessionRecord | undefined {
    return this.questions.one(kinds.session, [project, sessionId], undefined, "record");
  }

  notification(id: string): Notification | undefined {
    return this.questions.one(kinds.notification, [id], undefined);
  }

  idempotency(key: string): IdempotencyRecord | undefined {
    return this.questions.one(kinds.idempotency, [key], undefined);
  }

  document(kind: string, key: string): DocumentValue | undefined {
    return this.questions.one(kinds.document, [kind, key], undefined);
  }

  due(now: number, limit: number): DueClaim[] {
    const earliest = this.begun?.earliestDue;
    if (!earliest || earliest.dueAt > now) return [];
    return this.leases(`due ${now}`, limit, (most) => lists.due(this.orgId, now, most));
  }

  earliestDue(): number {
    return this.begun?.earliestDue?.dueAt ?? Number.POSITIVE_INFINITY;
  }

  nextDue(now: number, limit: number): DueClaim[] {
    const earliest = this.begun?.earliestDue;
    if (!earliest) return [];
    if (limit === 1 && earliest.dueAt > now) return [earliest];
    return this.leases(`next ${now}`, limit, (most) => lists.nextDue(this.orgId, now, most));
  }

  /** As stored: the workspace puts what is pending over it. */
  private leases(name: string, limit: number, statement: (limit: number) => Statement): DueClaim[] {
    const most = Math.ceil(limit / dueStep) * dueStep;
    const found = this.questions.list<DueClaim[]>(`${name} ${most}`, () => {
      return {
        statement: statement(most),
        decode: (rows: Row[]) => rows.map(toDueClaim),
        pending: [],
        rebuilt: [],
      };
    });
    return found.slice(0, limit);
  }

  /** A list with all its rows, or with those that can be decoded. */
  private rows<T>(name: string, statement: Statement, decode: (row: Row) => T, filter: Tolerant): T[] {
    const { readableOnly } = filter;
    const key = readableOnly ? `readable ${name}` : name;
    return this.list(key, statement, (rows) => decodeAll(rows, decode, readableOnly));
  }

  projects(filter: Tolerant = {}): Project[] {
    return this.rows("projects", lists.projects(this.orgId), toProject, filter);
  }

  tasks(filter: TaskFilter): Task[] {
    return this.list("tasks", lists.tasks(this.orgId, filter), (rows) => rows.map(toTask));
  }

  openClaims(filter: ClaimFilter): Claim[] {
    return this.rows("claims", lists.openClaims(this.orgId, filter), toClaim, filter);
  }

  lostClaims(filter: ClaimFilter): Attempt[] {
    return this.list("lost", lists.lostClaims(this.orgId, filter), (rows) =>
      rows.map(([project, id, ...row]) => attemptOf(project, id, row, row[3])),
    );
  }

  events(filter: EventFilter): DibsEvent[] {
    const decode = (row: Row) => toEvent(row, this.orgId);
    return this.rows("events", lists.events(this.orgId, filter), decode, filter);
  }

  sessions(filter: SessionFilter): Session[] {
    return this.rows("sessions", lists.sessions(this.orgId, filter), toSession, filter);
  }

  notifications(filter: lists.NotificationFilter): Notification[] {
    return this.list("notifications", lists.notifications(this.orgId, filter), (rows) =>
      rows.map(toNotification),
    );
  }

  unreadCount(project: string | null): number {
    return this.list("unread", lists.unreadCount(this.orgId, project), (rows) => rows[0]![0]);
  }

  taskCounts(project: string | null): Partial<Record<TaskState, number>> {
    return this.list("counts", lists.taskCounts(this.orgId, project), (rows) => Object.fromEntries(rows));
  }

  openCounts(project: string): OpenCounts {
    return this.list("open", lists.openCounts(this.orgId, project), (rows) => Object.fromEntries(rows));
  }

  readyCounts(project: string | null, now: number): ReadyCount[] {
    return this.list("ready counts", lists.readyCounts(this.orgId, project, now), (rows) =>
      rows.map(([lane, ready, scheduled]) => ({ lane, ready, scheduled })),
    );
  }

  wholeTasks(page: Parameters<Reads["wholeTasks"]>[0]): WholeTask[] {
    return this.list("whole", lists.wholeTasks(this.orgId, page), (rows) => rows.map(lists.toWholeTask));
  }

  counters(page: Parameters<Reads["counters"]>[0]): Counter[] {
    return this.list("counters", lists.counters(this.orgId, page), (rows) =>
      rows.map(([project, parent, value]) => ({ project, parent, value })),
    );
  }

  idempotencyRecords(page: Parameters<Reads["idempotencyRecords"]>[0]): IdempotencyRecord[] {
    return this.list("keys", lists.idempotencyRecords(this.orgId, page), (rows) =>
      rows.map(([key, request, answer, createdAt]) => ({ key, request, answer, createdAt })),
    );
  }

  documents(page: DocumentPage): ReturnType<Reads["documents"]> {
    return this.list("documents", lists.documents(this.orgId, page), (rows) =>
      rows.map(([key, value]) => ({ key, value })),
    );
  }
}
