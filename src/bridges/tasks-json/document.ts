// The text of tasks.json and what it is made of: tasks in a list or by their ids, alone or in an object with other things beside
// them. It is written back in the form in which it was found.

import { parseJson } from "../plan/json-parse.js";
import { type Dialect, type Raw, valueIn } from "./dialect.js";

/** It is no tasks.json, or only half of one. */
export class BrokenFile extends Error {
  override name = "BrokenFile";
}

/** The number of our last write, by which we know what an edited copy was made from. */
export const revKey = "dibsRev";

interface Form {
  /** Null: the tasks are all there is. */
  top: Raw | null;
  /** Where in the object they stand. */
  key: string;
  byId: boolean;
  indent: string;
  newline: string;
  bom: string;
  end: string;
}

export interface Entry {
  /** What it stands under, where tasks stand by their ids. */
  key: string | null;
  value: unknown;
}

export interface Document {
  form: Form;
  /** Null where the file cannot or does not tell. */
  rev: number | null;
  entries: Entry[];
}

const plainForm: Form = {
  top: {},
  key: "tasks",
  byId: false,
  indent: "  ",
  newline: "\n",
  bom: "",
  end: "\n",
};

export const emptyDocument = (): Document => ({ form: plainForm, rev: null, entries: [] });

export const isObject = (value: unknown): value is Raw =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Null: it has none yet. Anything may stand there. */
export function idOf({ key, value }: Entry, dialect: Dialect): unknown {
  const id = isObject(value) ? (valueIn(value, "id", dialect) ?? key) : null;
  return id === "" ? null : id;
}

export function readDocument(text: string): Document {
  const bom = text.startsWith("\ufeff") ? "\ufeff" : "";
  const value = parsed(text.slice(bom.length));
  const form = { ...plainForm, ...styleOf(text.slice(bom.length)), bom };
  if (Array.isArray(value)) return { form: { ...form, top: null }, rev: null, entries: listed(value) };
  if (!isObject(value)) throw new BrokenFile("it holds neither tasks nor an object with tasks");
  const key = ["tasks", "Tasks"].find((name) => Object.hasOwn(value, name));
  if (key === undefined) return withoutKey(form, value);
  const tasks = value[key];
  const rev = Number.isSafeInteger(value[revKey]) ? (value[revKey] as number) : null;
  if (Array.isArray(tasks)) return { form: { ...form, top: value, key }, rev, entries: listed(tasks) };
  if (!isObject(tasks)) throw new BrokenFile(`"${key}" is neither a list nor an object of tasks`);
  return { form: { ...form, top: value, key, byId: true }, rev, entries: keyed(tasks) };
}

function parsed(text: string): unknown {
  if (text.trim() === "") throw new BrokenFile("it is empty");
  try {
    return JSON.parse(text);
  } catch {
    const read = parseJson(text);
    const where = read.ok
      ? "a comment or a comma too much"
      : `line ${read.at.line}, column ${read.at.column}`;
    throw new BrokenFile(`it is not JSON (${where})`);
  }
}

/** All of it is tasks by their ids; or there are none yet, and other things only. */
function withoutKey(form: Form, value: Raw): Document {
  const entries = keyed(value);
  const isTask = ({ key, value: each }: Entry) =>
    isObject(each) && [each.id, each.TaskId, each.taskId].includes(key);
  if (entries.length > 0 && entries.every(isTask)) {
    return { form: { ...form, top: null, byId: true }, rev: null, entries };
  }
  return { form: { ...form, top: value }, rev: null, entries: [] };
}

const listed = (tasks: unknown[]): Entry[] => tasks.map((value) => ({ key: null, value }));
const keyed = (tasks: Raw): Entry[] => Object.entries(tasks).map(([key, value]) => ({ key, value }));

/** A file without lines stays without, unless there was nothing in it to break. */
function styleOf(text: string): Partial<Form> {
  const [, newline = "\n", indent] = /^\s*[[{](\r?\n)([ \t]+)/.exec(text) ?? [];
  const end = /[\]}](\s*)$/.exec(text)?.[1] ?? "";
  const isOneLine = !text.trim().includes("\n") && /[[:]\s*\{/.test(text);
  return { newline, indent: indent ?? (isOneLine ? "" : plainForm.indent), end };
}

export function writeDocument({ form, entries }: Document, rev: number): string {
  const { top, key, byId, indent, newline, bom, end } = form;
  const tasks = byId
    ? Object.fromEntries(entries.map((entry) => [entry.key, entry.value]))
    : entries.map(({ value }) => value);
  const head = { [revKey]: rev, ...top };
  const whole = top === null ? tasks : { ...head, [revKey]: rev, [key]: tasks };
  const text = JSON.stringify(whole, null, indent);
  return `${bom}${newline === "\n" ? text : text.replaceAll("\n", newline)}${end}`;
}
