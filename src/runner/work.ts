// Claim, run, report, repeat. Every slot has a session of its own and one group of processes at a time. Nothing is stranded: a stop
// lets what runs finish, and ends and releases it after the grace.

import { randomBytes } from "node:crypto";
import { newKey } from "../client/keys.js";
import { DibsError } from "../contract/error.js";
import type { WireBreaker } from "../contract/shapes.js";
import { Bench, type Claimed } from "./bench.js";
import { refuseBadCommand } from "./command.js";
import type { Group } from "./group.js";
import {
  type AttemptEnd,
  defaultTimings,
  type Outcome,
  type RunnerOptions,
  type Timings,
} from "./options.js";
import { persistently } from "./patience.js";
import { waitsForAnswer, waitsForChildren } from "./report.js";
import { repositoryOf } from "./worktree.js";

export interface WorkOptions extends RunnerOptions {
  /** How many commands at once; default 1. */
  concurrency?: number;
  /** The session's id; with several slots each has `-1`, `-2` and so on behind it. Default: a generated one. */
  sessionId?: string;
  /** Only tasks with one of these labels. */
  labels?: string[];
  /** Run one task, and end. */
  once?: boolean;
  /** End when nothing runs here, nothing can be claimed, and no retry or scheduled task that fits is to come. */
  untilEmpty?: boolean;
  /** End when nothing runs here and nothing can be claimed now. */
  untilIdle?: boolean;
}

/** How many attempts ended how. */
export type Summary = Record<Outcome, number>;

export interface Runner {
  /** Rejects if the runner could not go on. */
  readonly done: Promise<Summary>;
  /** Claims nothing more. What runs may finish within the grace, with `now` it is ended at once; its tasks are released. */
  stop(options?: { now?: boolean }): Promise<void>;
}

export const concurrencyMax = 100;

export function runWork(options: WorkOptions): Runner {
  refuseBadCommand(options.command);
  const { concurrency = 1 } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > concurrencyMax) {
    throw new DibsError(
      "VALIDATION_FAILED",
      `concurrency must be a whole number from 1 to ${concurrencyMax}, not ${concurrency}.`,
    );
  }
  return new WorkLoop(options, { ...defaultTimings, ...options.timings });
}

export const newSessionId = () => `run-${process.pid}-${randomBytes(4).toString("hex")}`;

/** What a claim brought, or why there is nothing. */
interface Answer {
  claimed: Claimed | null;
  scheduledAt?: string | undefined;
  breaker?: WireBreaker | undefined;
}

class WorkLoop implements Runner {
  readonly done: Promise<Summary>;
  private readonly bench: Bench;
  private readonly slots: number;
  private isStopping = false;
  /** The agent fails at once, and that was reported. */
  private isHeldBack = false;
  /** Ends the claims that wait now; renewed after each use. */
  private waiting = new AbortController();
  private readonly stopping = new AbortController();
  /** How often tasks went back because of their children, the latest at the end. */
  private readonly rounds = new Map<string, number>();
  private readonly summary: Summary = {
    completed: 0,
    failed: 0,
    released: 0,
    awaiting: 0,
    reported: 0,
    lost: 0,
  };

  constructor(
    private readonly options: WorkOptions,
    private readonly timings: Timings,
  ) {
    this.bench = new Bench(options, timings);
    this.slots = options.once ? 1 : (options.concurrency ?? 1);
    const onSignal = () => void this.stop().catch(() => undefined);
    if (options.signal?.aborted) this.stopClaiming();
    else options.signal?.addEventListener("abort", onSignal, { once: true });
    this.done = this.run().finally(() => options.signal?.removeEventListener("abort", onSignal));
    this.done.catch(() => undefined);
  }

  async stop({ now = false } = {}): Promise<void> {
    this.stopClaiming();
    this.bench.stop({ now });
    await this.done;
  }

  private stopClaiming(): void {
    this.isStopping = true;
    this.stopping.abort();
    this.wakeWaits();
  }

  private wakeWaits(): void {
    const { waiting } = this;
    this.waiting = new AbortController();
    waiting.abort();
  }

  private async run(): Promise<Summary> {
    const { worktree } = this.options;
    if (worktree) await repositoryOf(worktree.root);
    await this.bench.open();
    try {
      const base = this.options.sessionId ?? newSessionId();
      const ids = Array.from({ length: this.slots }, (_, n) =>
        this.slots === 1 ? base : `${base}-${n + 1}`,
      );
      await this.persistently(() => this.bench.introduce(ids));
      const slots = ids.map((sessionId) =>
        this.slot(sessionId).catch((error) => {
          this.stopClaiming();
          throw error;
        }),
      );
      const failed = (await Promise.allSettled(slots)).find((slot) => slot.status === "rejected");
      if (failed) throw failed.reason;
      return this.summary;
    } finally {
      await this.bench.close();
    }
  }

  private async slot(sessionId: string): Promise<void> {
    let group: Group | null = null;
    // Without waiting at first: an answer that comes at once says why there is nothing.
    let waits = false;
    try {
      while (!this.isStopping) {
        if (!group?.isReady) group = this.bench.newGroup(sessionId);
        // A wait that was ended may have missed what a report has just set free; the last look does not wait.
        const isLastLook = !waits && this.isIdle();
        const answer: Answer | null = await this.claim(sessionId, group, { waits });
        if (answer?.claimed) {
          const end: AttemptEnd = await this.attempt(answer.claimed, group);
          group = null;
          waits = false;
          this.summary[end.outcome]++;
          if (end.outcome !== "failed") this.isHeldBack = false;
          if (this.options.once) return;
          if (this.isToComeBack(end)) await this.forgetWhatWasGivenBack(sessionId);
        } else {
          if (isLastLook && this.isIdle() && !this.isMoreToCome(answer)) return;
          waits = !(waits && this.ends);
        }
      }
    } finally {
      await group?.end();
      await this.bench.endSession(sessionId).catch((error) => this.options.onTrouble?.(error));
    }
  }

  /** Whether it is taken again as soon as others have done their part: there are only so many rounds of that. */
  private isToComeBack({ project, taskId, reason }: AttemptEnd): boolean {
    if (reason === waitsForAnswer) return true;
    if (reason !== waitsForChildren) return false;
    const name = `${project} ${taskId}`;
    const rounds = (this.rounds.get(name) ?? 0) + 1;
    this.rounds.delete(name);
    this.rounds.set(name, rounds);
    if (this.rounds.size > tasksMax) this.rounds.delete(this.rounds.keys().next().value!);
    return rounds <= roundsMax;
  }

  /** A session is not handed for a while what it gave back; here that is ready as soon as others have done their part. */
  private async forgetWhatWasGivenBack(sessionId: string): Promise<void> {
    await this.persistently(async () => {
      await this.bench.endSession(sessionId);
      await this.bench.register(sessionId);
    });
  }

  private async attempt(claimed: Claimed, group: Group): Promise<AttemptEnd> {
    try {
      return await this.bench.run(claimed, group, { isStopping: this.isStopping });
    } finally {
      if (this.ends && this.bench.running.size === 0) this.wakeWaits();
    }
  }

  private get ends(): boolean {
    const { untilEmpty, untilIdle } = this.options;
    return untilEmpty === true || untilIdle === true;
  }

  /** Nothing runs that could set something free. */
  private isIdle(): boolean {
    return this.ends && this.bench.running.size === 0;
  }

  /** Whether time alone gives this runner something to do. An agent that does not recover is given up. */
  private isMoreToCome(answer: Answer | null): boolean {
    if (!this.options.untilEmpty || !answer) return false;
    const { scheduledAt, breaker } = answer;
    return breaker ? breaker.failures < failuresMax : scheduledAt !== undefined;
  }

  private async claim(
    sessionId: string,
    group: Group,
    { waits }: { waits: boolean },
  ): Promise<Answer | null> {
    const { labels, once } = this.options;
    const { claimWaitMs, emptyWaitMs } = this.timings;
    const input = {
      ...this.bench.claimInput(sessionId, group),
      resume: false,
      // One task is asked for by a person, who sees how it goes.
      heedBreaker: !once,
      waitMs: !waits ? 0 : this.isIdle() ? Math.min(emptyWaitMs, claimWaitMs) : claimWaitMs,
      ...(labels === undefined ? {} : { labels }),
    };
    // One key for all tries: a claim whose answer was lost would be held by nobody who knows.
    const idempotencyKey = newKey();
    const { signal } = this.waiting;
    let askedAt = 0;
    const claim = () => {
      askedAt = performance.now();
      return this.bench.dibs.tasks.claimNext(input, { signal, idempotencyKey });
    };
    const answer = await this.persistently(() => this.asKnown(sessionId, claim));
    if (!answer) return null;
    if (!answer.claim || !answer.task) {
      if ("breaker" in answer && answer.breaker) this.holdBack(answer.breaker);
      return { claimed: null, ...answer };
    }
    // How long it waited before it was granted is not known here; the first heartbeat makes it exact.
    askedAt = Math.max(askedAt, performance.now() - answerMsMax);
    return { claimed: { claim: answer.claim, task: answer.task, askedAt } };
  }

  private holdBack(breaker: WireBreaker): void {
    if (!this.isHeldBack) this.options.onBreaker?.(breaker);
    this.isHeldBack = true;
  }

  /** A session that was away for long is forgotten. */
  private async asKnown<T>(sessionId: string, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof DibsError) || error.code !== "SESSION_NOT_FOUND") throw error;
      await this.bench.register(sessionId);
      return call();
    }
  }

  /** Goes through troubles of the store until it is stopped; null then. */
  private async persistently<T>(call: () => Promise<T>): Promise<T | null> {
    try {
      return await persistently(call, {
        retryMs: this.timings.retryMs,
        isHopeless: () => this.isStopping,
        onTrouble: (error) => this.options.onTrouble?.(error),
        signal: this.stopping.signal,
      });
    } catch (error) {
      if (this.isStopping) return null;
      throw error;
    }
  }
}

/** An orchestrator splits its work in a few rounds; one that always finds more parts must not keep a runner busy for ever. */
const roundsMax = 3;
const tasksMax = 1_000;

/** So many quick failures in a row, with pauses of 15 minutes by then: it takes a person to repair the agent. */
const failuresMax = 11;

/** An answer is not longer on its way than this. */
const answerMsMax = 1_000;
