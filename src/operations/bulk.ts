// One call, many tasks. Each is done by the single operation, with its own refusal; those of a group are submitted together and
// share commits, so that others get their turns in between.

import { DibsError } from "../contract/error.js";
import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import {
  type BulkInput,
  type BulkRefusal,
  bulkAnswer,
  matchesOf,
  type OneTask,
  single,
} from "./bulk-preview.js";
import type { Caller } from "./environment.js";
import { asDibsError, type CallOptions, type Executor, refusalError } from "./execute.js";

type Answer = OutputOf<OperationNamed<"tasks.bulk">>;

const groupMax = 200;

export async function bulk(
  executor: Executor,
  input: unknown,
  caller: Caller,
  options: CallOptions,
): Promise<Answer> {
  const parsed = executor.admit("tasks.bulk", input, caller) as BulkInput;
  if (parsed.dryRun) return executor.execute("tasks.bulk", input as never, caller);
  try {
    const act = () => carryOutAll(executor, parsed, caller);
    return await executor.once("tasks.bulk", parsed, caller, options.idempotencyKey, act);
  } catch (error) {
    throw asDibsError(error);
  }
}

async function carryOutAll(executor: Executor, input: BulkInput, caller: Caller): Promise<Answer> {
  const context = { caller, environment: executor.environment, aside: {} };
  const matches = await executor.look(caller.org, (view) => matchesOf(view, input, context));
  if (!matches.ok) throw refusalError(matches);
  const { tasks } = matches.value;
  const refused = new Map<OneTask, DibsError>();
  /** Ended along with another one of this call. */
  const along = new Set<string>();
  for (let at = 0; at < tasks.length; at += groupMax) {
    const group = tasks.slice(at, at + groupMax).map(async (on) => {
      const { name, input: of } = single(input, on);
      try {
        const answer: object = await executor.execute(name, of as never, caller);
        if ("cancelled" in answer) {
          for (const id of answer.cancelled as string[]) along.add(`${on.project}/${id}`);
        }
      } catch (error) {
        if (!(error instanceof DibsError)) throw error;
        refused.set(on, error);
      }
    });
    await Promise.all(group);
    const trouble = [...refused.values()].find(({ code }) => isTrouble(code));
    // Whoever tries again goes on with what is left.
    if (trouble) throw trouble;
  }
  const isRefused = ({ project, taskId }: OneTask) => !along.has(`${project}/${taskId}`);
  const left = tasks.flatMap((on): BulkRefusal[] => {
    const error = refused.get(on);
    return error && isRefused(on) ? [{ ...on, error: error.code, message: error.message }] : [];
  });
  return bulkAnswer(input, matches.value, { done: tasks.length - left.length, refused: left });
}

/** Not about the task, but about the store or ourselves. */
function isTrouble(code: string): boolean {
  return code.startsWith("STORE_") || code === "INTERNAL";
}
