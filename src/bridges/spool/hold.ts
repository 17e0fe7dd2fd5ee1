// One task that this spool holds: its record, its claim, and what has been reported about it.

import type { Dibs } from "../../client/client.js";
import { HeldClaim } from "../../client/holding/index.js";
import type { Held } from "./ledger.js";

export interface Hold {
  record: Held;
  claim: HeldClaim;
  /** The refusal that ended the claim. */
  refusal: unknown;
  isStarted: boolean;
  /** When the claim is to be renewed. */
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

export interface HoldParts {
  dibs: Dibs;
  project: { project?: string };
  now(): number;
  onTrouble(error: unknown): void;
}

/** `isKnown`: held since an earlier run of the spool. How long it has waited since then is unknown. */
export function holdOf(
  record: Held,
  { dibs, project, now, onTrouble }: HoldParts,
  { askedAt, isKnown }: { askedAt: number; isKnown: boolean },
): Hold {
  const { taskId, sessionId, epoch, ttlMs, timeoutMs } = record;
  const hold: Hold = {
    record,
    claim: new HeldClaim({
      dibs: () => dibs,
      by: { ...project, taskId, sessionId, epoch },
      ttlMs,
      askedAt,
      now,
      onLost: (error) => {
        hold.refusal = error;
      },
      onTrouble,
    }),
    refusal: null,
    isStarted: false,
    beatAt: askedAt,
    giveBackAt: timeoutMs === null ? Number.POSITIVE_INFINITY : askedAt + (isKnown ? 0 : timeoutMs * 0.75),
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
