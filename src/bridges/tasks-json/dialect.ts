// The two sets of names that tools use in tasks.json: camel (id, status) and pascal (TaskId, Status). A file keeps the names and words it uses: a field is found under either name and is
// written back under the one it was found under.

import { priority as priorityField } from "../../contract/fields.js";
import type { WireTask } from "../../contract/shapes.js";

export const dialects = ["camel", "pascal"] as const;
export type Dialect = (typeof dialects)[number];

/** Names that earlier versions used; still accepted. */
export const formerDialects: Record<string, Dialect> = { s0: "camel", s2: "pascal" };

/** One task as it stands in the file: anything may be in it. */
export type Raw = Record<string, unknown>;

type Names = readonly [camel: string, pascal: string, also?: string];

export const names = {
  id: ["id", "TaskId", "taskId"],
  title: ["title", "Title"],
  description: ["description", "Description"],
  prompt: ["prompt", "Prompt"],
  status: ["status", "Status"],
  priority: ["priority", "Priority"],
  phase: ["phase", "Phase"],
  dependsOn: ["dependsOn", "DependsOn"],
  files: ["files", "Files"],
  labels: ["labels", "Labels"],
  assignee: ["assignee", "Assignee"],
  agentType: ["agentType", "AgentType"],
  requires: ["requires", "Requires"],
  parentId: ["parentId", "ParentId"],
  type: ["type", "Type"],
  claimedBy: ["claimedByAgentId", "ClaimedByAgentId"],
  claimedAt: ["claimedAt", "ClaimedAt"],
  claim: ["claim", "claim"],
  question: ["question", "Question"],
  result: ["result", "Result"],
  error: ["error", "Error"],
  retryCount: ["retryCount", "RetryCount"],
  maxRetries: ["maxRetries", "MaxRetries"],
  notBefore: ["notBefore", "NotBefore"],
  timeoutMs: ["timeoutMs", "TimeoutMs"],
  metadata: ["metadata", "Metadata"],
} as const satisfies Record<string, Names>;

export type Field = keyof typeof names;

export function nameOf(field: Field, dialect: Dialect): string {
  return names[field][dialect === "camel" ? 0 : 1];
}

/** The key under which an entry has a field, the dialect's own first. */
export function keyIn(entry: Raw, field: Field, dialect: Dialect): string | undefined {
  const own = nameOf(field, dialect);
  if (Object.hasOwn(entry, own)) return own;
  return names[field].find((name) => Object.hasOwn(entry, name));
}

/** Undefined where the entry does not have it. */
export function valueIn(entry: Raw, field: Field, dialect: Dialect): unknown {
  const key = keyIn(entry, field, dialect);
  return key === undefined ? undefined : entry[key];
}

/** Pascal, if most entries have one of its names for ids, titles or states. */
export function detectDialect(entries: readonly Raw[]): Dialect | null {
  const filled = entries.filter((entry) => Object.keys(entry).length > 0);
  if (filled.length === 0) return null;
  const isPascal = (entry: Raw) => ["TaskId", "Title", "Status"].some((name) => Object.hasOwn(entry, name));
  return filled.filter(isPascal).length * 2 > filled.length ? "pascal" : "camel";
}

export type State = WireTask["state"];

/** What a file can say about a state. */
export type Stage = "pending" | "in_progress" | "completed" | "failed" | "cancelled";

const stageOf: Record<State, Stage> = {
  queued: "pending",
  claimed: "in_progress",
  running: "in_progress",
  awaiting_response: "in_progress",
  submitted: "in_progress",
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
};

/** Pascal has four words: a cancelled task is Failed there. */
const stateWords: Record<Dialect, Record<Stage, string>> = {
  camel: {
    pending: "pending",
    in_progress: "in_progress",
    completed: "completed",
    failed: "failed",
    cancelled: "cancelled",
  },
  pascal: {
    pending: "Pending",
    in_progress: "InProgress",
    completed: "Completed",
    failed: "Failed",
    cancelled: "Failed",
  },
};

export function stateWord(state: State, dialect: Dialect): string {
  return stateWords[dialect][stageOf[state]];
}

/** As the dialect can say it. */
export function stageShown(state: State, dialect: Dialect): Stage {
  return stageOfWord(stateWord(state, dialect))!;
}

const stagesByWord: Record<string, Stage> = Object.fromEntries(
  Object.entries({
    pending: "pending queued available ready todo open new created blocked",
    in_progress: "inprogress claimed leased running started active awaiting awaitingresponse",
    completed: "completed complete done finished",
    failed: "failed error",
    cancelled: "cancelled canceled",
  } satisfies Record<Stage, string>).flatMap(([stage, words]) =>
    words.split(" ").map((word) => [word, stage as Stage]),
  ),
);

/** Undefined for what is no word for a state. */
export function stageOfWord(word: unknown): Stage | undefined {
  if (typeof word !== "string") return undefined;
  const bare = word.toLowerCase().replace(/[\s_-]/g, "");
  return Object.hasOwn(stagesByWord, bare) ? stagesByWord[bare] : undefined;
}

const pascalPriorities = { critical: "Critical", high: "High", medium: "Normal", low: "Low" } as const;

export function priorityWord({ priorityLabel }: WireTask, dialect: Dialect): string {
  return dialect === "camel" ? priorityLabel : pascalPriorities[priorityLabel];
}

/** 0 to 100, or what was there if it says no priority. */
export function priorityOf(value: unknown): unknown {
  const read = priorityField().safeParse(value);
  return read.success ? read.data : value;
}
