// Rows as arrays in column order (reading them by position is half the cost of by name), and back. Empty lists and
// absent objects are NULL, so that the common row has no JSON to parse.

import type { Attempt, Claim } from "../../core/claim.js";
import { dueAt } from "../../core/claim.js";
import type { Org, Project } from "../../core/project.js";
import type { Task } from "../../core/task.js";
import { numbersPerOrg } from "./schema.js";

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

/** After the key. */
export const taskColumns =
  "type, parent_id, title, state, priority, assignee, lost_count, not_before, epoch, created_at, updated_at, ready_at, started_at, ended_at, pending_deps, open_children, completed_children, more";
export const taskKeyColumns = "no, project, id";

export function taskRow(task: Task): Value[] {
  return [
    task.type,
    task.parentId,
    task.title,
    task.state,
    task.priority,
    task.assignee,
    task.lostCount,
    task.notBefore,
    task.epoch,
    task.createdAt,
    task.updatedAt,
    task.readyAt,
    task.startedAt,
    task.endedAt,
    task.pendingDeps,
    task.openChildren,
    task.completedChildren,
    more(task),
  ];
}

/** Part of the format: what is written without them is read with them, for ever. */
const usual = {
  phase: null,
  labels: [] as string[],
  files: [] as string[],
  dependsOn: [] as string[],
  agentType: null,
  requires: [] as string[],
  maxRetries: 3,
  retryCount: 0,
  timeoutMs: null,
  question: null,
  response: null,
  responsePending: false,
  error: null,
  depth: 0,
  sequence: 0,
} satisfies Partial<Task>;
const unusual = Object.keys(usual) as (keyof typeof usual)[];

/** What is as usual is left out. */
function more(task: Task): string {
  const values: Record<string, unknown> = { correlationId: task.correlationId, createdBy: task.createdBy };
  for (const field of unusual) {
    const value = task[field];
    if (value === usual[field] || (Array.isArray(value) && value.length === 0)) continue;
    values[field] = value;
  }
  return JSON.stringify(values);
}

export function toTask(row: Row): Task {
  const more = JSON.parse(row[20]);
  return {
    project: row[1],
    id: row[2],
    type: row[3],
    parentId: row[4],
    title: row[5],
    phase: more.phase ?? null,
    state: row[6],
    priority: row[7],
    labels: more.labels ?? [],
    files: more.files ?? [],
    dependsOn: more.dependsOn ?? [],
    assignee: row[8],
    agentType: more.agentType ?? null,
    requires: more.requires ?? [],
    maxRetries: more.maxRetries ?? usual.maxRetries,
    retryCount: more.retryCount ?? 0,
    lostCount: row[9],
    notBefore: row[10],
    timeoutMs: more.timeoutMs ?? null,
    question: more.question ?? null,
    response: more.response ?? null,
    responsePending: more.responsePending ?? false,
    error: more.error ?? null,
    correlationId: more.correlationId,
    epoch: row[11],
    createdAt: row[12],
    updatedAt: row[13],
    readyAt: row[14],
    startedAt: row[15],
    endedAt: row[16],
    createdBy: more.createdBy,
    depth: more.depth ?? 0,
    sequence: more.sequence ?? 0,
    ordinal: row[0] % numbersPerOrg,
    pendingDeps: row[17],
    openChildren: row[18],
    completedChildren: row[19],
  };
}

export const claimColumns =
  "project, task_id, session_id, epoch, state, agent_type, claimed_at, started_at, expires_at, ttl_ms, last_heartbeat, heartbeat_count, progress, metadata, updated_at, start_by, deadline_at, silent_at, paused_at, acknowledged";

export function claimRow(claim: Claim): Value[] {
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
    claim.startBy,
    claim.deadlineAt,
    claim.silentAt,
    claim.pausedAt,
    claim.acknowledged ? 1 : 0,
    dueAt(claim),
  ];
}

export function toClaim(row: Row): Claim {
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

export const attemptColumns = "epoch, session_id, released_at, body";

const absent = {
  agentType: null,
  startedAt: null,
  progress: null,
  metadata: null,
  result: null,
  error: null,
  lateResult: null,
  answer: null,
} satisfies Partial<Attempt>;

/** All but what stands in columns; what is null is left out. */
export function attemptBody(attempt: Attempt): string {
  return JSON.stringify({
    state: attempt.state,
    agentType: attempt.agentType ?? undefined,
    claimedAt: attempt.claimedAt,
    startedAt: attempt.startedAt ?? undefined,
    expiresAt: attempt.expiresAt,
    ttlMs: attempt.ttlMs,
    lastHeartbeat: attempt.lastHeartbeat,
    heartbeatCount: attempt.heartbeatCount,
    progress: attempt.progress ?? undefined,
    metadata: attempt.metadata ?? undefined,
    updatedAt: attempt.updatedAt,
    end: attempt.end,
    releaseReason: attempt.releaseReason,
    result: attempt.result ?? undefined,
    error: attempt.error ?? undefined,
    lateResult: attempt.lateResult ?? undefined,
    answer: attempt.answer ?? undefined,
  } satisfies { [F in Exclude<keyof Attempt, InColumns>]: Attempt[F] | undefined });
}

type InColumns = "project" | "taskId" | "epoch" | "sessionId" | "releasedAt";

export function toAttempt(project: string, taskId: string, row: Row): Attempt {
  return {
    project,
    taskId,
    epoch: row[0],
    sessionId: row[1],
    releasedAt: row[2],
    ...absent,
    ...JSON.parse(row[3]),
  };
}
