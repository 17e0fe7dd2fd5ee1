// How a session fares, told from its lease and its heartbeats only: what an agent says about itself does not count. The store
// judges claims (healthStatus) whenever they are read; between two reads only the end of a lease is foreseen here.

import type { OutputOf } from "../../contract/operation.js";
import type { OperationNamed } from "../../contract/registry.js";
import type { WireClaim } from "../../contract/shapes.js";
import { type StateFacts, standing } from "./words.js";

export type SessionEntry = OutputOf<OperationNamed<"sessions.summary">>["sessions"][number];

/**
 * working: holds a task and renews its lease · waiting: for a human · stalled: holds a task and is silent, or lets the lease run
 * out · lost: its lease is over, or it promised heartbeats and is silent for too long · idle: holds nothing.
 */
export type SessionHealth = "working" | "waiting" | "stalled" | "lost" | "idle";

/** The project's settings that matter here, and what they are where nobody set them. */
export const patience = { orphanThresholdMs: 600_000 };

export function sessionHealth(
  session: SessionEntry,
  now: number,
  { orphanThresholdMs } = patience,
): SessionHealth {
  const { currentTask, heartbeats, lastSeenAt, endedAt } = session;
  const isSilent = heartbeats && now - Date.parse(lastSeenAt) >= orphanThresholdMs;
  if (endedAt !== null || isSilent) return "lost";
  if (currentTask === null) return "idle";
  const { claim } = currentTask;
  if (isOver(claim, now)) return "lost";
  if (currentTask.state === "awaiting_response") return "waiting";
  if (claim.healthStatus === "stale") return "stalled";
  // A lease that is short from the beginning is always near its end; only one that nobody renews is a bad sign.
  const isRunningOut = claim.healthStatus === "expiring" && leaseLeftMs(claim, now)! < claim.ttlMs / 2;
  return isRunningOut ? "stalled" : "working";
}

type LeaseFacts = Pick<WireClaim, "healthStatus" | "expiresAt">;

function isOver({ healthStatus, expiresAt }: LeaseFacts, now: number): boolean {
  return healthStatus === "expired" || (healthStatus !== "paused" && Date.parse(expiresAt) <= now);
}

/** Null while the lease stands still. */
export function leaseLeftMs({ healthStatus, expiresAt }: LeaseFacts, now: number): number | null {
  return healthStatus === "paused" ? null : Math.max(0, Date.parse(expiresAt) - now);
}

/** Silent, or nearly out of time. */
export const isWeak = (health: WireClaim["healthStatus"]) =>
  health === "stale" || health === "expired" || health === "expiring";

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
  if (task.claim) return isWeak(task.claim.healthStatus) || isOver(task.claim, now) ? "[!]" : "[*]";
  return standing(task, now) === "ready" ? "--" : "";
}
