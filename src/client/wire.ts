// What goes over the wire: an operation and its input as a request, and a response as an answer or a refusal. No I/O here.

import type { z } from "zod";
import { httpStatus } from "../contract/codes.js";
import { DibsError } from "../contract/error.js";
import type { Operation } from "../contract/operation.js";
import { parseInput } from "../contract/parse.js";

export interface Server {
  /** Without a slash at its end. */
  url: string;
  token?: string | undefined;
  project?: string | undefined;
}

export interface WireRequest {
  /** For messages: the operation's name. */
  name: string;
  url: string;
  init: { method: string; headers: Record<string, string>; body?: string };
}

type Input = Record<string, unknown>;

export function requestFor(server: Server, operation: Operation, input: Input, key?: string): WireRequest {
  const { name, http } = operation;
  const isQuery = http.method === "GET" || http.method === "DELETE";
  // An address has no types: what goes into one is judged here, everything else by the server.
  if (isQuery || typeof input !== "object" || Array.isArray(input)) parseInput(operation, input);
  const rest = { ...input };
  const path = http.path.replace(/:(\w+)/g, (_, field: string) => {
    const value = rest[field];
    delete rest[field];
    if (!isValid(operation, field, value)) parseInput(operation, input);
    return encodeURIComponent(String(value));
  });
  const headers = headersFor(server);
  if (key !== undefined) headers["idempotency-key"] = key;
  const url = server.url + path;
  if (isQuery) return { name, url: url + queryOf(rest), init: { method: http.method, headers } };
  headers["content-type"] = "application/json";
  return { name, url, init: { method: http.method, headers, body: bodyOf(rest) } };
}

export function headersFor({ token, project }: Server): Record<string, string> {
  return {
    accept: "application/json",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(project === undefined ? {} : { "dibs-project": project }),
  };
}

/** Arrays as repeated keys. An empty one would say "any", and means "none". */
export function queryOf(fields: Input): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const values = Array.isArray(value) ? value : [value];
    if (values.length === 0) throw new DibsError("VALIDATION_FAILED", `${name} must not be empty over HTTP.`);
    for (const each of values) query.append(name, each instanceof Date ? each.toISOString() : String(each));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

export function bodyOf(rest: Input): string {
  try {
    return JSON.stringify(rest, refuseNothing);
  } catch (cause) {
    const message = `The input cannot be written as JSON: ${(cause as Error).message}.`;
    throw new DibsError("VALIDATION_FAILED", message, { cause });
  }
}

/** JSON writes NaN and its like as null, and null means something. */
function refuseNothing(this: Input, key: string, value: unknown): unknown {
  const isNothing = typeof value === "number" && !Number.isFinite(value);
  if (isNothing || (value === null && this[key] !== null)) throw new TypeError(`${key} has no value`);
  return value;
}

/** Every input is an object of fields. */
function isValid(operation: Operation, field: string, value: unknown): boolean {
  const { shape } = operation.input as z.ZodObject;
  return value !== undefined && (shape[field] as z.ZodType).safeParse(value).success;
}

/** The world's fault, not the caller's: it may pass. */
export class Trouble extends Error {
  override name = "Trouble";

  constructor(
    /** What the caller is told in the end. */
    readonly error: DibsError,
    /** Whether the same request is worth another try soon. */
    readonly mayPass: boolean,
    /** What the server asked for. */
    readonly waitMs: number = 0,
  ) {
    super(error.message);
  }
}

export function lost(url: string, cause: unknown): Trouble {
  const error = new DibsError(
    "STORE_UNAVAILABLE",
    `No answer from the Dibs server at ${url} (${reasonOf(cause)}).`,
    { hint: "Check the URL, and that the server runs. To start one: dibs serve", cause },
  );
  return new Trouble(error, true);
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: unknown; message?: unknown }; message?: unknown };
  return String(cause?.code ?? (cause?.message || message) ?? error);
}

/** What came back for a call, by itself or in an answer to many. */
export interface Reply {
  status: number;
  /** Undefined: no JSON. */
  value: unknown;
  /** When the server asks to come back; null: it does not say. */
  retryAfterMs: number | null;
}

export function replyOf(response: Response, text: string): Reply {
  return { status: response.status, value: parsed(text), retryAfterMs: retryAfterMs(response) };
}

/** The answer, or a throw: a DibsError if it was refused, a Trouble if it may pass. */
export function answerOf(url: string, reply: Reply): unknown {
  const { status, value } = reply;
  if (status >= 200 && status < 300 && typeof value === "object" && value !== null) return value;
  throw refusalOf(url, reply);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export async function refusalIn(url: string, response: Response): Promise<Error> {
  return refusalOf(url, replyOf(response, await response.text()));
}

const passing = [408, 502, 503, 504];

function refusalOf(url: string, { status, value, retryAfterMs: waitMs }: Reply): Error {
  const problem = problemOf(value);
  const error = problem ? asError(problem, status, url) : withoutWords(url, status);
  if (problem ? status < 500 && status !== 408 && status !== 429 : status === 401 || status === 403)
    return error;
  const mayPass = status === 429 ? waitMs !== null : passing.includes(status) && error.retryable;
  return new Trouble(error, mayPass, waitMs ?? 0);
}

type Problem = { error: string; message: string; hint?: string } & Record<string, unknown>;

function problemOf(value: unknown): Problem | null {
  if (typeof value !== "object" || value === null) return null;
  const { error, message } = value as Record<string, unknown>;
  return typeof error === "string" && typeof message === "string" ? (value as Problem) : null;
}

const isCode = (text: string): text is DibsError["code"] => Object.hasOwn(httpStatus, text);

function asError(problem: Problem, status: number, url: string): DibsError {
  // RFC 9457's members say the same in other words.
  const { type: _type, title: _title, status: _status, detail: _detail, ...own } = problem;
  const { success: _, error: code, message, hint, retryable, ...details } = own as Problem;
  // STORE_CLOSED means that this client was closed; a server that says so is about to stop.
  if (code === "STORE_CLOSED")
    return new DibsError("STORE_UNAVAILABLE", `The Dibs server at ${url} is stopping.`);
  if (isCode(code)) return new DibsError(code, message, { hint, details });
  // A code that this version does not know.
  const nearest = retryable === true ? "STORE_UNAVAILABLE" : (codeOf[status] ?? "INTERNAL");
  return new DibsError(nearest, `${code}: ${message}`, { hint, details: { ...details, code } });
}

const codeOf: Partial<Record<number, DibsError["code"]>> = {
  400: "VALIDATION_FAILED",
  401: "UNAUTHENTICATED",
  403: "FORBIDDEN",
  404: "NOT_FOUND",
  409: "INVALID_STATE",
  413: "PAYLOAD_TOO_LARGE",
  429: "RATE_LIMITED",
};

/** An answer that no Dibs server gave: a proxy's, or another program's. */
function withoutWords(url: string, status: number): DibsError {
  const said = `${url} answered with status ${status}, but not as a Dibs server does.`;
  const code = [401, 403, 413, 429].includes(status) ? codeOf[status]! : "STORE_UNAVAILABLE";
  const hint =
    status === 401
      ? "Pass a valid token to connectDibs."
      : "Check the URL, and any proxy in front of the server.";
  return new DibsError(code, said, { hint });
}

/** Seconds, or a date. */
function retryAfterMs(response: Response): number | null {
  const text = response.headers.get("retry-after");
  if (text === null) return null;
  const ms = /^\d+$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

export const closedError = () => new DibsError("STORE_CLOSED", "This client was closed.");

/** With a token no cookie goes along; and nobody is sent elsewhere, because a redirected POST becomes a GET. */
export function fetchOptions({ token }: Server) {
  return { credentials: token === undefined ? "same-origin" : "omit", redirect: "error" } as const;
}
