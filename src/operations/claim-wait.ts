// Claims that wait. If tasks.claimNext finds nothing, it joins the claims that wait in its org
// (waiting-claims.ts), which retry when a commit might have unblocked a task, or something comes due.
// tasks.claim waits for its task alone.

import { DibsError } from "../contract/error.js";
import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import type { ReasonCode } from "../core/explain.js";
import type { Executor } from "./execute.js";
import type { CommandCall } from "./handler.js";
import { withHandover } from "./handover.js";
import { withReason } from "./nothing.js";
import { recoverTask } from "./preparations.js";
import { endDeadHolders, endDeadHoldersSince, isHolderScanDue, monotonicMs } from "./sweep.js";
import { refuseRevoked, tryAgain } from "./try-again.js";
import { type Waiter, waitingClaimsOf } from "./waiting-claims.js";

type ClaimNext = CommandCall<"tasks.claimNext">;
type Answer = OutputOf<OperationNamed<"tasks.claimNext">>;

/** Promises are passed on, not awaited on each level: most claims get a task at once. */
export function claimNext(executor: Executor, call: ClaimNext): Promise<Answer> {
  const { org } = call.caller;
  const startedAt = monotonicMs();
  const claim = () =>
    executor
      .transact(call)
      .then(({ answer }) =>
        answer.claim
          ? withHandover(executor, org, answer)
          : claimLater(executor, call, { answer, startedAt }),
      );
  // Before claiming: an urgent task of a dead worker comes before the next one in the queue.
  return isHolderScanDue(executor, org) ? endDeadHolders(executor, org).then(claim) : claim();
}

interface Earlier {
  answer: Answer;
  startedAt: number;
}

async function claimLater(executor: Executor, call: ClaimNext, earlier: Earlier): Promise<Answer> {
  const latest = await claimAgain(executor, call, earlier);
  if (latest.claim) return withHandover(executor, call.caller.org, latest);
  return isAborted(call) ? latest : withReason(executor, call, latest);
}

const isAborted = ({ signals = [] }: ClaimNext) => signals.some((signal) => signal.aborted);

/** No claim returns nothing while a process that ended before the call holds a task. */
async function claimAgain(
  executor: Executor,
  call: ClaimNext,
  { answer, startedAt }: Earlier,
): Promise<Answer> {
  const released = await endDeadHoldersSince(executor, call.caller.org, startedAt);
  const { waitMs = 0 } = call.input;
  if (waitMs > 0) return waitFor(executor, call, waitMs, answer);
  if (released.length === 0) return answer;
  return (await executor.transact(call)).answer;
}

async function waitFor(executor: Executor, call: ClaimNext, waitMs: number, answer: Answer): Promise<Answer> {
  // Aborted during the first try.
  if (isAborted(call)) return answer;
  const { signals = [] } = call;
  const waiting = waitingClaimsOf(executor, call.caller.org);
  const claim = new WaitingClaim(executor, call, answer, (at) => waiting.noteDue(at));
  const end = () => claim.end();
  const timer = setTimeout(end, waitMs);
  for (const signal of signals) signal.addEventListener("abort", end);
  waiting.add(claim);
  try {
    return await claim.settled;
  } finally {
    waiting.remove(claim);
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener("abort", end);
  }
}

class WaitingClaim implements Waiter {
  triedAt = -1;
  readonly settled: Promise<Answer>;
  private settle!: { resolve: (answer: Answer) => void; reject: (error: unknown) => void };
  private isSettled = false;
  private isTrying = false;
  private hasTried = false;
  private isAtEnd = false;
  private lastTry = Promise.resolve();

  constructor(
    private readonly executor: Executor,
    readonly call: ClaimNext,
    private latest: Answer,
    private readonly noteDue: (at: number | null) => void,
  ) {
    this.settled = new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
    });
  }

  /** One after the other: two tries could claim a task each, and the caller would receive only one. */
  attempt(): Promise<void> {
    this.lastTry = this.lastTry.then(() => (this.isSettled ? undefined : this.claim()));
    return this.lastTry;
  }

  private async claim(): Promise<void> {
    const { executor, call } = this;
    this.isTrying = true;
    try {
      if (this.hasTried) await refuseRevoked(executor, call.caller);
      this.hasTried = true;
      const { answer, value } = await executor.transact(call);
      const { retryAt = null } = (value ?? {}) as { retryAt?: number | null };
      // If a breaker opens, the wait ends: the caller reports it, and waits again.
      const isNews = isHeldBack(answer) && !isHeldBack(this.latest);
      if (answer.claim || isNews) this.finish(() => this.settle.resolve(answer));
      else this.noteDue(retryAt);
      this.latest = answer;
    } catch (error) {
      this.finish(() => this.settle.reject(error));
    }
    this.isTrying = false;
    if (this.isAtEnd) this.end();
  }

  /** Not during a try: the caller must receive the task that the try claims. */
  end(): void {
    this.isAtEnd = true;
    if (!this.isTrying) this.finish(() => this.settle.resolve(this.latest));
  }

  private finish(settle: () => void): void {
    this.isSettled = true;
    settle();
  }
}

type ClaimNamed = OperationNamed<"tasks.claim">;

/**
 * Reasons that end with time or by what other sessions do. Any other needs an edit, and the claim is refused
 * at once.
 */
const passing: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  "CLAIMED",
  "AWAITING_RESPONSE",
  "WAITING_ON_DEPENDENCIES",
  "WAITING_ON_CHILDREN",
  "SCHEDULED",
  "PROJECT_PAUSED",
  "RESOURCE_HELD",
  "RESOURCE_BUSY",
]);

function canPass(error: unknown): boolean {
  if (!(error instanceof DibsError)) return false;
  if (error.code === "TASK_ALREADY_CLAIMED") return true;
  const reasons = (error.details.reasons ?? []) as { code: ReasonCode }[];
  return error.code === "TASK_NOT_CLAIMABLE" && reasons.every(({ code }) => passing.has(code));
}

/** The named task, as soon as it can be claimed. If the wait ends first: the refusal. */
export function claimNamed(
  executor: Executor,
  call: CommandCall<"tasks.claim">,
): Promise<OutputOf<ClaimNamed>> {
  const claim = async () => {
    await recoverTask(executor, call);
    const { answer } = await executor.transact(call);
    return withHandover(executor, call.caller.org, answer);
  };
  if (!call.input.waitMs) return claim();
  return tryAgain(
    executor,
    call,
    ({ mayFree }) => mayFree,
    async (isOver) => {
      try {
        return await claim();
      } catch (error) {
        if (isOver() || !canPass(error)) throw error;
        return null;
      }
    },
  );
}

const isHeldBack = (answer: Answer) => "breaker" in answer;
