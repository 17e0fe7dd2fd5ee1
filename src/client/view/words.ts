// How times, states and priorities are said to people: the same words in the terminal, on the page and in a table.

import { durationUnits } from "../../contract/duration.js";
import { priorityLabel } from "../../contract/priority.js";
import type { WireEvent, WireTask } from "../../contract/shapes.js";
import type { WireTaskRow } from "../../contract/tasks/rows.js";

/** `3d`, `2h`, `45s`; the largest unit that fits. */
export function duration(ms: number): string {
  const size = Math.abs(ms);
  for (const [unit, length] of durationUnits)
    if (size >= length) return `${Math.floor(size / length)}${unit}`;
  return "0s";
}

/** `30s ago`, and for what is still to come `in 5m`. */
export function ago(at: string | null, now: number): string {
  if (at === null) return "";
  const ms = now - Date.parse(at);
  return ms < 0 ? `in ${duration(ms)}` : `${duration(ms)} ago`;
}

/** For a countdown: `29:59`, `1:02:03`. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (value: number) => String(value).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = two(seconds % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${rest}` : `${minutes}:${rest}`;
}

/** What a state is told from; tasks and rows have it. */
export type StateFacts = Pick<
  WireTaskRow,
  "state" | "type" | "notBefore" | "pendingDependencies" | "openChildren"
> & {
  error?: string | null;
  /** Of a submitted task: a row has it, a task has it with its submission. */
  stage?: WireTaskRow["stage"] | undefined;
  submission?: { stage: WireTaskRow["stage"] } | null | undefined;
};

export type Standing = Exclude<WireTaskRow["state"], "queued"> | "group" | "blocked" | "scheduled" | "ready";

/** The state, and for what is queued why it is not taken. Blocked: by dependencies, or by its own subtasks. */
export function standing(task: StateFacts, now: number): Standing {
  const { state, type, notBefore, pendingDependencies, openChildren } = task;
  if (state !== "queued") return state;
  if (type === "group") return "group";
  if (pendingDependencies > 0 || openChildren > 0) return "blocked";
  return notBefore !== null && Date.parse(notBefore) > now ? "scheduled" : "ready";
}

export function stateWord(task: StateFacts, now: number): string {
  const word = standing(task, now);
  if (word === "awaiting_response") return "waiting for an answer";
  if (word === "failed") return /^timed out after \w+/.exec(task.error ?? "")?.[0] ?? word;
  if (word === "blocked") return task.pendingDependencies > 0 ? "blocked" : "waits for subtasks";
  return word === "scheduled" ? ago(task.notBefore, now) : word;
}

/** Of a submitted task also where it is on its way: `submitted, review`. The dashboard shows that on its own. */
export function stateAndStage(task: StateFacts, now: number): string {
  const word = stateWord(task, now);
  const stage = task.stage ?? task.submission?.stage;
  if (word !== "submitted" || !stage) return word;
  return `${word}, ${stage === "review" ? stage : stageWords[stage]}`;
}

/** Where a submission is on its way to the target. */
export type Stage = NonNullable<NonNullable<WireTask["submission"]>["stage"]>;

const stageWords: Record<Stage, string> = {
  // Its checks run when a lander does: the stage alone does not say that one is at it.
  checking: "waiting to land",
  review: "waiting for review",
  landing: "waiting to land",
  held: "held",
};

export const stageWord = (stage: Stage) => stageWords[stage];

/** `high 75`: the word of its band and the number, the same on every surface. */
export function priorityText(priority: number): string {
  return `${priorityLabel(priority)} ${priority}`;
}

/** `[IMPL]` for implementation. */
export function phaseTag(phase: string | null): string {
  return phase === null || phase === "" ? "" : `[${[...phase].slice(0, 4).join("").toUpperCase()}]`;
}

export function percent(value: number | null): string {
  return value === null ? "" : `${Math.round(value)}%`;
}

/** Of an event that two tasks change the same files: it is in the timelines of both. */
export function overlapText({ taskId, data }: Pick<WireEvent, "taskId" | "data">): string {
  const paths = Array.isArray(data.paths) ? data.paths : [];
  const more = typeof data.count === "number" && data.count > paths.length ? " and more" : "";
  return `${data.with} and ${taskId}: ${paths.join(", ")}${more}`;
}

/** `$0.42, 12000 tokens in, 800 tokens out`. What is not known is omitted. */
export function usageText({ usd, inputTokens, outputTokens }: NonNullable<WireTask["usage"]>): string {
  const parts = [
    usd === null ? null : `$${usd}`,
    inputTokens === null ? null : `${inputTokens} tokens in`,
    outputTokens === null ? null : `${outputTokens} tokens out`,
  ];
  return parts.filter((each) => each !== null).join(", ");
}
