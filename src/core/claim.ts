// A claim is one attempt to work on a task: a lease with a fencing number, the epoch. Open claims are few and hot;
// a closed one becomes an attempt, which nothing updates later but a late result for a human to see.

import type { Usage } from "./cost.js";
import type { ClaimSettings } from "./project.js";
import type { Uses } from "./resource.js";
import type { TaskResult } from "./task.js";

export type HeldState = "claimed" | "running" | "awaiting_response";

export interface Progress {
  note: string | null;
  percent: number | null;
  at: number;
}

export interface Claim {
  project: string;
  taskId: string;
  sessionId: string;
  epoch: number;
  state: HeldState;
  agentType: string | null;
  claimedAt: number;
  startedAt: number | null;
  expiresAt: number;
  ttlMs: number;
  lastHeartbeat: number;
  heartbeatCount: number;
  progress: Progress | null;
  metadata: Record<string, unknown> | null;
  /** What it has taken: the sum of what task, session and project used when it was granted. */
  uses: Uses;
  /** What its holder has reported. */
  usage: Usage | null;
  /** Claimed but not started or renewed by then: over. Null once it was. */
  startBy: number | null;
  /** The task's own `timeoutMs`, as an instant. */
  deadlineAt: number | null;
  /** When the session counts as dead by silence; null if it promised no heartbeats. */
  silentAt: number | null;
  /** The lease clock stands still since then: a question is open. */
  pausedAt: number | null;
  /** The holder has acted on this task since it was handed out. */
  acknowledged: boolean;
  updatedAt: number;
}

/** How an attempt ended: the move that closed it. */
export type AttemptEnd =
  | "complete"
  | "submit"
  | "fail"
  | "release"
  | "expire"
  | "orphan"
  | "cancel"
  | "abandon";

/** What a claim and the attempt it becomes have in common. */
export type Lease = Omit<Claim, "silentAt" | "startBy" | "deadlineAt" | "pausedAt" | "acknowledged">;

export interface Attempt extends Lease {
  end: AttemptEnd;
  releasedAt: number;
  releaseReason: string;
  result: TaskResult | null;
  error: string | null;
  lateResult: LateResult | null;
  /** Resources whose budgets count it as an attempt of unknown cost. */
  unreported: readonly string[] | null;
  /** What the closing call answered, so that its repetition answers the same. */
  answer: AttemptAnswer | null;
}

export interface LateResult {
  at: number;
  result: TaskResult | null;
  error: string | null;
}

export interface AttemptAnswer {
  unblocked?: string[];
  unblockedCount?: number;
  willRetry?: boolean;
  retryAt?: number | null;
  /** The number of the submission. */
  submission?: number;
  /** The notification that told people that the task failed for good. */
  told?: string;
}

/** The instant at which the lease is over, or null while it is paused. */
export function dueAt(claim: Claim): number | null {
  let due = claim.pausedAt === null ? claim.expiresAt : Number.POSITIVE_INFINITY;
  if (claim.pausedAt === null) {
    if (claim.startBy !== null && claim.startBy < due) due = claim.startBy;
    if (claim.deadlineAt !== null && claim.deadlineAt < due) due = claim.deadlineAt;
  }
  if (claim.silentAt !== null && claim.silentAt < due) due = claim.silentAt;
  return due === Number.POSITIVE_INFINITY ? null : due;
}

export function isOver(claim: Claim, now: number): boolean {
  const due = dueAt(claim);
  return due !== null && now >= due;
}

export type OverReason = "start_timeout" | "ttl" | "timeout" | "session_silent";

/** Why a lease that is over ended: the earliest of its instants decides. */
export function overReason(claim: Claim): OverReason {
  const due = dueAt(claim);
  if (claim.silentAt === due) return "session_silent";
  if (claim.startBy === due) return "start_timeout";
  if (claim.deadlineAt === due) return "timeout";
  return "ttl";
}

/** How long its holder has worked: since the start, or since the claim if it was never started. */
export function workedMs(claim: Claim, now: number): number {
  return Math.max(0, now - (claim.startedAt ?? claim.claimedAt));
}

export type HealthStatus = "paused" | "expired" | "expiring" | "stale" | "warning" | "healthy";

export function healthStatus(claim: Claim, settings: ClaimSettings, now: number): HealthStatus {
  if (claim.pausedAt !== null && !isOver(claim, now)) return "paused";
  if (isOver(claim, now)) return "expired";
  const remaining = claim.expiresAt - now;
  if (remaining <= settings.expiringThresholdMs) return "expiring";
  if (now - claim.lastHeartbeat >= settings.staleAfterMs) return "stale";
  if (remaining <= settings.warningThresholdMs) return "warning";
  return "healthy";
}

export function remainingMs(claim: Claim, now: number): number {
  return Math.max(0, claim.expiresAt - (claim.pausedAt ?? now));
}
