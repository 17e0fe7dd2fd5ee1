// Many calls in one request. They are dispatched in one turn of the event loop, so their jobs share a group of
// commits; nothing else connects them: each is validated, authorised, remembered and refused on its own.

import type { z } from "zod";
import { DibsError } from "../contract/error.js";
import type { Operation, OutputOf, ParsedOf } from "../contract/operation.js";
import { problemBody } from "../contract/problem.js";
import { type OperationName, type OperationNamed, operations } from "../contract/registry.js";
import { authorise } from "./authorise.js";
import { asRefusal, type Executor } from "./execute.js";
import { type Call, type Dispatch, forCalls } from "./handler.js";

type Many = OperationNamed<"calls.many">;
type Part = ParsedOf<Many>["calls"][number];

const definitions = new Map<string, Operation>(operations.map((each) => [each.name, each]));

export const manyOperations = {
  "calls.many": forCalls("calls.many", {
    run: (executor, call, dispatch) => executor.once(call, () => runAll(executor, call, dispatch)),
  }),
};

async function runAll(
  executor: Executor,
  { input, caller, onPart }: Call<"calls.many">,
  dispatch: Dispatch,
): Promise<OutputOf<Many>> {
  const answers = input.calls.map(async (part) => {
    const name = part.operation as OperationName;
    try {
      const operation = operationOf(part);
      // As with a call alone: who may not do it at all learns nothing about its input.
      authorise(caller, operation);
      const { idempotencyKey } = part;
      const fields = inputOf(operation, part.input, input.project);
      const answer = await dispatch(executor, name, fields, caller, { idempotencyKey });
      onPart?.(name, { answer });
      return answer as { success: boolean };
    } catch (thrown) {
      const error = asRefusal(thrown);
      onPart?.(name, { error });
      return problemBody(error) as { success: boolean };
    }
  });
  return { success: true, answers: await Promise.all(answers) };
}

/** Refuses what cannot be one of many calls. */
function operationOf({ operation: name }: Part): Operation {
  const operation = definitions.get(name);
  if (!operation) throw refused("operation", `There is no operation ${name}.`);
  if (operation.kind !== "command")
    throw refused("operation", `${name} changes nothing.`, sendAlone(operation));
  if (operation.alone)
    throw refused("operation", `${name} cannot be one of many calls.`, sendAlone(operation));
  return operation;
}

/** What is not an object of fields is refused by the operation. */
function inputOf(operation: Operation, input: unknown = {}, project: string | undefined): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const fields = { ...input } as Record<string, unknown>;
  // The answers leave together: one wait would hold back those of all other calls.
  if (fields.waitMs !== undefined && fields.waitMs !== 0)
    throw refused("waitMs", "waitMs must be 0 in one of many calls.", sendAlone(operation));
  if (fields.project === "") delete fields.project;
  const takesProject = "project" in (operation.input as z.ZodObject).shape;
  return takesProject && project !== undefined ? { project, ...fields } : fields;
}

const sendAlone = ({ http: { method, path } }: Operation) => `Send it alone: ${method} ${path}`;

function refused(path: string, message: string, hint?: string): DibsError {
  return new DibsError("VALIDATION_FAILED", message, { hint, details: { issues: [{ path, message }] } });
}
