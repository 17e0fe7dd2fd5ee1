// One command for one prompt or one task, under a lock if one is named. A busy lock: run beside it under a name of its own, refuse,
// or leave the prompt in the queue.

import { DibsError } from "../contract/error.js";
import type { WireLock } from "../contract/shapes.js";
import { Attempts, type Claimed } from "./attempts.js";
import { refuseBadCommand } from "./command.js";
import { type AttemptEnd, defaultTimings, type RunnerOptions } from "./options.js";
import { ownProcess } from "./processes.js";
import { refuseWrongPlace } from "./repository.js";
import { newSessionId } from "./work.js";

export type OnConflict = "fork" | "exit" | "queue";

export interface OnceOptions extends RunnerOptions {
  /** What the command is told; a task is made of it. */
  prompt?: string;
  title?: string;
  /** Or a task that exists. */
  taskId?: string;
  sessionId?: string;
  lock?: { name: string; onConflict?: OnConflict };
  /** Ends the command at once; `signal` lets it finish within the grace. */
  killSignal?: AbortSignal;
}

export type OnceEnd =
  | { type: "ran"; taskId: string; lock: string | null; end: AttemptEnd }
  | { type: "queued"; taskId: string; busy: unknown };

export async function runOnce(options: OnceOptions): Promise<OnceEnd> {
  refuseBadCommand(options.command);
  const { prompt, taskId, lock } = options;
  if ((prompt === undefined) === (taskId === undefined)) {
    throw new DibsError("VALIDATION_FAILED", "A run needs a prompt or a task, and only one of them.");
  }
  await refuseWrongPlace(options);
  const sessionId = options.sessionId ?? newSessionId();
  if (!lock) return { ...(await run(options, sessionId)), lock: null };
  const held = await acquire(options, lock.name, sessionId, lock.onConflict ?? "fork");
  if ("busy" in held) return queue(options, held.busy);
  try {
    return { ...(await run(options, held.sessionId)), lock: held.name };
  } finally {
    await held.release();
  }
}

interface HeldLock {
  name: string;
  sessionId: string;
  release(): Promise<void>;
}

async function acquire(
  options: OnceOptions,
  name: string,
  sessionId: string,
  onConflict: OnConflict,
): Promise<HeldLock | { busy: unknown }> {
  try {
    return await take(options, name, sessionId);
  } catch (error) {
    const isBusy = error instanceof DibsError && error.code === "SESSION_BUSY";
    if (!isBusy || onConflict === "exit") throw error;
    if (onConflict === "queue") return { busy: error.details.lock ?? null };
    // It runs beside the session that was named, and so under a name of its own.
    const fork = `${name}_fork_${process.pid}_${Math.floor(Date.now() / 1000)}`;
    return take(options, fork, fork);
  }
}

async function take(options: OnceOptions, name: string, sessionId: string): Promise<HeldLock> {
  const { dibs, machine, project } = options;
  const holder = {
    ...(project === undefined ? {} : { project }),
    name,
    ...ownProcess(machine),
    sessionId,
  };
  const { lock } = await dibs.locks.acquire(holder);
  // Where the holder's process cannot be seen, the lock is a lease.
  const renewing = setInterval(
    () => void dibs.locks.acquire(holder).catch((error) => options.onTrouble?.(error)),
    renewMs(lock),
  );
  return {
    name,
    sessionId,
    release: async () => {
      clearInterval(renewing);
      await dibs.locks.release(holder).catch((error) => options.onTrouble?.(error));
    },
  };
}

function renewMs({ acquiredAt, expiresAt }: WireLock): number {
  const leaseMs = expiresAt === null ? 30 * 60_000 : Date.parse(expiresAt) - Date.parse(acquiredAt);
  return Math.max(1_000, Math.floor(leaseMs / 3));
}

async function queue(options: OnceOptions, busy: unknown): Promise<OnceEnd> {
  const { dibs, taskId } = options;
  if (taskId !== undefined) return { type: "queued", taskId, busy };
  const { task } = await dibs.tasks.create(newTask(options));
  return { type: "queued", taskId: task.id, busy };
}

function newTask({ project, prompt = "", title }: OnceOptions) {
  return {
    ...(project === undefined ? {} : { project }),
    ...(title === undefined ? {} : { title }),
    prompt,
  };
}

async function run(options: OnceOptions, sessionId: string) {
  const timings = { ...defaultTimings, ...options.timings };
  const attempts = new Attempts(options, timings);
  await attempts.open();
  const group = attempts.newGroup(sessionId);
  let stopWatching = () => {};
  try {
    await attempts.introduce([sessionId]);
    const claimed = await claim(attempts, options, sessionId, group);
    const running = attempts.run(claimed, group, { isOwn: options.taskId === undefined });
    stopWatching = stopOn(attempts, options);
    return { type: "ran" as const, taskId: claimed.task.id, end: await running };
  } finally {
    stopWatching();
    await group.end();
    await attempts
      .session(sessionId)
      .end(attempts.silence)
      .catch(() => undefined);
    await attempts.close();
  }
}

/**
 * A task for this very run: nobody else may take it in between, and it is tried once. If it is left open after all (a question, a stop),
 * anybody may go on with it.
 */
async function claim(
  attempts: Attempts,
  options: OnceOptions,
  sessionId: string,
  group: Parameters<Attempts["run"]>[1],
): Promise<Claimed> {
  const { dibs } = options;
  const input = attempts.claimInput(sessionId, group);
  let { taskId } = options;
  if (taskId === undefined) {
    const { task } = await dibs.tasks.create({ ...newTask(options), assignee: sessionId, maxRetries: 0 });
    taskId = task.id;
  }
  const askedAt = performance.now();
  const { claim, task, handover } = await dibs.tasks.claim({ ...input, taskId });
  if (options.taskId === undefined) {
    // A worker's token may not edit; then it stays this session's.
    await dibs.tasks.update({ ...attempts.project, taskId, assignee: null }).catch(() => undefined);
  }
  return { claim, task, handover, askedAt };
}

function stopOn(attempts: Attempts, { signal, killSignal }: OnceOptions): () => void {
  const gently = () => attempts.stop({ now: false });
  const atOnce = () => attempts.stop({ now: true });
  if (signal?.aborted) gently();
  if (killSignal?.aborted) atOnce();
  signal?.addEventListener("abort", gently);
  killSignal?.addEventListener("abort", atOnce);
  return () => {
    signal?.removeEventListener("abort", gently);
    killSignal?.removeEventListener("abort", atOnce);
  };
}
