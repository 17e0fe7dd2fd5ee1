// One task that this spool holds, as this process knows it: its record, its lease by our own clock, and what has been told.

import type { HolderOf } from "../../client/reporting.js";
import type { Held } from "./ledger.js";

export interface Hold {
  record: Held;
  by: HolderOf;
  isStarted: boolean;
  /** When the lease is over unless renewed, and when it is to be renewed. */
  leaseUntil: number;
  beatAt: number;
  /** While it waits in `to_execute`: the task's own time limit runs, and must not run out before anybody has begun. */
  giveBackAt: number;
  missingSince: number | null;
  /** Nothing about its file tells of an earlier attempt. */
  isFresh: boolean;
  /** Taken by somebody without a process id, since then. */
  namelessSince: number | null;
  /** Its file was taken out of `to_execute` because the store could not be reached; it comes back with the lease. */
  isWithdrawn: boolean;
  /** Why it is no longer ours; its file is to be taken away. */
  lost: string | null;
  /** Somebody completed it under our claim, by the command line or the API; its file need only be put away. */
  isReported: boolean;
  /** Why it cannot be completed yet, once that was said. */
  waitsFor: string | null;
}

export function holdOf(
  record: Held,
  project: { project?: string },
  at: { askedAt: number; isKnown: boolean },
) {
  const { taskId, sessionId, epoch, ttlMs, timeoutMs } = record;
  const hold: Hold = {
    record,
    by: { ...project, taskId, sessionId, epoch },
    isStarted: false,
    leaseUntil: at.askedAt + ttlMs,
    beatAt: at.askedAt,
    // How long it has waited before this process came is not known.
    giveBackAt:
      timeoutMs === null ? Number.POSITIVE_INFINITY : at.askedAt + (at.isKnown ? 0 : timeoutMs * 0.75),
    missingSince: null,
    isFresh: false,
    namelessSince: null,
    isWithdrawn: false,
    lost: null,
    isReported: false,
    waitsFor: null,
  };
  return hold;
}

/** It lies in `to_execute` and nobody has begun. */
export const isWaiting = ({ record, lost, isReported }: Hold): boolean =>
  !record.isTaken && lost === null && !isReported;
