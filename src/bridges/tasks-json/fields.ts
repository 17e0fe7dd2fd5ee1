// Each field of a task: its value in the store and in an entry of the file, in one form so that the two can be compared, and how
// the store's value is written.

import type { WireTask } from "../../contract/shapes.js";
import {
  type Dialect,
  dialects,
  type Field,
  keyIn,
  nameOf,
  priorityOf,
  priorityWord,
  type Raw,
  stageOfWord,
  stateWord,
  valueIn,
} from "./dialect.js";

interface Rule {
  /** The store's value. */
  of(task: WireTask): unknown;
  /** An entry's value in the same form; what cannot be understood stays as it is, for the contract to refuse. */
  read?(value: unknown): unknown;
  /** Where it is not written as it is. */
  written?(task: WireTask, dialect: Dialect): unknown;
  /** Whether an entry's value says what the store says; then it keeps its spelling. */
  means?(value: unknown, task: WireTask, dialect: Dialect): boolean;
  /** The dialects in which it stands in every entry, empty or not. */
  always?: readonly Dialect[];
  /** The one dialect that knows it. */
  only?: Dialect;
}

const both = dialects;
const pascal = ["pascal"] as const;

const list = (value: unknown) => (value === null ? [] : Array.isArray(value) ? [...new Set(value)] : value);
const ordered = (value: unknown) => (value === null ? [] : value);
const word = (value: unknown) => (typeof value === "string" ? value.trim() || null : value);

function time(value: unknown): unknown {
  const ms = typeof value === "string" ? Date.parse(value) : value;
  return typeof ms === "number" && Number.isFinite(ms) && Math.abs(ms) < 8.64e15
    ? new Date(ms).toISOString()
    : value;
}

/** The store has a prompt and maybe a description beside it; most files have one text, and call it description. */
const hasTwoTexts = ({ description, prompt }: WireTask) => description !== null && description !== prompt;

function claimIn({ claim }: WireTask): Raw | null {
  if (!claim) return null;
  const { sessionId, claimedAt, expiresAt, lastHeartbeat, agentType, epoch } = claim;
  return { sessionId, claimedAt, expiresAt, lastHeartbeat, agentType, epoch };
}

/** The fields of an object under the same names whatever their case. */
function inAnyCase(value: unknown): Raw {
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key.toLowerCase(), each]));
}

/** A result as the contract takes it: a text, or an object in either spelling; any other JSON becomes text. */
export function resultIn(value: unknown): unknown {
  if (value === undefined || value === null || typeof value === "string") return value;
  const { output, filescreated, filesmodified, ...others } = inAnyCase(value);
  if (Array.isArray(value) || Object.keys(others).length > 0) return JSON.stringify(value);
  return { output: output ?? "", filesCreated: filescreated ?? [], filesModified: filesmodified ?? [] };
}

function writtenResult({ result }: WireTask, dialect: Dialect): unknown {
  if (!result || dialect === "camel") return result;
  const { output, filesCreated, filesModified } = result;
  return { Output: output, FilesCreated: filesCreated, FilesModified: filesModified };
}

const sameResult = (value: unknown, { result }: WireTask) => {
  const read = resultIn(value);
  return same(read, result) || (typeof read === "string" && same(read, result?.output));
};

const rules: Record<Field, Rule> = {
  id: { of: ({ id }) => id, always: both },
  title: { of: ({ title }) => title, always: both },
  description: { of: ({ description, prompt }) => description ?? prompt, always: both },
  prompt: { of: (task) => (hasTwoTexts(task) ? task.prompt : null), read: (value) => value || null },
  status: {
    of: ({ state }) => state,
    written: ({ state }, dialect) => stateWord(state, dialect),
    means: (value, { state }, dialect) => stageOfWord(value) === stageOfWord(stateWord(state, dialect)),
    always: both,
  },
  priority: {
    of: ({ priority }) => priority,
    read: priorityOf,
    written: priorityWord,
    means: (value, task, dialect) =>
      priorityOf(value) === task.priority || value === priorityWord(task, dialect),
    always: both,
  },
  phase: { of: ({ phase }) => phase, read: word },
  dependsOn: {
    of: ({ dependsOn }) => dependsOn,
    read: list,
    // What is over waits for nobody; what it should have waited for is the file's to remember.
    means: (value, { dependsOn, endedAt }) => {
      const told = list(value);
      if (endedAt === null || !Array.isArray(told)) return same(told, dependsOn);
      return dependsOn.every((id) => told.includes(id));
    },
    always: both,
  },
  files: { of: ({ files }) => files, read: ordered, always: both },
  labels: { of: ({ labels }) => labels, read: list },
  assignee: { of: ({ assignee }) => assignee, read: word },
  agentType: { of: ({ agentType }) => agentType, read: word },
  requires: { of: ({ requires }) => requires, read: list },
  parentId: { of: ({ parentId }) => parentId },
  // Many files have types of their own there.
  type: {
    of: ({ type }) => (type === "task" ? null : type),
    means: (value, { type }) => value === type || (value !== "group" && type === "task"),
  },
  claimedBy: { of: ({ claim }) => claim?.sessionId ?? null, always: pascal, only: "pascal" },
  claimedAt: { of: ({ claim }) => claim?.claimedAt ?? null, read: time, always: pascal, only: "pascal" },
  claim: { of: claimIn, always: both },
  question: {
    of: ({ question }) => question && { id: question.id, text: question.text, options: question.options },
  },
  result: { of: ({ result }) => result, written: writtenResult, means: sameResult, always: pascal },
  error: { of: ({ error }) => error, always: pascal },
  retryCount: {
    of: ({ retryCount }) => retryCount || null,
    written: retriesOf,
    // What had ended before it came here was tried more often than we have seen.
    means: (value, { retryCount, endedAt }) =>
      (value ?? 0) === retryCount ||
      (endedAt !== null && Number.isSafeInteger(value) && (value as number) > retryCount),
    always: pascal,
  },
  maxRetries: { of: ({ maxRetries }) => maxRetries, always: both },
  notBefore: { of: ({ notBefore }) => notBefore, read: time },
  timeoutMs: { of: ({ timeoutMs }) => timeoutMs },
  metadata: { of: ({ metadata }) => metadata },
};

function retriesOf({ retryCount }: WireTask): number {
  return retryCount;
}

/** Equal as JSON, whatever the order of their keys. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
    return (a ?? null) === (b ?? null);
  }
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [told(a), told(b)];
  return (
    left.length === right.length &&
    left.every(([key, value]) => Object.hasOwn(b, key) && same(value, (b as Raw)[key]))
  );
}

/** JSON leaves out what is undefined. */
const told = (value: object) => Object.entries(value).filter(([, each]) => each !== undefined);

/** What people may change in the file. `status` is decided apart. */
export const editable = [
  "title",
  "description",
  "prompt",
  "priority",
  "phase",
  "dependsOn",
  "files",
  "labels",
  "assignee",
  "agentType",
  "requires",
  "maxRetries",
  "notBefore",
  "timeoutMs",
  "metadata",
] as const satisfies readonly Field[];
export type Editable = (typeof editable)[number];

/** What only the store changes; whoever edits it in the file is told. Counts of retries are everybody's habit, and not worth a word. */
export const fixed = ["parentId", "result", "error"] as const satisfies readonly Field[];

export function inStore(task: WireTask, field: Field): unknown {
  return rules[field].of(task);
}

/** In the store's form; undefined where the entry does not have the field. */
export function inEntry(entry: Raw, field: Field, dialect: Dialect): unknown {
  const value = valueIn(entry, field, dialect);
  const { read } = rules[field];
  return value === undefined || !read ? value : read(value);
}

export function means(entry: Raw, field: Field, task: WireTask, dialect: Dialect): boolean {
  const rule = rules[field];
  const value = valueIn(entry, field, dialect);
  if (value === undefined) return isEmpty(rule.of(task));
  return rule.means ? rule.means(value, task, dialect) : same(inEntry(entry, field, dialect), rule.of(task));
}

const isEmpty = (value: unknown) =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0);

/** A task as the file shows it; what is known of it nowhere else stays. The same object if nothing changes. */
export function renderEntry(task: WireTask, dialect: Dialect, before: Raw = {}): Raw {
  let entry = before;
  for (const field of Object.keys(rules) as Field[]) {
    const { of, written } = rules[field];
    const key = keyIn(before, field, dialect);
    const isRight = key === undefined ? !isShown(field, task, dialect) : means(before, field, task, dialect);
    if (isRight) continue;
    if (entry === before) entry = { ...before };
    entry[key ?? nameOf(field, dialect)] = written ? written(task, dialect) : of(task);
  }
  return entry;
}

/** In an entry that does not have it yet. */
function isShown(field: Field, task: WireTask, dialect: Dialect): boolean {
  const { of, always, only } = rules[field];
  if (only !== undefined && only !== dialect) return false;
  return always?.includes(dialect) === true || !isEmpty(of(task));
}
