// Refusals of the contract name its fields; people typed flags and words. This names what they typed.

import { exactDuration } from "../../contract/duration.js";
import { DibsError } from "../../contract/error.js";
import { argsOf, type CommandSpec, globalFlags } from "./spec.js";

/** Where the flag is not the field's name with hyphens. */
const flagNames: Record<string, string> = {
  addLabels: "add-label",
  correlationId: "correlation",
  expiresInMs: "expires",
  filesCreated: "created",
  filesModified: "modified",
  labels: "label",
  options: "option",
  parentId: "parent",
  q: "search",
  questionId: "question",
  removeLabels: "remove-label",
  sessionId: "session",
  state: "status",
  taskId: "task",
  types: "type",
};

/** Where a field is typed without a flag. */
const argNames: Record<string, string[]> = {
  error: ["error"],
  id: ["id", "project"],
  name: ["name"],
  note: ["note"],
  parentId: ["parent"],
  prompt: ["prompt"],
  question: ["question"],
  reason: ["reason"],
  response: ["text"],
  result: ["result"],
  taskId: ["id"],
};

function typedAs(field: string, spec: CommandSpec): string | undefined {
  const flag =
    flagNames[field] ?? field.replace(/Ms$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  if (Object.hasOwn({ ...globalFlags, ...spec.flags }, flag)) return `--${flag}`;
  const arg = argsOf(spec).find(({ name }) => argNames[field]?.includes(name));
  return arg && `<${arg.name}>`;
}

interface Issue {
  path: string;
  message: string;
}

/** The refusal in the words of the command; others as they are. */
export function inFlags(error: unknown, spec: CommandSpec): unknown {
  if (!(error instanceof DibsError) || error.code !== "VALIDATION_FAILED") return error;
  const [issue] = (Array.isArray(error.details.issues) ? error.details.issues : []) as Issue[];
  const unknown = issue && unknownSetting(issue);
  const message = unknown ?? (issue?.path ? sentence(error.message, issue.path, spec) : error.message);
  const hint = unknown === undefined ? error.hint : "Run: dibs project show";
  return new DibsError(error.code, message, { hint, details: error.details, cause: error });
}

function unknownSetting({ path, message }: Issue): string | undefined {
  const [, group = ""] = /^settings(?:\.(.+))?$/.exec(path) ?? [];
  const name = path.startsWith("settings") ? /^has no field (.+)$/.exec(message)?.[1] : undefined;
  return name === undefined ? undefined : `Unknown setting ${group === "" ? name : `${group}.${name}`}.`;
}

function sentence(message: string, path: string, spec: CommandSpec): string {
  if (!message.startsWith(`${path} `)) return message;
  const [field = "", ...rest] = path.split(".");
  const name = field === "settings" ? rest.join(".") : (typedAs(field, spec) ?? path);
  const wrong = message.slice(path.length);
  return `${name}${path.endsWith("Ms") ? inUnits(wrong) : wrong}`;
}

/** Durations as they would be typed. */
const inUnits = (text: string) => text.replace(/\b\d+\b/g, (ms) => exactDuration(Number(ms)));
