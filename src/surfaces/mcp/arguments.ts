// What an agent said, as the contract wants it. Models bend types (a number as text, one word for a list): what is meant is clear,
// so it is taken. What the words may be is the contract's to judge.

import { DibsError } from "../../contract/error.js";
import { type Field, type ToolName, type ToolSpec, tools } from "./tools.js";

export type Arguments = Record<string, unknown>;

/** Taken by every tool, so that an agent need not remember where. */
const everywhere: Record<string, Field> = { agent_id: { type: "string" } };

export function readArguments(tool: ToolName, spec: ToolSpec, given: unknown): Arguments {
  const fields: Record<string, Field> = { ...everywhere, ...spec.fields };
  const input = inListedWords(tool, (given ?? {}) as Arguments);
  const found: Arguments = {};
  const problems: string[] = [];
  for (const [name, value] of Object.entries(input)) {
    const field = Object.hasOwn(fields, name) ? fields[name]! : undefined;
    if (!field) problems.push(`${name.slice(0, 60)}: unknown field`);
    else if (value !== null && value !== undefined) {
      const taken = take(field, value);
      if (taken === undefined) problems.push(`${name}: must be ${wanted(field)}`);
      else if (taken !== "") found[name] = taken;
      else if (spec.required.includes(name)) problems.push(`${name}: must not be empty`);
    }
  }
  for (const name of spec.required) {
    if (found[name] === undefined && !problems.some((each) => each.startsWith(`${name}:`)))
      problems.push(`${name}: is required`);
  }
  if (problems.length > 0) {
    throw new DibsError("VALIDATION_FAILED", `${tool}: ${problems.join("; ")}.`, {
      hint: `Supported: ${Object.keys(spec.fields).join(", ")}.`,
    });
  }
  return found;
}

/** Words of the design and of other tools for what is listed under one name; listing all would cost every agent tokens. */
const synonyms: { [Tool in ToolName | "all"]?: { [word: string]: string } } = {
  all: { wait: "wait_seconds", id: "task_id", agent: "agent_id" },
  create_task: { prompt: "description", depends_on: "dependencies", parent: "parent_id" },
  complete_task: { result: "output", findings: "output" },
  fail_task: { reason: "error" },
  update_progress: { message: "note", progress: "percent" },
  list_tasks: { status: "state", parent: "parent_id", q: "query" },
};

function inListedWords(tool: ToolName, given: Arguments): Arguments {
  const words = new Map(Object.entries({ ...synonyms.all, ...synonyms[tool] }));
  const isKnown = (name: string) => Object.hasOwn(tools[tool].fields, name);
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const listed = words.get(name);
      const isMeant =
        listed !== undefined && !isKnown(name) && isKnown(listed) && !Object.hasOwn(given, listed);
      return isMeant ? [listed, listed === "wait_seconds" ? secondsIn(value) : value] : [name, value];
    }),
  );
}

/** `wait: true` means as long as it goes. */
const secondsIn = (value: unknown) => (typeof value === "boolean" ? (value ? waitMsMax / 1000 : 0) : value);

function take(field: Field, value: unknown): unknown {
  const isText = typeof value === "string";
  switch (field.type) {
    case "string":
      return isText ? value : typeof value === "number" ? String(value) : undefined;
    case "boolean":
      return typeof value === "boolean" ? value : ({ true: true, false: false } as Arguments)[String(value)];
    case "integer":
    case "number": {
      const number = isText && value.trim() !== "" ? Number(value) : value;
      const fits = typeof number === "number" && Number.isFinite(number);
      return fits && (field.type === "number" || Number.isInteger(number)) ? number : undefined;
    }
    case "array":
      return takeList(value);
    default:
      return isText || typeof value === "number" ? value : undefined;
  }
}

function takeList(value: unknown): string[] | undefined {
  if (typeof value === "string") return value.startsWith("[") ? listIn(value) : [value];
  const isList = Array.isArray(value) && value.every((each) => typeof each === "string");
  return isList ? value.filter((each) => each !== "") : undefined;
}

function listIn(text: string): string[] | undefined {
  try {
    return takeList(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function wanted({ type }: Field): string {
  if (type === "array") return "a list of texts";
  if (typeof type !== "string") return "a number or a word";
  return { string: "a text", integer: "a whole number", number: "a number", boolean: "true or false" }[type];
}

/** 1 to 5 or a word; undefined, so that the store's default applies, if none is given. */
export function priorityOf(given: unknown): never {
  if (given === undefined) return undefined as never;
  const word = String(given).trim().toLowerCase();
  if (/^p?[1-5]$/.test(word)) return `p${word.at(-1)}` as never;
  if (["critical", "high", "medium", "normal", "low"].includes(word)) return word as never;
  throw new DibsError(
    "VALIDATION_FAILED",
    `priority ${word.slice(0, 40)}: must be 1 to 5, critical, high, medium or low.`,
    {
      hint: "1 is the most urgent, 5 the least.",
    },
  );
}

/** Clients give up on a tool after a minute: what is granted at the last moment must still reach them. */
export const waitMsMax = 50_000;

export function waitMsOf(seconds: unknown): number {
  const value = (seconds as number | undefined) ?? 0;
  if (value >= 0 && value <= 60) return Math.min(value * 1000, waitMsMax);
  throw new DibsError("VALIDATION_FAILED", `wait_seconds ${value}: must be 0 to 60.`, {
    hint: "Call again to wait longer.",
  });
}
