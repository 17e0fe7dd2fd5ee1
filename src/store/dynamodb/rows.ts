// Lookups and lists of one org, for one run: what is known, or guesses until it is.

import { keyOf } from "../../core/changes.js";
import type { Org } from "../../core/project.js";
import { InvariantError } from "../../core/refusal.js";
import type { Lists } from "../../core/view.js";
import { matchesClaim } from "../filters.js";
import type { Rows } from "../rows.js";
import type { Claims } from "./claims.js";
import type { OrgKeys } from "./keys.js";
import { first } from "./listing.js";
import type { Reader } from "./reader.js";
import { ReadyQuestions } from "./ready-rows.js";
import * as attempt from "./tables/attempt.js";
import * as count from "./tables/count.js";
import * as counter from "./tables/counter.js";
import * as document from "./tables/document.js";
import * as event from "./tables/event.js";
import * as idempotency from "./tables/idempotency.js";
import * as notification from "./tables/notification.js";
import * as orgs from "./tables/org.js";
import * as project from "./tables/project.js";
import * as ready from "./tables/ready.js";
import * as record from "./tables/record.js";
import * as session from "./tables/session.js";
import * as task from "./tables/task.js";
import * as text from "./tables/text.js";

/** Of the head: it is read before any run begins. */
export function orgIn(keys: OrgKeys, reader: Reader): Org {
  const data = reader.item(orgs.place(keys));
  if (typeof data !== "string") throw new InvariantError("the org of a run is known");
  return orgs.codec.decode(data, keys.org);
}

export interface DynamoRows extends Rows {
  readonly ready: ReadyQuestions;
}

export function rowsIn(keys: OrgKeys, reader: Reader, claims: Claims): DynamoRows {
  return {
    canGuess: true,
    get guesses() {
      return reader.guesses;
    },
    ready: new ReadyQuestions(keys, reader),
    org: () => orgIn(keys, reader),
    project: (id) => reader.row(project.place(keys, id), project),
    task: (of, id) => task.find(keys, reader, { project: of, id }),
    text: (of) => reader.row(text.place(keys, of), text.codec),
    dependents: (of, id) => task.dependents(keys, reader, { project: of, id }),
    children: (of, id) => task.children(keys, reader, { project: of, id }),
    counter: (of, parent) => reader.row(counter.place(keys, of, parent), counter.codec)?.value ?? 0,
    claim: (of) => claims.of(keyOf(of.project, of.id)),
    claimsOf: (of, sessionId) => claims.ofSession(of, sessionId),
    attempt: (of, epoch) => attempt.find(keys, reader, of, epoch),
    attempts: (of, limit) => attempt.ofTask(keys, reader, of, limit),
    due: (now, limit) => claims.due((dueAt) => dueAt <= now, limit),
    earliestDue: () => claims.earliestDue(),
    nextDue: (now, limit) => claims.due((dueAt) => dueAt > now, limit),
    session: (of, id) => reader.row(session.place(keys, of, id), session.codec),
    record: (of, sessionId) => reader.row(record.place(keys, of, sessionId), record),
    notification: (id) => reader.row(notification.place(keys, id), notification.codec),
    idempotency: (key) => idempotency.find(keys, reader, key, orgIn(keys, reader).lastAt),
    document: (kind, key) => reader.row(document.place(keys, kind, key), document)?.value,
  };
}

export function listsIn(keys: OrgKeys, reader: Reader, claims: Claims): Lists {
  const projects = (of: string | null) =>
    of === null ? project.list(keys, reader).map(({ id }) => id) : [of];
  const open = () => {
    const found = claims.all();
    reader.settle();
    return found;
  };
  return {
    projects: (filter) => project.list(keys, reader, filter),
    tasks: (filter) => task.list(keys, reader, claims, filter),
    openClaims(filter) {
      const found = filter.readableOnly ? claims.readable() : claims.all();
      reader.settle();
      return first(
        found.filter((claim) => matchesClaim(filter, claim)),
        filter.limit,
      );
    },
    lostClaims: (filter) => attempt.listLost(keys, reader, claims, filter),
    events: (filter) => event.list(keys, reader, filter, orgIn(keys, reader).eventMin),
    sessions: (filter) =>
      session.list(keys, reader, filter, ({ project: of, id }) => claims.ofSession(of, id).length > 0),
    notifications: (filter) => notification.list(keys, reader, filter),
    unreadCount: (of) => count.unread(keys, reader, of),
    taskCounts: (of) => count.byState(keys, reader, open(), of),
    openCounts: (of) => count.open(keys, reader, open(), of),
    readyCounts: (of, now) => ready.counts(keys, reader, projects(of), now),
    wholeTasks(page) {
      const tasks = task.inOrder(keys, reader, page);
      const whole = tasks.map((each) => ({
        task: each,
        text: reader.row(text.place(keys, each), text.codec),
        claim: claims.of(keyOf(each.project, each.id)),
        attempts: attempt.ofTask(keys, reader, each, Number.MAX_SAFE_INTEGER).reverse(),
      }));
      reader.settle();
      return whole;
    },
    counters: (page) => counter.list(keys, reader, page),
    idempotencyRecords: (page) => idempotency.list(keys, reader, page, orgIn(keys, reader).lastAt),
    documents: (page) => document.list(keys, reader, page),
  };
}
