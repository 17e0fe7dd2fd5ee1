// Parts of the documentation that are generated from the code. A test compares them; `npm run docs` updates them.

import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { exitCode, httpStatus, mcpError } from "../../src/contract/codes.js";
import { exactDuration } from "../../src/contract/duration.js";
import { operations } from "../../src/contract/registry.js";
import { settingsShape } from "../../src/contract/shapes.js";
import type { Command } from "../../src/core/command.js";
import { carryOut } from "../../src/core/decide.js";
import { defaultSettings } from "../../src/core/project.js";
import { type Code, refusals } from "../../src/core/refusal.js";
import { stateOf, type TaskState, taskStates } from "../../src/core/task.js";
import { TestClock } from "../../src/store/conformance/harness.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import { configKeys, type Setting, taskVariables, variables } from "../../src/surfaces/cli/settings.js";

const org = "default";
const project = "demo";
const result = { output: "", filesCreated: [], filesModified: [] };
const by = { project, taskId: "0001", sessionId: "s", epoch: 1 };
const on = { project, taskId: "0001" };

/** The moves of a task's life, each by the last holder (or a person) with the right epoch. */
const moves: Record<string, Command> = {
  claim: { type: "claim", ...on, sessionId: "other" },
  start: { type: "start", ...by },
  heartbeat: { type: "heartbeat", ...by },
  progress: { type: "progress", ...by, note: "half" },
  ask: { type: "ask", ...by, question: "which?" },
  respond: { type: "respond", ...on, response: "this" },
  complete: { type: "complete", ...by, result },
  withdraw: { type: "withdraw", ...on },
  fail: { type: "fail", ...by, error: "broken", spread: 0 },
  "fail (no retry)": { type: "fail", ...by, error: "broken", retryable: false, spread: 0 },
  release: { type: "release", ...by, spread: 0 },
  "lease expires": { type: "sweep", limit: 10 },
  "session ends": { type: "end-session", project, sessionId: "s", reason: "session_ended" },
  cancel: { type: "cancel", ...on },
  retry: { type: "retry", ...on },
  update: { type: "update", ...on, patch: { priority: 90 } },
};

const create: Command = { type: "create", project, correlationId: "c", tasks: [{ prompt: "do it" }] };
const claim: Command = { type: "claim", ...on, sessionId: "s" };
const ways: Record<TaskState, Command[]> = {
  queued: [],
  claimed: [claim],
  running: [claim, moves.start!],
  awaiting_response: [claim, moves.ask!],
  submitted: [
    { type: "update-project", project, settings: { land: { target: "main" } } },
    claim,
    moves.complete!,
  ],
  completed: [claim, moves.complete!],
  failed: [claim, moves["fail (no retry)"]!],
  cancelled: [claim, moves.cancel!],
};

async function outcomeOf(move: string, state: TaskState): Promise<string> {
  const clock = new TestClock();
  const store = openMemoryStore(clock);
  await store.open(org, project);
  const run = async (command: Command) => {
    const [done] = await store.commit(org, [(transaction) => carryOut(transaction, command, "user:test")]);
    if (!done!.ok) throw done!.error;
    return done!.value;
  };
  for (const id of ["s", "other"]) await run({ type: "register-session", project, session: { id } });
  for (const command of [create, ...ways[state]]) await run(command);
  if (move === "lease expires") clock.advance(24 * 60 * 60 * 1000);
  const outcome = await run(moves[move]!);
  if (!outcome.ok) return outcome.code;
  const after = await store.read(org, (view) =>
    stateOf(view.task(project, "0001")!, view.claim(project, "0001")),
  );
  return after === state ? "stays" : `→ ${after}`;
}

export async function stateMatrix(): Promise<string> {
  const rows = [`| | ${taskStates.join(" | ")} |`, `|---${"|---".repeat(taskStates.length)}|`];
  for (const move of Object.keys(moves)) {
    const cells = await Promise.all(taskStates.map((state) => outcomeOf(move, state)));
    rows.push(`| **${move}** | ${cells.join(" | ")} |`);
  }
  return rows.join("\n");
}

export function codeTable(): string {
  const rows = (Object.keys(refusals) as Code[]).map((code) => {
    const { transient, means } = refusals[code];
    return `| \`${code}\` | ${httpStatus[code]} | ${exitCode[code]} | ${mcpError[code]} | ${transient ? "yes" : ""} | ${means} |`;
  });
  return ["| code | HTTP | exit | MCP | transient | means |", "|---|---|---|---|---|---|", ...rows].join(
    "\n",
  );
}

interface Schema {
  type?: string | string[];
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
}

function typeOf(schema: Schema): string {
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum)
    return schema.enum.length > 12 ? "word" : schema.enum.map((each) => `\`${each}\``).join(" ");
  if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.type === "string") return "text";
  return schema.type === undefined ? "time" : String(schema.type);
}

function fieldRow([name, schema]: [string, Schema], required: readonly string[]): string {
  const isNeeded = required.includes(name) && schema.default === undefined;
  const fallback = schema.default === undefined ? "" : ` Default: \`${JSON.stringify(schema.default)}\`.`;
  const most =
    schema.type === "integer" && (schema.maximum ?? 1e12) < 1e11
      ? `${schema.description ? ". " : ""}At most ${schema.maximum}.`
      : "";
  return `| \`${name}\`${isNeeded ? "" : "?"} | ${typeOf(schema)} | ${schema.description ?? ""}${most}${fallback} |`;
}

/** Every operation with its input, as the schemas say it. */
export function operationPages(): string {
  const pages = operations.map(({ name, summary, http, role, input, refusals: refused }) => {
    const schema = z.toJSONSchema(input, { io: "input", unrepresentable: "any" }) as Schema;
    const fields = Object.entries(schema.properties ?? {}).map((field) =>
      fieldRow(field, schema.required ?? []),
    );
    const codes = refused.map((code) => `\`${code}\``).join(", ");
    const does = `${summary}. \`${http.method} ${http.path}\`, role ${role}.`;
    const table = fields.length > 0 ? ["", "| input | | |", "|---|---|---|", ...fields] : [];
    return [`### dibs.${name}`, "", codes ? `${does} Refuses with ${codes}.` : does, ...table].join("\n");
  });
  return pages.join("\n\n");
}

interface ProjectSetting {
  name: string;
  schema: Schema;
  default: unknown;
}

/** Every setting of a project by its full name, as the schema has it. */
export function projectSettings(): ProjectSetting[] {
  const { properties = {} } = z.toJSONSchema(settingsShape(), { io: "input" }) as Schema;
  const defaults = defaultSettings as unknown as Record<string, unknown>;
  return Object.entries(properties).flatMap(([group, schema]) => {
    if (!schema.properties) return [{ name: group, schema, default: defaults[group] }];
    const inner = defaults[group] as Record<string, unknown>;
    return Object.entries(schema.properties).map(([key, each]) => ({
      name: `${group}.${key}`,
      schema: each,
      default: inner[key],
    }));
  });
}

function boundsOf(name: string, schema: Schema): string {
  const { type, enum: words, minimum, maximum } = schema;
  if (words) return words.map((word) => `\`${word}\``).join(", ");
  if (type === "boolean") return "`true`, `false`";
  const shown = (value: number) => (name.endsWith("Ms") ? exactDuration(value) : String(value));
  if (minimum === undefined || maximum === undefined) return typeOf(schema).replace(" or null", "");
  return `${shown(minimum)} to ${shown(maximum)}`;
}

export function projectSettingsTable(): string {
  const rows = projectSettings().map(({ name, schema, default: usual }) => {
    const isUnset = usual === null || (Array.isArray(usual) && usual.length === 0);
    const value = name.endsWith("Ms") ? `${exactDuration(Number(usual))} (${usual})` : String(usual);
    const shown = isUnset ? "not set" : value;
    return `| \`${name}\` | ${shown} | ${boundsOf(name, schema)} | ${schema.description} |`;
  });
  return ["| setting | default | values | meaning |", "|---|---|---|---|", ...rows].join("\n");
}

function settingsTable(head: string, settings: Record<string, Setting>): string {
  const rows = Object.entries(settings).map(
    ([name, { default: usual, values, means }]) => `| \`${name}\` | ${usual} | ${values} | ${means} |`,
  );
  return [`| ${head} | default | values | meaning |`, "|---|---|---|---|", ...rows].join("\n");
}

export const variablesTable = () => settingsTable("variable", variables);
export const taskVariablesTable = () => settingsTable("variable", taskVariables);
export const configTable = () => settingsTable("key", configKeys);

/** The text between the markers of a part, and the file with that part replaced. */
export function part(file: string, name: string) {
  const text = readFileSync(file, "utf8");
  const [begin, end] = [`<!-- generated: ${name} -->\n`, `\n<!-- end: ${name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < 0)
    throw new Error(`${file} has no part '${name}': put '${begin.trim()}' and '${end.trim()}' into it.`);
  return {
    text: text.slice(from + begin.length, to),
    replace: (fresh: string) => writeFileSync(file, text.slice(0, from) + begin + fresh + text.slice(to)),
  };
}
