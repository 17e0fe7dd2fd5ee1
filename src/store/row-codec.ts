// What the SQL stores write alike. Tasks and attempts are a few columns for statements to look at, and one JSON of the rest.

import type { Attempt } from "../core/claim.js";
import type { Notification } from "../core/event.js";
import type { Org } from "../core/project.js";
import type { Task } from "../core/task.js";
import { isListOrAbsent, need, readable } from "./unreadable.js";

export type Value = string | number | null;
// biome-ignore lint/suspicious/noExplicitAny: a row is decoded by position; its types are the schema's.
export type Row = any[];

/** Every column with the name of its table in front. */
export const prefixed = (table: string, columns: string) => columns.replaceAll(/\w+/g, `${table}.$&`);

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
  submission: null,
  landed: null,
  noChange: false,
  returnCount: 0,
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

/** From the key columns and the others; `more` is parsed. */
export function toTask(row: Row, ordinal: number, more: Partial<Task>): Task {
  need(typeof more.correlationId === "string", "correlationId");
  need(typeof more.createdBy === "string", "createdBy");
  need(isListOrAbsent(more.dependsOn), "dependsOn");
  need(isListOrAbsent(more.labels), "labels");
  need(isListOrAbsent(more.files), "files");
  need(isListOrAbsent(more.requires), "requires");
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
    correlationId: more.correlationId!,
    epoch: row[11],
    createdAt: row[12],
    updatedAt: row[13],
    readyAt: row[14],
    startedAt: row[15],
    endedAt: row[16],
    createdBy: more.createdBy!,
    depth: more.depth ?? 0,
    sequence: more.sequence ?? 0,
    ordinal,
    pendingDeps: row[17],
    openChildren: row[18],
    completedChildren: row[19],
    submission: more.submission ?? null,
    landed: more.landed ?? null,
    noChange: more.noChange ?? false,
    returnCount: more.returnCount ?? 0,
  };
}

// Most changes touch few fields, and are written by a shorter statement. The fields are compared one by one: two changes may
// share one instant, so `updatedAt` does not tell. And by name: in a loop over names each look costs many times as much.

/** It was held and came to rest, and nothing else. */
export function isOnlyMoved(before: Task, after: Task): boolean {
  return isSameOtherwise(before, after) && isSameInCounts(before, after);
}

/** Only what it waits for has changed. */
export function isOnlyFreed(before: Task, after: Task): boolean {
  return isSameOtherwise(before, after) && isSameInMoves(before, after);
}

function isSameInMoves(before: Task, after: Task): boolean {
  return (
    before.state === after.state &&
    before.epoch === after.epoch &&
    before.updatedAt === after.updatedAt &&
    before.startedAt === after.startedAt &&
    before.endedAt === after.endedAt
  );
}

function isSameInCounts(before: Task, after: Task): boolean {
  return (
    before.pendingDeps === after.pendingDeps &&
    before.openChildren === after.openChildren &&
    before.completedChildren === after.completedChildren
  );
}

/** In everything else that can change. */
function isSameOtherwise(before: Task, after: Task): boolean {
  return (
    before.type === after.type &&
    before.parentId === after.parentId &&
    before.title === after.title &&
    before.phase === after.phase &&
    before.priority === after.priority &&
    before.labels === after.labels &&
    before.files === after.files &&
    before.dependsOn === after.dependsOn &&
    before.assignee === after.assignee &&
    before.agentType === after.agentType &&
    before.requires === after.requires &&
    before.maxRetries === after.maxRetries &&
    before.retryCount === after.retryCount &&
    before.lostCount === after.lostCount &&
    before.notBefore === after.notBefore &&
    before.timeoutMs === after.timeoutMs &&
    before.question === after.question &&
    before.response === after.response &&
    before.responsePending === after.responsePending &&
    before.error === after.error &&
    before.submission === after.submission &&
    before.landed === after.landed &&
    before.noChange === after.noChange &&
    before.returnCount === after.returnCount
  );
}

/** Columns of an attempt, after its task. */
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

/** All but what stands in columns; what is null, or follows from the rest, is left out. */
export function attemptBody(attempt: Attempt): string {
  const { claimedAt, expiresAt, ttlMs, lastHeartbeat, heartbeatCount, updatedAt } = attempt;
  return JSON.stringify({
    state: attempt.state,
    agentType: attempt.agentType ?? undefined,
    claimedAt,
    startedAt: attempt.startedAt ?? undefined,
    expiresAt: expiresAt === claimedAt + ttlMs ? undefined : expiresAt,
    ttlMs,
    lastHeartbeat: lastHeartbeat === claimedAt ? undefined : lastHeartbeat,
    heartbeatCount: heartbeatCount === 0 ? undefined : heartbeatCount,
    progress: attempt.progress ?? undefined,
    metadata: attempt.metadata ?? undefined,
    updatedAt: updatedAt === attempt.releasedAt ? undefined : updatedAt,
    end: attempt.end,
    releaseReason: attempt.releaseReason,
    result: attempt.result ?? undefined,
    error: attempt.error ?? undefined,
    lateResult: attempt.lateResult ?? undefined,
    answer: attempt.answer ?? undefined,
  } satisfies { [F in Exclude<keyof Attempt, InColumns>]: Attempt[F] | undefined });
}

type InColumns = "project" | "taskId" | "epoch" | "sessionId" | "releasedAt";

function decodeAttempt(project: string, taskId: string, row: Row, body: Partial<Attempt>): Attempt {
  need(typeof body.claimedAt === "number", "claimedAt");
  need(typeof body.ttlMs === "number", "ttlMs");
  return {
    project,
    taskId,
    epoch: row[0],
    sessionId: row[1],
    releasedAt: row[2],
    updatedAt: row[2],
    expiresAt: body.claimedAt! + body.ttlMs!,
    lastHeartbeat: body.claimedAt,
    heartbeatCount: 0,
    ...absent,
    ...body,
  } as Attempt;
}

export const attemptOf = readable(
  "attempt",
  (project: string, taskId: string, row: Row, _body: Partial<Attempt>) => `${project}/${taskId}/${row[0]}`,
  decodeAttempt,
);

export const orgColumns =
  "org, event_seq, event_min, ordinal, notification_seq, last_at, highest_at, default_project, created_at";

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

export const notificationColumns =
  "number, type, severity, title, message, task_id, project, created_at, read_at";

export const notificationNumber = (id: string): number => Number(/^n([1-9]\d{0,14})$/.exec(id)?.[1] ?? -1);

export function notificationRow(notification: Notification): Value[] {
  return [
    notificationNumber(notification.id),
    notification.type,
    notification.severity,
    notification.title,
    notification.message,
    notification.taskId,
    notification.project,
    notification.createdAt,
    notification.readAt,
  ];
}

export function toNotification(row: Row): Notification {
  return {
    id: `n${row[0]}`,
    type: row[1],
    severity: row[2],
    title: row[3],
    message: row[4],
    taskId: row[5],
    project: row[6],
    createdAt: row[7],
    readAt: row[8],
  };
}
