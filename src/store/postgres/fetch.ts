import type { SqlQuestions } from "./asking.js";
import type { PostgresTransaction } from "./transaction.js";

/** From this round on, whole chains are fetched. */
const deepFrom = 3;

/** Answers all open questions, in one round trip. */
export async function answer(
  transaction: PostgresTransaction,
  org: string,
  questions: SqlQuestions,
  round: number,
): Promise<void> {
  const { kinds, lists } = questions.take();
  await Promise.all([
    ...kinds.map(async ({ kind, keys }) => {
      const rows = await transaction.send(kind.statement(org, keys, round >= deepFrom));
      kind.take(rows, keys, questions.note);
    }),
    ...lists.map(async ([key, { statement, decode }]) => {
      const rows = await transaction.send(statement);
      questions.noteList(key, () => decode(rows));
    }),
  ]);
}
