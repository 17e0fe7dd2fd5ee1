// Retries with backoff.

import { pause } from "./abort.js";

/** Exponential, with jitter: clients that lost the same server do not come back at the same instant. */
export function backoffMs(baseMs: number, failures: number, maxMs: number): number {
  return Math.min(maxMs, baseMs * 2 ** Math.min(failures, 30)) * (1 + Math.random() / 2);
}

export interface Retry {
  /** Whether the error can pass by itself. Any other is thrown at once. */
  isTransient(error: unknown): boolean;
  /** How long to pause after so many failures (from 0). */
  pauseMs(failures: number): number;
  triesMax?: number;
  /** No attempt begins later than this after the first failure. */
  withinMs?: number;
  /** Asked after each failure: another attempt is of no use. */
  isStopped?(): boolean;
  onRetry?(error: unknown): void;
  /** Cuts the pause between two attempts short. */
  signal?: AbortSignal;
}

/** Repeats the call until it succeeds. Throws the last error when it must stop. */
export async function retry<T>(call: () => Promise<T> | T, options: Retry): Promise<T> {
  const { isTransient, pauseMs, triesMax = Number.POSITIVE_INFINITY, withinMs, onRetry, signal } = options;
  let until = Number.POSITIVE_INFINITY;
  for (let failures = 0; ; failures++) {
    try {
      return await call();
    } catch (error) {
      if (failures === 0 && withinMs !== undefined) until = performance.now() + withinMs;
      const isLast = failures + 1 >= triesMax || performance.now() > until || options.isStopped?.();
      if (isLast || !isTransient(error)) throw error;
      onRetry?.(error);
      await pause(pauseMs(failures), signal);
    }
  }
}
