import { type Key, keyOf } from "../../../core/changes.js";
import type { PastClaim, SessionRecord } from "../../../core/session.js";
import type { Row } from "../../columns.js";
import { need, readable } from "../../unreadable.js";
import { ofFirstTwo } from "../converters.js";
import type { Scope } from "../scope.js";
import { Batches, insertInto } from "../statements.js";

const columns = "project, id, completed, history";
const sql = {
  all: `SELECT ${columns} FROM session_record`,
  find: `SELECT ${columns} FROM session_record WHERE org = ? AND project = ? AND id = ?`,
};
const put = insertInto("session_record", {
  shared: "org, project",
  columns: "id, completed, history",
  or: "REPLACE",
});

const pastEnd = "\u001e";
const fieldEnd = "\u001f";

/** The history as plain text: it is written with every claim that closes, and JSON cost four times as much. */
function historyText({ project, id, history }: SessionRecord): string {
  const [newest, second] = history;
  if (!newest) return "";
  const key = keyOf(project, id);
  const last = written.get(key);
  // Nearly always one entry has come before those of the last time, and the oldest of ten has gone.
  const isNext = last && last.history[0] === second && last.history.length >= history.length - 1;
  const rest = isNext ? beginningOf(last, history.length - 1) : history.slice(1).map(pastText).join("");
  const text = pastText(newest) + rest;
  if (written.size > writtenMax) written.clear();
  written.set(key, { history, text });
  return text;
}

/** What was written last of each session. Those of two orgs may have one name: the newest entry tells whose it is. */
const written = new Map<Key, { history: readonly PastClaim[]; text: string }>();
const writtenMax = 5_000;

function pastText({ taskId, claimedAt, releasedAt, releaseReason }: PastClaim): string {
  return `${taskId}${fieldEnd}${claimedAt}${fieldEnd}${releasedAt - claimedAt}${fieldEnd}${releaseReason}${pastEnd}`;
}

function beginningOf(
  { history, text }: { history: readonly PastClaim[]; text: string },
  count: number,
): string {
  let end = text.length;
  for (let left = history.length; left > count; left--) end = text.lastIndexOf(pastEnd, end - 2) + 1;
  return text.slice(0, end);
}

const decode = readable(
  "session_record",
  ofFirstTwo,
  ([project, id, completed, history]: Row): SessionRecord => {
    const past = (history as string).split(pastEnd).slice(0, -1);
    return { project, id, completed, history: past.map(toPast) };
  },
);

function toPast(text: string): PastClaim {
  const [taskId = "", claimedAt = "", heldMs = "", releaseReason = ""] = text.split(fieldEnd);
  const since = Number(claimedAt);
  need(Number.isFinite(since + Number(heldMs)), "a time of the history");
  return { taskId, claimedAt: since, releasedAt: since + Number(heldMs), releaseReason };
}

export const check = { sql: sql.all, decode };

export function find(scope: Scope, project: string, sessionId: string): SessionRecord | undefined {
  return scope.find(decode, sql.find, scope.org, project, sessionId);
}

export function write(scope: Scope, records: Iterable<SessionRecord>): void {
  const batches = new Batches();
  for (const record of records) {
    batches.of(scope.org, record.project).push(record.id, record.completed, historyText(record));
  }
  scope.runAll(put, batches);
}
