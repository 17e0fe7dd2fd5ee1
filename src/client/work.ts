// dibs.work: tasks for a handler in this process. The handler's signal fires when the task is no longer its own (lease lost,
// cancelled) or the worker must stop at once. What is held at a graceful stop is finished or released.

import { DibsError } from "../contract/error.js";
import type { WireClaim, WireTask } from "../contract/shapes.js";
import type { Connection, Dibs } from "./client.js";
import {
  type Answer,
  beatMsFor,
  claimSettings,
  Heartbeat,
  HeldClaim,
  HeldSession,
  isLost,
  type Outcome,
  Reports,
  untilAnswered,
  WorkLoop,
  watchTasks,
} from "./holding/index.js";
import {
  PermanentFailure,
  type WorkContext,
  type Worker,
  type WorkHandler,
  type WorkOptions,
  type WorkResult,
} from "./worker.js";

interface Claimed {
  claim: WireClaim;
  task: WireTask;
  handover: string | null;
  askedAt: number;
}

interface Running {
  held: HeldClaim;
  abort: AbortController;
  /** Takes the answer to the open question. */
  answered: ((answer: string) => void) | null;
}

const claimWaitMs = 60_000;
const retryMs = 500;
/** A store that does not answer for so long ends the worker; reports are repeated while the lease lasts. */
const claimTriesMax = 5;

export function startWorker(
  dibs: Dibs,
  connection: Connection,
  handler: WorkHandler,
  options: WorkOptions,
  onEnd: () => void,
): Worker {
  const { concurrency = 1, onError } = options;
  if (typeof handler !== "function") refuseWork("the handler must be a function");
  if (!Number.isInteger(concurrency) || concurrency < 1)
    refuseWork("concurrency must be a whole number from 1");
  const worker = new HandlerWorker(dibs, connection, handler, options, onEnd);
  // Without onError, a worker that cannot continue is reported through `done`, or as an unhandled rejection.
  if (onError) worker.done.catch(onError);
  return worker;
}

function refuseWork(message: string): never {
  throw new DibsError("VALIDATION_FAILED", `dibs.work: ${message}.`);
}

const unrenewed = (cause: unknown) =>
  new DibsError("CLAIM_EXPIRED", "The lease expired: it could not be renewed in time.", { cause });

const stopped = () => new Error("the worker was stopped");

class HandlerWorker implements Worker {
  readonly sessionId: Promise<string>;
  readonly done: Promise<void>;
  /** By attempt: an earlier one of the same task can still be cleaning up. */
  private readonly running = new Set<Running>();
  private readonly session: HeldSession;
  private readonly loop: WorkLoop<Claimed>;
  private readonly project: { project?: string };
  private readonly hurry = new AbortController();

  constructor(
    private readonly dibs: Dibs,
    private readonly connection: Connection,
    private readonly handler: WorkHandler,
    private readonly options: WorkOptions,
    private readonly onEnd: () => void,
  ) {
    const { project, sessionId, name, agentType = "autonomous", capabilities, concurrency = 1 } = options;
    this.project = project === undefined ? {} : { project };
    this.session = new HeldSession(() => dibs, {
      ...this.project,
      ...(sessionId === undefined ? {} : { id: sessionId }),
      ...(name === undefined ? {} : { name }),
      agentType,
      ...(capabilities === undefined ? {} : { capabilities }),
      capacity: concurrency,
      heartbeats: true,
      ...connection.process,
    });
    this.loop = new WorkLoop<Claimed>({
      slots: concurrency,
      ends: options.untilEmpty ? "idle" : "never",
      claimWaitMs,
      idleWaitMs: 0,
      claim: (_, ask) => this.claim(ask),
      run: (_, claimed, askNext) => this.runTask(claimed, askNext),
      onBreaker: options.onBreaker,
    });
    this.sessionId = this.session.register().then(() => this.session.id);
    this.sessionId.catch(() => undefined);
    this.done = this.run();
  }

  private async run(): Promise<void> {
    try {
      await this.sessionId;
      await this.runLoop();
    } finally {
      if (this.session.isRegistered) await this.session.end().catch(() => undefined);
      this.onEnd();
    }
  }

  private async runLoop(): Promise<void> {
    const { project, ttlMs, heartbeatMs, onError } = this.options;
    const beatMs = heartbeatMs ?? beatMsFor(await claimSettings(this.dibs, project), ttlMs);
    const heartbeat = new Heartbeat(() => this.beat(beatMs));
    heartbeat.within(beatMs);
    const quiet = new AbortController();
    const watching = watchTasks(
      this.dibs,
      {
        ...this.project,
        retryMs,
        notice: (event) => {
          for (const { held } of this.running) held.notice(event);
        },
        onTrouble: (error) => onError?.(error),
      },
      quiet.signal,
    );
    try {
      await this.loop.run();
    } finally {
      heartbeat.stop();
      quiet.abort();
      await watching;
    }
  }

  async stop({ now = false } = {}): Promise<void> {
    this.loop.stop();
    if (now) this.hurry.abort();
    // A question can stay open for days: its task is given back, and the answer waits there for the next holder.
    for (const { abort, answered } of this.running) if (now || answered) abort.abort(stopped());
    await this.done;
  }

  private async claim({ waitMs, signal }: { waitMs: number; signal: AbortSignal }): Promise<Answer<Claimed>> {
    const { labels, ttlMs, onError } = this.options;
    const input = {
      ...this.project,
      sessionId: this.session.id,
      start: true,
      resume: false,
      heedBreaker: true,
      why: false,
      waitMs,
      ...(labels === undefined ? {} : { labels }),
      ...(ttlMs === undefined ? {} : { ttlMs }),
    };
    // One key for all attempts: a claim whose answer was lost would be held without anyone knowing.
    const idempotencyKey = this.connection.newKey?.();
    const call = {
      ...(waitMs === 0 ? {} : { signal }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    };
    const answer = await untilAnswered(() => this.dibs.tasks.claimNext(input, call), {
      retryMs,
      triesMax: claimTriesMax,
      isStopped: () => this.loop.isStopping,
      signal: this.loop.stopping,
      onTrouble: (error) => onError?.(error),
    });
    const { claim, task } = answer;
    if (claim && task) {
      const { handover = null } = answer;
      return { claimed: { claim, task, handover, askedAt: performance.now() } };
    }
    return { claimed: null, breaker: "breaker" in answer ? answer.breaker : undefined };
  }

  private async runTask(claimed: Claimed, askNext: () => void): Promise<Outcome> {
    const { claim, task, askedAt } = claimed;
    const abort = new AbortController();
    const held = new HeldClaim({
      dibs: () => this.dibs,
      by: { ...this.project, taskId: task.id, sessionId: this.session.id, epoch: claim.epoch },
      ttlMs: claim.ttlMs,
      askedAt,
      onLost: (error) => abort.abort(error),
      onTrouble: (error) => {
        if (held.isLate) held.lose(unrenewed(error));
      },
      onAnswer: (answer) => running.answered?.(answer),
    });
    const running: Running = { held, abort, answered: null };
    this.running.add(running);
    const reports = new Reports(this.dibs, held, {
      retryMs,
      hurry: this.hurry.signal,
      onTrouble: (error) => this.options.onError?.(error),
    });
    try {
      // Claimed while the stop was on its way.
      if (this.hurry.signal.aborted) abort.abort(stopped());
      abort.signal.throwIfAborted();
      const result = await this.handler(this.contextFor(claimed, running));
      if (!abort.signal.aborted) {
        const reported = reports.complete(resultOf(result));
        askNext();
        return await reported;
      }
      // Work that was finished after the loss is sent, and kept on the attempt for a person to see.
      if (isLost(abort.signal.reason) && result !== undefined)
        return await reports.complete(resultOf(result));
      return await reports.release("worker stopped");
    } catch (error) {
      if (abort.signal.aborted) return reports.release("worker stopped");
      if (isLost(error)) return "lost";
      const message = error instanceof Error ? error.stack || error.message : String(error);
      const retryable = !(error instanceof PermanentFailure);
      return await reports.fail(message, { retryable, quick: retryable });
    } finally {
      held.end();
      this.running.delete(running);
    }
  }

  private contextFor({ task, claim, handover }: Claimed, running: Running): WorkContext {
    const { held, abort } = running;
    return {
      task,
      claim,
      sessionId: this.session.id,
      signal: abort.signal,
      response: task.responsePending ? task.response : null,
      handover,
      progress: async (note, percent) => {
        await held.act(() =>
          this.dibs.tasks.progress({
            ...held.by,
            ...(note === undefined ? {} : { note }),
            ...(percent === undefined ? {} : { percent }),
          }),
        );
      },
      ask: (question, more = {}) => this.ask(running, question, more),
    };
  }

  private async ask(
    running: Running,
    question: string,
    more: { options?: string[]; default?: string },
  ): Promise<string> {
    const { held, abort } = running;
    abort.signal.throwIfAborted();
    if (running.answered) throw new Error("A question of this task is open already.");
    const answer = new Promise<string>((resolve, reject) => {
      running.answered = resolve;
      abort.signal.addEventListener("abort", () => reject(abort.signal.reason), { once: true });
    });
    answer.catch(() => undefined);
    try {
      await held.act(() => this.dibs.tasks.ask({ ...held.by, question, ...more }));
      if (this.loop.isStopping) abort.abort(stopped());
      return await answer;
    } finally {
      running.answered = null;
    }
  }

  /** Each beat has the time until the next one: a connection that hangs must not keep others from renewing. */
  private async beat(beatMs: number): Promise<number> {
    const signal = AbortSignal.timeout(beatMs);
    const session = this.session.heartbeat(signal).catch((error) => {
      if (isLost(error)) for (const { held } of this.running) held.lose(error);
    });
    await Promise.all([session, ...[...this.running].map(({ held }) => held.renew(signal))]);
    return beatMs;
  }
}

const resultFields = ["output", "filesCreated", "filesModified", "branch", "commit"];

/** What a handler returns is kept whatever it is: other values than a result become its output, as JSON. */
function resultOf(value: WorkResult) {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  const isResult =
    typeof value === "object" &&
    !Array.isArray(value) &&
    Object.keys(value).every((key) => resultFields.includes(key));
  return isResult ? value : JSON.stringify(value);
}
