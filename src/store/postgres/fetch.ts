// Questions, asked in as few round trips as they allow.

import { readyEntries } from "../../core/ready.js";
import type { Row } from "../row-codec.js";
import { taskOf, toTask } from "./codec.js";
import type { AskedList, Questions } from "./questions.js";
import type { PostgresTransaction } from "./transaction.js";
import { joinQueue } from "./write.js";

const pageSize = 1_000;

/** From this round on, whole chains are fetched. */
const deepFrom = 3;

const sql = {
  order: "SELECT settings->>'order' FROM dibs.project WHERE org = $1 AND id = $2",
  clear: "DELETE FROM dibs.ready WHERE org = $1 AND project = $2",
  readyTasks: `SELECT ${taskOf("t")} FROM dibs.task t WHERE t.org = $1 AND t.project = $2 AND t.state = 'queued'
    AND t.type = 'task' AND t.pending_deps = 0 AND t.open_children = 0 AND t.no > 0 AND t.no > $3
    AND NOT EXISTS (SELECT 1 FROM dibs.claim c WHERE c.org = t.org AND c.no = t.no) ORDER BY t.no LIMIT ${pageSize}`,
};

/** Asks everything that is open, in one round trip; only lists that must know of pending changes need more. */
export async function answer(
  transaction: PostgresTransaction,
  org: string,
  questions: Questions,
  round: number,
): Promise<void> {
  const { kinds, lists } = questions.take();
  const note = questions.note.bind(questions);
  const asked: Promise<void>[] = [];
  for (const { kind, keys } of kinds) {
    const rows = transaction.send(kind.statement(org, keys as never, round >= deepFrom));
    asked.push(rows.then((found) => kind.take(found, keys as never, note)));
  }
  for (const list of lists) {
    if (list.pending.length > 0 || list.rebuilt.length > 0) continue;
    asked.push(transaction.send(list.statement).then((rows) => questions.noteList(list, rows)));
  }
  await Promise.all(asked);
  for (const list of lists) {
    if (list.pending.length === 0 && list.rebuilt.length === 0) continue;
    questions.noteList(list, await lookAhead(transaction, org, list));
  }
}

/** Writes what is pending, reads the list, and takes the writing back. */
async function lookAhead(transaction: PostgresTransaction, org: string, list: AskedList): Promise<Row[]> {
  void transaction.plain("SAVEPOINT look");
  const written = transaction.all(list.pending);
  for (const project of list.rebuilt) await rebuild(transaction, org, project);
  const rows = transaction.send(list.statement);
  void transaction.plain("ROLLBACK TO SAVEPOINT look");
  await written;
  return rows;
}

/** Writes the ready rows of a project anew, after its order has changed. */
export async function rebuild(transaction: PostgresTransaction, org: string, project: string): Promise<void> {
  void transaction.send({ text: sql.clear, values: [org, project] });
  const [order] = await transaction.send({ text: sql.order, values: [org, project] });
  for (let after = 0; ; ) {
    const tasks = (await transaction.send({ text: sql.readyTasks, values: [org, project, after] })).map(
      toTask,
    );
    const entries = tasks.flatMap((task) =>
      readyEntries(task, order![0]).map((entry) => ({ project, entry })),
    );
    if (entries.length > 0) void transaction.send(joinQueue(org, entries));
    if (tasks.length < pageSize) return;
    after = tasks[tasks.length - 1]!.ordinal;
  }
}
