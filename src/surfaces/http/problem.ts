import { httpStatus } from "../../contract/codes.js";
import type { DibsError } from "../../contract/error.js";

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
