// What an operation refuses with, as responses: one per status, the codes as the values of `error`.

import { STATUS_CODES } from "node:http";
import { type Code, httpStatus, meaningOf } from "../../contract/codes.js";
import { DibsError } from "../../contract/error.js";
import { problemType, type Reference, type ResponseObject } from "./openapi-types.js";
import { componentPrefix, type Schema } from "./schema.js";

const codes = Object.keys(httpStatus) as Code[];

const always: ReadonlySet<string> = new Set([
  "VALIDATION_FAILED",
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "REQUEST_TIMEOUT",
  "PAYLOAD_TOO_LARGE",
  "UNSUPPORTED_MEDIA_TYPE",
  "RATE_LIMITED",
  "INTERNAL",
]);

/** What every operation can answer. */
export const operationCodes: readonly Code[] = codes.filter(
  (code) => always.has(code) || code === "PROJECT_NOT_FOUND" || code.startsWith("STORE_"),
);

export const problemSchema: Schema = {
  type: "object",
  description: "A refusal. Some codes say more in members of their own.",
  properties: {
    type: {
      type: "string",
      format: "uri-reference",
      description: "RFC 9457: the code in this server's reference, such as `/reference#TASK_NOT_FOUND`",
    },
    title: { type: "string", description: "RFC 9457: what the code means, the same each time" },
    status: { type: "integer", description: "RFC 9457: the status of the answer" },
    detail: { type: "string", description: "RFC 9457: the same as `message`" },
    success: { type: "boolean", const: false },
    error: { type: "string", enum: codes },
    message: { type: "string", description: "What is wrong" },
    hint: { type: "string", description: "What would help" },
    retryable: { type: "boolean", description: "The same call can succeed later" },
    issues: {
      type: "array",
      description: "VALIDATION_FAILED: each field that is wrong",
      items: {
        type: "object",
        properties: { path: { type: "string" }, message: { type: "string" } },
        required: ["path", "message"],
      },
    },
    reasons: {
      type: "array",
      description: "TASK_NOT_CLAIMABLE: why",
      items: { $ref: `${componentPrefix}Reason` },
    },
    claim: {
      type: "object",
      description: "TASK_ALREADY_CLAIMED: who holds the task",
      properties: {
        sessionId: { type: "string" },
        claimedAt: { $ref: `${componentPrefix}Time` },
        remainingMs: { type: "number" },
        holderAlive: { type: "boolean" },
      },
      required: ["sessionId", "claimedAt", "remainingMs", "holderAlive"],
    },
  },
  required: ["type", "title", "status", "detail", "success", "error", "message", "retryable"],
  additionalProperties: true,
  "x-dibs-codes": Object.fromEntries(
    codes.map((code) => [
      code,
      { status: httpStatus[code], retryable: new DibsError(code, "").retryable, means: meaningOf(code) },
    ]),
  ),
};

/** Collects the responses that operations share, so that the document says each once. */
export class Refusals {
  readonly shared: Record<string, ResponseObject> = {};

  /** Responses by status, lowest first: the operation's own codes in their order, then the common ones. */
  of(own: readonly Code[], common: readonly Code[]): [status: string, ResponseObject | Reference][] {
    const byStatus = new Map<number, Code[]>();
    for (const code of new Set([...own, ...common])) {
      const status = httpStatus[code];
      byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
    }
    const special = new Set(own.filter((code) => !common.includes(code)));
    return [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, refused]) => {
        const isShared = !refused.some((code) => special.has(code));
        return [String(status), isShared ? this.#share(status, refused) : response(status, refused)];
      });
  }

  #share(status: number, refused: Code[]): ResponseObject | Reference {
    const name = (STATUS_CODES[status] ?? `Status${status}`).replace(/\W/g, "");
    const fresh = response(status, refused);
    this.shared[name] ??= fresh;
    const isSame = this.shared[name].description === fresh.description;
    return isSame ? { $ref: `#/components/responses/${name}` } : fresh;
  }
}

function response(status: number, refused: readonly Code[]): ResponseObject {
  const error: Schema = { type: "string", enum: [...refused] };
  const schema: Schema = {
    allOf: [{ $ref: `${componentPrefix}Problem` }, { type: "object", properties: { error } }],
  };
  const description = refused.map((code) => `\`${code}\``).join(", ");
  const content = { [problemType]: { schema } };
  if (status !== 429 && status !== 503) return { description, content };
  const headers = { "Retry-After": { description: "Seconds", schema: { type: "integer" } } };
  return { description, headers, content };
}
