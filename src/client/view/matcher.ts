// A filter as a test of rows. Terms become functions once, so that a hundred thousand rows are tested while somebody types.

import { priorityLabel } from "../../contract/priority.js";
import type { WireTaskRow } from "../../contract/tasks/rows.js";
import type { Filter, IsWord, PriorityTest, Term, TextKey, TimeTest } from "./grammar.js";
import { claimMark } from "./health.js";
import { standing } from "./words.js";

export type RowTest = (row: WireTaskRow) => boolean;

/** What rows do not say. */
export interface Known {
  /** A session's name, or its id where it has none. */
  nameOf?: ((project: string, sessionId: string) => string) | undefined;
  /** Whether words stand in the task's prompt. Only asked where they are wanted: what is not known to have them may. */
  isInPrompt?: ((row: WireTaskRow, words: string) => boolean) | undefined;
}

export function matcher({ terms }: Pick<Filter, "terms">, now: number, known: Known = {}): RowTest {
  const tests = terms.map((term) => {
    const test = testOf(term, now, known);
    return term.negated ? (row: WireTaskRow) => !test(row) : test;
  });
  if (tests.length === 1) return tests[0]!;
  return (row) => tests.every((test) => test(row));
}

function testOf(term: Term, now: number, { nameOf, isInPrompt }: Known): RowTest {
  switch (term.key) {
    case "words": {
      const isInRow = hasWords(term.text.toLowerCase());
      return term.negated || !isInPrompt ? isInRow : (row) => isInRow(row) || isInPrompt(row, term.text);
    }
    case "agent": {
      const isInRow = textTest("agent", term.values);
      const wanted = term.values.map((value) => value.toLowerCase());
      return (row) => isInRow(row) || isNamed(row, wanted, nameOf);
    }
    case "is": {
      const tests = term.values.map((word) => isTests[word]);
      return (row) => tests.some((test) => test(row, now));
    }
    case "priority":
      return (row) => term.values.some((test) => hasPriority(row.priority, test));
    case "age":
      return (row) => term.values.some((test) => isSince(row.createdAt, test, now));
    case "idle":
      return (row) => term.values.some((test) => isSince(row.updatedAt, test, now));
    default:
      return textTest(term.key, term.values);
  }
}

function hasWords(text: string): RowTest {
  return ({ id, title, labels }) =>
    title.toLowerCase().includes(text) ||
    id.toLowerCase().includes(text) ||
    labels.some((label) => label.toLowerCase().includes(text));
}

function isNamed(
  { project, claim }: WireTaskRow,
  wanted: readonly string[],
  nameOf: Known["nameOf"],
): boolean {
  if (!claim || !nameOf) return false;
  const name = nameOf(project, claim.sessionId).toLowerCase();
  return wanted.some((each) => name.startsWith(each));
}

const isOver = ({ state }: WireTaskRow) =>
  state === "completed" || state === "failed" || state === "cancelled";

const isTests: Record<IsWord, (row: WireTaskRow, now: number) => boolean> = {
  ready: (row, now) => standing(row, now) === "ready",
  blocked: (row, now) => standing(row, now) === "blocked",
  scheduled: (row, now) => standing(row, now) === "scheduled",
  queued: ({ state }) => state === "queued",
  claimed: ({ state }) => state === "claimed",
  running: ({ state }) => state === "running",
  working: ({ state }) => state === "claimed" || state === "running",
  waiting: ({ state }) => state === "awaiting_response",
  submitted: ({ state }) => state === "submitted",
  done: ({ state }) => state === "completed",
  failed: ({ state }) => state === "failed",
  cancelled: ({ state }) => state === "cancelled",
  open: (row) => !isOver(row),
  ended: isOver,
  stale: (row, now) => claimMark(row, now) === "[!]",
  group: ({ type }) => type === "group",
  task: ({ type }) => type === "task",
};

const bands = ["low", "medium", "high", "critical"];

function hasPriority(priority: number, { op, value }: PriorityTest): boolean {
  const [left, right] =
    typeof value === "number"
      ? [priority, value]
      : [bands.indexOf(priorityLabel(priority)), bands.indexOf(value)];
  return op === "=" ? left === right : compare(left, op, right);
}

function compare(left: number, op: TimeTest["op"], right: number): boolean {
  switch (op) {
    case ">":
      return left > right;
    case ">=":
      return left >= right;
    case "<":
      return left < right;
    case "<=":
      return left <= right;
  }
}

const isSince = (at: string, { op, ms }: TimeTest, now: number) => compare(now - Date.parse(at), op, ms);

/** What a key looks at. Ids and names of agents are long: their beginning is enough. */
const looks: Record<TextKey, { of: (row: WireTaskRow) => readonly (string | null)[]; isPrefix: boolean }> = {
  agent: {
    of: ({ claim, assignee, agentType }) =>
      claim ? [claim.sessionId, claim.agentType] : [assignee, agentType],
    isPrefix: true,
  },
  assignee: { of: ({ assignee }) => [assignee], isPrefix: true },
  id: { of: ({ id }) => [id], isPrefix: true },
  phase: { of: ({ phase }) => [phase], isPrefix: true },
  label: { of: ({ labels }) => labels, isPrefix: false },
  project: { of: ({ project }) => [project], isPrefix: false },
  parent: { of: ({ parentId }) => [parentId], isPrefix: false },
};

/** `none` asks for those that have no such thing. */
function textTest(key: TextKey, values: readonly string[]): RowTest {
  const { of, isPrefix } = looks[key];
  const wanted = values.map((value) => value.toLowerCase());
  const wantsNone = wanted.includes("none");
  return (row) => {
    let isNone = true;
    for (const text of of(row)) {
      if (text === null) continue;
      isNone = false;
      const lower = text.toLowerCase();
      if (wanted.some((each) => (isPrefix ? lower.startsWith(each) : lower === each))) return true;
    }
    return isNone && wantsNone;
  };
}
