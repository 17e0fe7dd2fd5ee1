// Questions, asked in as few round trips as they allow.

import { readyEntries } from "../../core/ready.js";
import type { Row } from "../row-codec.js";
import { taskOf, toTask } from "./codec.js";
import type { Session } from "./connection.js";
import type { AskedList, Questions } from "./questions.js";
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
  session: Session,
  org: string,
  questions: Questions,
  round: number,
): Promise<void> {
  const { kinds, lists } = questions.take();
  const note = questions.note.bind(questions);
  const asked: Promise<void>[] = [];
  for (const { kind, keys } of kinds) {
    const rows = session.send(kind.statement(org, keys as never, round >= deepFrom));
    asked.push(rows.then((found) => kind.take(found, keys as never, note)));
  }
  for (const list of lists) {
    if (list.pending.length > 0 || list.rebuilt.length > 0) continue;
    asked.push(session.send(list.statement).then((rows) => questions.noteList(list, rows)));
  }
  await Promise.all(asked);
  for (const list of lists) {
    if (list.pending.length === 0 && list.rebuilt.length === 0) continue;
    questions.noteList(list, await lookAhead(session, org, list));
  }
}

/** Writes what is pending, reads the list, and takes the writing back. */
async function lookAhead(session: Session, org: string, list: AskedList): Promise<Row[]> {
  void session.plain("SAVEPOINT look");
  const written = session.all(list.pending);
  for (const project of list.rebuilt) await rebuild(session, org, project);
  const rows = session.send(list.statement);
  void session.plain("ROLLBACK TO SAVEPOINT look");
  await written;
  return rows;
}

/** Writes the ready rows of a project anew, after its order has changed. */
export async function rebuild(session: Session, org: string, project: string): Promise<void> {
  void session.send({ text: sql.clear, values: [org, project] });
  const [order] = await session.send({ text: sql.order, values: [org, project] });
  for (let after = 0; ; ) {
    const tasks = (await session.send({ text: sql.readyTasks, values: [org, project, after] })).map(toTask);
    const entries = tasks.flatMap((task) =>
      readyEntries(task, order![0]).map((entry) => ({ project, entry })),
    );
    if (entries.length > 0) void session.send(joinQueue(org, entries));
    if (tasks.length < pageSize) return;
    after = tasks[tasks.length - 1]!.ordinal;
  }
}
