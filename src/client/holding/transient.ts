// Errors of the store, or of the way to it, that pass: a lock that another process holds, a full disk, a server's restart.

import { backoffMs, retry } from "../../common/retry.js";
import { DibsError } from "../../contract/error.js";

const transientCodes: readonly string[] = ["RATE_LIMITED", "REQUEST_TIMEOUT"];
const pauseMsMax = 30_000;

export function isTransient(error: unknown): boolean {
  if (!(error instanceof DibsError) || !error.retryable) return false;
  return error.code.startsWith("STORE_") || transientCodes.includes(error.code);
}

export interface Patience {
  /** The pause after the first failure; each next one is twice as long, up to 30 s. */
  retryMs: number;
  triesMax?: number;
  isStopped?(): boolean;
  onTrouble?(error: unknown): void;
  /** Cuts the pause between two attempts short. */
  signal?: AbortSignal;
}

/** Repeats a call while the store cannot answer it. */
export function untilAnswered<T>(call: () => Promise<T>, patience: Patience): Promise<T> {
  const { retryMs, onTrouble, ...rest } = patience;
  return retry(call, {
    ...rest,
    isTransient,
    pauseMs: (failures) => backoffMs(retryMs, failures, pauseMsMax),
    ...(onTrouble ? { onRetry: onTrouble } : {}),
  });
}
