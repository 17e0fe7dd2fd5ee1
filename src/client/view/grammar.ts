// One way to say which tasks are meant, in addresses, search fields and terminals:
//
//   is:blocked agent:a7 label:ui,api age:>1h -is:done "exact words" free text
//
// All terms must hold; of several values one; a leading minus turns a term round. What cannot be understood is told with its place
// and left out, never thrown: people look at lists while they still type.

import { durationUnits } from "../../common/duration.js";
import { priorityLabel, priorityWords } from "../../contract/priority.js";
import { type Piece, piecesOf, quoted } from "./pieces.js";

export const isWords = [
  "ready",
  "blocked",
  "scheduled",
  "queued",
  "claimed",
  "running",
  "working",
  "waiting",
  "submitted",
  "done",
  "failed",
  "cancelled",
  "open",
  "ended",
  "stale",
  "group",
  "task",
] as const;
export type IsWord = (typeof isWords)[number];

export const textKeys = ["agent", "label", "project", "parent", "id", "phase", "assignee"] as const;
export type TextKey = (typeof textKeys)[number];

export type Comparison = "=" | ">" | ">=" | "<" | "<=";
/** A word means its whole band: `>=high` is everything from 61 on. */
export interface PriorityTest {
  op: Comparison;
  value: number | "low" | "medium" | "high" | "critical";
}
export interface TimeTest {
  op: Exclude<Comparison, "=">;
  ms: number;
}

export type Term = { negated: boolean } & (
  | { key: "words"; text: string; exact: boolean }
  | { key: "is"; values: IsWord[] }
  | { key: TextKey; values: string[] }
  | { key: "priority"; values: PriorityTest[] }
  | { key: "age" | "idle"; values: TimeTest[] }
);

export interface Problem {
  /** Where in the text. */
  from: number;
  to: number;
  message: string;
}

export interface Filter {
  terms: Term[];
  problems: Problem[];
}

export const filterKeys = ["is", ...textKeys, "priority", "age", "idle"] as const;
export type FilterKey = (typeof filterKeys)[number];

export function parseFilter(text: string): Filter {
  const filter: Filter = { terms: [], problems: [] };
  for (const piece of piecesOf(text)) {
    const term = termOf(piece);
    if (typeof term === "string") filter.problems.push({ from: piece.from, to: piece.to, message: term });
    else if (term) filter.terms.push(term);
  }
  return filter;
}

const isKey = (word: string): word is FilterKey => (filterKeys as readonly string[]).includes(word);

/** The term, what is wrong with it, or null where there is nothing yet. */
function termOf(piece: Piece): Term | string | null {
  const { negated, key, values, isQuoted, isClosed } = piece;
  if (!isClosed) return 'A closing " is missing.';
  if (key === null) {
    const text = values[0] ?? "";
    return text === "" ? null : { negated, key: "words", text, exact: isQuoted };
  }
  if (!isKey(key))
    return `'${key}:' is not known; there is ${filterKeys.map((each) => `${each}:`).join(" ")}`;
  const given = values.filter((value) => value !== "");
  return given.length === 0 ? `${key}: what?` : keyedTerm(negated, key, given);
}

function keyedTerm(negated: boolean, key: FilterKey, given: string[]): Term | string {
  switch (key) {
    case "is":
      return allOf(given, isWordOf, (values) => ({ negated, key, values }));
    case "priority":
      return allOf(given, priorityTestOf, (values) => ({ negated, key, values }));
    case "age":
    case "idle":
      return allOf(given, timeTestOf, (values) => ({ negated, key, values }));
    default:
      return { negated, key, values: given };
  }
}

type Understood<T> = { value: T } | { problem: string };

function allOf<T>(given: string[], understand: (text: string) => Understood<T>, make: (values: T[]) => Term) {
  const values: T[] = [];
  for (const text of given) {
    const understood = understand(text);
    if ("problem" in understood) return understood.problem;
    values.push(understood.value);
  }
  return make(values);
}

const otherWords: Partial<Record<string, IsWord>> = {
  completed: "done",
  awaiting_response: "waiting",
  awaiting: "waiting",
  canceled: "cancelled",
};

function isWordOf(text: string): Understood<IsWord> {
  const word = text.toLowerCase();
  const value = (isWords as readonly string[]).includes(word) ? (word as IsWord) : otherWords[word];
  return value ? { value } : { problem: `is:${text} is not known; there is ${isWords.join(", ")}` };
}

const comparison = /^(>=|<=|>|<|=)?(.*)$/s;

function priorityTestOf(text: string): Understood<PriorityTest> {
  const [, sign = "=", rest = ""] = comparison.exec(text)!;
  const op = sign as Comparison;
  const word = rest.toLowerCase();
  if (/^\d+$/.test(word)) return { value: { op, value: Number(word) } };
  if (!Object.hasOwn(priorityWords, word))
    return { problem: `priority:${text} is not known; write a number, >70, or >=high` };
  const number = priorityWords[word as keyof typeof priorityWords];
  return { value: { op, value: /^p\d$/.test(word) ? number : priorityLabel(number) } };
}

const unitMs: Record<string, number> = { ...Object.fromEntries(durationUnits), w: 604_800_000 };

function timeTestOf(text: string): Understood<TimeTest> {
  const [, op = ">=", rest = ""] = comparison.exec(text)!;
  const match = /^(\d+(?:\.\d+)?)([smhdw])$/.exec(rest.toLowerCase());
  if (!match || op === "=") return { problem: `'${text}' is not understood; write for example >1h or <2d` };
  return { value: { op: op as TimeTest["op"], ms: Number(match[1]) * unitMs[match[2]!]! } };
}

/** In its usual spelling: read again, it means the same. */
export function formatFilter({ terms }: Pick<Filter, "terms">): string {
  return terms.map((term) => `${term.negated ? "-" : ""}${formatTerm(term)}`).join(" ");
}

function formatTerm(term: Term): string {
  switch (term.key) {
    case "words":
      return quoted(term.text, { always: term.exact, isWord: true });
    case "priority":
      return `priority:${term.values.map(({ op, value }) => `${op === "=" ? "" : op}${value}`).join(",")}`;
    case "age":
    case "idle":
      return `${term.key}:${term.values.map(({ op, ms }) => `${op}${spelled(ms)}`).join(",")}`;
    default:
      return `${term.key}:${term.values.map((value) => quoted(value)).join(",")}`;
  }
}

function spelled(ms: number): string {
  const units = Object.entries(unitMs).sort(([, a], [, b]) => b - a);
  const [unit, length] = units.find(([, each]) => ms >= each && ms % each === 0) ?? ["s", 1_000];
  return `${ms / length}${unit}`;
}
