// Example values for the reference: by the name of the field where a plausible one is known, else by the schema.

import {
  jsonType,
  lookUp,
  type OpenApiDocument,
  type OperationObject,
  type ParameterObject,
} from "./openapi-types.js";
import { componentPrefix, resolve, type Schema } from "./schema.js";

const time = "2026-01-31T12:00:00.000Z";

const plausible: Record<string, unknown> = {
  actor: "session:agent-1",
  after: 41,
  agentType: "claude",
  assignee: "agent-1",
  base: "5ac81f0d2b7e4c9f8a136d0b9e24c7f1508d3a6e",
  branch: "dibs/0001",
  cancelled: ["0001"],
  capabilities: ["browser"],
  capacity: 2,
  claimable: false,
  code: "Jd8xQm…",
  commit: "c3b1d8f2047e6a59810cf3e2b7d6495a0e1f8c22",
  contextPercent: 40,
  correlationId: "0001",
  createdBy: "user:ada",
  cursor: "100",
  default: "Blue",
  dependsOn: ["0001"],
  description: "The switch belongs next to the language.",
  direct: ["0002"],
  endedAt: null,
  epoch: 1,
  error: "2 of 118 tests failed",
  extendMs: 1_800_000,
  files: ["src/settings.ts"],
  filesCreated: ["src/theme.ts"],
  filesModified: ["src/settings.ts"],
  firstAvailable: 1,
  fix: "Complete 0001 first.",
  from: "0002",
  hint: "For another task, run: dibs claim --session agent-2",
  host: "laptop",
  key: "design",
  label: "ui",
  labels: ["ui"],
  limit: 10,
  message: "Task 0001 is held by agent-1.",
  metadata: { branch: "dark-mode" },
  name: "builder",
  nextAfter: 42,
  nextCursor: null,
  note: "The switch works; its tests are missing.",
  options: ["Blue", "Green"],
  org: "default",
  output: "Added the switch and its tests.",
  parent: "0001",
  parentId: "0001",
  percent: 60,
  phase: "implementation",
  pid: 4242,
  priority: 70,
  project: "web",
  prompt: "Add a dark mode switch to the settings page.",
  q: "dark mode",
  question: "Which accent colour?",
  reason: "No longer needed",
  releaseReason: "completed",
  repository: "0f6e1c9a8d2b47350ce81b92d4f7a6e35b10c8d7",
  requires: ["browser"],
  response: "Blue",
  result: "Added the switch and its tests.",
  resumed: false,
  score: 0.8,
  seq: 42,
  sessionId: "agent-1",
  state: ["queued", "running"],
  target: "main",
  taskId: "0001",
  taskIds: ["0001"],
  text: "118 tests passed\n",
  timeoutMs: 3_600_000,
  tree: "9d1e7b40c86f25a3d0b41e8f7c5926a1e3f0d8b4",
  title: "Add a dark mode switch",
  to: "0001",
  token: "dibs_…",
  transitive: ["0003"],
  truncatedBytes: 0,
  ttlMs: 1_800_000,
  types: ["task:completed", "task:failed"],
  unblocked: ["0002"],
  version: "1.0.0",
  waitMs: 30_000,
};

/** Whole bodies, where fields one by one would say too little. */
const bodies: Record<string, unknown> = {
  "landings.diff": {
    epoch: 1,
    taskId: "0001",
    submission: 1,
    diff: {
      base: "5ac81f0d2b7e4c9f8a136d0b9e24c7f1508d3a6e",
      files: [{ path: "src/settings.ts", insertions: 12, deletions: 3 }],
      fileCount: 1,
      insertions: 12,
      deletions: 3,
      reviewPaths: [],
      patchId: null,
    },
    patch: { text: "diff --git a/src/settings.ts b/src/settings.ts", omitted: 0 },
  },
  "calls.many": {
    calls: [
      {
        operation: "tasks.complete",
        input: { taskId: "0001", sessionId: "agent-1", epoch: 1, result: "Done." },
      },
      { operation: "tasks.claimNext", input: { sessionId: "agent-1" } },
    ],
  },
  "tasks.batch": {
    tasks: [
      { key: "design", prompt: "Design the dark theme." },
      { key: "build", prompt: "Build the switch.", dependsOn: ["design"] },
    ],
  },
  "tasks.bulk": { action: "cancel", filter: { label: "ui", state: ["queued"] }, dryRun: true },
  "tasks.release": { sessionId: "agent-1", epoch: 1, reason: "A credential is missing" },
  "projects.create": { id: "web", settings: { maxRetries: 5 } },
  "projects.update": { settings: { claim: { defaultTtlMs: 1_800_000 } } },
  "locks.acquire": { name: "merge", sessionId: "agent-1", ttlMs: 600_000 },
  "tokens.create": { name: "ci", role: "worker" },
  "sessions.register": { id: "agent-1", agentType: "claude", capabilities: ["browser"] },
  "mcp.message": {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "my-agent", version: "1" },
    },
  },
};

/** Optional fields that an example shows. */
const telling = new Set(
  "after epoch labels note percent priority prompt reason result sessionId settings start state types waitMs".split(
    " ",
  ),
);

type Components = Record<string, Schema>;

export function exampleOf(schema: Schema, components: Components, name = ""): unknown {
  const resolved = resolve(schema, components);
  const known = plausible[name];
  if (known !== undefined && fits(known, resolved, components)) return known;
  if (resolved.const !== undefined) return resolved.const;
  if (resolved.enum) return resolved.enum[0];
  if (resolved.default !== undefined) return resolved.default;
  if (resolved.anyOf) {
    const [first = {}] = resolved.anyOf.filter(({ type }) => type !== "null");
    return exampleOf(first, components, name);
  }
  if (resolved.format === "date-time" || schema.$ref?.endsWith("/Time")) return time;
  return exampleOfType(resolved, components, name);
}

function exampleOfType(schema: Schema, components: Components, name: string): unknown {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "array":
      return [exampleOf(schema.items ?? {}, components, singular(name))];
    case "object":
      return exampleObject(schema, components, name);
    case "boolean":
      return true;
    case "integer":
    case "number":
      return schema.minimum ?? (/(Ms|uration)$/.test(name) ? 60_000 : 1);
    case "null":
      return null;
    default:
      return textFor(name);
  }
}

/** What the keys are, where they are not fields. */
const keys: Record<string, string> = {
  byAgentType: "claude",
  byHealth: "healthy",
  ids: "design",
  tasks: "running",
};

function exampleObject(
  { properties, additionalProperties }: Schema,
  components: Components,
  name: string,
): unknown {
  if (properties) {
    return Object.fromEntries(
      Object.entries(properties).map(([name, each]) => [name, exampleOf(each, components, name)]),
    );
  }
  const isTyped = typeof additionalProperties === "object" && Object.keys(additionalProperties).length > 0;
  return isTyped ? { [keys[name] ?? "agent-1"]: exampleOf(additionalProperties, components) } : {};
}

function textFor(name: string): string {
  if (name === "priority") return "high";
  return name === "" || /(^i|I)ds?$/.test(name) ? "0001" : name;
}

const singular = (name: string) => name.replace(/s$/, "");

/** Of the same type, as far as an example needs to know. */
function fits(value: unknown, schema: Schema, components: Components): boolean {
  const alternatives = schema.anyOf?.map((each) => resolve(each, components)) ?? [schema];
  const types = alternatives.flatMap(({ type = [] }) => type);
  const isWord = alternatives.every((each) => each.enum === undefined || each.enum.includes(value));
  if (value === null) return types.includes("null");
  if (Array.isArray(value)) return types.includes("array");
  if (typeof value === "number") return types.includes("number") || types.includes("integer");
  const isFormed = alternatives.every(
    ({ pattern }) => !pattern || new RegExp(pattern, "u").test(String(value)),
  );
  return types.includes(typeof value) && isWord && isFormed;
}

/** What an example request sends; undefined: no body. */
export function exampleBody(document: OpenApiDocument, operation: OperationObject): unknown {
  const schema = operation.requestBody?.content[jsonType]?.schema;
  if (!schema) return undefined;
  const whole = bodies[operation.operationId];
  if (whole !== undefined) return whole;
  const { properties = {}, required = [] } = schema;
  const names = Object.keys(properties);
  const shown = names.filter((name) => required.includes(name) || telling.has(name));
  const chosen = shown.length > 0 ? shown : names.filter((name) => name !== "project").slice(0, 2);
  const { schemas } = document.components;
  return Object.fromEntries(chosen.map((name) => [name, exampleOf(properties[name]!, schemas, name)]));
}

const collectionIds: Record<string, string> = {
  "locks.name": "merge",
  "notifications.id": "7",
  "projects.id": "web",
  "tokens.id": "k3v9",
};

/** The path and query of an example request. */
export function exampleAddress(document: OpenApiDocument, path: string, operation: OperationObject): string {
  const { schemas } = document.components;
  const [, collection = ""] = /^\/api\/(\w+)/.exec(path) ?? [];
  const value = ({ name, schema }: ParameterObject) =>
    String(collectionIds[`${collection}.${name}`] ?? exampleOf(schema, schemas, name));
  const parameters = (operation.parameters ?? []).map((each) => lookUp(document, each));
  const address = parameters
    .filter((each) => each.in === "path")
    .reduce((at, each) => at.replace(`{${each.name}}`, value(each)), path);
  const query = parameters
    .filter((each) => each.in === "query" && (each.required || telling.has(each.name)))
    .map(
      (each) =>
        `${each.name}=${encodeURIComponent(value(each)).replaceAll("%2C", ",").replaceAll("%3A", ":")}`,
    );
  return query.length > 0 ? `${address}?${query.join("&")}` : address;
}

export const componentOf = ({ $ref }: Schema) => $ref?.slice(componentPrefix.length);
