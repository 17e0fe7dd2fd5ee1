// dibs.work: claim, run the handler, report, repeat. The worker renews leases by itself; the handler's signal fires when the task
// is no longer its own (lease lost, cancelled) or the worker must stop at once. Nothing is stranded: what is held at a graceful
// stop is finished or released.

import { DibsError } from "../contract/error.js";
import type { WireClaim, WireEvent, WireTask } from "../contract/shapes.js";
import type { Connection, Dibs } from "./client.js";

export interface WorkContext {
  task: WireTask;
  claim: WireClaim;
  sessionId: string;
  /** Fires when the task is no longer ours or the worker stops at once. Its reason is the refusal. */
  signal: AbortSignal;
  /** A human's answer to an earlier question of this task that nobody has acknowledged yet. */
  response: string | null;
  progress(note?: string, percent?: number): Promise<void>;
  /** Asks a human and waits for the answer; the lease stands still meanwhile. */
  ask(question: string, more?: { options?: string[]; default?: string }): Promise<string>;
}

/** What a handler returns is the task's result; what it throws fails the attempt. */
export type WorkHandler = (context: WorkContext) => Promise<WorkResult> | WorkResult;

export type WorkResult =
  | string
  | { output?: string; filesCreated?: string[]; filesModified?: string[] }
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler may simply return.
  | void;

export interface WorkOptions {
  /** How many tasks at once; default 1. */
  concurrency?: number;
  /** Default: a generated one. */
  sessionId?: string;
  name?: string;
  agentType?: string;
  capabilities?: string[];
  /** Only tasks with one of these labels. */
  labels?: string[];
  project?: string;
  ttlMs?: number;
  /** Default: a third of the lease, at most the project's own interval. */
  heartbeatMs?: number;
  /** Stop when this worker runs nothing and can claim nothing now. It does not wait for scheduled retries or other workers. */
  untilEmpty?: boolean;
  onError?: (error: unknown) => void;
}

export interface Worker {
  /** Known once registered. */
  readonly sessionId: Promise<string>;
  /** Resolves when the worker has stopped; rejects if it could not go on. */
  readonly done: Promise<void>;
  /** Claims nothing more and waits for what runs; with `now` aborts and releases it. */
  stop(options?: { now?: boolean }): Promise<void>;
}

/** A handler may throw this to say that trying again is no use. */
export class PermanentFailure extends Error {
  override name = "PermanentFailure";
}

interface Running {
  claim: WireClaim;
  abort: AbortController;
  answered: ((text: string) => void) | null;
}

const lostCodes: readonly string[] = [
  "CLAIM_EXPIRED",
  "TASK_CANCELLED",
  "TASK_NOT_CLAIMED",
  "NOT_CLAIM_OWNER",
  "STALE_EPOCH",
  "TASK_NOT_FOUND",
  "SESSION_NOT_FOUND",
];

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

function refuseWork(message: string): never {
  throw new DibsError("VALIDATION_FAILED", `dibs.work: ${message}.`);
}

class WorkLoop implements Worker {
  readonly sessionId: Promise<string>;
  readonly done: Promise<void>;
  private readonly running = new Map<string, Running>();
  private readonly stopping = new AbortController();
  private idle = new AbortController();
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
      this.onEnd();
    }
  }

  private async runSlots(): Promise<void> {
    const quiet = new AbortController();
    const { project } = await this.dibs.projects.get(
      this.options.project ? { id: this.options.project } : {},
    );
    const { heartbeatIntervalMs, defaultTtlMs, orphanThresholdMs } = project.settings.claim;
    const third = Math.floor(Math.min(this.options.ttlMs ?? defaultTtlMs, orphanThresholdMs) / 3);
    const beat = setInterval(
      () => void this.heartbeat(),
      this.options.heartbeatMs ?? Math.min(heartbeatIntervalMs, third),
    );
    const watching = this.watch(quiet.signal);
    try {
      await Promise.all(Array.from({ length: this.concurrency }, () => this.slot()));
    } finally {
      clearInterval(beat);
      quiet.abort();
      await watching;
      await this.dibs.sessions.end({ ...this.project, sessionId: this.session }).catch(() => undefined);
    }
  }

  async stop({ now = false } = {}): Promise<void> {
    this.stopsNow ||= now;
    this.stopping.abort();
    // A question may stay open for days: its task is given up, and the answer waits there for the next holder.
    for (const { abort, answered } of this.running.values()) {
      if (now || answered) abort.abort(new Error("the worker was stopped"));
    }
    await this.done;
  }

  private async slot(): Promise<void> {
    const { untilEmpty, labels, ttlMs } = this.options;
    while (!this.stopping.signal.aborted) {
      const { claim, task } = await patiently(
        () =>
          this.dibs.tasks.claimNext(
            {
              ...this.project,
              sessionId: this.session,
              start: true,
              resume: false,
              waitMs: untilEmpty && this.running.size === 0 ? 0 : 60_000,
              ...(labels === undefined ? {} : { labels }),
              ...(ttlMs === undefined ? {} : { ttlMs }),
            },
            {
              signal: untilEmpty
                ? AbortSignal.any([this.stopping.signal, this.idle.signal])
                : this.stopping.signal,
            },
          ),
        (error) => this.options.onError?.(error),
      );
      if (claim && task) await this.runTask(claim, task);
      else if (untilEmpty && this.running.size === 0) return;
    }
  }

  private async runTask(claim: WireClaim, task: WireTask): Promise<void> {
    const running: Running = { claim, abort: new AbortController(), answered: null };
    this.running.set(task.id, running);
    const by = { ...this.project, taskId: task.id, sessionId: this.session, epoch: claim.epoch };
    try {
      // Claimed while the stop was on its way.
      if (this.stopsNow) running.abort.abort(new Error("the worker was stopped"));
      running.abort.signal.throwIfAborted();
      const result = await this.handler(this.contextFor(task, running, by));
      if (running.abort.signal.aborted) await this.giveBack(by);
      else await this.report(by, resultOf(result));
    } catch (error) {
      if (running.abort.signal.aborted) await this.giveBack(by);
      else if (!isLost(error)) await this.reportFailure(by, error);
    } finally {
      this.running.delete(task.id);
      if (this.running.size === 0) this.wakeIdle();
    }
  }

  /** Nothing runs any more: slots that wait for what it might set free look once more and, if all is done, end. */
  private wakeIdle(): void {
    const waiting = this.idle;
    this.idle = new AbortController();
    waiting.abort();
  }

  /** With children still open it is not done: it goes back and is handed out again when they are. */
  private async report(by: HolderOf, result: Exclude<WorkResult, void>): Promise<void> {
    try {
      await patiently(() => this.dibs.tasks.complete({ ...by, result }));
    } catch (error) {
      if (!(error instanceof DibsError) || error.code !== "CHILDREN_OPEN") throw error;
      await this.dibs.tasks.release({ ...by, reason: "waits for its children" });
    }
  }

  /** Aborted: if the task is still ours (a stop), it goes back; if it is not, there is nothing to give back. */
  private async giveBack(by: HolderOf): Promise<void> {
    await this.dibs.tasks.release({ ...by, reason: "worker stopped" }).catch((error) => this.tolerate(error));
  }

  private async reportFailure(by: HolderOf, error: unknown): Promise<void> {
    const message = error instanceof Error ? error.stack || error.message : String(error);
    const retryable = !(error instanceof PermanentFailure);
    await patiently(() =>
      this.dibs.tasks.fail({ ...by, error: message.slice(0, 8_000) || "failed", retryable }),
    ).catch((refused) => this.tolerate(refused));
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
    const answer = new Promise<string>((resolve, reject) => {
      running.answered = resolve;
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    answer.catch(() => undefined);
    try {
      await this.asHolder(running, () => this.dibs.tasks.ask({ ...by, question, ...more }));
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

  private async heartbeat(): Promise<void> {
    await this.dibs.sessions
      .heartbeat({ ...this.project, sessionId: this.session })
      .catch((error) => this.loseAll(error));
    for (const [taskId, running] of this.running) {
      const { epoch } = running.claim;
      try {
        await this.dibs.tasks.heartbeat({ ...this.project, taskId, sessionId: this.session, epoch });
      } catch (error) {
        if (isLost(error)) running.abort.abort(error);
      }
    }
  }

  private loseAll(error: unknown): void {
    if (!isLost(error)) return;
    for (const { abort } of this.running.values()) abort.abort(error);
  }

  /** Answers, cancellations and losses arrive as events, within milliseconds. */
  private async watch(signal: AbortSignal): Promise<void> {
    try {
      for await (const event of this.dibs.events.follow({
        ...this.project,
        types: [
          "task:response-received",
          "task:cancelled",
          "task:released",
          "task:claim-expired",
          "task:claim-orphaned",
        ],
        signal,
      })) {
        this.notice(event);
      }
    } catch (error) {
      if (!signal.aborted) this.options.onError?.(error);
    }
  }

  private notice(event: WireEvent): void {
    const running = event.taskId === null ? undefined : this.running.get(event.taskId);
    if (!running || event.epoch !== running.claim.epoch) return;
    const isOwn =
      event.type === "task:released" && ["completed", "failed"].includes(String(event.data.reason));
    if (event.type === "task:response-received") running.answered?.(String(event.data.response ?? ""));
    else if (!isOwn) {
      const code = event.type === "task:cancelled" ? "TASK_CANCELLED" : "CLAIM_EXPIRED";
      const why = event.data.reason === undefined ? event.type : `${event.type}: ${event.data.reason}`;
      running.abort.abort(new DibsError(code, `Task ${event.taskId} is no longer ours (${why}).`));
    }
  }
}

interface HolderOf {
  project?: string;
  taskId: string;
  sessionId: string;
  epoch: number;
}

const tries = { max: 20, pauseMs: 500 };

/** Goes through short troubles of the store, such as a lock that another process keeps or a full disk. */
async function patiently<T>(call: () => Promise<T>, onTrouble?: (error: unknown) => void): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await call();
    } catch (error) {
      const passes = error instanceof DibsError && error.code.startsWith("STORE_") && error.retryable;
      if (!passes || tried === tries.max) throw error;
      onTrouble?.(error);
      await new Promise((resolve) => setTimeout(resolve, tries.pauseMs));
    }
  }
}

function isLost(error: unknown): boolean {
  return error instanceof DibsError && lostCodes.includes(error.code);
}

const resultFields = ["output", "filesCreated", "filesModified"];

/** What a handler returns is kept whatever it is: other values than a result become its output, as JSON. */
function resultOf(value: WorkResult) {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  const isResult = typeof value === "object" && Object.keys(value).every((key) => resultFields.includes(key));
  return isResult ? value : JSON.stringify(value);
}
