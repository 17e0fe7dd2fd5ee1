// Lookups and lists of one org, each answered by its table.

import type { Lists } from "../../core/view.js";
import type { Rows } from "../rows.js";
import type { Scope } from "./scope.js";
import * as attempt from "./tables/attempt.js";
import * as claim from "./tables/claim.js";
import * as counter from "./tables/counter.js";
import * as dependency from "./tables/dependency.js";
import * as document from "./tables/document.js";
import * as event from "./tables/event.js";
import * as idempotency from "./tables/idempotency.js";
import * as notification from "./tables/notification.js";
import * as org from "./tables/org.js";
import * as project from "./tables/project.js";
import * as ready from "./tables/ready.js";
import * as record from "./tables/record.js";
import * as session from "./tables/session.js";
import * as task from "./tables/task.js";
import * as text from "./tables/text.js";

export function rowsIn(scope: Scope): Rows {
  return {
    canGuess: false,
    guesses: 0,
    org: () => org.get(scope),
    project: (id) => project.find(scope, id),
    task: (of, id) => task.find(scope, of, id),
    text: (of) => text.find(scope, of),
    dependents: (of, id) => dependency.dependents(scope, of, id),
    children: (of, id) => task.children(scope, of, id),
    counter: (of, parent) => counter.find(scope, of, parent),
    claim: (of) => claim.find(scope, of),
    claimsOf: (of, sessionId) => claim.ofSession(scope, of, sessionId),
    attempt: (of, epoch) => attempt.find(scope, of, epoch),
    attempts: (of, limit) => attempt.ofTask(scope, of, limit),
    due: (now, limit) => claim.due(scope, now, limit),
    nextDue: (now, limit) => claim.nextDue(scope, now, limit),
    session: (of, id) => session.find(scope, of, id),
    record: (of, sessionId) => record.find(scope, of, sessionId),
    notification: (id) => notification.find(scope, id),
    idempotency: (key) => idempotency.find(scope, key),
    document: (kind, key) => document.find(scope, kind, key),
    ready: {
      lanes: (of, prefix) => ready.lanes(scope, of, prefix),
      levels: (of, lane) => ready.levels(scope, of, lane),
      chunk: (of, lane, level, after, limit) => ready.chunk(scope, of, lane, level, after, limit),
    },
  };
}

export function listsIn(scope: Scope): Lists {
  return {
    projects: (filter) => project.list(scope, filter),
    tasks: (filter) => task.list(scope, filter),
    openClaims: (filter) => claim.list(scope, filter),
    lostClaims: (filter) => attempt.listLost(scope, filter),
    events: (filter) => event.list(scope, filter),
    sessions: (filter) => session.list(scope, filter),
    notifications: (filter) => notification.list(scope, filter),
    unreadCount: (of) => notification.unreadCount(scope, of),
    taskCounts: (of) => task.counts(scope, of),
    openCounts: (of) => task.openCounts(scope, of),
    readyCounts: (of, now) => ready.counts(scope, of, now),
    wholeTasks: ({ afterOrdinal, limit }) =>
      task.list(scope, { project: null, afterOrdinal, limit }).map((found) => ({
        task: found,
        text: text.find(scope, found),
        claim: claim.find(scope, found),
        attempts: attempt.ofTask(scope, found, Number.MAX_SAFE_INTEGER).reverse(),
      })),
    counters: (page) => counter.list(scope, page),
    idempotencyRecords: (page) => idempotency.list(scope, page),
    documents: (page) => document.list(scope, page),
  };
}
