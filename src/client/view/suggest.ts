// What could stand where somebody types in a filter: keys, and the values that are known.

import { type FilterKey, filterKeys, isWords } from "./grammar.js";
import { piecesOf, quoted } from "./pieces.js";

/** What is known to exist. */
export interface Facts {
  labels: readonly string[];
  /** Ids of sessions and types of agents. */
  agents: readonly string[];
  /** What sessions are called, where that is something else. */
  names?: readonly { name: string; sessionId: string }[];
  projects: readonly string[];
  phases: readonly string[];
}

export interface Suggestion {
  /** What is to be replaced, and by what. */
  from: number;
  to: number;
  insert: string;
  /** As it is listed. */
  label: string;
  help: string;
}

const help: Record<FilterKey, string> = {
  is: "a state, such as is:blocked",
  agent: "who works on it, or should",
  label: "with this label",
  project: "of this project",
  parent: "subtask of this task",
  id: "ids that begin so",
  phase: "such as test",
  assignee: "meant for this session",
  priority: "such as priority:>=high",
  age: "since it was added, such as age:>1h",
  idle: "since it last changed, such as idle:>30m",
};

const suggestionsMax = 12;

export function suggest(text: string, caret: number, facts: Facts): Suggestion[] {
  const piece = piecesOf(text).find(({ from, to }) => from <= caret && caret <= to);
  const from = piece?.from ?? caret;
  const typed = text.slice(from, caret);
  const sign = /^-/.exec(typed)?.[0] ?? "";
  const keyed = /^([A-Za-z]+):(.*)$/s.exec(typed.slice(sign.length));
  if (!keyed) return keysFor(typed.slice(sign.length), from + sign.length, piece?.to ?? caret);
  const [, key = "", values = ""] = keyed;
  const last = values.lastIndexOf(",") + 1;
  const begun = values.slice(last).replace(/^"/, "").toLowerCase();
  const start = caret - (values.length - last);
  return valuesOf(key.toLowerCase(), facts)
    .filter(({ value }) => value.toLowerCase().startsWith(begun) && value.toLowerCase() !== begun)
    .slice(0, suggestionsMax)
    .map(({ value, help: says = "" }) => ({
      from: start,
      to: endOf(text, caret),
      insert: quoted(value),
      label: value,
      help: says,
    }));
}

/** A key keeps what was typed behind its colon. */
function keysFor(begun: string, from: number, to: number): Suggestion[] {
  return filterKeys
    .filter((key) => key.startsWith(begun.toLowerCase()))
    .map((key) => ({ from, to, insert: `${key}:`, label: `${key}:`, help: help[key] }));
}

/** Of the value at the caret. */
function endOf(text: string, caret: number): number {
  let to = caret;
  while (to < text.length && !/[\s,]/.test(text[to]!)) to++;
  return to;
}

const examples = {
  priority: ["low", "medium", "high", "critical", ">=high"],
  time: [">10m", ">1h", ">1d", "<1h"],
};

interface Value {
  value: string;
  help?: string;
}

function valuesOf(key: string, facts: Facts): readonly Value[] {
  const words = wordsOf(key, facts).map((value): Value => ({ value }));
  if (key !== "agent") return words;
  const named = (facts.names ?? []).filter(({ name }) => !facts.agents.includes(name));
  return [...words, ...named.map(({ name, sessionId }) => ({ value: name, help: sessionId }))];
}

function wordsOf(key: string, facts: Facts): readonly string[] {
  switch (key) {
    case "is":
      return isWords;
    case "label":
      return facts.labels;
    case "agent":
    case "assignee":
      return facts.agents;
    case "project":
      return facts.projects;
    case "phase":
      return facts.phases;
    case "priority":
      return examples.priority;
    case "age":
    case "idle":
      return examples.time;
    default:
      return [];
  }
}
