// How a session fares, told from its lease and its heartbeats only: what an agent says about itself does not count. The store
// judges claims (healthStatus) whenever they are read; between two reads only the end of a lease is foreseen here.

import type { OutputOf } from "../../contract/operation.js";
import type { OperationNamed } from "../../contract/registry.js";
import type { WireClaim } from "../../contract/shapes.js";
import { type StateFacts, standing } from "./words.js";

export type SessionEntry = OutputOf<OperationNamed<"sessions.summary">>["sessions"][number];

/**
 * working: holds a task and renews its lease, or reviews a submission · waiting: for a human · stalled: holds a task and is silent, or lets the lease run
 * out · lost: it lost its last lease and was not heard of since, or promised heartbeats and is silent for too long · idle: holds
 * nothing.
 */
export type SessionHealth = "working" | "waiting" | "stalled" | "lost" | "idle";

/** The project's settings that matter here, and what they are where nobody set them. */
const patience = { orphanThresholdMs: 600_000 };

export function sessionHealth(
  session: SessionEntry,
  now: number,
  { orphanThresholdMs } = patience,
): SessionHealth {
  const { currentTask, reviewing = [], heartbeats, lastSeenAt, endedAt } = session;
  const isSilent = heartbeats && Math.abs(now - Date.parse(lastSeenAt)) >= orphanThresholdMs;
  if (endedAt !== null || isSilent) return "lost";
  if (currentTask === null && reviewing.length > 0) return "working";
  if (currentTask === null) return hasLostItsLast(session) ? "lost" : "idle";
  const { claim } = currentTask;
  if (isOver(claim, now)) return "lost";
  if (currentTask.state === "awaiting_response") return "waiting";
  return isWeak(claim, now) ? "stalled" : "working";
}

/** Why leases end when nobody ends them. */
const losses: ReadonlySet<string> = new Set([
  "ttl",
  "start_timeout",
  "timeout",
  "session_silent",
  "process_gone",
]);

/** Whoever looks ends a lease that is over, so the past tells, until the session is heard of again. */
function hasLostItsLast({ claimHistory: [last], lastSeenAt }: SessionEntry): boolean {
  if (!last || !losses.has(last.releaseReason)) return false;
  return Date.parse(lastSeenAt) < Date.parse(last.releasedAt);
}

type LeaseFacts = Pick<WireClaim, "healthStatus" | "expiresAt" | "lastHeartbeat">;

function isOver({ healthStatus, expiresAt }: Omit<LeaseFacts, "lastHeartbeat">, now: number): boolean {
  return healthStatus === "expired" || (healthStatus !== "paused" && Date.parse(expiresAt) <= now);
}

/** Null while the lease stands still. */
export function leaseLeftMs(
  { healthStatus, expiresAt }: Omit<LeaseFacts, "lastHeartbeat">,
  now: number,
): number | null {
  return healthStatus === "paused" ? null : Math.max(0, Date.parse(expiresAt) - now);
}

/** Over, silent, or let run out: a lease that is short from the beginning is always near its end, and half of it must be gone. */
export function isWeak(claim: LeaseFacts, now: number): boolean {
  const { healthStatus, expiresAt, lastHeartbeat } = claim;
  if (healthStatus === "stale" || isOver(claim, now)) return true;
  const wholeMs = Date.parse(expiresAt) - Date.parse(lastHeartbeat);
  return healthStatus === "expiring" && leaseLeftMs(claim, now)! < wholeMs / 2;
}

/** How much the store's clock is ahead of ours, as far as leases tell; null where none does. */
export function clockSkewMs(sessions: readonly SessionEntry[], now: number): number | null {
  for (const { currentTask } of sessions) {
    const claim = currentTask?.claim;
    if (claim && claim.healthStatus !== "paused" && claim.remainingMs > 0)
      return Date.parse(claim.expiresAt) - claim.remainingMs - now;
  }
  return null;
}

export type ClaimMark = "[*]" | "[!]" | "[?]" | "--" | "";

/** `[*]` in flight, `[!]` in flight but silent, `[?]` waits for an answer, `--` to be had. */
export function claimMark(task: StateFacts & { claim: LeaseFacts | null }, now: number): ClaimMark {
  if (task.state === "awaiting_response") return "[?]";
  if (task.claim) return isWeak(task.claim, now) ? "[!]" : "[*]";
  return standing(task, now) === "ready" ? "--" : "";
}
