import type { PastClaim, SessionRecord } from "../../../core/session.js";
import type { Row } from "../../columns.js";
import { readable } from "../../unreadable.js";
import { insertInto, type Statement, typed } from "../statement.js";

export const columns = "project, id, completed, history";

/** Written with every claim that closes, nine times of ten entries again: as short as can be, and made once. */
function pastText(past: PastClaim): string {
  let text = pastTexts.get(past);
  if (text === undefined) {
    const { taskId, claimedAt, releasedAt, releaseReason } = past;
    text = JSON.stringify([taskId, claimedAt, releasedAt, releaseReason]);
    pastTexts.set(past, text);
  }
  return text;
}

const pastTexts = new WeakMap<PastClaim, string>();

export const decode = readable(
  "session_record",
  (row: Row) => `${row[0]}/${row[1]}`,
  ([project, id, completed, history]: Row): SessionRecord => ({
    project,
    id,
    completed,
    history: history.map(toPast),
  }),
);

/** Earlier programs wrote the names of the fields, too. */
function toPast(past: PastClaim | [string, number, number, string]): PastClaim {
  if (!Array.isArray(past)) return past;
  const [taskId, claimedAt, releasedAt, releaseReason] = past;
  return { taskId, claimedAt, releasedAt, releaseReason };
}

const put = insertInto(
  "session_record",
  typed(columns, { completed: "bigint", history: "json" }),
  "project, id",
);

export const write = (org: string, records: Iterable<SessionRecord>): Statement[] =>
  put.of(
    org,
    [...records].flatMap(({ project, id, completed, history }) => [
      project,
      id,
      completed,
      `[${history.map(pastText).join()}]`,
    ]),
  );

export const check = (own: string) => ({
  sql: `SELECT ${columns} FROM dibs.session_record WHERE ${own}`,
  decode,
});
