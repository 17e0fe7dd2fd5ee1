// Troubles of the store pass. Who has something to say to it says it again, less and less often, until it is heard or there is no
// use in it any more.

import { DibsError } from "../contract/error.js";

const passing: readonly string[] = ["RATE_LIMITED", "REQUEST_TIMEOUT"];
const retryMsMax = 30_000;

/** Troubles of the store or of the way to it. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof DibsError) || !error.retryable) return false;
  return error.code.startsWith("STORE_") || passing.includes(error.code);
}

export interface Patience {
  /** So long at first, then twice as long, and so on. */
  retryMs: number;
  /** No use in trying on. */
  isHopeless(): boolean;
  onTrouble(error: unknown): void;
  /** Ends the pause between two tries. */
  signal?: AbortSignal;
}

export async function persistently<T>(call: () => Promise<T>, patience: Patience): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      return await call();
    } catch (error) {
      if (!isPassing(error) || patience.isHopeless()) throw error;
      patience.onTrouble(error);
      await pause(Math.min(retryMsMax, patience.retryMs * 2 ** Math.min(failures, 20)), patience.signal);
    }
  }
}

/** Returns early when the signal fires. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });
}
