// One claim that waits by itself: for a named task, or for a review. Claims of the next task wait together (waiting-claims.ts).

import { Wake } from "../common/wake.js";
import { DibsError } from "../contract/error.js";
import type { ChangeListener } from "../store/store.js";
import type { Caller } from "./environment.js";
import type { Executor } from "./execute.js";
import { monotonicMs } from "./sweep.js";
import { isTokenLive } from "./tokens.js";

/** Expired leases and dead processes cause no commit that could wake a wait. */
const retryMs = 1_000;

interface Waiting {
  caller: Caller;
  input: { waitMs?: number | undefined };
  signals?: readonly AbortSignal[];
}

/** Tries at once, at each commit that could help, and every second, until there is an answer. The last try must give one. */
export async function tryAgain<T>(
  executor: Executor,
  { caller, input: { waitMs = 0 }, signals = [] }: Waiting,
  couldHelp: (change: Parameters<ChangeListener>[0]) => boolean,
  attempt: (isOver: () => boolean) => Promise<T | null>,
): Promise<T> {
  const until = monotonicMs() + waitMs;
  const isOver = () => monotonicMs() >= until || signals.some((signal) => signal.aborted);
  const wake = new Wake();
  const ring = () => wake.ring();
  const stopListening = executor.store.onChange(caller.org, (change) => couldHelp(change) && ring());
  for (const signal of signals) signal.addEventListener("abort", ring);
  try {
    for (;;) {
      wake.arm();
      const answer = await attempt(isOver);
      if (answer !== null) return answer;
      await wake.wait(Math.max(0, Math.min(retryMs, until - monotonicMs())));
      await refuseRevoked(executor, caller);
    }
  } finally {
    stopListening();
    for (const signal of signals) signal.removeEventListener("abort", ring);
  }
}

/** A wait can last longer than the token of its caller. */
export async function refuseRevoked(executor: Executor, { org, token }: Caller): Promise<void> {
  if (token === undefined || (await isTokenLive(executor, org, token))) return;
  throw new DibsError("UNAUTHENTICATED", "The token was revoked, or has expired.");
}
