// The HTTP surface. Every request passes, in this order: the guard (Host and Origin), the gate (who calls, and how much is under way),
// its route's role, the media type, the body. Everything a route needs comes in through its parts.

import type { IncomingMessage, ServerResponse } from "node:http";
import { DibsError } from "../../contract/error.js";
import { registry } from "../../contract/registry.js";
import { dispatch } from "../../operations/dispatch.js";
import type { EventHub } from "../../operations/event-hub.js";
import { asRefusal, type Executor } from "../../operations/execute.js";
import { expositionType } from "../../operations/metrics/exposition.js";
import { isTokenLive, onRevocation } from "../../operations/tokens.js";
import { addAuth } from "./auth-routes.js";
import { Authentication, type AuthenticationOptions } from "./authentication.js";
import { type Call, Http } from "./context.js";
import { apiHeaders, refuseForeign } from "./guard.js";
import { readQuery } from "./input.js";
import { type McpHandler, serveMcp } from "./mcp.js";
import { openApiDocument } from "./openapi.js";
import { addPages, dashboardPages, startPage } from "./pages.js";
import { referenceCss, referencePage } from "./reference.js";
import { Router, targetOf } from "./router.js";
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
  mcp: McpHandler;
}

export interface App {
  handle(incoming: IncomingMessage, outgoing: ServerResponse): void;
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
  const router = new Router();
  const onRefused = (call: Call, error: DibsError) => {
    // Of many calls, a defect is what must be logged.
    if (call.error?.code !== "INTERNAL") call.error = error;
    metrics.refused(call.caller?.org ?? null, error.code);
  };

  addOperations(router, { ...parts, onRefused });
  addAuth(router, {
    executor,
    authentication,
    codes,
    isOpen: parts.authentication.openTo !== null,
    cookie: parts.authentication.cookie,
    bodyMs: parts.limits.bodyMs,
  });
  router.add("GET", "/api/events/stream", (http) => follow(http, executor, streams, authentication));
  router.add("GET", "/metrics", async (http) => {
    http.call.route = "/metrics";
    http.text(await metrics.text(http.call.caller!.org), expositionType);
  });
  addStatus(router, parts);
  const document = openApiDocument({ version });
  router.add("GET", "/openapi.json", (http) => {
    http.call.route = "/openapi.json";
    http.json(document);
  });
  const dashboard = dashboardPages(parts.dashboard);
  addPages(router, {
    ...dashboard,
    "/reference": { type: "text/html; charset=utf-8", body: referencePage(document) },
    "/reference.css": { type: "text/css; charset=utf-8", body: referenceCss },
  });
  const showStart = startPage(dashboard);

  async function answer(http: Http): Promise<void> {
    const { incoming, outgoing, call, path } = http;
    const isOpen = isPublic(path);
    if (path === "") throw new DibsError("VALIDATION_FAILED", "The request has no valid address or Host.");
    refuseForeign(incoming, parts.hosts(), isOpen);
    if (!isOpen) {
      call.caller = authentication.recentCaller(incoming) ?? (await authentication.callerOf(incoming));
      const leave = authentication.enter(call.caller, "requests");
      // Whoever went away meanwhile will not do so again.
      if (outgoing.closed) leave();
      else outgoing.once("close", leave);
    }
    // The protocol judges methods itself.
    if (path === "/mcp") return serveMcp(http, parts, authentication);
    const route = router.find(http);
    if (route) return route(http);
    if (!showStart(http)) throw notFound(http);
  }

  function refuse(http: Http, thrown: unknown): void {
    const refusal = asRefusal(thrown);
    onRefused(http.call, refusal);
    if (http.outgoing.headersSent) http.outgoing.destroy();
    else http.problem(refusal);
  }

  return {
    codes,
    metrics,
    streams,
    authentication,
    handle(incoming, outgoing) {
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
      const target = targetOf(incoming);
      const http = new Http(incoming, outgoing, call, target?.path ?? "", target?.search ?? "");
      answer(http).catch((error: unknown) => refuse(http, error));
    },
  };
}

function notFound({ method, path }: Http): DibsError {
  return new DibsError("NOT_FOUND", `There is no ${method} ${path.slice(0, 200)}.`, {
    hint: "GET /openapi.json lists every route; /reference is the same to read.",
  });
}

function addStatus(router: Router, { version, notReady }: AppParts): void {
  router.add("GET", "/healthz", (http) => {
    http.call.route = "/healthz";
    http.json({ status: "ok", version });
  });
  router.add("GET", "/readyz", async (http) => {
    http.call.route = "/readyz";
    const reason = await notReady();
    if (reason === null) http.json({ status: "ready", version });
    else http.json({ status: "not ready", reason }, 503);
  });
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
): Promise<void> {
  const { call } = http;
  call.route = "/api/events/stream";
  const caller = call.caller!;
  const query = readQuery(registry.events.list, http.query);
  const project = (query.project as string | undefined) ?? http.header("dibs-project") ?? caller.project;
  const after = resumeAfter(http.header("last-event-id"), http.queried("after"));
  const { types, taskId } = query as { types?: never; taskId?: string };
  await dispatch(executor, "events.list", { project, types, taskId, limit: 1 }, caller);
  if (http.method === "HEAD") return http.send(200, streamHeaders(call.id), null);
  const leave = authentication.enter(caller, "streams");
  await streams.start(http, {
    caller,
    after,
    filter: { project: project === "*" ? null : project, types, taskId },
    headers: streamHeaders(call.id),
    onEnd: leave,
  });
}
