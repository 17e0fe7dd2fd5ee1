// dibs.work: claim, run the handler, report, repeat. The worker renews leases by itself; the handler's signal fires when the task
// is no longer its own (lease lost, cancelled) or the worker must stop at once. Nothing is stranded: what is held at a graceful
// stop is finished or released.

import { DibsError } from "../contract/error.js";
import type { WireBreaker, WireClaim, WireEvent, WireTask } from "../contract/shapes.js";
import type { Connection, Dibs } from "./client.js";
import { type HolderOf, isLost, patiently, resultOf, storable } from "./reporting.js";
import { lossIn, watchTasks } from "./watching.js";
import {
  PermanentFailure,
  type WorkContext,
  type Worker,
  type WorkHandler,
  type WorkOptions,
  type WorkResult,
} from "./worker.js";

interface Running {
  claim: WireClaim;
  /** When the lease is over if nothing renews it; by this process's own clock, for when the store cannot be reached. */
  leaseUntil: number;
  abort: AbortController;
  answered: ((text: string) => void) | null;
}

type Claimed = Awaited<ReturnType<Dibs["tasks"]["claimNext"]>>;

/** In an object, or awaiting the one would await the other. */
type Next = { claimed: Promise<Claimed> } | null;

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
  const worker = new WorkLoop(dibs, connection, handler, options, onEnd);
  // Without onError, a worker that cannot go on is heard of through `done`, or as an unhandled rejection.
  if (onError) worker.done.catch(onError);
  return worker;
}

function unrenewed(cause: unknown): DibsError {
  return new DibsError("CLAIM_EXPIRED", "The lease expired: it could not be renewed in time.", { cause });
}

function refuseWork(message: string): never {
  throw new DibsError("VALIDATION_FAILED", `dibs.work: ${message}.`);
}

class WorkLoop implements Worker {
  readonly sessionId: Promise<string>;
  readonly done: Promise<void>;
  /** By attempt: an earlier one of the same task may still be tidying up. */
  private readonly running = new Set<Running>();
  private isStopping = false;
  /** The attempt before was reported as failed. */
  private hasFailed = false;
  /** The handler fails at once, and that was reported. */
  private isHeldBack = false;
  /** Ends the claims that wait now; renewed after each use. */
  private waiting = new AbortController();
  private readonly concurrency: number;
  private session = "";
  private stopsNow = false;
  private project: { project?: string };

  constructor(
    private readonly dibs: Dibs,
    private readonly connection: Connection,
    private readonly handler: WorkHandler,
    private readonly options: WorkOptions,
    private readonly onEnd: () => void,
  ) {
    this.concurrency = options.concurrency ?? 1;
    this.project = options.project === undefined ? {} : { project: options.project };
    this.sessionId = this.register();
    this.sessionId.catch(() => undefined);
    this.done = this.run();
  }

  private async register(): Promise<string> {
    const { sessionId, name, agentType = "autonomous", capabilities } = this.options;
    const { session } = await this.dibs.sessions.register({
      ...this.project,
      ...(sessionId === undefined ? {} : { id: sessionId }),
      ...(name === undefined ? {} : { name }),
      agentType,
      ...(capabilities === undefined ? {} : { capabilities }),
      capacity: this.concurrency,
      heartbeats: true,
      ...this.connection.process,
    });
    this.session = session.id;
    return session.id;
  }

  private async run(): Promise<void> {
    try {
      await this.sessionId;
      await this.runSlots();
    } finally {
      await this.dibs.sessions.end({ ...this.project, sessionId: this.session }).catch(() => undefined);
      this.onEnd();
    }
  }

  private async runSlots(): Promise<void> {
    const quiet = new AbortController();
    const { heartbeatIntervalMs, defaultTtlMs, orphanThresholdMs } = await this.claimSettings();
    const third = Math.floor(Math.min(this.options.ttlMs ?? defaultTtlMs, orphanThresholdMs) / 3);
    const beatMs = this.options.heartbeatMs ?? Math.min(heartbeatIntervalMs, third);
    const beat = setInterval(() => void this.heartbeat(beatMs), beatMs);
    const watched = {
      ...this.project,
      notice: (event: WireEvent) => this.notice(event),
      onError: (error: unknown) => this.options.onError?.(error),
    };
    const watching = watchTasks(this.dibs, watched, quiet.signal);
    try {
      await this.allSlots();
    } finally {
      clearInterval(beat);
      quiet.abort();
      await watching;
    }
  }

  private async claimSettings() {
    const { project } = await this.dibs.projects.get(
      this.options.project ? { id: this.options.project } : {},
    );
    return project.settings.claim;
  }

  /** If one slot cannot go on, the others finish what they run before the worker ends with that error. */
  private async allSlots(): Promise<void> {
    const slots = Array.from({ length: this.concurrency }, () =>
      this.slot().catch((error) => {
        this.abortWaits();
        throw error;
      }),
    );
    const failed = (await Promise.allSettled(slots)).find((each) => each.status === "rejected");
    if (failed) throw failed.reason;
  }

  async stop({ now = false } = {}): Promise<void> {
    this.stopsNow ||= now;
    this.abortWaits();
    // A question may stay open for days: its task is given up, and the answer waits there for the next holder.
    for (const { abort, answered } of this.running) {
      if (now || answered) abort.abort(new Error("the worker was stopped"));
    }
    await this.done;
  }

  private async slot(): Promise<void> {
    let next: Next = null;
    while (next || !this.isStopping) {
      // A claim that was asked for together with a report may have come before it; the last look comes after.
      const isLastLook = !next && this.isIdle();
      const answer: Claimed = await (next?.claimed ?? this.claimNext());
      const { claim, task } = answer;
      next = null;
      if ("breaker" in answer && answer.breaker) this.holdBack(answer.breaker);
      if (claim && task) next = await this.runTask(claim, task);
      else if (isLastLook && this.isIdle()) return;
    }
  }

  private holdBack(breaker: WireBreaker): void {
    if (!this.isHeldBack) this.options.onBreaker?.(breaker);
    this.isHeldBack = true;
  }

  /** Nothing runs that could set something free. */
  private isIdle(): boolean {
    return this.options.untilEmpty === true && this.running.size === 0;
  }

  /** `runs`: how many tasks run that could set something free; waiting is of use only then. */
  private claimNext(runs = this.running.size): Promise<Claimed> {
    const { untilEmpty, labels, ttlMs } = this.options;
    // After a failure without waiting: if the agent is held back, the answer says so at once.
    const waitMs = this.hasFailed || (untilEmpty && runs === 0) ? 0 : 60_000;
    this.hasFailed = false;
    const input = {
      ...this.project,
      sessionId: this.session,
      start: true,
      resume: false,
      heedBreaker: true,
      waitMs,
      ...(labels === undefined ? {} : { labels }),
      ...(ttlMs === undefined ? {} : { ttlMs }),
    };
    // One key for all tries: a claim whose answer was lost would be held by nobody who knows.
    const idempotencyKey = this.connection.newKey?.();
    const options = {
      ...(waitMs === 0 ? {} : { signal: this.waiting.signal }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    };
    const claimed = patiently(
      () => this.dibs.tasks.claimNext(input, options),
      (error) => this.options.onError?.(error),
      () => this.isStopping,
    );
    claimed.catch(() => undefined);
    return claimed;
  }

  /** Asks for the next task together with the report on this one: they share a commit. */
  private async runTask(claim: WireClaim, task: WireTask): Promise<Next> {
    const leaseUntil = performance.now() + claim.ttlMs;
    const running: Running = { claim, leaseUntil, abort: new AbortController(), answered: null };
    this.running.add(running);
    const by = { ...this.project, taskId: task.id, sessionId: this.session, epoch: claim.epoch };
    let next: Next = null;
    try {
      // Claimed while the stop was on its way.
      if (this.stopsNow) running.abort.abort(new Error("the worker was stopped"));
      running.abort.signal.throwIfAborted();
      const result = await this.handler(this.contextFor(task, running, by));
      if (running.abort.signal.aborted) await this.finishAborted(running, by, result);
      else {
        const reported = this.report(by, resultOf(result));
        if (!this.isStopping) next = { claimed: this.claimNext(this.running.size - 1) };
        await reported;
        this.isHeldBack = false;
      }
    } catch (error) {
      if (running.abort.signal.aborted) await this.giveBack(by);
      else if (!isLost(error)) await this.reportFailure(by, error);
    } finally {
      this.running.delete(running);
      if (this.running.size === 0 && this.options.untilEmpty) this.wakeWaits();
    }
    return next;
  }

  /** Claims that wait end now: because of a stop, or because nothing runs that could set something free. */
  private wakeWaits(): void {
    const waiting = this.waiting;
    this.waiting = new AbortController();
    waiting.abort();
  }

  private abortWaits(): void {
    this.isStopping = true;
    this.wakeWaits();
  }

  /** With children still open it is not done: it goes back and is handed out again when they are. */
  private async report(by: HolderOf, result: Exclude<WorkResult, void>): Promise<void> {
    try {
      await patiently(() => this.dibs.tasks.complete({ ...by, result }));
    } catch (error) {
      if (!(error instanceof DibsError) || error.code !== "CHILDREN_OPEN") throw error;
      await patiently(() => this.dibs.tasks.release({ ...by, reason: "waits for its subtasks" }));
    }
  }

  /** Work that was done all the same is told, and kept for a human to see; after a stop the task goes back. */
  private async finishAborted({ abort }: Running, by: HolderOf, result: WorkResult): Promise<void> {
    if (!isLost(abort.signal.reason) || result === undefined) return this.giveBack(by);
    await this.report(by, resultOf(result)).catch((error) => this.tolerate(error));
  }

  /** Aborted: if the task is still ours (a stop), it goes back; if it is not, there is nothing to give back. */
  private async giveBack(by: HolderOf): Promise<void> {
    const reason = "worker stopped";
    await patiently(() => this.dibs.tasks.release({ ...by, reason })).catch((error) => this.tolerate(error));
  }

  private async reportFailure(by: HolderOf, error: unknown): Promise<void> {
    const message = error instanceof Error ? error.stack || error.message : String(error);
    const retryable = !(error instanceof PermanentFailure);
    const report = { ...by, error: storable(message) || "failed", retryable, quick: retryable };
    this.hasFailed = true;
    await patiently(() => this.dibs.tasks.fail(report)).catch((refused) => this.tolerate(refused));
  }

  private tolerate(error: unknown): void {
    if (!isLost(error)) this.options.onError?.(error);
  }

  private contextFor(task: WireTask, running: Running, by: HolderOf): WorkContext {
    return {
      task,
      claim: running.claim,
      sessionId: this.session,
      signal: running.abort.signal,
      response: task.responsePending ? task.response : null,
      progress: async (note, percent) => {
        await this.asHolder(running, () =>
          this.dibs.tasks.progress({
            ...by,
            ...(note === undefined ? {} : { note }),
            ...(percent === undefined ? {} : { percent }),
          }),
        );
      },
      ask: (question, more = {}) => this.ask(running, by, question, more),
    };
  }

  private async ask(
    running: Running,
    by: HolderOf,
    question: string,
    more: { options?: string[]; default?: string },
  ): Promise<string> {
    const { signal } = running.abort;
    signal.throwIfAborted();
    if (running.answered) throw new Error("A question of this task is open already.");
    const answer = new Promise<string>((resolve, reject) => {
      running.answered = resolve;
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    answer.catch(() => undefined);
    try {
      await this.asHolder(running, () => this.dibs.tasks.ask({ ...by, question, ...more }));
      if (this.isStopping) running.abort.abort(new Error("the worker was stopped"));
      return await answer;
    } finally {
      running.answered = null;
    }
  }

  /** A holder's call; if the task turns out to be lost, the handler is told at once. */
  private async asHolder<T>(running: Running, call: () => Promise<T>): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (isLost(error)) running.abort.abort(error);
      throw error;
    }
  }

  /** Each beat has until the next one: a connection that hangs must not keep the others from renewing. */
  private async heartbeat(ms: number): Promise<void> {
    const signal = AbortSignal.timeout(ms);
    const session = this.dibs.sessions
      .heartbeat({ ...this.project, sessionId: this.session }, { signal })
      .catch((error) => this.loseAll(error));
    const tasks = [...this.running].map((running) => this.renew(running, signal));
    await Promise.all([session, ...tasks]);
  }

  private async renew(running: Running, signal: AbortSignal): Promise<void> {
    const { taskId, epoch, ttlMs } = running.claim;
    const by = { ...this.project, taskId, sessionId: this.session, epoch };
    const leaseUntil = performance.now() + ttlMs;
    try {
      const { response } = await this.dibs.tasks.heartbeat(by, { signal });
      running.leaseUntil = leaseUntil;
      if (response !== null) running.answered?.(response);
    } catch (error) {
      if (isLost(error)) running.abort.abort(error);
      else if (performance.now() > running.leaseUntil && !running.answered)
        running.abort.abort(unrenewed(error));
    }
  }

  private loseAll(error: unknown): void {
    if (!isLost(error)) return;
    for (const { abort } of this.running) abort.abort(error);
  }

  private notice(event: WireEvent): void {
    const running = [...this.running].find(
      ({ claim }) => claim.taskId === event.taskId && claim.epoch === event.epoch,
    );
    if (!running) return;
    if (event.type === "task:response-received") {
      running.answered?.(String(event.data.response ?? ""));
      return;
    }
    const loss = lossIn(event);
    if (loss) running.abort.abort(loss);
  }
}
