// What every store does alike for an org: how it begins, what time it is in it, and when old idempotency keys are dropped.

import { clockStepBackMsMax, limits } from "../core/limits.js";
import { defaultSettings, type Org, orgTime, type Project } from "../core/project.js";
import type { Clock } from "./store.js";

/** The rows of a new org. */
export function newOrg(org: string, defaultProject: string, now: number): { org: Org; project: Project } {
  const none = { eventSeq: 0, eventMin: 1, ordinal: 0, notificationSeq: 0 };
  return {
    org: { org, ...none, lastAt: now, highestAt: now, defaultProject, createdAt: now },
    project: { id: defaultProject, settings: defaultSettings, paused: false, createdAt: now, updatedAt: now },
  };
}

/** The time of a transaction: small steps back of the clock are absorbed. */
export function timeIn(org: Org, clock: Clock): number {
  return orgTime(org.lastAt, clock.now(), clockStepBackMsMax);
}

const dropEveryMs = 60_000;
/** Keys that one transaction drops. */
export const keysDroppedMax = 1_000;

/** Drops keys too old to be honoured, now and then. */
export class OldKeys {
  private readonly droppedAt = new Map<string, number>();

  /** Keys created before this instant are to be dropped in this transaction; null: none. */
  before(org: string, now: number): number | null {
    const isTime = Math.abs(now - (this.droppedAt.get(org) ?? 0)) >= dropEveryMs;
    return isTime ? now - limits.idempotencyKeepMs : null;
  }

  dropped(org: string, now: number, count: number): void {
    if (count < keysDroppedMax) this.droppedAt.set(org, now);
  }
}
