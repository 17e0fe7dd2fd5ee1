// One call, many tasks. The single operation runs for each task, with its own refusal. Those of a group are
// submitted together and share commits, so that other calls run in between.

import { DibsError } from "../contract/error.js";
import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import { type BulkRefusal, bulkAnswer, matchesOf, type OneTask, preview, single } from "./bulk-preview.js";
import { type Executor, refusalError } from "./execute.js";
import { forQuery, type QueryCall } from "./handler.js";
import { taskCommands } from "./task-commands.js";

const groupMax = 200;

export const bulkOperations = {
  "tasks.bulk": forQuery("tasks.bulk", {
    query: preview,
    run: (executor, call) =>
      call.input.dryRun ? executor.query(call) : executor.once(call, () => carryOutAll(executor, call)),
  }),
};

async function carryOutAll(
  executor: Executor,
  { input, caller }: QueryCall<"tasks.bulk">,
): Promise<OutputOf<OperationNamed<"tasks.bulk">>> {
  const context = { caller, environment: executor.environment, aside: {} };
  const matches = await executor.readSwept(caller.org, (view) => matchesOf(view, input, context));
  if (!matches.ok) throw refusalError(matches);
  const { tasks } = matches.value;
  const refused = new Map<OneTask, DibsError>();
  /** Tasks that were cancelled along with another one of this call. */
  const along = new Set<string>();
  for (let at = 0; at < tasks.length; at += groupMax) {
    const group = tasks.slice(at, at + groupMax).map(async (on) => {
      const { name, input: of } = single(input, on);
      // Not validated again: tasks.bulk has the rules and the role of the single operations.
      const call = { handler: taskCommands[name], input: of, caller };
      try {
        const { answer } = await executor.transact(call as never);
        if ("cancelled" in answer) {
          for (const id of answer.cancelled as string[]) along.add(`${on.project}/${id}`);
        }
      } catch (error) {
        if (!(error instanceof DibsError)) throw error;
        refused.set(on, error);
      }
    });
    await Promise.all(group);
    const failure = [...refused.values()].find(({ code }) => isFailure(code));
    // A repeated call continues with the rest.
    if (failure) throw failure;
  }
  const isRefused = ({ project, taskId }: OneTask) => !along.has(`${project}/${taskId}`);
  const left = tasks.flatMap((on): BulkRefusal[] => {
    const error = refused.get(on);
    return error && isRefused(on) ? [{ ...on, error: error.code, message: error.message }] : [];
  });
  return bulkAnswer(input, matches.value, { done: tasks.length - left.length, refused: left });
}

/** An error of the store or of Dibs, not of the task. */
function isFailure(code: string): boolean {
  return code.startsWith("STORE_") || code === "INTERNAL";
}
