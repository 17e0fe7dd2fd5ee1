// The contents of tasks.json: tasks in a list or by their ids, alone or in an object with other keys. They are written back
// in the form in which they were found.

import { parseJson } from "../plan/json-parse.js";
import { type Dialect, type Raw, valueIn } from "./dialect.js";

/** The file is not a tasks.json, or incomplete. */
export class BrokenFile extends Error {
  override name = "BrokenFile";
}

/** The number of our last write: shows which version an edited copy is based on. */
export const revKey = "dibsRev";

interface Form {
  /** Null: the tasks are all there is. */
  top: Raw | null;
  /** Their key in the object. */
  key: string;
  byId: boolean;
  indent: string;
  newline: string;
  bom: string;
  end: string;
}

export interface Entry {
  /** Its key, if tasks are listed by id. */
  key: string | null;
  value: unknown;
}

export interface Contents {
  form: Form;
  /** Null if the file has none. */
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

export const emptyContents = (): Contents => ({ form: plainForm, rev: null, entries: [] });

export const isObject = (value: unknown): value is Raw =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Null: it has none yet. The value is not validated. */
export function idOf({ key, value }: Entry, dialect: Dialect): unknown {
  const id = isObject(value) ? (valueIn(value, "id", dialect) ?? key) : null;
  return id === "" ? null : id;
}

export function readContents(text: string): Contents {
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

/** An object without a tasks key: all its values are tasks by id, or there are no tasks yet. */
function withoutKey(form: Form, value: Raw): Contents {
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

/** A file on one line stays on one line, unless it had no tasks. */
function styleOf(text: string): Partial<Form> {
  const [, newline = "\n", indent] = /^\s*[[{](\r?\n)([ \t]+)/.exec(text) ?? [];
  const end = /[\]}](\s*)$/.exec(text)?.[1] ?? "";
  const isOneLine = !text.trim().includes("\n") && /[[:]\s*\{/.test(text);
  return { newline, indent: indent ?? (isOneLine ? "" : plainForm.indent), end };
}

export function writeDocument({ form, entries }: Contents, rev: number): string {
  const { top, key, byId, newline, bom, end } = form;
  const level = top === null ? 1 : 2;
  const shown = entries.map(({ value }) => shownAt(form, value, level));
  const tasks = byId
    ? objectText(
        form,
        entries.map((entry, at) => [entry.key!, shown[at]!]),
        level - 1,
      )
    : listText(form, shown, level - 1);
  const others = Object.entries({ [revKey]: rev, ...top, [key]: null });
  const pairs = others.map(([name, value]): [string, string] => {
    if (name === key) return [name, tasks];
    return [name, shownAt(form, name === revKey ? rev : value, 1)];
  });
  const text = top === null ? tasks : objectText(form, pairs, 0);
  return `${bom}${newline === "\n" ? text : text.replaceAll("\n", newline)}${end}`;
}

/** Most entries are what they were at the last write. */
const written = new WeakMap<object, { style: string; text: string }>();

function shownAt({ indent }: Form, value: unknown, level: number): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const style = `${level} ${indent}`;
  const known = written.get(value);
  if (known?.style === style) return known.text;
  const text = JSON.stringify(value, null, indent).replaceAll("\n", `\n${indent.repeat(level)}`);
  written.set(value, { style, text });
  return text;
}

function listText(form: Form, items: readonly string[], level: number): string {
  return enclosed(form, items, level, "[", "]");
}

function objectText(form: Form, pairs: readonly [string, string][], level: number): string {
  const colon = form.indent === "" ? ":" : ": ";
  const members = pairs.map(([name, text]) => `${JSON.stringify(name)}${colon}${text}`);
  return enclosed(form, members, level, "{", "}");
}

function enclosed(
  { indent }: Form,
  items: readonly string[],
  level: number,
  open: string,
  close: string,
): string {
  if (items.length === 0 || indent === "") return `${open}${items.join(",")}${close}`;
  const inner = `\n${indent.repeat(level + 1)}`;
  return `${open}${inner}${items.join(`,${inner}`)}\n${indent.repeat(level)}${close}`;
}
