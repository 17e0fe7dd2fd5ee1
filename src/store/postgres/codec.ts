// Rows of PostgreSQL as the core's, and back. Rows arrive as arrays in column order; numbers and JSON are parsed already.

import { type Claim, dueAt } from "../../core/claim.js";
import type { DibsEvent } from "../../core/event.js";
import { type Project, wholeSettings } from "../../core/project.js";
import type { ReadyEntry } from "../../core/ready.js";
import type { PastClaim, Session, SessionRecord } from "../../core/session.js";
import type { Task, TaskText } from "../../core/task.js";
import { toTask as decodeTask, prefixed, type Row, taskColumns, taskKeyColumns } from "../row-codec.js";
import type { DueClaim, OfTask } from "../rows.js";
import { isObject, need, readable } from "../unreadable.js";
import type { Value } from "./statement.js";

export { prefixed };

export const projectColumns = "id, settings, paused, created_at, updated_at";

export const toProject = readable(
  "project",
  (row: Row) => String(row[0]),
  ([id, settings, paused, createdAt, updatedAt]: Row): Project => {
    need(isObject(settings), "settings");
    return { id, settings: wholeSettings(settings), paused, createdAt, updatedAt };
  },
);

const fullTaskColumns = `${taskKeyColumns}, ${taskColumns}`;
export const taskWidth = fullTaskColumns.split(",").length;
export const taskOf = (prefix: string) => prefixed(prefix, fullTaskColumns);

export const toTask = readable(
  "task",
  (row: Row) => `${row[1]}/${row[2]}`,
  (row: Row): Task => decodeTask(row, row[0], row[20]),
);

/** For rows that begin with a project and an id. */
const ofFirstTwo = (row: Row) => `${row[0]}/${row[1]}`;

/** The text comes along only if it is short: lists and queues should not carry megabytes. */
export const shortText = (prefix: string) =>
  `CASE WHEN octet_length(${prefix}.prompt) <= 4096 THEN ${prefix}.prompt END, ${prefix}.description, ${prefix}.metadata`;

export const textColumns = "prompt, description, metadata";

export function toText([prompt, description, metadata]: Row): TaskText {
  return { prompt, description, metadata };
}

export const claimColumns = "project, task_id, session_id, state, claimed_at, body";

/** After the task's number. */
export function claimRow(claim: Claim): Value[] {
  const { project, taskId, sessionId, state, claimedAt } = claim;
  return [project, taskId, sessionId, state, claimedAt, dueAt(claim), claimBody(claim)];
}

type InColumns = "project" | "taskId" | "sessionId" | "state" | "claimedAt";

const absent = {
  agentType: null,
  startedAt: null,
  progress: null,
  metadata: null,
  startBy: null,
  deadlineAt: null,
  silentAt: null,
  pausedAt: null,
} satisfies Partial<Claim>;

/** All but what stands in columns; what is null is left out. */
function claimBody(claim: Claim): string {
  return JSON.stringify({
    epoch: claim.epoch,
    agentType: claim.agentType ?? undefined,
    startedAt: claim.startedAt ?? undefined,
    expiresAt: claim.expiresAt,
    ttlMs: claim.ttlMs,
    lastHeartbeat: claim.lastHeartbeat,
    heartbeatCount: claim.heartbeatCount,
    progress: claim.progress ?? undefined,
    metadata: claim.metadata ?? undefined,
    startBy: claim.startBy ?? undefined,
    deadlineAt: claim.deadlineAt ?? undefined,
    silentAt: claim.silentAt ?? undefined,
    pausedAt: claim.pausedAt ?? undefined,
    acknowledged: claim.acknowledged,
    updatedAt: claim.updatedAt,
  } satisfies { [F in Exclude<keyof Claim, InColumns>]: Claim[F] | undefined });
}

export const toClaim = readable("claim", ofFirstTwo, (row: Row): Claim => {
  const [project, taskId, sessionId, state, claimedAt, body] = row;
  need(typeof body.epoch === "number", "epoch");
  need(typeof body.expiresAt === "number", "expiresAt");
  need(typeof body.ttlMs === "number", "ttlMs");
  return { project, taskId, sessionId, state, claimedAt, ...absent, ...body };
});

export const toDueClaim = ([project, taskId, dueAt]: Row): DueClaim => ({ project, taskId, dueAt });

export const sessionColumns = "project, id, last_seen_at, ended_at, body";

export function sessionRow({ project, id, lastSeenAt, endedAt, ...body }: Session): Value[] {
  return [project, id, lastSeenAt, endedAt, JSON.stringify(body)];
}

export const toSession = readable("session", ofFirstTwo, (row: Row): Session => {
  const [project, id, lastSeenAt, endedAt, body] = row;
  need(Array.isArray(body.capabilities), "capabilities");
  need(Array.isArray(body.avoid), "avoid");
  return { project, id, lastSeenAt, endedAt, owner: null, ...body };
});

export const recordColumns = "project, id, completed, history";

export function recordRow({ project, id, completed, history }: SessionRecord): Value[] {
  return [project, id, completed, `[${history.map(pastText).join()}]`];
}

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

export const toRecord = readable("session_record", ofFirstTwo, (row: Row): SessionRecord => {
  const [project, id, completed, history] = row;
  return { project, id, completed, history: history.map(toPast) };
});

/** Earlier programs wrote the names of the fields, too. */
function toPast(past: PastClaim | [string, number, number, string]): PastClaim {
  if (!Array.isArray(past)) return past;
  const [taskId, claimedAt, releasedAt, releaseReason] = past;
  return { taskId, claimedAt, releasedAt, releaseReason };
}

export const eventColumns = "seq, type, at, project, task_id, session_id, epoch, actor, data";

/** Appends one row: the task's number, then the event. */
export function pushEvent(values: Value[], { ordinal, row: event }: OfTask<DibsEvent, number | null>): void {
  values.push(
    ordinal,
    event.seq,
    event.type,
    event.at,
    event.project,
    event.taskId,
    event.sessionId,
    event.epoch,
    event.actor,
    JSON.stringify(event.data),
  );
}

function decodeEvent(row: Row, org: string): DibsEvent {
  need(isObject(row[8]), "data");
  return {
    org,
    seq: row[0],
    type: row[1],
    at: row[2],
    project: row[3],
    taskId: row[4],
    sessionId: row[5],
    epoch: row[6],
    actor: row[7],
    data: row[8],
  };
}

export const toEvent = readable("event", (row: Row, org: string) => `${org}/${row[0]}`, decodeEvent);

export const readyColumns = "lane, level, k1, k2, id, not_before";
export const readyWidth = 6;

export function toEntry([lane, level, k1, k2, id, notBefore]: Row): ReadyEntry {
  return { lane, level, k1, k2, id, notBefore };
}
