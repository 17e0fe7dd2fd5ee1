// Everything a transaction changed, as statements of its tables: one or two each, however many rows.

import { readyEntries } from "../../core/ready.js";
import type { Flush } from "../rows.js";
import type { Statement } from "./statement.js";
import * as attempt from "./tables/attempt.js";
import * as claim from "./tables/claim.js";
import * as counter from "./tables/counter.js";
import * as dependency from "./tables/dependency.js";
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
import * as taskState from "./tables/task-state.js";
import * as text from "./tables/text.js";
import type { PostgresTransaction } from "./transaction.js";

/** Sends the statements; resolves when all have been executed. */
export async function write(transaction: PostgresTransaction, org: string, flush: Flush): Promise<void> {
  const sent = transaction.all(statementsFor(org, flush));
  // A failure is reported by the first statement that fails.
  sent.catch(() => undefined);
  for (const id of flush.reordered) await rebuild(transaction, org, id);
  await sent;
}

function statementsFor(org: string, flush: Flush): Statement[] {
  const tasks = [...flush.tasks];
  const removed = [...flush.removed].map(({ ordinal }) => ordinal);
  return [
    orgs.update(org, flush.org),
    ...project.write(org, flush.projects),
    ...task.write(org, tasks),
    ...taskState.write(org, tasks),
    ...task.remove.of(org, removed),
    ...text.remove.of(org, removed),
    ...attempt.remove.of(org, removed),
    ...text.write(org, flush.texts),
    ...claim.write(org, flush.claims),
    ...attempt.write(org, flush.attempts),
    ...session.write(org, flush.sessions),
    ...record.write(org, flush.records),
    ...counter.write(org, flush.counters),
    ...dependency.write(org, flush.edges),
    ...notification.write(org, flush.notifications),
    ...event.write(org, flush),
    ...idempotency.write(org, flush.idempotency),
    ...document.write(org, flush.documents),
    ...ready.write(org, flush),
  ];
}

/** Writes the queue of a project again: its order has changed. */
async function rebuild(transaction: PostgresTransaction, org: string, id: string): Promise<void> {
  const cleared = transaction.send(ready.clear(org, id));
  const [row] = await transaction.send(project.kind.statement(org, [[id]], false));
  const { order } = project.decode(row!).settings;
  for (let after = 0; ; ) {
    const tasks = (await transaction.send(task.ready(org, id, after))).map(task.decode);
    const entries = tasks.flatMap((each) => readyEntries(each, order));
    await transaction.all(
      ready.join(
        org,
        entries.map((entry) => ({ project: id, entry })),
      ),
    );
    if (tasks.length < task.readyPage) break;
    after = tasks[tasks.length - 1]!.ordinal;
  }
  await cleared;
}
