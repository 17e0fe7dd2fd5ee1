import { type Code, httpStatus, meaningOf } from "./codes.js";
import type { DibsError } from "./error.js";

/** Where the server's own reference describes the code: relative, because a server has no address that it is sure of. */
const problemTypeOf = (code: Code) => `/reference#${code}`;

/** A refusal with the members of RFC 9457. They come last: no detail of ours can replace them. */
export function problemBody(
  error: DibsError,
  status: number = httpStatus[error.code],
): Record<string, unknown> {
  const { code, message } = error;
  const standard = { type: problemTypeOf(code), title: meaningOf(code), status, detail: message };
  return { ...error.toJSON(), ...standard };
}
