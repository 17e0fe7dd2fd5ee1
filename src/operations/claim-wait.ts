// claim-next that waits: tries when a commit may have freed something, when a scheduled task or a lease comes due, and looks every
// second for dead processes and leases that came to their end sooner. Between these an idle agent costs a glance at the store's version every few milliseconds.

import { DibsError } from "../contract/error.js";
import type { InputOf, OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import type { Caller } from "./environment.js";
import { Wake } from "./event-feed.js";
import { type CallOptions, type Executor, rethrow } from "./execute.js";
import { endDeadHolders, endOverdueLeases, isTimeToLook } from "./sweep.js";
import { isTokenLive } from "./tokens.js";

type ClaimNext = OperationNamed<"tasks.claimNext">;

const lookForDeadMs = 1_000;
/** setTimeout cannot wait for longer; the loop simply looks again. */
const timerMsMax = 2_000_000_000;

export interface WaitOptions extends CallOptions {
  /** Any of them ends the wait. (Not combined with AbortSignal.any: the long-lived ones would remember every call.) */
  signals?: readonly AbortSignal[] | undefined;
}

/** Promises are passed on, not awaited on each level: most claims find something at once. */
export function claimNext(
  executor: Executor,
  input: InputOf<ClaimNext>,
  caller: Caller,
  options: WaitOptions = {},
): Promise<OutputOf<ClaimNext>> {
  const claim = () =>
    executor.run("tasks.claimNext", input, caller, options).then(({ answer }) => {
      const waitMs = input?.waitMs ?? 0;
      if (answer.claim || waitMs === 0) return answer;
      return waitFor(executor, input, caller, { ...options, waitMs, answer }).catch(rethrow);
    });
  // Before claiming: a dead worker's urgent task comes before a live queue's next one.
  return isTimeToLook(executor, caller.org)
    ? endTheDeadsClaims(executor, input, caller).then(claim)
    : claim();
}

async function endTheDeadsClaims(executor: Executor, input: unknown, caller: Caller): Promise<void> {
  executor.admit("tasks.claimNext", input, caller);
  await endDeadHolders(executor, caller.org);
}

async function waitFor(
  executor: Executor,
  input: InputOf<ClaimNext>,
  caller: Caller,
  { waitMs, answer: first, ...options }: WaitOptions & { waitMs: number; answer: OutputOf<ClaimNext> },
): Promise<OutputOf<ClaimNext>> {
  const deadline = performance.now() + waitMs;
  const wake = new Wake();
  const stop = executor.store.onChange(caller.org, ({ mayFree }) => mayFree && wake.ring());
  const onAbort = () => wake.ring();
  const signals = options.signals ?? [];
  const isAborted = () => signals.some((signal) => signal.aborted);
  for (const signal of signals) signal.addEventListener("abort", onAbort);
  let lookedAt = performance.now();
  try {
    // Ended while the first try was under way.
    if (isAborted()) return first;
    for (;;) {
      wake.arm();
      const { answer, value } = await executor.run("tasks.claimNext", input, caller, options);
      const now = performance.now();
      if (answer.claim || now >= deadline || isAborted()) return answer;
      const retryAt = (value as { retryAt?: number | null } | null)?.retryAt ?? null;
      const dueMs = retryAt === null ? timerMsMax : await msUntil(executor, caller.org, retryAt);
      await sleepUntilWoken(Math.min(deadline, now + dueMs));
      if (isAborted()) return answer;
      await refuseRevoked(executor, caller);
    }
  } finally {
    stop();
    for (const signal of signals) signal.removeEventListener("abort", onAbort);
  }

  async function sleepUntilWoken(until: number): Promise<void> {
    for (;;) {
      const ms = Math.max(0, until - performance.now());
      await wake.wait(Math.min(ms, Math.max(0, lookedAt + lookForDeadMs - performance.now())));
      if (performance.now() >= lookedAt + lookForDeadMs) {
        lookedAt = performance.now();
        if ((await endDeadHolders(executor, caller.org)).length > 0) return;
        await endOverdueLeases(executor, caller.org);
      }
      if (wake.isRung || performance.now() >= until) return;
    }
  }
}

/** A wait may outlive the token it came with. */
async function refuseRevoked(executor: Executor, { org, token }: Caller): Promise<void> {
  if (token === undefined || (await isTokenLive(executor, org, token))) return;
  throw new DibsError("UNAUTHENTICATED", "The token was revoked, or has expired.");
}

/** The store's clock decides: how long until it shows `at`. */
async function msUntil(executor: Executor, org: string, at: number): Promise<number> {
  const now = await executor.store.read(org, (_view, now) => now);
  return Math.min(timerMsMax, Math.max(1, at - now));
}
