// `dibs work`: tasks for a command. Every slot has a session of its own and one group of processes at a time. A stop lets what runs
// finish, and ends and releases it after the grace.

import { randomBytes } from "node:crypto";
import {
  type Answer,
  type Outcome,
  untilAnswered,
  WorkLoop,
  waitsForAnswer,
  waitsForChildren,
} from "../client/holding/index.js";
import { newKey } from "../client/keys.js";
import { pause } from "../common/abort.js";
import { DibsError } from "../contract/error.js";
import type { WireNothing } from "../contract/shapes.js";
import { Attempts, type Claimed } from "./attempts.js";
import { refuseBadCommand } from "./command.js";
import type { Group } from "./group.js";
import { LimitPause } from "./limited.js";
import { type AttemptEnd, defaultTimings, type RunnerOptions, type Timings } from "./options.js";
import { refuseWrongPlace } from "./repository.js";

export interface WorkOptions extends RunnerOptions {
  /** How many commands at once; default 1. */
  concurrency?: number;
  /** The session's id; with several slots each has `-1`, `-2` and so on behind it. Default: a generated one. */
  sessionId?: string;
  /** Only tasks with one of these labels. */
  labels?: string[];
  /** Claims reviews of submissions instead of tasks. */
  review?: boolean;
  /** Run one task, and end. */
  once?: boolean;
  /** End when nothing runs here, nothing can be claimed, and no retry or scheduled task that fits is to come. */
  untilEmpty?: boolean;
  /** With `untilEmpty`: a lander of this process has not looked at what is submitted yet. */
  isLooking?: () => boolean;
  /** End when nothing runs here and nothing can be claimed now. */
  untilIdle?: boolean;
}

/** How many attempts ended how. */
export type Summary = Record<Outcome, number>;

export interface Runner {
  /** Rejects if the runner could not continue. */
  readonly done: Promise<Summary>;
  /** Claims nothing more. What runs can finish within the grace, with `now` it is ended at once; its tasks are released. */
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
  return new CommandRunner(options, { ...defaultTimings, ...options.timings });
}

export const newSessionId = () => `run-${process.pid}-${randomBytes(4).toString("hex")}`;

/** A claim, with the process group that it names. */
interface Granted extends Claimed {
  group: Group;
}

class CommandRunner implements Runner {
  readonly done: Promise<Summary>;
  private readonly attempts: Attempts;
  private readonly loop: WorkLoop<Granted>;
  private readonly sessionIds: string[];
  /** By slot: the next group, started ahead. */
  private readonly groups: (Group | undefined)[] = [];
  /** How often tasks went back because of their subtasks, the latest last. */
  private readonly rounds = new Map<string, number>();
  private readonly pause = new LimitPause();
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
    const { once = false, concurrency = 1, untilEmpty, untilIdle, signal } = options;
    const slots = once ? 1 : concurrency;
    const base = options.sessionId ?? newSessionId();
    this.sessionIds = Array.from({ length: slots }, (_, n) => (slots === 1 ? base : `${base}-${n + 1}`));
    this.attempts = new Attempts(options, timings);
    this.loop = new WorkLoop<Granted>({
      slots,
      once,
      ends: untilEmpty ? "empty" : untilIdle ? "idle" : "never",
      claimWaitMs: timings.claimWaitMs,
      idleWaitMs: timings.emptyWaitMs,
      claim: (slot, ask) => this.claim(slot, ask),
      run: (slot, granted) => this.attempt(slot, granted),
      endSlot: (slot) => this.endSlot(slot),
      onBreaker: options.onBreaker,
    });
    const onSignal = () => void this.stop().catch(() => undefined);
    if (signal?.aborted) this.loop.stop();
    else signal?.addEventListener("abort", onSignal, { once: true });
    this.done = this.run().finally(() => signal?.removeEventListener("abort", onSignal));
    this.done.catch(() => undefined);
  }

  async stop({ now = false } = {}): Promise<void> {
    this.loop.stop();
    this.attempts.stop({ now });
    await this.done;
  }

  private async run(): Promise<Summary> {
    if (!this.options.review) await this.untilAnswered(() => refuseWrongPlace(this.options));
    await this.attempts.open();
    try {
      await this.untilAnswered(() => this.attempts.introduce(this.sessionIds));
      await this.loop.run();
      return this.summary;
    } finally {
      await this.attempts.close();
    }
  }

  private async endSlot(slot: number): Promise<void> {
    await this.groups[slot]?.end();
    const { silence } = this.attempts;
    await this.session(slot)
      .end(silence)
      .catch((error) => this.options.onTrouble?.(error));
  }

  private session(slot: number) {
    return this.attempts.session(this.sessionIds[slot]!);
  }

  private async claim(
    slot: number,
    { waitMs, signal }: { waitMs: number; signal: AbortSignal },
  ): Promise<Answer<Granted> | null> {
    const { labels, once, review } = this.options;
    if (this.pause.ms > 0) return this.waitOut(waitMs, signal);
    const session = this.session(slot);
    let group = this.groups[slot];
    if (!group?.isReady) group = this.attempts.newGroup(session.id);
    this.groups[slot] = group;
    const input = {
      ...this.attempts.claimInput(session.id, group),
      resume: false,
      // With --once a person asks for one task, and sees the failure.
      heedBreaker: !once,
      // While it waits, the reason is already known.
      why: waitMs === 0,
      waitMs,
      ...(labels === undefined ? {} : { labels }),
      ...(review ? { kind: "review" as const } : {}),
    };
    // One key for all attempts: a claim whose answer was lost would be held without anyone knowing.
    const idempotencyKey = newKey();
    let askedAt = 0;
    const claim = () => {
      askedAt = performance.now();
      return this.attempts.dibs.tasks.claimNext(input, { signal, idempotencyKey });
    };
    const answer = await this.untilAnswered(() => session.known(claim));
    if (!answer) return null;
    if (!answer.claim || !answer.task) {
      const why = answer.why ?? (review && waitMs === 0 ? noReview : undefined);
      if (why) this.options.onNothing?.(why);
      return { claimed: null, ...answer, isLanding: await this.isLanding(answer) };
    }
    // How long the claim waited before it was granted is unknown here; the first heartbeat makes it exact.
    askedAt = Math.max(askedAt, performance.now() - answerMsMax);
    const { claim: granted, task, handover, review: submission } = answer;
    return { claimed: { claim: granted, task, handover, askedAt, group, review: submission } };
  }

  /** The limit that the agent ran into holds no resource: nothing is claimed until it ends. */
  private async waitOut(waitMs: number, signal: AbortSignal): Promise<Answer<Granted>> {
    const until = new Date(Date.now() + this.pause.ms).toISOString();
    await pause(Math.min(waitMs, this.pause.ms), signal);
    return { claimed: null, scheduledAt: until };
  }

  /** Asked only where the runner would end otherwise. A submission that is held waits for people. */
  private async isLanding({ why }: { why?: WireNothing | undefined }): Promise<boolean> {
    const { untilEmpty, review } = this.options;
    const isAsked = review || why?.reasons.some(({ code }) => code === "SUBMITTED");
    if (!untilEmpty || !isAsked) return false;
    if (this.options.isLooking?.()) return true;
    const { dibs, project } = this.attempts;
    const found = await this.untilAnswered(() => dibs.landings.list({ ...project, limit: queueMax }));
    if (!found?.lease) return false;
    // In a paused project only what was begun is finished. What is checked now can need a review after that.
    const isPaused = why?.reasons.some(({ code }) => code === "PROJECT_PAUSED");
    return found.queue.some(({ stage, reviewing }) => {
      if (stage === "checking") return !isPaused;
      return !review && (stage === "landing" || reviewing !== null);
    });
  }

  private async attempt(slot: number, { group, ...claimed }: Granted): Promise<Outcome> {
    const end = await this.attempts.run(claimed, group, { isStopping: this.loop.isStopping });
    this.groups[slot] = undefined;
    this.summary[end.outcome]++;
    if (!end.limit) this.pause.end();
    // Reviews take no resources.
    else if (this.options.review || end.limit.held.length === 0) this.pause.begin(end.limit);
    if (this.isToComeBack(end) && !this.options.once) await this.registerAnew(slot);
    return end.outcome;
  }

  /** Whether it is claimed again as soon as others have done their part: there are only so many rounds of that. */
  private isToComeBack({ project, taskId, reason, limit }: AttemptEnd): boolean {
    if (reason === waitsForAnswer || limit) return true;
    if (reason !== waitsForChildren) return false;
    const name = `${project} ${taskId}`;
    const rounds = (this.rounds.get(name) ?? 0) + 1;
    this.rounds.delete(name);
    this.rounds.set(name, rounds);
    if (this.rounds.size > tasksMax) this.rounds.delete(this.rounds.keys().next().value!);
    return rounds <= roundsMax;
  }

  /** For a while a session does not get what it gave back. Here that is ready as soon as others have done their part. */
  private async registerAnew(slot: number): Promise<void> {
    const session = this.session(slot);
    await this.untilAnswered(async () => {
      await session.end(this.attempts.silence);
      await session.register();
    });
  }

  /** Repeats the call while the store cannot answer; null: stopped meanwhile. */
  private async untilAnswered<T>(call: () => Promise<T>): Promise<T | null> {
    const isStopped = () => this.loop.isStopping;
    try {
      return await untilAnswered(call, {
        retryMs: this.timings.retryMs,
        isStopped,
        onTrouble: (error) => this.options.onTrouble?.(error),
        signal: this.loop.stopping,
      });
    } catch (error) {
      if (isStopped()) return null;
      throw error;
    }
  }
}

/** An orchestrator splits its work in a few rounds; one that always finds more subtasks must not keep a runner busy indefinitely. */
const roundsMax = 3;
const tasksMax = 1_000;
const queueMax = 100;

const noReview: WireNothing = {
  message: "No submission waits for a review by this agent. Run: dibs review",
  fix: "dibs review",
  reasons: [{ code: "NO_OPEN_TASKS", message: "no submission waits for a review by this agent" }],
};

/** An answer is not longer on its way than this. */
const answerMsMax = 1_000;
