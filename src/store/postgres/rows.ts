// Lookups and lists of one org, for one transaction: what was asked for before, or guesses until it is.

import type { Org } from "../../core/project.js";
import { assert } from "../../core/refusal.js";
import type { Lists, Tolerant } from "../../core/view.js";
import type { Row } from "../columns.js";
import { toDueClaim } from "../layouts.js";
import type { DueClaim, Rows } from "../rows.js";
import type { Clock } from "../store.js";
import { decodeAll } from "../unreadable.js";
import type { SqlQuestions } from "./asking.js";
import { ReadyQuestions } from "./ready.js";
import type { Statement } from "./statement.js";
import * as attempt from "./tables/attempt.js";
import * as claim from "./tables/claim.js";
import * as counter from "./tables/counter.js";
import * as document from "./tables/document.js";
import * as event from "./tables/event.js";
import * as idempotency from "./tables/idempotency.js";
import * as notification from "./tables/notification.js";
import * as project from "./tables/project.js";
import * as ready from "./tables/ready.js";
import * as session from "./tables/session.js";
import * as task from "./tables/task.js";
import * as text from "./tables/text.js";
import * as whole from "./tables/whole-task.js";

/** What the first round trip of a transaction returns. */
export interface Begun extends Clock {
  org: Org;
  /** Raised by every commit to the org. */
  version: number;
  /** Of the commit that created the version. */
  token: string | null;
  earliestDue: DueClaim | null;
}

/** Leases are asked for in these steps, so that runs which differ a little ask the same. */
const dueStep = 64;

export interface PostgresRows extends Rows {
  readonly ready: ReadyQuestions;
}

/** `begun` is that of the transaction under way. */
export function rowsIn(org: string, asked: SqlQuestions, begun: () => Begun | null): PostgresRows {
  const earliest = () => begun()?.earliestDue;
  const list = <T>(key: string, statement: Statement, decode: (rows: Row[]) => T): T =>
    asked.list<T>(key, () => ({ statement, decode }));
  const leases = (name: string, limit: number, statement: (limit: number) => Statement): DueClaim[] => {
    const most = Math.ceil(limit / dueStep) * dueStep;
    return list(`${name} ${most}`, statement(most), (rows) => rows.map(toDueClaim)).slice(0, limit);
  };
  return {
    canGuess: true,
    get guesses() {
      return asked.guesses;
    },
    ready: new ReadyQuestions(org, list),
    org() {
      const known = begun();
      assert(known, "a transaction has begun");
      return known.org;
    },
    project: (id) => asked.one(project.kind, [id], undefined),
    task: (of, id) => asked.one(task.kind, [of, id], undefined),
    text: ({ ordinal }) => asked.one(text.kind, [ordinal], undefined),
    dependents: (of, id) => asked.one(task.dependents, [of, id], []),
    children: (of, id) => asked.one(task.children, [of, id], []),
    counter: (of, parent) => asked.one(counter.kind, [of, parent], 0),
    claim: ({ ordinal }) => asked.one(claim.kind, [ordinal], undefined),
    claimsOf: (of, sessionId) => asked.one(session.kind, [of, sessionId], [], "claimsOf"),
    attempt: (of, epoch) => asked.one(attempt.kind, [of.ordinal, epoch, of.project, of.id], undefined),
    attempts: (of, limit) => asked.one(attempt.ofTask, [of.ordinal, limit, of.project, of.id], []),
    due(now, limit) {
      const first = earliest();
      if (!first || first.dueAt > now) return [];
      return leases(`due ${now}`, limit, (most) => claim.due(org, now, most));
    },
    earliestDue: () => earliest()?.dueAt ?? Number.POSITIVE_INFINITY,
    nextDue(now, limit) {
      const first = earliest();
      if (!first) return [];
      if (limit === 1 && first.dueAt > now) return [first];
      return leases(`next ${now}`, limit, (most) => claim.nextDue(org, now, most));
    },
    session: (of, id) => asked.one(session.kind, [of, id], undefined),
    record: (of, sessionId) => asked.one(session.kind, [of, sessionId], undefined, "record"),
    notification: (id) => asked.one(notification.kind, [id], undefined),
    idempotency: (key) => asked.one(idempotency.kind, [key], undefined),
    document: (kind, key) => asked.one(document.kind, [kind, key], undefined),
  };
}

export function listsIn(org: string, asked: SqlQuestions): Lists {
  const answer = <T>(statement: Statement, decode: (rows: Row[]) => T, kind = ""): T =>
    asked.list<T>(`${kind}${statement.text} ${JSON.stringify(statement.values)}`, () => ({
      statement,
      decode,
    }));
  const rows = <T>(statement: Statement, decode: (row: Row) => T, { readableOnly }: Tolerant = {}): T[] =>
    answer(statement, (found) => decodeAll(found, decode, readableOnly), readableOnly ? "readable " : "");
  return {
    projects: (filter) => rows(project.list(org), project.decode, filter),
    tasks: (filter) => rows(task.list(org, filter), task.decode),
    openClaims: (filter) => rows(claim.list(org, filter), claim.decode, filter),
    lostClaims: (filter) => rows(attempt.listLost(org, filter), attempt.decode),
    events: (filter) => rows(event.list(org, filter), (row) => event.decode(row, org), filter),
    sessions: (filter) => rows(session.list(org, filter), session.decode, filter),
    notifications: (filter) => rows(notification.list(org, filter), notification.decode),
    unreadCount: (of) => answer(notification.unreadCount(org, of), ([row]) => row![0]),
    taskCounts: (of) => answer(task.counts(org, of), (found) => Object.fromEntries(found)),
    openCounts: (of) => answer(task.openCounts(org, of), (found) => Object.fromEntries(found)),
    readyCounts: (of, now) => rows(ready.counts(org, of, now), ready.toCount),
    wholeTasks: (page) => rows(whole.list(org, page), whole.decode),
    counters: (page) => rows(counter.list(org, page), counter.decode),
    idempotencyRecords: (page) => rows(idempotency.list(org, page), idempotency.decode),
    documents: (page) => rows(document.list(org, page), document.decode),
  };
}
