// Rows as arrays in column order (reading them by position is half the cost of by name), and back. Empty lists and
// absent objects are NULL, so that the common row has no JSON to parse.

import type { Attempt, Claim } from "../../core/claim.js";
import { dueAt } from "../../core/claim.js";
import { type Org, type Project, wholeSettings } from "../../core/project.js";
import type { Task, TaskText } from "../../core/task.js";
import type { DocumentValue } from "../../core/view.js";
import { attemptOf, toTask as decodeTask, type Row, type Value } from "../row-codec.js";
import { isObject, need, readable } from "../unreadable.js";
import { numbersPerOrg } from "./schema.js";

export const list = (value: readonly unknown[]): string | null =>
  value.length === 0 ? null : JSON.stringify(value);
const json = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);
export function parsedList(value: string | null) {
  const parsed = value === null ? [] : JSON.parse(value);
  need(Array.isArray(parsed), "a list");
  return parsed;
}
function parsed(value: string | null) {
  const object = value === null ? null : JSON.parse(value);
  need(object === null || isObject(object), "an object");
  return object;
}

const ofFirst = (row: Row) => String(row[0]);
/** For rows that begin with a project and an id. */
export const ofFirstTwo = (row: Row) => `${row[0]}/${row[1]}`;

export function orgRow(org: Org): Value[] {
  return [
    org.org,
    org.eventSeq,
    org.eventMin,
    org.ordinal,
    org.notificationSeq,
    org.lastAt,
    org.highestAt,
    org.defaultProject,
    org.createdAt,
  ];
}

export const projectColumns = "id, settings, paused, created_at, updated_at";

export function projectRow({ id, settings, paused, createdAt, updatedAt }: Project): Value[] {
  return [id, JSON.stringify(settings), paused ? 1 : 0, createdAt, updatedAt];
}

export const toProject = readable("project", ofFirst, (row: Row): Project => {
  const [id, text, paused, createdAt, updatedAt] = row;
  const settings = JSON.parse(text);
  need(isObject(settings), "settings");
  return {
    id,
    settings: wholeSettings(settings),
    paused: paused === 1,
    createdAt,
    updatedAt,
  };
});

export const toTask = readable(
  "task",
  (row: Row) => `${row[1]}/${row[2]}`,
  (row: Row): Task => decodeTask(row, row[0] % numbersPerOrg, JSON.parse(row[20])),
);

const claimFields =
  "session_id, epoch, state, agent_type, claimed_at, started_at, expires_at, ttl_ms, last_heartbeat, heartbeat_count, progress, metadata, updated_at, start_by, deadline_at, silent_at, paused_at, acknowledged";
export const claimColumns = `project, task_id, ${claimFields}`;

/** What of a claim can change. */
export const claimWritten = `${claimFields}, due_at`;

export function claimRow(claim: Claim): Value[] {
  return [
    claim.sessionId,
    claim.epoch,
    claim.state,
    claim.agentType,
    claim.claimedAt,
    claim.startedAt,
    claim.expiresAt,
    claim.ttlMs,
    claim.lastHeartbeat,
    claim.heartbeatCount,
    json(claim.progress),
    json(claim.metadata),
    claim.updatedAt,
    claim.startBy,
    claim.deadlineAt,
    claim.silentAt,
    claim.pausedAt,
    claim.acknowledged ? 1 : 0,
    dueAt(claim),
  ];
}

/**
 * As it was granted, and nothing has happened since: most are written like this, and those of one group share nearly all of it.
 * What is neither here nor constant is NULL; `isAsGranted` must test all of that, and `sharedByGranted` follows this order.
 */
export const granted = {
  shared:
    "epoch, agent_type, claimed_at, expires_at, ttl_ms, last_heartbeat, metadata, updated_at, start_by, deadline_at, silent_at, due_at",
  columns: "no, task_id, session_id",
  constant: { state: "'claimed'", heartbeat_count: "0", acknowledged: "0" },
};

export function isAsGranted(claim: Claim): boolean {
  const { state, startedAt, heartbeatCount, progress, pausedAt, acknowledged } = claim;
  return (
    state === "claimed" &&
    startedAt === null &&
    heartbeatCount === 0 &&
    progress === null &&
    pausedAt === null &&
    !acknowledged
  );
}

export function sharedByGranted(claim: Claim): Value[] {
  return [
    claim.epoch,
    claim.agentType,
    claim.claimedAt,
    claim.expiresAt,
    claim.ttlMs,
    claim.lastHeartbeat,
    json(claim.metadata),
    claim.updatedAt,
    claim.startBy,
    claim.deadlineAt,
    claim.silentAt,
    dueAt(claim),
  ];
}

function decodeClaim(row: Row): Claim {
  return {
    project: row[0],
    taskId: row[1],
    sessionId: row[2],
    epoch: row[3],
    state: row[4],
    agentType: row[5],
    claimedAt: row[6],
    startedAt: row[7],
    expiresAt: row[8],
    ttlMs: row[9],
    lastHeartbeat: row[10],
    heartbeatCount: row[11],
    progress: parsed(row[12]),
    metadata: parsed(row[13]),
    updatedAt: row[14],
    startBy: row[15],
    deadlineAt: row[16],
    silentAt: row[17],
    pausedAt: row[18],
    acknowledged: row[19] === 1,
  };
}

export const toClaim = readable("claim", ofFirstTwo, decodeClaim);

export const toAttempt = readable(
  "attempt",
  (project: string, taskId: string, row: Row) => `${project}/${taskId}/${row[0]}`,
  (project: string, taskId: string, row: Row): Attempt => attemptOf(project, taskId, row, JSON.parse(row[3])),
);

export const toText = readable(
  "task_text",
  (_row: Row, id: string) => id,
  ([prompt, description, metadata]: Row): TaskText => ({
    prompt,
    description,
    metadata: metadata === null ? null : JSON.parse(metadata),
  }),
);

export const toDocument = readable(
  "document",
  (_value: string, id: string) => id,
  (value: string): DocumentValue => {
    const document = JSON.parse(value);
    need(isObject(document), "value");
    return document;
  },
);
