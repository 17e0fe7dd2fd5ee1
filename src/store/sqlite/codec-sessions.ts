// Sessions, events and notifications as rows, and back.

import { type Key, keyOf } from "../../core/changes.js";
import type { DibsEvent } from "../../core/event.js";
import type { PastClaim, Session, SessionRecord } from "../../core/session.js";
import type { Row, Value } from "../row-codec.js";
import type { OfTask } from "../rows.js";
import { isObject, need, readable } from "../unreadable.js";
import { list, ofFirstTwo, parsedList } from "./codec.js";
import { numbersPerOrg } from "./schema.js";

export const sessionColumns =
  "project, id, name, agent_type, pid, host, process_started_at, capabilities, capacity, heartbeats, context_percent, score, started_at, last_seen_at, ended_at, incarnation, avoid, owner";

export function sessionRow(session: Session): Value[] {
  return [
    session.project,
    session.id,
    session.name,
    session.agentType,
    session.pid,
    session.host,
    session.processStartedAt,
    list(session.capabilities),
    session.capacity,
    session.heartbeats ? 1 : 0,
    session.contextPercent,
    session.score,
    session.startedAt,
    session.lastSeenAt,
    session.endedAt,
    session.incarnation,
    list(session.avoid),
    session.owner,
  ];
}

function decodeSession(row: Row): Session {
  return {
    project: row[0],
    id: row[1],
    name: row[2],
    agentType: row[3],
    pid: row[4],
    host: row[5],
    processStartedAt: row[6],
    capabilities: parsedList(row[7]),
    capacity: row[8],
    heartbeats: row[9] === 1,
    contextPercent: row[10],
    score: row[11],
    startedAt: row[12],
    lastSeenAt: row[13],
    endedAt: row[14],
    owner: row[17],
    incarnation: row[15],
    avoid: parsedList(row[16]),
  };
}

export const toSession = readable("session", ofFirstTwo, decodeSession);

export const recordColumns = "project, id, completed, history";

const pastEnd = "\u001e";
const fieldEnd = "\u001f";

/** The history as plain text: it is written with every claim that closes, and JSON cost four times as much. */
export function historyText({ project, id, history }: SessionRecord): string {
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

export const toRecord = readable("session_record", ofFirstTwo, (row: Row): SessionRecord => {
  const history = (row[3] as string).split(pastEnd).slice(0, -1);
  return { project: row[0], id: row[1], completed: row[2], history: history.map(toPast) };
});

function toPast(text: string): PastClaim {
  const [taskId = "", claimedAt = "", heldMs = "", releaseReason = ""] = text.split(fieldEnd);
  const since = Number(claimedAt);
  need(Number.isFinite(since + Number(heldMs)), "a time of the history");
  return { taskId, claimedAt: since, releasedAt: since + Number(heldMs), releaseReason };
}

export const eventColumns = "no, project, type, body";
/** What is written of an event besides the project, which it shares with others. */
export const eventWritten = "task_no, no, type, body";

/** Appends one row. `first` is the number that the org's events and tasks start from. */
export function pushEvent(values: Value[], of: OfTask<DibsEvent, number | null>, first: number): void {
  const { ordinal, row: event } = of;
  values.push(
    ordinal === null ? null : first + ordinal,
    first + event.seq,
    event.type,
    JSON.stringify([event.at, event.taskId, event.sessionId, event.epoch, event.actor, event.data]),
  );
}

export const toEvent = readable(
  "event",
  ([no]: Row, org: string) => `${org}/${no % numbersPerOrg}`,
  ([no, project, type, body]: Row, org: string): DibsEvent => {
    const [at, taskId, sessionId, epoch, actor, data] = JSON.parse(body);
    need(typeof at === "number", "at");
    need(isObject(data), "data");
    return { org, seq: no % numbersPerOrg, type, at, project, taskId, sessionId, epoch, actor, data };
  },
);
