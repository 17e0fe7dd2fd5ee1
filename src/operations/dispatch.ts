// The door for every surface: the pipeline, and around it what some operations do in the world before or while they run: wait for
// work, and notice that a holder's process is gone.

import type { OperationName } from "../contract/registry.js";
import { limits } from "../core/limits.js";
import { bulk } from "./bulk.js";
import { claimNext, type WaitOptions } from "./claim-wait.js";
import type { Caller } from "./environment.js";
import { asDibsError, type Executor } from "./execute.js";
import { freeDeadLocks } from "./locks.js";
import { catchUpIfWritable } from "./metrics/recorder.js";
import { endDeadHolder, endDeadHolders, endDeadSessions, isTimeToLook, noticeTheDead } from "./sweep.js";
import { dropExpiredTokens, forgetTokens } from "./tokens.js";

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
    case "tasks.respond":
    case "tasks.explain":
      return afterLookingAtTheHolder(executor, name, input, caller, options);
    case "tasks.bulk":
      return bulk(executor, input, caller, options);
    case "tasks.list":
    case "tasks.inFlight":
      return afterLookingForTheDead(executor, name, input, caller, options);
    case "sessions.list":
    case "sessions.summary":
      return afterNoticingTheDead(executor, name, input, caller, options);
    case "claims.cleanup":
      return cleanup(executor, input, caller, options);
    case "locks.acquire":
    case "locks.release":
      return afterLookingAtTheLock(executor, name, input, caller, options);
    case "tokens.create":
    case "tokens.list":
      return afterDroppingTokens(executor, name, input, caller, options);
    case "tokens.revoke":
      return revokeToken(executor, input, caller, options);
    case "stats.get":
    case "metrics.history":
      return afterCounting(executor, name, input, caller, options);
    default:
      return executor.execute(name, input as never, caller, options);
  }
}

async function afterLookingAtTheHolder(
  executor: Executor,
  name: OperationName,
  input: unknown,
  caller: Caller,
  options: WaitOptions,
): Promise<unknown> {
  const { project, taskId } = executor.admit(name, input, caller) as { project?: string; taskId: string };
  await endDeadHolder(executor, caller.org, project ?? caller.project, taskId).catch(rethrow);
  // Who is here to take it?
  if (name === "tasks.explain") await noticeTheDead(executor, caller.org);
  return executor.execute(name, input as never, caller, options);
}

/** So that no list shows as at work what a process of this host left behind. */
async function afterLookingForTheDead(
  executor: Executor,
  name: OperationName,
  input: unknown,
  caller: Caller,
  options: WaitOptions,
): Promise<unknown> {
  executor.admit(name, input, caller);
  if (isTimeToLook(executor, caller.org)) await endDeadHolders(executor, caller.org);
  return executor.execute(name, input as never, caller, options);
}

/** Whoever asks who is here means those that live. */
async function afterNoticingTheDead(
  executor: Executor,
  name: OperationName,
  input: unknown,
  caller: Caller,
  options: WaitOptions,
): Promise<unknown> {
  executor.admit(name, input, caller);
  await noticeTheDead(executor, caller.org);
  return executor.execute(name, input as never, caller, options);
}

async function afterLookingAtTheLock(
  executor: Executor,
  name: OperationName,
  input: unknown,
  caller: Caller,
  options: WaitOptions,
): Promise<unknown> {
  const lock = executor.admit(name, input, caller) as { name: string };
  await freeDeadLocks(executor, caller.org, lock.name).catch(rethrow);
  return executor.execute(name, input as never, caller, options);
}

async function afterDroppingTokens(
  executor: Executor,
  name: OperationName,
  input: unknown,
  caller: Caller,
  options: WaitOptions,
): Promise<unknown> {
  executor.admit(name, input, caller);
  await dropExpiredTokens(executor, caller.org);
  return executor.execute(name, input as never, caller, options);
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

async function afterCounting(
  executor: Executor,
  name: OperationName,
  input: unknown,
  caller: Caller,
  options: WaitOptions,
): Promise<unknown> {
  executor.admit(name, input, caller);
  await noticeTheDead(executor, caller.org);
  await catchUpIfWritable(executor, caller.org).catch(rethrow);
  return executor.execute(name, input as never, caller, options);
}

function rethrow(error: unknown): never {
  throw asDibsError(error);
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
