// An answer in a few lines: a shape that has its own place in the reference shows what matters here, and the way there.

import { componentOf, exampleOf } from "./example.js";
import { html, join, type Markup } from "./markup.js";
import { resolve, type Schema } from "./schema.js";

/** What is shown of a shape inside an answer. */
const faces: Record<string, string[]> = {
  Attempt: ["epoch", "sessionId", "releaseReason"],
  Claim: ["taskId", "sessionId", "epoch", "expiresAt"],
  Event: ["seq", "type", "taskId"],
  Lock: ["name", "sessionId", "expiresAt"],
  Notification: ["id", "type", "title"],
  Project: ["id", "paused"],
  Reason: ["code", "message"],
  Session: ["id", "agentType", "currentTaskId"],
  Task: ["id", "title", "state"],
};

type Values = Record<string, unknown>;

/** What a field has in a shape, where its name alone does not tell. */
const inShape: Record<string, Values> = {
  Lock: { name: "merge" },
  Notification: { id: "7" },
  Project: { id: "web" },
  Reason: { code: "WAITING_ON_DEPENDENCIES", message: "Waits for 0002." },
  Session: { id: "agent-1" },
  Token: { id: "k3v9" },
};

/** What a field has after a call. */
const afterCall: Record<string, Values> = {
  "claims.cleanup": { reason: "expired" },
  "notifications.inbox": { state: "awaiting_response" },
  "projects.pause": { paused: true },
  "server.ready": { reason: "The store cannot be reached." },
  "sessions.end": { reason: "session_ended" },
  "sessions.summary": { id: "agent-1", state: "running" },
  "tasks.blockedBy": { count: 2 },
  "tasks.ask": { state: "awaiting_response" },
  "tasks.bulk": { error: "TASK_NOT_CANCELLABLE", message: "Task 0001 is completed already.", more: false },
  "tasks.cancel": { state: "cancelled" },
  "tasks.claim": { state: "running" },
  "tasks.claimNext": { state: "running" },
  "tasks.complete": { state: "completed" },
  "tasks.inFlight": { state: "running" },
  "tasks.progress": { state: "running" },
  "tasks.release": { reason: "A credential is missing" },
  "tasks.respond": { state: "running" },
  "tasks.start": { state: "running" },
  "tokens.create": { id: "k3v9" },
};

interface Context {
  components: Record<string, Schema>;
  known: Values;
}

export function sketchAnswer(
  schema: Schema,
  operationId: string,
  components: Record<string, Schema>,
): Markup {
  const known = { state: "queued", paused: false, parentId: null, ...afterCall[operationId] };
  const context = { components, known };
  const { anyOf, ...resolved } = resolve(schema, components);
  return join(
    (anyOf ?? [resolved]).map((each) => sketch(each, "", "", context, true)),
    html`\n\n<i>or</i>\n\n`,
  );
}

function sketch(schema: Schema, name: string, indent: string, context: Context, isTop = false): Markup {
  const component = isTop ? undefined : componentOf(nonNull(schema));
  const resolved = resolve(nonNull(schema), context.components);
  if (component && resolved.properties) return face(component, resolved, indent, context);
  if (resolved.properties) return objectSketch(resolved.properties, indent, context);
  if (resolved.type === "array") {
    const item = resolve(resolved.items ?? {}, context.components);
    if (!item.properties) return value(schema, name, context);
    return html`[${sketch(resolved.items!, name, indent, context)}]`;
  }
  return value(schema, name, context);
}

function objectSketch(properties: Record<string, Schema>, indent: string, context: Context): Markup {
  const deeper = `${indent}  `;
  const lines = Object.entries(properties).map(
    ([name, each]) => html`${deeper}${JSON.stringify(name)}: ${sketch(each, name, deeper, context)}`,
  );
  return html`{\n${join(lines, ",\n")}\n${indent}}`;
}

function face(component: string, { properties = {} }: Schema, indent: string, context: Context): Markup {
  const names = (faces[component] ?? Object.keys(properties).slice(0, 3)).filter(
    (name) => name in properties,
  );
  const inside = { ...context, known: { ...context.known, ...inShape[component] } };
  const shown = names.map((name) => html`${JSON.stringify(name)}: ${value(properties[name]!, name, inside)}`);
  const more = names.length < Object.keys(properties).length ? "… " : "";
  const lines = [...shown, html`<a href="#${component}">${more}${component}</a>`];
  return html`{\n${indent}  ${join(lines, `,\n${indent}  `)}\n${indent}}`;
}

function value(schema: Schema, name: string, { components, known }: Context): Markup {
  return html`${JSON.stringify(name in known ? known[name] : exampleOf(schema, components, name))}`;
}

function nonNull(schema: Schema): Schema {
  const alternatives = schema.anyOf?.filter(({ type }) => type !== "null") ?? [];
  return alternatives.length === 1 ? alternatives[0]! : schema;
}
