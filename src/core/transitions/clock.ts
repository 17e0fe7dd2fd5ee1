// The clock was set back: what was measured with the clock ahead is cut, once, by the first command after the step.

import type { Claim } from "../claim.js";
import type { Draft } from "../draft.js";
import { limits } from "../limits.js";
import type { ClaimSettings } from "../project.js";
import { canRead } from "../refusal.js";

/** Reads every open claim, but only once for each step of the clock. */
export function followClock(draft: Draft): void {
  draft.setTime();
  cutLeases(draft);
}

/** Leases that end later than this are looked at again by every cleanup. */
const longLeaseMs = 24 * 60 * 60_000;

/** For a store that an earlier version has used since the clock was set back: it left the leases as they were. */
export function cutForgottenLeases(draft: Draft): void {
  if (draft.view.nextDue(draft.now + longLeaseMs) !== null) cutLeases(draft);
}

function cutLeases(draft: Draft): void {
  for (const { project, taskId } of draft.view.due(Number.MAX_SAFE_INTEGER, limits.openClaimsMax)) {
    const isReadable = canRead(() => {
      draft.view.project(project);
      draft.claim(project, taskId);
    });
    if (!isReadable) continue;
    const claim = draft.claim(project, taskId);
    if (!claim) continue;
    const cut = cutLease(claim, draft.project(project).settings.claim, draft.now);
    if (cut) draft.putClaim(cut);
  }
}

/** The claim as if it had been renewed now, where it would last longer than any claim can; null if it would not. */
function cutLease(claim: Claim, settings: ClaimSettings, now: number): Claim | null {
  const { startBy, startedAt, deadlineAt, silentAt, pausedAt, ttlMs } = claim;
  const isCut = pausedAt === null && claim.expiresAt > now + Math.max(settings.maxTtlMs, ttlMs);
  const isSilentCut = silentAt !== null && silentAt > now + settings.orphanThresholdMs;
  if (!isCut && !isSilentCut) return null;
  const next = { ...claim, silentAt: isSilentCut ? now + settings.orphanThresholdMs : silentAt };
  if (!isCut) return next;
  const startByCut = startBy === null ? null : Math.min(startBy, now + settings.startTimeoutMs);
  // The task's own time counts from the start, or from the last moment to start.
  const from = startedAt ?? startBy;
  const fromCut = startedAt === null ? startByCut : Math.min(startedAt, now);
  return {
    ...next,
    expiresAt: now + ttlMs,
    startBy: startByCut,
    startedAt: startedAt === null ? null : Math.min(startedAt, now),
    deadlineAt: deadlineAt === null || from === null ? deadlineAt : fromCut! + (deadlineAt - from),
    lastHeartbeat: Math.min(claim.lastHeartbeat, now),
  };
}
