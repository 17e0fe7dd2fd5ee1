// One task that this spool holds: its record, its claim, and what has been reported about it.

import type { Dibs } from "../../client/client.js";
import { HeldClaim } from "../../client/holding/index.js";
import type { HeldRecord } from "./records.js";

export interface Hold {
  record: HeldRecord;
  claim: HeldClaim;
  /** The refusal that ended the claim. */
  refusal: unknown;
  isStarted: boolean;
  /** When the claim is to be renewed. */
  renewAt: number;
  /** Releases the task before its time limit ends while it waits in `to_execute`. */
  giveBackAt: number;
  missingSince: number | null;
  /** Its file has no mark of an earlier attempt. */
  isFresh: boolean;
  /** Since when it is taken by a worker without a process id. */
  namelessSince: number | null;
  /** Its file was removed from `to_execute` because the store was unavailable; it returns when the lease is renewed. */
  isWithdrawn: boolean;
  /** Why the claim is lost; the file must be removed. */
  lost: string | null;
  /** Completed under our claim through the CLI or the API; only its file has to be archived. */
  isReported: boolean;
  /** Why it cannot be completed yet; reported once. */
  waitsFor: string | null;
}

export interface HoldParts {
  dibs: Dibs;
  project: { project?: string };
  now(): number;
  onTrouble(error: unknown): void;
}

/** `isKnown`: held since an earlier run; how long it has waited is unknown. */
export function holdOf(
  record: HeldRecord,
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
    renewAt: askedAt,
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

/** It is in `to_execute`, and no worker has taken it. */
export const isWaiting = ({ record, lost, isReported }: Hold): boolean =>
  !record.isTaken && lost === null && !isReported;
