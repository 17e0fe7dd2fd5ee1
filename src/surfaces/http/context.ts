// What belongs to one request while it is answered.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context } from "hono";
import { httpStatus } from "../../contract/codes.js";
import type { DibsError } from "../../contract/error.js";
import { problemBody } from "../../contract/problem.js";
import type { Caller } from "../../operations/environment.js";
import { apiHeaders } from "./guard.js";
import { problemHeaders } from "./problem.js";

export interface Call {
  id: string;
  startedAt: number;
  /** The route's pattern: no ids, no texts. */
  route: string;
  caller: Caller | null;
  /** What it was refused with. */
  error: DibsError | null;
  /** The operations that changed something. */
  changedBy: Set<string>;
}

export interface Bindings {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  call: Call;
}

export type Http = Context<{ Bindings: Bindings }>;

export function json(http: Http, value: unknown, status = 200, headers?: Record<string, string>): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: {
      ...apiHeaders,
      "content-type": "application/json; charset=utf-8",
      "dibs-request-id": http.env.call.id,
      ...headers,
    },
  });
}

export function plainText(http: Http, text: string): Response {
  return new Response(text, {
    headers: {
      ...apiHeaders,
      "content-type": "text/plain; charset=utf-8",
      "dibs-request-id": http.env.call.id,
    },
  });
}

export function problem(http: Http, error: DibsError): Response {
  return json(http, problemBody(error), httpStatus[error.code], problemHeaders(error));
}
