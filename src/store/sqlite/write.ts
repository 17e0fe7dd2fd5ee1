// Everything a transaction changed, written by its tables, a few statements each.

import type { Flush } from "../rows.js";
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

export function write(scope: Scope, flush: Flush): void {
  if (flush.org) org.update(scope, flush.org);
  for (const each of flush.projects) project.put(scope, each);
  task.write(scope, flush.tasks);
  for (const removed of flush.removed) {
    task.remove(scope, removed);
    text.remove(scope, removed);
    attempt.remove(scope, removed);
  }
  for (const each of flush.texts) text.put(scope, each);
  claim.write(scope, flush.claims);
  attempt.write(scope, flush.attempts);
  for (const each of flush.sessions) session.put(scope, each);
  record.write(scope, flush.records);
  for (const each of flush.counters) counter.put(scope, each);
  for (const each of flush.edges) dependency.put(scope, each);
  for (const each of flush.notifications) notification.put(scope, each);
  event.write(scope, flush);
  for (const each of flush.idempotency) idempotency.put(scope, each);
  for (const each of flush.documents) document.put(scope, each);
  ready.write(scope, flush);
}
