// The HTTP API as OpenAPI 3.1, made from the registry: what is true of an operation is said in its contract file and nowhere else.

import type { Operation } from "../../contract/operation.js";
import { registry } from "../../contract/registry.js";
import { extraRoutes } from "./extra-routes.js";
import { jsonType, type OpenApiDocument, type OperationObject } from "./openapi-types.js";
import { operationParameters, pathNames, sharedParameters } from "./parameters.js";
import { operationCodes, problemSchema, Refusals } from "./refusals.js";
import { answerSchemas, inputSchemas, type Schema } from "./schema.js";

export interface DocumentOptions {
  version: string;
  /** Default: the server that serves the document. */
  serverUrl?: string;
  cookieName?: string;
}

/** One operation with all that the document says about it. */
interface Described {
  operation: Operation;
  tag: string;
  input: Schema;
  output: Schema;
}

const about = `Task coordination for coding agents. Bodies and answers are JSON.

An operation works on one project: the header \`Dibs-Project\`, the parameter \`project\`, the body's field \`project\`, or else the server's own. Lists take \`*\` for all projects.

A refusal is \`application/problem+json\` (RFC 9457) with a code in \`error\`; when \`retryable\` is true the same call can succeed later. \
With an \`Idempotency-Key\` a call can be repeated safely: the same key and body from the same token give the first answer again, for 24 hours.`;

const tagTexts: Record<string, string> = {
  tasks: "What there is to do, and the life of a task from claim to completion",
  claims: "Leases across all tasks",
  calls: "Many calls in one request",
  sessions: "Agents at work: one session each",
  events: "What has happened, in order",
  notifications: "What people should know",
  projects: "Separate queues with settings of their own",
  locks: "Names that one session at a time can hold",
  tokens: "Access for callers, by role",
  stats: "Figures of now",
  metrics: "Figures over time",
  ids: "Ids for tasks that are yet to be created",
  mcp: "The Model Context Protocol, for agents",
  auth: "How a browser gets its cookie",
  server: "The server itself",
};

export function openApiDocument({
  version,
  serverUrl = "/",
  cookieName = "dibs_3427",
}: DocumentOptions): OpenApiDocument {
  const all = Object.entries(registry).flatMap(([tag, group]) =>
    Object.values(group).map((operation: Operation) => ({ tag, operation })),
  );
  const operations = all.map(({ operation }) => operation);
  const inputs = inputSchemas(operations);
  const answers = answerSchemas(operations);
  const refusals = new Refusals();
  const paths: OpenApiDocument["paths"] = {};
  const add = (path: string, method: string, described: OperationObject) => {
    paths[path] = { ...paths[path], [method]: described };
  };
  for (const { tag, operation } of all) {
    const { name, http } = operation;
    const described = { operation, tag, input: inputs.of.get(name)!, output: answers.of.get(name)! };
    add(templateOf(http.path), http.method.toLowerCase(), operationObject(described, refusals));
    if (!http.also) continue;
    const same = { ...operation, name: `${name}.also`, http: { ...http, path: http.also } };
    add(
      templateOf(http.also),
      http.method.toLowerCase(),
      operationObject({ ...described, operation: same }, refusals),
    );
  }
  for (const { path, method, described } of extraRoutes(inputs, refusals)) {
    add(path, method, described);
  }
  const parameters = sharedParameters();
  const used = new Set(
    Object.values(paths).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags)),
  );
  return {
    openapi: "3.1.0",
    info: { title: "Dibs", version, description: about },
    servers: [{ url: serverUrl }],
    security: [{ bearer: [] }, { cookie: [] }],
    tags: [...used].map((name) => ({
      name,
      ...(tagTexts[name] ? { description: tagTexts[name] } : {}),
    })),
    paths,
    components: {
      schemas: usedOnly({ ...answers.components, ...inputs.components, Problem: problemSchema }, [
        paths,
        refusals.shared,
        parameters,
      ]),
      responses: inOrder(refusals.shared),
      parameters,
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        cookie: { type: "apiKey", in: "cookie", name: cookieName, description: "The name ends in the port" },
      },
    },
  };
}

function inOrder<T>(record: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Those that the roots refer to, directly or through each other. */
function usedOnly(schemas: Record<string, Schema>, roots: unknown[]): Record<string, Schema> {
  const used: Record<string, Schema> = {};
  const waiting = roots.flatMap(componentNames);
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (name in used) continue;
    used[name] = schemas[name]!;
    waiting.push(...componentNames(schemas[name]));
  }
  return inOrder(used);
}

function componentNames(value: unknown): string[] {
  const found = JSON.stringify(value).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g);
  return [...new Set([...found].map(([, name]) => name!))];
}

/** `/api/tasks/:taskId` → `/api/tasks/{taskId}` */
const templateOf = (path: string) => path.replace(/:(\w+)/g, "{$1}");

function operationObject({ operation, tag, input, output }: Described, refusals: Refusals): OperationObject {
  const { name, summary, http, role, cli, mcp } = operation;
  const takesBody = ["POST", "PUT", "PATCH"].includes(http.method);
  const isIdempotent = http.method !== "GET";
  const requestBody = takesBody ? bodyOf(operation, input) : undefined;
  const common = isIdempotent ? [...operationCodes, "IDEMPOTENCY_MISMATCH" as const] : operationCodes;
  const parameters = operationParameters(operation, input);
  return {
    operationId: name,
    summary,
    tags: [tag],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(requestBody ? { requestBody } : {}),
    responses: {
      [http.status ?? 200]: { description: "Done", content: contentOf(http, output) },
      ...Object.fromEntries(refusals.of(operation.refusals, common)),
    },
    "x-dibs-role": role,
    ...(cli ? { "x-dibs-cli": `dibs ${cli}` } : {}),
    ...(mcp ? { "x-dibs-mcp": mcp } : {}),
  };
}

/** Some answers are plain text, unless the caller asks for JSON. */
function contentOf({ text }: Operation["http"], output: Schema) {
  const plain = text === undefined ? {} : { "text/plain": { schema: { type: "string" } } };
  return { ...plain, [jsonType]: { schema: output } };
}

/** What is not in the path. A body that could only repeat the project is none. */
function bodyOf({ http }: Operation, input: Schema): OperationObject["requestBody"] {
  const inPath = pathNames(http.path);
  const fields = Object.entries(input.properties ?? {}).filter(([name]) => !inPath.includes(name));
  if (fields.every(([name]) => name === "project")) return undefined;
  const { required: needed, ...rest } = input;
  const required = needed?.filter((name) => !inPath.includes(name)) ?? [];
  const schema: Schema = {
    ...rest,
    properties: Object.fromEntries(fields),
    ...(required.length > 0 ? { required } : {}),
  };
  return { required: required.length > 0, content: { [jsonType]: { schema } } };
}
