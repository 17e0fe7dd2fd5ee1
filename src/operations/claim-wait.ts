// Claims that wait. A claim-next that finds nothing joins the claims that wait in its org (waiting-claims.ts), which try again when a
// commit may have freed something, or something comes due. The claim of a named task waits for that task alone.

import { Wake } from "../common/wake.js";
import { DibsError } from "../contract/error.js";
import type { InputOf, OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import type { ReasonCode } from "../core/explain.js";
import type { Caller } from "./environment.js";
import { type CallOptions, type Executor, rethrow } from "./execute.js";
import { withReason } from "./nothing.js";
import { endDeadHolder, endDeadHolders, endDeadHoldersSince, isTimeToLook, monotonicMs } from "./sweep.js";
import { isTokenLive } from "./tokens.js";
import { type Waiter, waitingClaimsOf } from "./waiting-claims.js";

type ClaimNext = OperationNamed<"tasks.claimNext">;
type Answer = OutputOf<ClaimNext>;

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
): Promise<Answer> {
  const begunAt = monotonicMs();
  const claim = () =>
    executor.run("tasks.claimNext", input, caller, options).then(({ answer }) =>
      answer.claim
        ? answer
        : lookAgain(executor, input, caller, { ...options, answer, begunAt })
            .then((latest) => (hasLeft(options) ? latest : withReason(executor, input, caller, latest)))
            .catch(rethrow),
    );
  // Before claiming: a dead worker's urgent task comes before a live queue's next one.
  return isTimeToLook(executor, caller.org)
    ? endTheDeadsClaims(executor, input, caller).then(claim)
    : claim();
}

/** Nobody waits for the answer any more. */
const hasLeft = ({ signals = [] }: WaitOptions) => signals.some((signal) => signal.aborted);

async function endTheDeadsClaims(executor: Executor, input: unknown, caller: Caller): Promise<void> {
  executor.admit("tasks.claimNext", input, caller);
  await endDeadHolders(executor, caller.org);
}

/** Nobody is told that there is nothing while a process that died before the call holds something. */
async function lookAgain(
  executor: Executor,
  input: InputOf<ClaimNext>,
  caller: Caller,
  { answer, begunAt, ...options }: WaitOptions & { answer: Answer; begunAt: number },
): Promise<Answer> {
  const freed = await endDeadHoldersSince(executor, caller.org, begunAt);
  const waitMs = input?.waitMs ?? 0;
  if (waitMs > 0) return waitFor(executor, input, caller, { ...options, waitMs, answer });
  if (freed.length === 0) return answer;
  return (await executor.run("tasks.claimNext", input, caller, options)).answer;
}

async function waitFor(
  executor: Executor,
  input: InputOf<ClaimNext>,
  caller: Caller,
  { waitMs, answer, signals = [], ...options }: WaitOptions & { waitMs: number; answer: Answer },
): Promise<Answer> {
  // Ended while the first try was under way.
  if (hasLeft({ signals })) return answer;
  const waiting = waitingClaimsOf(executor, caller.org);
  const claim = new WaitingClaim(executor, input, caller, { ...options, answer }, (at) =>
    waiting.noteDue(at),
  );
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
  private latest: Answer;
  private lastTry = Promise.resolve();

  constructor(
    private readonly executor: Executor,
    readonly input: InputOf<ClaimNext>,
    readonly caller: Caller,
    private readonly options: CallOptions & { answer: Answer },
    private readonly noteDue: (at: number | null) => void,
  ) {
    this.latest = options.answer;
    this.settled = new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
    });
  }

  /** One after the other: two could be handed a task each, and the caller hears of one. */
  attempt(): Promise<void> {
    this.lastTry = this.lastTry.then(() => (this.isSettled ? undefined : this.claim()));
    return this.lastTry;
  }

  private async claim(): Promise<void> {
    const { executor, input, caller, options } = this;
    this.isTrying = true;
    try {
      if (this.hasTried) await refuseRevoked(executor, caller);
      this.hasTried = true;
      const { answer, value } = await executor.run("tasks.claimNext", input, caller, options);
      const { retryAt = null } = (value ?? {}) as { retryAt?: number | null };
      // That the agent fails at once is news: the caller says so, and waits again.
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

  /** Not while it tries: what it is handed then must arrive. */
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

/** Reasons that pass by themselves or by what other sessions do. Any other takes an edit, and is refused at once. */
const passing: ReadonlySet<ReasonCode> = new Set<ReasonCode>([
  "CLAIMED",
  "AWAITING_RESPONSE",
  "WAITING_ON_DEPENDENCIES",
  "WAITING_ON_CHILDREN",
  "SCHEDULED",
  "PROJECT_PAUSED",
]);

function canPass(error: unknown): boolean {
  if (!(error instanceof DibsError)) return false;
  if (error.code === "TASK_ALREADY_CLAIMED") return true;
  const reasons = (error.details.reasons ?? []) as { code: ReasonCode }[];
  return error.code === "TASK_NOT_CLAIMABLE" && reasons.every(({ code }) => passing.has(code));
}

/** Leases and dead processes end without a commit that could wake a wait. */
const lookAgainMs = 1_000;

/** The named task, as soon as it can be claimed; when the time is up, the refusal. */
export async function claimNamed(
  executor: Executor,
  input: InputOf<ClaimNamed>,
  caller: Caller,
  { signals = [], ...options }: WaitOptions = {},
): Promise<OutputOf<ClaimNamed>> {
  const {
    project = caller.project,
    taskId,
    waitMs = 0,
  } = executor.admit("tasks.claim", input, caller) as Named;
  const claim = async () => {
    await endDeadHolder(executor, caller.org, project, taskId).catch(rethrow);
    return executor.execute("tasks.claim", input, caller, options);
  };
  if (waitMs === 0) return claim();
  const until = monotonicMs() + waitMs;
  const wake = new Wake();
  const ring = () => wake.ring();
  const stopListening = executor.store.onChange(caller.org, ({ mayFree }) => mayFree && ring());
  for (const signal of signals) signal.addEventListener("abort", ring);
  try {
    for (;;) {
      wake.arm();
      try {
        return await claim();
      } catch (error) {
        const leftMs = until - monotonicMs();
        const isEnded = leftMs <= 0 || signals.some((signal) => signal.aborted);
        if (isEnded || !canPass(error)) throw error;
        await wake.wait(Math.min(lookAgainMs, leftMs));
        await refuseRevoked(executor, caller);
      }
    }
  } finally {
    stopListening();
    for (const signal of signals) signal.removeEventListener("abort", ring);
  }
}

interface Named {
  project?: string;
  taskId: string;
  waitMs?: number;
}

const isHeldBack = (answer: Answer) => "breaker" in answer;

/** A wait may outlive the token it came with. */
async function refuseRevoked(executor: Executor, { org, token }: Caller): Promise<void> {
  if (token === undefined || (await isTokenLive(executor, org, token))) return;
  throw new DibsError("UNAUTHENTICATED", "The token was revoked, or has expired.");
}
