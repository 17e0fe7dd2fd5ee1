// The library over HTTP: the same client as in process, in Node and in browsers.

import { DibsError } from "../contract/error.js";
import { id } from "../contract/fields.js";
import { createClient, type Dibs } from "./client.js";
import { HttpConnection } from "./http.js";

export { DibsError } from "../contract/error.js";
export type { InputOf, OutputOf } from "../contract/operation.js";
export { type OperationName, type OperationNamed, registry } from "../contract/registry.js";
export type {
  WireAttempt as Attempt,
  WireClaim as Claim,
  WireEvent as DibsEvent,
  WireNotification as Notification,
  WireProject as Project,
  WireReason as Reason,
  WireSession as Session,
  WireTask as Task,
} from "../contract/shapes.js";
export type { CallOptions, Dibs, FollowOptions, LogEnds } from "./client.js";
export {
  PermanentFailure,
  type WorkContext,
  type Worker,
  type WorkHandler,
  type WorkOptions,
  type WorkResult,
} from "./worker.js";

export interface ConnectOptions {
  /** Where the server is, such as `http://127.0.0.1:3427`; in a page that the server itself serves, `/`. */
  url: string | URL;
  /** Not needed in a page that is signed in. */
  token?: string;
  /** Where operations without a project happen; default: the server's own. */
  project?: string;
  fetch?: typeof globalThis.fetch;
  /** Closes the client. */
  signal?: AbortSignal;
  /** The longest time for an answer, default 30 s; a claim that waits has its wait on top. */
  timeoutMs?: number;
  /** Calls that a network or a restart of the server has spoilt are sent again: so often at most (5), and after so long (250 ms), then twice as long and so on. */
  retry?: { tries?: number; baseMs?: number };
  /** A stream of events counts as dead after so much silence, default 45 s; the server breaks it every 15 s. */
  silenceMs?: number;
  /**
   * Send commands of one turn of the event loop in one request, default false: for programs that make many calls at once. Answers
   * and refusals stay those of each call. `dibs.work` does so by itself.
   */
  batch?: boolean;
}

/** A client of a Dibs server. Nothing is sent before the first call. */
export function connectDibs(options: ConnectOptions): Dibs {
  const { token, project, signal, timeoutMs = 30_000, silenceMs = 45_000, batch = false } = checked(options);
  const { tries = 5, baseMs = 250 } = options.retry ?? {};
  // Called bare: a browser's fetch refuses to be anybody's method.
  const send = options.fetch ?? globalThis.fetch;
  const connection = new HttpConnection({
    url: addressOf(options.url),
    token,
    project,
    fetch: (address, init) => send(address, init),
    timeoutMs,
    retry: { tries, baseMs },
    silenceMs,
    batch,
  });
  const dibs = createClient(connection);
  if (signal?.aborted) void connection.close();
  else signal?.addEventListener("abort", () => void dibs.close(), { once: true });
  return dibs;
}

function checked(options: ConnectOptions): ConnectOptions {
  if (typeof options !== "object" || options === null) refuse("it needs an object with a url");
  const { token, project } = options;
  if (token !== undefined && !/^[!-~]+$/.test(String(token)))
    refuse("the token has characters that no token has");
  const { error } = id().optional().safeParse(project);
  if (error) refuse(`project '${project}' ${error.issues[0]!.message}`);
  return options;
}

function addressOf(text: string | URL): string {
  const page = (globalThis as { location?: { href: string } }).location?.href;
  let url: URL;
  try {
    url = new URL(text, page);
  } catch {
    return refuse(`'${text}' is not a URL such as http://127.0.0.1:3427`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:")
    refuse("the url must begin with http:// or https://");
  if (url.username !== "" || url.password !== "")
    refuse("the url must not contain a password; pass the token");
  return url.origin + url.pathname.replace(/\/+$/, "");
}

function refuse(why: string): never {
  throw new DibsError("VALIDATION_FAILED", `connectDibs: ${why}.`, {
    hint: 'For example connectDibs({ url: "http://127.0.0.1:3427", token }).',
  });
}
