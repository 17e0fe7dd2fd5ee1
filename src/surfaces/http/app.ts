// The HTTP surface: guards first, then who calls, then the routes. Everything a route needs comes in through its parts.

import type { IncomingMessage, ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { Hono } from "hono";
import { DibsError } from "../../contract/error.js";
import { registry } from "../../contract/registry.js";
import { dispatch } from "../../operations/dispatch.js";
import type { Caller } from "../../operations/environment.js";
import type { EventHub } from "../../operations/event-hub.js";
import { asRefusal, type Executor } from "../../operations/execute.js";
import { expositionType } from "../../operations/metrics/exposition.js";
import { isTokenLive, onRevocation } from "../../operations/tokens.js";
import { addAuth } from "./auth-routes.js";
import { Authentication, type AuthenticationOptions } from "./authentication.js";
import { type BodyLimits, readBytes } from "./body.js";
import { type Bindings, type Call, type Http, json, problem } from "./context.js";
import { disconnectSignal, onDisconnect } from "./disconnects.js";
import { apiHeaders, refuseForeign } from "./guard.js";
import { readQuery } from "./input.js";
import { openApiDocument } from "./openapi.js";
import { addPages, dashboardPages } from "./pages.js";
import { referenceCss, referencePage } from "./reference.js";
import { addOperations, type RouteParts } from "./routes.js";
import { type Observed, ServerMetrics } from "./server-metrics.js";
import { SignInCodes } from "./sign-in.js";
import { resumeAfter, type StreamLimits, Streams } from "./stream.js";

export interface AppParts extends Omit<RouteParts, "onRefused"> {
  hub: EventHub<string>;
  authentication: AuthenticationOptions;
  hosts: () => ReadonlySet<string>;
  streams: StreamLimits;
  version: string;
  /** The directory of the built dashboard. */
  dashboard: string;
  now: () => number;
  newRequestId: () => string;
  /** Null: ready; else why not. */
  notReady: () => Promise<string | null>;
  observe: (seen: Observed) => void;
  /** Answers at /mcp; `onEnd` tells when the answer has gone out, or nobody waits for it any more. */
  mcp: (request: Request, caller: Caller, onEnd: (ended: () => void) => void) => Promise<Response>;
}

export interface App {
  fetch(
    request: Request,
    env: { incoming: IncomingMessage; outgoing: ServerResponse },
  ): Promise<Response> | Response;
  codes: SignInCodes;
  metrics: ServerMetrics;
  streams: Streams;
  authentication: Authentication;
}

const isApi = (path: string) => path === "/api" || path.startsWith("/api/");
/** Answered without a token: what a load balancer asks, and what a page needs before its user has signed in. */
const isPublic = (path: string) =>
  !(isApi(path) || path === "/metrics" || path === "/mcp") || path === "/api/auth/exchange";

export function createApp(parts: AppParts): App {
  const { executor, hub, version } = parts;
  const authentication = new Authentication(executor, parts.authentication);
  const codes = new SignInCodes(parts.now);
  const streams = new Streams(hub, ({ org, token }) => isTokenLive(executor, org, token), parts.streams);
  onRevocation(executor, () => void streams.look());
  const metrics = new ServerMetrics(executor, streams);
  const app = new Hono<{ Bindings: Bindings }>();

  app.use(async (http, next) => {
    const { incoming, outgoing, call } = http.env;
    const isOpen = isPublic(http.req.path);
    refuseForeign(incoming, parts.hosts(), isOpen);
    if (isOpen) return next();
    call.caller = await authentication.callerOf(incoming);
    const leave = authentication.enter(call.caller, "requests");
    // Whoever went away meanwhile will not do so again.
    if (outgoing.closed) leave();
    else outgoing.once("close", leave);
    await next();
  });

  const onRefused = (call: Call, error: DibsError) => {
    // Of many calls, a defect is what must be logged.
    if (call.error?.code !== "INTERNAL") call.error = error;
    metrics.refused(call.caller?.org ?? null, error.code);
  };
  addOperations(app, { ...parts, onRefused });
  addAuth(app, {
    executor,
    authentication,
    codes,
    isOpen: parts.authentication.openTo !== null,
    cookie: parts.authentication.cookie,
    bodyMs: parts.limits.bodyMs,
  });
  app.get("/api/events/stream", (http) => follow(http, executor, streams, authentication));
  app.all("/mcp", (http) => serveMcp(http, parts, authentication));
  app.get("/metrics", async (http) => {
    http.env.call.route = "/metrics";
    const text = await metrics.text(http.env.call.caller!.org);
    return new Response(text, {
      headers: {
        ...apiHeaders,
        "content-type": expositionType,
        "dibs-request-id": http.env.call.id,
      },
    });
  });
  addStatus(app, parts);
  const document = openApiDocument({ version });
  app.get("/openapi.json", (http) => {
    http.env.call.route = "/openapi.json";
    return json(http, document);
  });
  const reference = referencePage(document);
  const reading = {
    "/reference": { type: "text/html; charset=utf-8", body: reference },
    "/reference.css": { type: "text/css; charset=utf-8", body: referenceCss },
  };
  addPages(app, reading, dashboardPages(parts.dashboard));
  app.notFound((http) => {
    const refusal = notFound(http);
    http.env.call.error = refusal;
    return problem(http, refusal);
  });
  app.onError((error, http) => {
    const refusal = asRefusal(error);
    onRefused(http.env.call, refusal);
    return problem(http, refusal);
  });

  return {
    codes,
    metrics,
    streams,
    authentication,
    fetch(request, { incoming, outgoing }) {
      const call: Call = {
        id: parts.newRequestId(),
        startedAt: performance.now(),
        route: "unknown",
        caller: null,
        error: null,
        changedBy: new Set(),
      };
      outgoing.once("close", () => {
        const { method = "" } = incoming;
        // 499: its caller went away before there was an answer.
        const status = outgoing.headersSent ? outgoing.statusCode : 499;
        const seen = { call, method, status, ms: performance.now() - call.startedAt };
        metrics.request(seen);
        parts.observe(seen);
      });
      return app.fetch(request, { incoming, outgoing, call });
    },
  };
}

function notFound(http: Http): DibsError {
  return new DibsError("NOT_FOUND", `There is no ${http.req.method} ${http.req.path.slice(0, 200)}.`, {
    hint: "GET /openapi.json lists every route; /reference is the same to read.",
  });
}

function addStatus(app: Hono<{ Bindings: Bindings }>, { version, notReady }: AppParts): void {
  app.get("/healthz", (http) => {
    http.env.call.route = "/healthz";
    return json(http, { status: "ok", version });
  });
  app.get("/readyz", async (http) => {
    http.env.call.route = "/readyz";
    const reason = await notReady();
    return reason === null
      ? json(http, { status: "ready", version })
      : json(http, { status: "not ready", reason }, 503);
  });
}

/** The protocol answers for itself; who calls, from where and how often is judged as everywhere. */
async function serveMcp(
  http: Http,
  { mcp, limits }: AppParts,
  authentication: Authentication,
): Promise<Response> {
  const { call, outgoing } = http.env;
  call.route = "/mcp";
  const caller = call.caller!;
  const project = http.req.query("project") || http.req.header("dibs-project");
  const onEnd = (ended: () => void) => {
    if (outgoing.closed) ended();
    else outgoing.once("close", ended);
  };
  if (http.req.method === "GET") {
    onEnd(authentication.enter(caller, "streams"));
    onDisconnect(http.env, () => outgoing.destroy());
  }
  const request = await readWhole(http, { bytesMax: limits.bodyBytesMax, ms: limits.bodyMs });
  const answer = request
    ? await mcp(request, project ? { ...caller, project } : caller, onEnd)
    : messageTooLarge(limits.bodyBytesMax);
  for (const [name, value] of Object.entries({ ...apiHeaders, "dibs-request-id": call.id }))
    answer.headers.set(name, value);
  // The rest of the message is not read: nobody must send another one behind it.
  if (answer.status === 413) answer.headers.set("connection", "close");
  return answer;
}

/** The SDK reads bodies chunk by chunk, and keeps them all twice. Null: the body is too large. */
async function readWhole({ req, env }: Http, limits: BodyLimits): Promise<Request | null> {
  const { raw } = req;
  if (raw.method !== "POST") return raw;
  try {
    const body = await readBytes(env.incoming, limits);
    const { signal } = disconnectSignal(env);
    return new Request(raw.url, { method: "POST", headers: raw.headers, body, signal });
  } catch (error) {
    if (error instanceof DibsError && error.code === "PAYLOAD_TOO_LARGE") return null;
    throw error;
  }
}

function messageTooLarge(bytesMax: number): Response {
  const error = { code: -32000, message: `The message has more than ${bytesMax} bytes.` };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 413 });
}

const streamHeaders = (requestId: string) => ({
  ...apiHeaders,
  "content-type": "text/event-stream; charset=utf-8",
  "dibs-request-id": requestId,
});

/** The same filters as a page of events, which judges them. */
async function follow(
  http: Http,
  executor: Executor,
  streams: Streams,
  authentication: Authentication,
): Promise<Response> {
  const { call, incoming } = http.env;
  call.route = "/api/events/stream";
  const caller = call.caller!;
  const query = readQuery(registry.events.list, new URL(http.req.url).searchParams);
  const project = (query.project as string | undefined) ?? http.req.header("dibs-project") ?? caller.project;
  const after = resumeAfter(incoming.headers["last-event-id"] as string | undefined, http.req.query("after"));
  const { types, taskId } = query as { types?: never; taskId?: string };
  await dispatch(executor, "events.list", { project, types, taskId, limit: 1 }, caller);
  if (incoming.method === "HEAD") return new Response(null, { headers: streamHeaders(call.id) });
  const leave = authentication.enter(caller, "streams");
  await streams.start(http.env, {
    caller,
    after,
    filter: { project: project === "*" ? null : project, types, taskId },
    headers: streamHeaders(call.id),
    onEnd: leave,
  });
  return RESPONSE_ALREADY_SENT;
}
