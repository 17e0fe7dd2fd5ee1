// A refusal as HTTP says it: status by code, problem+json with RFC 9457's members and those that every surface shows.

import { type Code, httpStatus, meaningOf } from "../../contract/codes.js";
import { DibsError } from "../../contract/error.js";
import { asDibsError } from "../../operations/execute.js";

/** For a transient refusal: when to come back, in seconds. */
const retryAfterSeconds = 1;

export function problemHeaders(error: DibsError): Record<string, string> {
  const status = httpStatus[error.code];
  const headers: Record<string, string> = { "content-type": "application/problem+json" };
  if (status === 401) headers["www-authenticate"] = 'Bearer realm="dibs"';
  if (status === 429 || status === 503) headers["retry-after"] = String(retryAfterSeconds);
  // Its rest may still come. What is too large comes soon and is read past, so that a client which first writes all hears of it.
  if (status === 408) headers.connection = "close";
  return headers;
}

/** Where the server's own reference describes the code: relative, because a server has no address that it is sure of. */
const problemTypeOf = (code: Code) => `/reference#${code}`;

/** RFC 9457's members come last: no detail of ours can replace them. */
export function problemBody(
  error: DibsError,
  status: number = httpStatus[error.code],
): Record<string, unknown> {
  const { code, message } = error;
  const standard = { type: problemTypeOf(code), title: meaningOf(code), status, detail: message };
  return { ...error.toJSON(), ...standard };
}

/** What nobody foresaw is a defect of ours: it is logged, and its words stay inside. */
export function asRefusal(thrown: unknown): DibsError {
  // Not all that meets the store is an operation: who calls is looked up there, too.
  const error = asDibsError(thrown);
  if (error instanceof DibsError) return error;
  return new DibsError("INTERNAL", "This is a defect in Dibs.", {
    hint: "The server's log has the details under the request id in the header Dibs-Request-Id.",
    cause: error,
  });
}
