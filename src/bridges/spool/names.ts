// What the names in a spool mean. A task has a directory and in it a file, both under its name: `0001_t1/0001_t1.md`, and
// `0001_t1/0001_t1.4242.md` once process 4242 has taken it. Nothing becomes a path, or a task, whose name could not be an id.

import { id } from "../../contract/fields.js";

export const stages = ["to_execute", "in_progress", "completed", "stale"] as const;
export type Stage = (typeof stages)[number];

export const isName = (text: string): boolean => id().safeParse(text).success;

/** pid_t has 32 bits; 0 would mean a whole group of processes. */
export const isPid = (pid: number): boolean => Number.isInteger(pid) && pid > 0 && pid < 2 ** 31;

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Whether a file in the directory of that name is its task file, and whose; a number that is no pid is nobody's. */
export function taskFile(name: string, file: string): { pid: number | null } | null {
  const found = new RegExp(`^${escaped(name)}(?:\\.(\\d+))?\\.md$`).exec(file);
  if (!found) return null;
  const pid = found[1] === undefined ? null : Number(found[1]);
  return { pid: pid !== null && isPid(pid) ? pid : null };
}

/** The name in that of a task file without a directory; a number at its end is a pid where workers put one. */
export function looseName(file: string, mayHavePid: boolean): { name: string; pid: number | null } | null {
  if (!file.endsWith(".md")) return null;
  const stem = file.slice(0, -".md".length);
  const marked = mayHavePid ? /^(.+)\.(\d+)$/.exec(stem) : null;
  if (!marked) return { name: stem, pid: null };
  return { name: marked[1]!, pid: isPid(Number(marked[2])) ? Number(marked[2]) : null };
}

/** `result.md`, `error`, `0001.result.json`, `0001.4242.error.txt`: what a worker leaves beside its task file. */
export function leftBeside(what: "result" | "error", name: string, files: readonly string[]): string | null {
  const form = new RegExp(`^(?:${escaped(name)}(?:\\.\\d+)?\\.)?${what}(?:\\.(?:json|md|txt))?$`);
  return files.filter((file) => form.test(file)).sort()[0] ?? null;
}

const topLevel = /^(?:\d{4}|[A-Z]\d{3}|[A-Z]{2}\d{2}|[A-Z]{3}\d|[A-Z]{4})$/;

/** Ids of this form are given by the store alone. */
export const isTopLevel = (name: string): boolean => topLevel.test(name) && name !== "0000";

/** Whose child a name says it is: `0001_t2` is one of `0001`, `0001_t2.1` one of `0001_t2`. */
export function parentIn(name: string): string | null {
  return /^(.+)_t\d+$/.exec(name)?.[1] ?? /^(.+)\.\d+$/.exec(name)?.[1] ?? null;
}

const letterTiers = [0, 1, 2, 3, 4];

/** 0001…9999, A000…Z999, AA00…ZZ99, AAA0…ZZZ9, AAAA…ZZZZ as numbers from 1; null: none of them. */
export function numberOf(text: string): number | null {
  if (!topLevel.test(text)) return null;
  const letters = /^[A-Z]*/.exec(text)![0].length;
  let index = 0;
  for (const letter of text.slice(0, letters)) index = index * 26 + letter.charCodeAt(0) - 65;
  const digits = 4 - letters;
  const within = index * 10 ** digits + Number(text.slice(letters) || 0);
  if (letters === 0) return within;
  const below = letterTiers.slice(1, letters).reduce((sum, each) => sum + sizeOf(each), 9_999);
  return below + within + 1;
}

const sizeOf = (letters: number) => 26 ** letters * 10 ** (4 - letters);

/** The other way round; null: there are no more. */
export function textOf(number: number): string | null {
  if (number <= 9_999) return String(number).padStart(4, "0");
  let index = number - 9_999 - 1;
  for (const letters of letterTiers.slice(1)) {
    if (index < sizeOf(letters)) return inTier(letters, index);
    index -= sizeOf(letters);
  }
  return null;
}

function inTier(letters: number, index: number): string {
  const digits = 4 - letters;
  let rest = Math.floor(index / 10 ** digits);
  let prefix = "";
  for (let at = 0; at < letters; at++) {
    prefix = String.fromCharCode(65 + (rest % 26)) + prefix;
    rest = Math.floor(rest / 26);
  }
  return digits === 0 ? prefix : prefix + String(index % 10 ** digits).padStart(digits, "0");
}
