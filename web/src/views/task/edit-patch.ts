// A task as the fields of a form, and back: only what was changed is sent.

import type { dibs, Task } from "../../data/dibs.js";

export type Patch = Omit<Parameters<typeof dibs.tasks.update>[0], "taskId" | "project">;

/** All as texts, as they are typed. */
export interface Fields {
  title: string;
  prompt: string;
  description: string;
  priority: string;
  phase: string;
  labels: string;
  dependsOn: string;
  assignee: string;
  agentType: string;
  requires: string;
  notBefore: string;
  timeout: string;
  maxRetries: string;
  files: string;
  metadata: string;
}

export type FieldName = keyof Fields;

export function fieldsOf(task: Task): Fields {
  return {
    title: task.title,
    prompt: task.prompt,
    description: task.description ?? "",
    priority: String(task.priority),
    phase: task.phase ?? "",
    labels: task.labels.join("\n"),
    dependsOn: task.dependsOn.join(", "),
    assignee: task.assignee ?? "",
    agentType: task.agentType ?? "",
    requires: task.requires.join(", "),
    notBefore: task.notBefore === null ? "" : localTime(task.notBefore),
    timeout: task.timeoutMs === null ? "" : String(task.timeoutMs / 60_000),
    maxRetries: String(task.maxRetries),
    files: task.files.join("\n"),
    metadata: task.metadata === null ? "" : JSON.stringify(task.metadata, null, 2),
  };
}

/** As an input of type datetime-local has it. */
function localTime(at: string): string {
  const time = new Date(at);
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

const listOf = (text: string, by: RegExp) =>
  text
    .split(by)
    .map((each) => each.trim())
    .filter((each) => each !== "");
const words = (text: string) => listOf(text, /,/);
const orNull = (text: string) => (text.trim() === "" ? null : text.trim());

function numberOf(text: string, what: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value)) throw new Error(`${what} must be a number.`);
  return value;
}

function metadataOf(text: string): Patch["metadata"] {
  if (text.trim() === "") return null;
  try {
    return JSON.parse(text) as Patch["metadata"];
  } catch {
    throw new Error('Metadata must be JSON, such as {"ticket": 12}.');
  }
}

const readers: { [F in FieldName]: (text: string) => Patch } = {
  title: (title) => ({ title }),
  prompt: (prompt) => ({ prompt }),
  description: (text) => ({ description: text === "" ? null : text }),
  priority: (text) => ({ priority: numberOf(text, "Priority") }),
  phase: (text) => ({ phase: orNull(text) }),
  labels: (text) => ({ labels: listOf(text, /\n/) }),
  dependsOn: (text) => ({ dependsOn: listOf(text, /[\s,]+/) }),
  assignee: (text) => ({ assignee: orNull(text) }),
  agentType: (text) => ({ agentType: orNull(text) }),
  requires: (text) => ({ requires: words(text) }),
  notBefore: (text) => ({ notBefore: text === "" ? null : new Date(text).toISOString() }),
  timeout: (text) => ({
    timeoutMs: text.trim() === "" ? null : Math.round(numberOf(text, "The time limit") * 60_000),
  }),
  maxRetries: (text) => ({ maxRetries: numberOf(text, "Retries") }),
  files: (text) => ({ files: listOf(text, /\n/) }),
  metadata: (text) => ({ metadata: metadataOf(text) }),
};

export const changedFields = (before: Fields, now: Fields): FieldName[] =>
  (Object.keys(readers) as FieldName[]).filter((name) => before[name] !== now[name]);

/** Throws what is wrong, in words. */
export function patchOf(before: Fields, now: Fields): Patch {
  return Object.assign({}, ...changedFields(before, now).map((name) => readers[name](now[name]))) as Patch;
}
