// Refusals of the contract name its fields; people typed flags and words. This names what they typed.

import { exactDuration } from "../../contract/duration.js";
import { DibsError } from "../../contract/error.js";
import { plainly } from "../../contract/plain.js";
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
const argNames: Record<string, string> = {
  error: "error",
  id: "id",
  name: "name",
  note: "note",
  parentId: "parent",
  prompt: "prompt",
  question: "question",
  reason: "reason",
  response: "text",
  result: "result",
  taskId: "id",
};

function typedAs(field: string, spec: CommandSpec): string | undefined {
  const flag =
    flagNames[field] ?? field.replace(/Ms$/, "").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  if (Object.hasOwn({ ...globalFlags, ...spec.flags }, flag)) return `--${flag}`;
  const arg = argNames[field];
  return arg !== undefined && argsOf(spec).some(({ name }) => name === arg) ? `<${arg}>` : undefined;
}

interface Issue {
  path: string;
  message: string;
}

/** The refusal in the words of the command; others as they are. */
export function inFlags(error: unknown, spec: CommandSpec): unknown {
  if (!(error instanceof DibsError) || error.code !== "VALIDATION_FAILED") return error;
  const message = plainly(error.message).replace(/^[a-z]\w*\.[a-z]\w*: /i, "");
  const [issue] = (Array.isArray(error.details.issues) ? error.details.issues : []) as Issue[];
  const shown = issue?.path ? sentence(message, issue, spec) : message;
  return new DibsError(error.code, shown, { hint: error.hint, details: error.details, cause: error });
}

function sentence(message: string, { path, message: said }: Issue, spec: CommandSpec): string {
  const [field = "", ...rest] = path.split(".");
  const inner = rest.filter((each) => !/^\d+$/.test(each)).join(".");
  const isSetting = field === "settings";
  const name = isSetting ? inner || "dibs" : (typedAs(field, spec) ?? path);
  const units = path.endsWith("Ms") ? inUnits : (text: string) => text;
  const wrong = plainly(said).replace("has no field", isSetting ? "has no setting" : "has no field");
  if (message.startsWith(`${path}: `)) return ended(units(`${name} ${wrong}`));
  return message.startsWith(`${path} `) ? units(`${name}${message.slice(path.length)}`) : message;
}

/** Durations as they would be typed. */
const inUnits = (text: string) => text.replace(/\b\d+\b/g, (number) => exactDuration(Number(number)));

const ended = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);
