// One route per operation of the registry. A route only translates: path, query and body to the operation's input, the caller
// from the gate, and the answer to JSON.

import type { DibsError } from "../../contract/error.js";
import type { Operation } from "../../contract/operation.js";
import { type OperationName, operations } from "../../contract/registry.js";
import { authorise } from "../../operations/authorise.js";
import { dispatch } from "../../operations/dispatch.js";
import type { Executor } from "../../operations/execute.js";
import { readJsonObject, refuseOtherMedia } from "./body.js";
import type { Call, Http } from "./context.js";
import { disconnectSignal } from "./disconnects.js";
import { inputFields, readQuery } from "./input.js";
import { isChange } from "./request-log.js";
import type { Answer, Router } from "./router.js";

export interface RouteParts {
  executor: Executor;
  /** Ends waits when the server stops. */
  closing: AbortSignal;
  limits: { bodyBytesMax: number; batchBytesMax: number; bodyMs: number };
  onRefused: (call: Call, error: DibsError) => void;
}

export function addOperations(router: Router, parts: RouteParts): void {
  for (const operation of operations) {
    const { method, path, also } = operation.http;
    router.add(method, path, handlerFor(operation, parts));
    if (also)
      router.add(method, also, handlerFor({ ...operation, http: { ...operation.http, path: also } }, parts));
  }
}

const paramsOf = ({ http: { path } }: Operation) => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);

function handlerFor(operation: Operation, { executor, closing, limits, onRefused }: RouteParts): Answer {
  const { method, status = 200, path } = operation.http;
  const params = paramsOf(operation);
  const fields = inputFields(operation);
  const writes = method !== "GET";
  const hasBody = method === "POST" || method === "PUT" || method === "PATCH";
  const mayWait = fields.has("waitMs");
  const body = {
    bytesMax: path.endsWith("/batch") ? limits.batchBytesMax : limits.bodyBytesMax,
    ms: limits.bodyMs,
  };

  return async (http) => {
    const { incoming, call } = http;
    call.route = path;
    const caller = call.caller!;
    // Before the body is read: who may not do it at all learns nothing about its input.
    authorise(caller, operation);
    if (writes) refuseOtherMedia(incoming);
    const input: Record<string, unknown> = {
      ...(fields.has("project") ? projectOf(http) : {}),
      ...(hasBody ? {} : readQuery(operation, http.query)),
      ...(writes ? await readJsonObject(incoming, body) : {}),
    };
    if (input.project === "") delete input.project;
    for (const name of params) input[name] = http.params[name];
    const idempotencyKey = writes ? http.header("idempotency-key") : undefined;
    const waiting = mayWait && input.waitMs ? disconnectSignal(http) : null;
    const signals = waiting ? [closing, waiting.signal] : undefined;
    try {
      const answer = await dispatch(executor, operation.name as OperationName, input, caller, {
        idempotencyKey,
        signals,
        onPart: (name, result) => {
          if ("error" in result) onRefused(call, result.error);
          else noteChange(call, name, result.answer);
        },
      });
      noteChange(call, operation.name, answer);
      const text = textOf(http, operation, answer);
      if (text === null) http.json(answer, status);
      else http.text(text);
    } finally {
      waiting?.stop();
    }
  };
}

function noteChange(call: Call, operation: string, answer: unknown): void {
  if (isChange(operation, answer)) call.changedBy.add(operation);
}

/** A patch is text, unless the caller asks for JSON. */
function textOf(http: Http, { http: { text } }: Operation, answer: unknown): string | null {
  if (text === undefined || http.header("accept")?.includes("application/json")) return null;
  return (answer as Record<string, string>)[text]!;
}

/** `?project=` wins over the header; a body's own field wins over both. */
function projectOf(http: Http): { project?: string } {
  const project = http.queried("project") ?? http.header("dibs-project");
  return project === undefined || project === "" ? {} : { project };
}
