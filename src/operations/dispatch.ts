// The door for every surface: the pipeline, and around it what some operations do in the world before or while they run: wait for
// work, and notice that a holder's process is gone.

import type { OperationName } from "../contract/registry.js";
import { limits } from "../core/limits.js";
import { bulk } from "./bulk.js";
import { claimNamed, claimNext, type WaitOptions } from "./claim-wait.js";
import type { Caller } from "./environment.js";
import { type Executor, rethrow } from "./execute.js";
import { freeDeadLocks } from "./locks.js";
import { catchUpIfWritable } from "./metrics/recorder.js";
import { endDeadHolder, endDeadHolders, endDeadSessions, isTimeToLook, noticeTheDead } from "./sweep.js";
import { dropExpiredTokens, forgetTokens } from "./tokens.js";

/** What is done in the world before an operation runs, once it is admitted. */
type Preparation = (executor: Executor, caller: Caller, input: never) => Promise<unknown>;

const lookAtTheHolder: Preparation = (executor, caller, { project, taskId }: OnTask) =>
  endDeadHolder(executor, caller.org, project ?? caller.project, taskId).catch(rethrow);

/** Who is here? Those that live. */
const noticeDeadSessions: Preparation = (executor, { org }) => noticeTheDead(executor, org);

const preparations: Partial<Record<OperationName, Preparation>> = {
  "tasks.respond": lookAtTheHolder,
  "tasks.explain": async (executor, caller, input) => {
    await lookAtTheHolder(executor, caller, input);
    await noticeDeadSessions(executor, caller, input);
  },
  "tasks.list": lookForTheDead,
  "tasks.inFlight": lookForTheDead,
  "sessions.list": noticeDeadSessions,
  "sessions.summary": noticeDeadSessions,
  "locks.acquire": lookAtTheLock,
  "locks.release": lookAtTheLock,
  "tokens.create": (executor, { org }) => dropExpiredTokens(executor, org),
  "tokens.list": (executor, { org }) => dropExpiredTokens(executor, org),
  "stats.get": count,
  "metrics.history": count,
};

interface OnTask {
  project?: string;
  taskId: string;
}

/** So that no list shows as at work what a process of this host left behind. */
async function lookForTheDead(executor: Executor, { org }: Caller): Promise<void> {
  if (isTimeToLook(executor, org)) await endDeadHolders(executor, org);
}

async function lookAtTheLock(executor: Executor, { org }: Caller, { name }: { name: string }): Promise<void> {
  await freeDeadLocks(executor, org, name).catch(rethrow);
}

async function count(executor: Executor, { org }: Caller): Promise<void> {
  await noticeTheDead(executor, org);
  await catchUpIfWritable(executor, org).catch(rethrow);
}

export function dispatch(
  executor: Executor,
  name: OperationName,
  input: unknown,
  caller: Caller,
  options: WaitOptions,
): Promise<unknown> {
  switch (name) {
    case "tasks.claimNext":
      return claimNext(executor, input as never, caller, options);
    case "tasks.claim":
      return claimNamed(executor, input as never, caller, options);
    case "tasks.bulk":
      return bulk(executor, input, caller, options);
    case "claims.cleanup":
      return cleanup(executor, input, caller, options);
    case "tokens.revoke":
      return revokeToken(executor, input, caller, options);
  }
  const prepare = preparations[name];
  const run = () => executor.execute(name, input as never, caller, options);
  // Most need nothing, and pay nothing.
  return prepare ? prepared(prepare, executor, { name, input, caller }).then(run) : run();
}

async function prepared(
  prepare: Preparation,
  executor: Executor,
  { name, input, caller }: { name: OperationName; input: unknown; caller: Caller },
): Promise<void> {
  await prepare(executor, caller, executor.admit(name, input, caller) as never);
}

async function revokeToken(
  executor: Executor,
  input: unknown,
  caller: Caller,
  options: WaitOptions,
): Promise<unknown> {
  executor.admit("tokens.revoke", input, caller);
  try {
    return await executor.execute("tokens.revoke", input as never, caller, options);
  } finally {
    // Also when another process was first, and when nobody knows whether it was done.
    forgetTokens(executor, caller.org);
  }
}

/** All of it, in rounds. */
async function cleanup(
  executor: Executor,
  input: unknown,
  caller: Caller,
  { idempotencyKey }: WaitOptions,
): Promise<unknown> {
  const parsed = executor.admit("claims.cleanup", input, caller);
  return executor.once("claims.cleanup", parsed, caller, idempotencyKey, () => cleanUp(executor, caller));
}

async function cleanUp(executor: Executor, caller: Caller): Promise<object> {
  const cleaned: unknown[] = await endDeadSessions(executor, caller.org).catch(rethrow);
  for (;;) {
    const round = await executor.execute("claims.cleanup", {}, caller);
    cleaned.push(...round.cleaned);
    if (round.cleaned.length < limits.sweepMax)
      return { success: true, cleaned: cleaned.slice(0, limits.sweepMax) };
  }
}
