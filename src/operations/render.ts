// Rows as every surface shows them: times as ISO 8601, the open claim with its health, the result of the attempt that made it.

import type {
  WireAttempt,
  WireBreaker,
  WireClaim,
  WireEvent,
  WireNotification,
  WireProject,
  WireReason,
  WireSession,
  WireTask,
} from "../contract/shapes.js";
import { rowTextMax, type WireTaskRow } from "../contract/tasks/rows.js";
import type { Attempt, Claim, Lease } from "../core/claim.js";
import { healthStatus, remainingMs } from "../core/claim.js";
import type { DibsEvent, Notification } from "../core/event.js";
import type { Reason } from "../core/explain.js";
import type { TaskSubmission } from "../core/landing.js";
import { priorityLabel } from "../core/priority.js";
import { defaultSettings, type Project } from "../core/project.js";
import { shownUses } from "../core/resource.js";
import { type Review, stageOf } from "../core/review.js";
import type { Session } from "../core/session.js";
import { epochOf, stateOf, type Task } from "../core/task.js";
import type { OpenBreaker } from "../core/transitions/breaker.js";
import type { View } from "../core/view.js";

type Json = WireEvent["data"];

/** Answers of one moment repeat the same few times; formatting them is a tenth of the cost of an answer. */
const written = new Map<number, string>();

export function iso(ms: number): string {
  let text = written.get(ms);
  if (text === undefined) {
    if (written.size > 1000) written.clear();
    text = new Date(ms).toISOString();
    written.set(ms, text);
  }
  return text;
}

export function maybeIso(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}

/** Details and event data carry times as numbers under names that end in `At` (or `until`). */
export function withIsoTimes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withIsoTimes);
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    const isTime = typeof inner === "number" && (key.endsWith("At") || key === "until");
    copy[key] = isTime ? iso(inner) : withIsoTimes(inner);
  }
  return copy;
}

function lease(claim: Lease) {
  return {
    taskId: claim.taskId,
    sessionId: claim.sessionId,
    epoch: claim.epoch,
    agentType: claim.agentType,
    claimedAt: iso(claim.claimedAt),
    startedAt: maybeIso(claim.startedAt),
    expiresAt: iso(claim.expiresAt),
    ttlMs: claim.ttlMs,
    lastHeartbeat: iso(claim.lastHeartbeat),
    heartbeatCount: claim.heartbeatCount,
    progress: claim.progress && { ...claim.progress, at: iso(claim.progress.at) },
    metadata: claim.metadata as Json | null,
    uses: shownUses(claim.uses),
    usage: claim.usage,
  };
}

/** What only an attempt has that is over. */
const open = { releasedAt: null, releaseReason: null, lateResult: null };

export function wireClaim(view: View, claim: Claim, now: number): WireClaim {
  const settings = view.project(claim.project)?.settings ?? defaultSettings;
  const health = {
    healthStatus: healthStatus(claim, settings.claim, now),
    remainingMs: remainingMs(claim, now),
  };
  return Object.assign(lease(claim), health, open);
}

/** The lease of a review, as a claim: it is renewed and given back in the same way. */
export function wireReviewClaim(
  view: View,
  on: { project: string; taskId: string },
  review: Review & { sessionId: string },
  now: number,
): WireClaim {
  const { sessionId, epoch, claimedAt, expiresAt, ttlMs } = review;
  return wireClaim(
    view,
    {
      ...on,
      sessionId,
      epoch,
      state: "running",
      agentType: view.session(on.project, sessionId)?.agentType ?? null,
      claimedAt,
      startedAt: claimedAt,
      expiresAt,
      ttlMs,
      lastHeartbeat: expiresAt - ttlMs,
      heartbeatCount: 0,
      progress: null,
      metadata: { kind: "review" },
      uses: null,
      usage: null,
      startBy: null,
      deadlineAt: null,
      silentAt: null,
      pausedAt: null,
      acknowledged: false,
      updatedAt: claimedAt,
    },
    now,
  );
}

/** A claim that was lost, as it would be shown if nobody had ended it yet. */
export function wireLostClaim(attempt: Attempt): WireClaim {
  return { ...lease(attempt), healthStatus: "expired", remainingMs: 0, ...open };
}

export function wireOpenAttempt(view: View, claim: Claim, now: number): WireAttempt {
  return {
    project: claim.project,
    ...wireClaim(view, claim, now),
    result: null,
    error: null,
  };
}

export function wireAttempt(attempt: Attempt): WireAttempt {
  return {
    project: attempt.project,
    ...lease(attempt),
    healthStatus: null,
    remainingMs: null,
    releasedAt: iso(attempt.releasedAt),
    releaseReason: attempt.releaseReason,
    result: attempt.result,
    error: attempt.error,
    lateResult: attempt.lateResult && { ...attempt.lateResult, at: iso(attempt.lateResult.at) },
  };
}

export function wireBreaker({ agentType, failures, taskId, probeAt }: OpenBreaker): WireBreaker {
  return { agentType, failures, taskId, probeAt: iso(probeAt) };
}

function wireQuestion(question: Task["question"]): WireTask["question"] {
  if (!question) return null;
  const { aboutLanding, ...rest } = question;
  return { ...rest, askedAt: iso(question.askedAt) };
}

function wireTaskSubmission(
  view: View,
  task: Task,
  { number, commit, submittedAt }: TaskSubmission,
  now: number,
): WireTask["submission"] {
  return { number, commit, submittedAt: iso(submittedAt), stage: stageIn(view, task, now) };
}

function stageIn(view: View, task: Task, now: number): WireTaskRow["stage"] {
  const project = task.state === "submitted" ? view.project(task.project) : undefined;
  return project ? stageOf(view, task, project, now) : null;
}

export function wireTask(view: View, task: Task, now: number): WireTask {
  const claim = view.claim(task.project, task.id);
  const text = view.text(task.project, task.id);
  const isDone = task.state === "completed" || task.state === "submitted";
  const attempt = isDone ? view.attempt(task.project, task.id, task.epoch) : undefined;
  return {
    id: task.id,
    project: task.project,
    type: task.type,
    parentId: task.parentId,
    title: task.title,
    prompt: text?.prompt ?? "",
    description: text?.description ?? null,
    state: stateOf(task, claim),
    phase: task.phase,
    priority: task.priority,
    priorityLabel: priorityLabel(task.priority),
    labels: task.labels,
    files: task.files,
    dependsOn: task.dependsOn,
    assignee: task.assignee,
    agentType: task.agentType,
    requires: task.requires,
    uses: shownUses(task.uses),
    maxRetries: task.maxRetries,
    retryCount: task.retryCount,
    lostCount: task.lostCount,
    notBefore: maybeIso(task.notBefore),
    timeoutMs: task.timeoutMs,
    question: wireQuestion(task.question),
    response: task.response,
    responsePending: task.responsePending,
    submission: task.submission && wireTaskSubmission(view, task, task.submission, now),
    landed: task.landed && { ...task.landed, at: iso(task.landed.at) },
    noChange: task.noChange,
    returnCount: task.returnCount,
    usage: task.usage,
    result: attempt?.result ?? null,
    error: task.error,
    correlationId: task.correlationId,
    epoch: epochOf(task, claim),
    claim: claim ? wireClaim(view, claim, now) : null,
    pendingDependencies: task.pendingDeps,
    openChildren: task.openChildren,
    createdAt: iso(task.createdAt),
    updatedAt: iso(claim ? Math.max(task.updatedAt, claim.updatedAt) : task.updatedAt),
    readyAt: maybeIso(task.readyAt),
    startedAt: maybeIso(claim ? claim.startedAt : task.startedAt),
    endedAt: maybeIso(task.endedAt),
    createdBy: task.createdBy,
    metadata: (text?.metadata ?? null) as Json | null,
  };
}

const cut = (text: string | null) => text?.slice(0, rowTextMax) ?? null;

export function wireTaskRow(view: View, task: Task, now: number): WireTaskRow {
  const claim = view.claim(task.project, task.id);
  return {
    id: task.id,
    project: task.project,
    type: task.type,
    parentId: task.parentId,
    title: task.title,
    state: stateOf(task, claim),
    phase: task.phase,
    priority: task.priority,
    labels: task.labels,
    dependsOn: task.dependsOn,
    assignee: task.assignee,
    agentType: task.agentType,
    retryCount: task.retryCount,
    notBefore: maybeIso(task.notBefore),
    pendingDependencies: task.pendingDeps,
    openChildren: task.openChildren,
    createdAt: iso(task.createdAt),
    updatedAt: iso(claim ? Math.max(task.updatedAt, claim.updatedAt) : task.updatedAt),
    readyAt: maybeIso(task.readyAt),
    startedAt: maybeIso(claim ? claim.startedAt : task.startedAt),
    endedAt: maybeIso(task.endedAt),
    depth: task.depth,
    sequence: task.sequence,
    question: cut(task.question?.text ?? null),
    error: cut(task.error),
    stage: stageIn(view, task, now),
    claim: claim ? rowClaim(view, claim, now) : null,
  };
}

function rowClaim(view: View, claim: Claim, now: number): NonNullable<WireTaskRow["claim"]> {
  const {
    sessionId,
    agentType,
    epoch,
    claimedAt,
    startedAt,
    expiresAt,
    lastHeartbeat,
    healthStatus,
    progress,
  } = wireClaim(view, claim, now);
  const shown = { percent: progress?.percent ?? null, note: cut(progress?.note ?? null) };
  return {
    sessionId,
    agentType,
    epoch,
    claimedAt,
    startedAt,
    expiresAt,
    lastHeartbeat,
    healthStatus,
    ...shown,
  };
}

/** What the session took last: whoever splits a task works on its parts, not on the whole that waits for them. */
export function currentClaim(view: View, { project, id }: Session): Claim | undefined {
  return view.claimsOf(project, id).at(-1);
}

export function wireSession(view: View, session: Session): WireSession {
  const { project, id } = session;
  const current = currentClaim(view, session);
  return {
    id,
    project,
    name: session.name,
    agentType: session.agentType,
    pid: session.pid,
    host: session.host,
    processStartedAt: session.processStartedAt,
    capabilities: session.capabilities,
    uses: shownUses(session.uses),
    capacity: session.capacity,
    heartbeats: session.heartbeats,
    contextPercent: session.contextPercent,
    score: session.score,
    startedAt: iso(session.startedAt),
    lastSeenAt: iso(session.lastSeenAt),
    endedAt: maybeIso(session.endedAt),
    currentTaskId: current?.taskId ?? null,
    currentTaskClaimedAt: maybeIso(current?.claimedAt ?? null),
    claimHistory: (view.record(project, id)?.history ?? []).map((record) => ({
      taskId: record.taskId,
      claimedAt: iso(record.claimedAt),
      releasedAt: iso(record.releasedAt),
      releaseReason: record.releaseReason,
      duration: Math.max(0, record.releasedAt - record.claimedAt),
    })),
  };
}

/** The seed's clients look for the ids in `data`; they are not stored twice. */
export function wireEvent(event: DibsEvent): WireEvent {
  const { taskId, sessionId } = event;
  const ids = { ...(taskId === null ? {} : { taskId }), ...(sessionId === null ? {} : { sessionId }) };
  return { ...event, at: iso(event.at), data: { ...ids, ...(withIsoTimes(event.data) as Json) } };
}

export function wireNotification(notification: Notification): WireNotification {
  return { ...notification, createdAt: iso(notification.createdAt), readAt: maybeIso(notification.readAt) };
}

export function wireReason(reason: Reason): WireReason {
  const { until, ...rest } = reason;
  return until === undefined ? rest : { ...rest, until: maybeIso(until) };
}

export function wireProject(view: View, project: Project): WireProject {
  return {
    ...project,
    isDefault: view.org().defaultProject === project.id,
    createdAt: iso(project.createdAt),
    updatedAt: iso(project.updatedAt),
  };
}
