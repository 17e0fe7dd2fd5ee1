// Rows as arrays in column order (reading them by position is half the cost of by name), and back. Empty lists and
// absent objects are NULL, so that the common row has no JSON to parse.

import type { Attempt, Claim, Lease } from "../../core/claim.js";
import { dueAt } from "../../core/claim.js";
import type { Org, Project } from "../../core/project.js";
import type { Task } from "../../core/task.js";

export type Value = string | number | null;
// biome-ignore lint/suspicious/noExplicitAny: a row is decoded by position; its types are the schema's.
export type Row = any[];

export const list = (value: readonly unknown[]): string | null =>
  value.length === 0 ? null : JSON.stringify(value);
const json = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);
export const parsedList = (value: string | null) => (value === null ? [] : JSON.parse(value));
const parsed = (value: string | null) => (value === null ? null : JSON.parse(value));

export const orgColumns =
  "org, event_seq, event_min, ordinal, notification_seq, last_at, highest_at, default_project, created_at";

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

export function toOrg(row: Row): Org {
  return {
    org: row[0],
    eventSeq: row[1],
    eventMin: row[2],
    ordinal: row[3],
    notificationSeq: row[4],
    lastAt: row[5],
    highestAt: row[6],
    defaultProject: row[7],
    createdAt: row[8],
  };
}

export const projectColumns = "id, settings, paused, created_at, updated_at";

export function projectRow({ id, settings, paused, createdAt, updatedAt }: Project): Value[] {
  return [id, JSON.stringify(settings), paused ? 1 : 0, createdAt, updatedAt];
}

export function toProject(row: Row): Project {
  const [id, settings, paused, createdAt, updatedAt] = row;
  return { id, settings: JSON.parse(settings), paused: paused === 1, createdAt, updatedAt };
}

/** Fields that only an edit changes; all others belong to the life of the task. */
const taskFixed = [
  "type",
  "parentId",
  "title",
  "phase",
  "priority",
  "labels",
  "files",
  "dependsOn",
  "assignee",
  "agentType",
  "requires",
  "maxRetries",
  "timeoutMs",
] as const satisfies readonly (keyof Task)[];

export function isEdited(before: Task, after: Task): boolean {
  return taskFixed.some((field) => before[field] !== after[field]);
}

export const taskFixedColumns =
  "type, parent_id, title, phase, priority, labels, files, depends_on, assignee, agent_type, requires, max_retries, timeout_ms";

export function taskFixedRow(task: Task): Value[] {
  return [
    task.type,
    task.parentId,
    task.title,
    task.phase,
    task.priority,
    list(task.labels),
    list(task.files),
    list(task.dependsOn),
    task.assignee,
    task.agentType,
    list(task.requires),
    task.maxRetries,
    task.timeoutMs,
  ];
}

export const taskLifeColumns =
  "state, retry_count, lost_count, not_before, question, response, response_pending, error, epoch, updated_at, ready_at, started_at, ended_at, pending_deps, open_children, completed_children";

export function taskLifeRow(task: Task): Value[] {
  return [
    task.state,
    task.retryCount,
    task.lostCount,
    task.notBefore,
    json(task.question),
    task.response,
    task.responsePending ? 1 : 0,
    task.error,
    task.epoch,
    task.updatedAt,
    task.readyAt,
    task.startedAt,
    task.endedAt,
    task.pendingDeps,
    task.openChildren,
    task.completedChildren,
  ];
}

export const taskBirthColumns = "correlation_id, created_at, created_by, depth, sequence, ordinal";

export function taskBirthRow(task: Task): Value[] {
  return [task.correlationId, task.createdAt, task.createdBy, task.depth, task.sequence, task.ordinal];
}

export const taskColumns = `project, id, ${taskFixedColumns}, ${taskLifeColumns}, ${taskBirthColumns}`;

export function toTask(row: Row): Task {
  return {
    project: row[0],
    id: row[1],
    type: row[2],
    parentId: row[3],
    title: row[4],
    phase: row[5],
    priority: row[6],
    labels: parsedList(row[7]),
    files: parsedList(row[8]),
    dependsOn: parsedList(row[9]),
    assignee: row[10],
    agentType: row[11],
    requires: parsedList(row[12]),
    maxRetries: row[13],
    timeoutMs: row[14],
    state: row[15],
    retryCount: row[16],
    lostCount: row[17],
    notBefore: row[18],
    question: parsed(row[19]),
    response: row[20],
    responsePending: row[21] === 1,
    error: row[22],
    epoch: row[23],
    updatedAt: row[24],
    readyAt: row[25],
    startedAt: row[26],
    endedAt: row[27],
    pendingDeps: row[28],
    openChildren: row[29],
    completedChildren: row[30],
    correlationId: row[31],
    createdAt: row[32],
    createdBy: row[33],
    depth: row[34],
    sequence: row[35],
    ordinal: row[36],
  };
}

const leaseColumns =
  "project, task_id, session_id, epoch, state, agent_type, claimed_at, started_at, expires_at, ttl_ms, last_heartbeat, heartbeat_count, progress, metadata, updated_at";

function leaseRow(claim: Lease): Value[] {
  return [
    claim.project,
    claim.taskId,
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
  ];
}

function toLease(row: Row): Lease {
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
  };
}

export const claimColumns = `${leaseColumns}, start_by, deadline_at, silent_at, paused_at, acknowledged`;

export function claimRow(claim: Claim): Value[] {
  const row = leaseRow(claim);
  row.push(
    claim.startBy,
    claim.deadlineAt,
    claim.silentAt,
    claim.pausedAt,
    claim.acknowledged ? 1 : 0,
    dueAt(claim),
  );
  return row;
}

export function toClaim(row: Row): Claim {
  return {
    ...toLease(row),
    startBy: row[15],
    deadlineAt: row[16],
    silentAt: row[17],
    pausedAt: row[18],
    acknowledged: row[19] === 1,
  };
}

export const attemptColumns = `${leaseColumns}, ended_by, released_at, release_reason, result, error, late_result, answer`;

export function attemptRow(attempt: Attempt): Value[] {
  const row = leaseRow(attempt);
  row.push(
    attempt.end,
    attempt.releasedAt,
    attempt.releaseReason,
    json(attempt.result),
    attempt.error,
    json(attempt.lateResult),
    json(attempt.answer),
  );
  return row;
}

export function toAttempt(row: Row): Attempt {
  return {
    ...toLease(row),
    end: row[15],
    releasedAt: row[16],
    releaseReason: row[17],
    result: parsed(row[18]),
    error: row[19],
    lateResult: parsed(row[20]),
    answer: parsed(row[21]),
  };
}
