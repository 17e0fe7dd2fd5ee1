// The entry point of every surface: validates and authorises a call once, then lets its handler prepare and
// run it.

import { DibsError } from "../contract/error.js";
import { idempotencyKey } from "../contract/fields.js";
import { parseInput } from "../contract/parse.js";
import { type OperationName, operations } from "../contract/registry.js";
import { authorise } from "./authorise.js";
import type { Caller } from "./environment.js";
import { asDibsError, type Executor, rethrow } from "./execute.js";
import type { Call, CallOptions, Handler } from "./handler.js";
import { handlers } from "./handlers.js";
import { parserOf } from "./parsers.js";

const definitions = new Map(operations.map((operation) => [operation.name, operation]));

/** Promises are passed on, not awaited: a call without preparation submits its job in the same tick. */
export function dispatch<N extends OperationName>(
  executor: Executor,
  name: N,
  input: unknown,
  caller: Caller,
  options: CallOptions = {},
): Promise<unknown> {
  try {
    const handler: Handler<N> = handlers[name];
    const call = admit(handler, input, caller, options);
    const prepared = handler.prepare?.(executor, call);
    const answer = prepared
      ? prepared.then(() => handler.run(executor, call as never, dispatch))
      : handler.run(executor, call as never, dispatch);
    return answer.catch(rethrow);
  } catch (error) {
    return Promise.reject(asDibsError(error));
  }
}

/** Refuses invalid and unauthorised calls before anything is done for them. */
function admit<N extends OperationName>(
  handler: Handler<N>,
  input: unknown,
  caller: Caller,
  { idempotencyKey: key, signals, onPart }: CallOptions,
): Call<N> {
  const operation = definitions.get(handler.name)!;
  const parsed = parseInput(operation, input, parserOf(operation)) as Call<N>["input"];
  authorise(caller, operation, parsed);
  if (key !== undefined) validateKey(key);
  return { handler, input: parsed, caller, idempotencyKey: key, signals, onPart };
}

function validateKey(key: unknown): void {
  const result = idempotencyKey().safeParse(key);
  if (result.success) return;
  const issue = { path: "idempotencyKey", message: result.error.issues[0]!.message };
  throw new DibsError("VALIDATION_FAILED", `${issue.path}: ${issue.message}`, {
    details: { issues: [issue] },
  });
}
