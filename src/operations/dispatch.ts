// The door for every surface: the pipeline, and around it what some operations do in the world before or while they run: wait for
// work, and notice that a holder's process is gone.

import type { OperationName } from "../contract/registry.js";
import { claimNext, type WaitOptions } from "./claim-wait.js";
import type { Caller } from "./environment.js";
import type { Executor } from "./execute.js";
import { endDeadHolder, endDeadSessions } from "./sweep.js";

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
      return afterLookingAtTheHolder(executor, name, input, caller, options);
    case "claims.cleanup":
      return cleanup(executor, caller, options);
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
  const { project, taskId } = (input ?? {}) as { project?: unknown; taskId?: unknown };
  if (typeof taskId === "string") {
    const of = typeof project === "string" ? project : caller.project;
    await endDeadHolder(executor, caller.org, of, taskId);
  }
  return executor.execute(name, input as never, caller, options);
}

async function cleanup(executor: Executor, caller: Caller, options: WaitOptions): Promise<unknown> {
  const ended = await endDeadSessions(executor, caller.org);
  const answer = await executor.execute("claims.cleanup", {}, caller, options);
  return { ...answer, cleaned: [...ended, ...answer.cleaned] };
}
