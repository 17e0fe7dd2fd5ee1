// The routes that are not operations: the live stream, MCP, the server's own state, and how a browser signs in.

import type { Code } from "../../contract/codes.js";
import { roles } from "../../contract/operation.js";
import { registry } from "../../contract/registry.js";
import { mcpRoutes } from "./mcp-routes.js";
import {
  jsonType,
  type OperationObject,
  type ParameterObject,
  type Reference,
  type ResponseObject,
} from "./openapi-types.js";
import { projectParameters, queryParameter } from "./parameters.js";
import { operationCodes, type Refusals } from "./refusals.js";
import { componentPrefix, type Schema, type SchemaSet } from "./schema.js";

type Method = "get" | "post" | "delete";

export interface ExtraRoute {
  path: string;
  method: Method;
  described: OperationObject;
}

export interface Plan {
  path: string;
  method: Method;
  name: string;
  summary: string;
  description?: string;
  role?: string;
  parameters?: (ParameterObject | Reference)[];
  body?: Schema;
  answer: ResponseObject;
  /** Answers that are neither success nor a problem of ours; where both have a status, these stand. */
  other?: Record<string, ResponseObject>;
}

const text: Schema = { type: "string" };
const role: Schema = { type: "string", enum: [...roles] };
const success: Schema = { type: "boolean", const: true };

const object = (properties: Record<string, Schema>): Schema => ({
  type: "object",
  properties,
  required: Object.keys(properties),
});

const json = (schema: Schema, description = "Done"): ResponseObject => ({
  description,
  content: { [jsonType]: { schema } },
});

const withCookie = (answer: ResponseObject, description: string): ResponseObject => ({
  ...answer,
  headers: { "Set-Cookie": { description, schema: text } },
});

/** The server itself answers these, whatever the store does. */
const withoutStore = ["server.health", "server.ready", "server.openapi"];

export function extraRoutes(inputs: SchemaSet, refusals: Refusals): ExtraRoute[] {
  const mcp = mcpRoutes(projectParameters(inputs.of.get(registry.tasks.get.name)!));
  return [stream(inputs), ...mcp, ...auth, ...server].map(({ path, method, ...plan }) => {
    const { name, summary, description, role, parameters, body, answer, other } = plan;
    const described: OperationObject = {
      operationId: name,
      summary,
      ...(description ? { description } : {}),
      tags: [name.split(".")[0]!],
      ...(role ? {} : { security: [] }),
      ...(parameters ? { parameters } : {}),
      ...(body
        ? { requestBody: { required: "required" in body, content: { [jsonType]: { schema: body } } } }
        : {}),
      responses: {
        200: answer,
        ...Object.fromEntries(refusals.of([], codesOf(name))),
        ...other,
      },
      ...(role ? { "x-dibs-role": role } : {}),
    };
    return { path, method, described };
  });
}

function codesOf(name: string): readonly Code[] {
  if (withoutStore.includes(name)) return ["FORBIDDEN", "INTERNAL"];
  return name.startsWith("events.")
    ? operationCodes
    : operationCodes.filter((code) => code !== "PROJECT_NOT_FOUND");
}

function stream(inputs: SchemaSet): Plan {
  const { properties = {}, ...input } = inputs.of.get(registry.events.list.name)!;
  const { after, taskId, types, project } = properties;
  const { default: _, ...number } = after!;
  return {
    path: "/api/events/stream",
    method: "get",
    name: "events.stream",
    summary: "Follow events as they happen",
    description:
      "Server-sent events without an `event:` field: `id:` is the event's number, `data:` the event as JSON. " +
      "A reader that comes back with `Last-Event-ID` or `after` misses nothing and sees nothing twice; if what it missed is " +
      'no longer kept, it first gets `{"type":"reset"}`. A comment keeps the connection alive.',
    role: registry.events.list.role,
    parameters: [
      queryParameter("after", {
        ...number,
        description: "Start after this number; default: new events only",
      }),
      queryParameter("taskId", taskId!),
      queryParameter("types", types!),
      {
        name: "Last-Event-ID",
        in: "header",
        description: "The same as `after`, and wins over it; browsers send it when they reconnect",
        schema: number,
      },
      ...projectParameters({ ...input, properties: { project: project! } }),
    ],
    answer: { description: "A stream of events", content: { "text/event-stream": { schema: text } } },
  };
}

const auth: Plan[] = [
  {
    path: "/api/auth/exchange",
    method: "post",
    name: "auth.exchange",
    summary: "Exchange a one-time code for a cookie",
    body: object({ code: text }),
    answer: withCookie(
      json(object({ success, role, org: text })),
      "A token of its own: HttpOnly, SameSite=Strict, good for 30 days",
    ),
  },
  {
    path: "/api/auth/me",
    method: "get",
    name: "auth.me",
    summary: "Say who the caller is, and whether anybody has to sign in here",
    role: roles[0],
    answer: json(object({ success, role, org: text, signedIn: { type: "boolean" } })),
  },
  {
    path: "/api/auth/code",
    method: "post",
    name: "auth.code",
    summary: "Create a one-time code with the caller's role, or a lesser one",
    role: roles[0],
    body: { type: "object", properties: { role } },
    answer: json(object({ success, code: text, expiresAt: { $ref: `${componentPrefix}Time` } })),
  },
  {
    path: "/api/auth/sign-out",
    method: "post",
    name: "auth.signOut",
    summary: "Revoke the cookie's token and clear the cookie",
    role: roles[0],
    answer: withCookie(json(object({ success })), "Cleared"),
  },
];

const server: Plan[] = [
  {
    path: "/metrics",
    method: "get",
    name: "server.metrics",
    summary: "Show metrics for Prometheus",
    role: roles[0],
    answer: { description: "Text format 0.0.4", content: { "text/plain": { schema: text } } },
  },
  {
    path: "/healthz",
    method: "get",
    name: "server.health",
    summary: "Say that the server runs",
    answer: json(object({ status: { type: "string", const: "ok" }, version: text })),
  },
  {
    path: "/readyz",
    method: "get",
    name: "server.ready",
    summary: "Say whether the server can do its work",
    answer: json(object({ status: { type: "string", const: "ready" }, version: text })),
    other: {
      503: json(object({ status: { type: "string", const: "not ready" }, reason: text }), "Not now"),
    },
  },
  {
    path: "/openapi.json",
    method: "get",
    name: "server.openapi",
    summary: "Get this document",
    answer: json({ type: "object" }),
  },
];
