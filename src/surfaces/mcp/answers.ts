// What agents read. Complete and short; what others wrote is in labelled blocks; the last line names the likely next call.

import { answerLabel } from "../../client/brief/brief.js";
import { block, oneLine } from "../../client/brief/data.js";
import { attemptTexts, hasEnded, listed, ownTitle, resultFields } from "../../client/brief/texts.js";
import { priorityText } from "../../client/view/words.js";
import type { WireAttempt, WireClaim, WireReason, WireTask } from "../../contract/shapes.js";
import { clip, clipToWeight, weigh } from "./text.js";

/** How much of what others left get_task shows; the task itself is shown whole. */
const shown = { attempts: 5, errorCharacters: 600, resultCharacters: 8_000 };
/** The same in tokens, whatever it is made of: of one, and of all of a kind. */
const weight = { each: 600, all: 3_000, fields: 1_000, answers: 1_000 };
/** Of a page of tasks, in tokens; what stands around it needs some, too. */
const listWeightMax = 1_800;
const titleWeightMin = 8;

const lightFields = (lines: readonly string[]) => lines.map((line) => clipToWeight(line, weight.fields));

/** What the task is, in the words of those who made it. */
export function textOf(task: WireTask): string {
  const title = ownTitle(task);
  const lines = [
    ...(title === null ? [] : [`title: ${title}`]),
    task.prompt,
    ...(task.description ? [`description: ${task.description}`] : []),
    ...lightFields([...listed("files", task.files), ...listed("labels", task.labels)]),
    ...(task.assignee ? [`for: ${oneLine(task.assignee)}`] : []),
  ];
  return block(`task ${task.id}`, lines.join("\n"));
}

export const attemptsShown = shown.attempts;

/** Attempts that ended, newest first; each begins with what matters most, and all stay within their weight together. */
export function attemptBlocks(attempts: readonly WireAttempt[]): string[] {
  const ended = attempts.filter(hasEnded).slice(0, shown.attempts);
  const each = Math.min(weight.each, weight.all / Math.max(1, ended.length));
  return ended.map((attempt) => {
    const lines = attemptTexts(attempt).map(
      ([label, text]) => `${label}: ${clip(text, shown.errorCharacters)}`,
    );
    const { epoch, sessionId } = attempt;
    return block(`attempt ${epoch} by ${sessionId}`, clipToWeight(lines.join("\n"), each));
  });
}

type Answered = Pick<WireTask, "id" | "response">;

export function answerBlock({ id, response }: Answered): string {
  return block(answerLabel(id), response ?? "");
}

/** With every call until it is acknowledged, so in short; each of several gets its share. */
export function answerReminder(task: Answered, among: number): string[] {
  const response = task.response ?? "";
  const short = clipToWeight(response, weight.answers / among);
  return [
    `A human answered your question about Dibs task ${task.id}${short === response ? "" : "; call get_task for the whole text"}:`,
    answerBlock({ ...task, response: short }),
  ];
}

export function questionLines({ id, question }: WireTask): string[] {
  if (!question) return [];
  const { text, options, default: usual, askedAt } = question;
  const lines = [
    text,
    ...(options ? [`options: ${options.map(oneLine).join(" | ")}`] : []),
    ...(usual === undefined ? [] : [`default: ${usual}`]),
  ];
  return [`Open question since ${askedAt}:`, block(`question of ${id}`, lines.join("\n"))];
}

export function reasonBlock(id: string, reasons: readonly WireReason[]): string {
  const lines = reasons.slice(0, 8).map(({ code, message, until }) => {
    return `${code}: ${oneLine(clip(message, 400))}${until ? ` (until ${new Date(until).toISOString()})` : ""}`;
  });
  return block(`why ${id} is not running`, lines.join("\n"));
}

export function holdingLine(claim: WireClaim, task: WireTask, renews: boolean): string {
  const { id, state, priority, parentId } = task;
  const part = parentId ? `, subtask of ${parentId}` : "";
  return `You (${claim.sessionId}) hold task ${id}: ${state}, priority ${priorityText(priority)}, attempt ${claim.epoch}${part}. ${leaseOf(claim, state, renews)}.`;
}

function leaseOf({ expiresAt }: WireClaim, state: WireTask["state"], renews: boolean): string {
  if (state === "awaiting_response") return "The lease clock is stopped until a human answers";
  return renews
    ? "Your claim is renewed while you work"
    : `Your claim expires at ${expiresAt}: call update_progress before`;
}

export function stateLine(task: WireTask): string {
  const { id, state, priority, claim, parentId, dependsOn, pendingDependencies, openChildren } = task;
  return [
    `Task ${id}: ${state}, priority ${priorityText(priority)}`,
    ...(claim ? [`held by ${claim.sessionId} until ${claim.expiresAt} (${claim.healthStatus})`] : []),
    ...(parentId ? [`subtask of ${parentId}`] : []),
    ...(dependsOn.length > 0
      ? [`depends on ${dependsOn.slice(0, 20).join(", ")} (${pendingDependencies} not completed)`]
      : []),
    ...(openChildren > 0 ? [`${openChildren} open subtasks`] : []),
    ...(task.retryCount > 0 ? [`retried ${task.retryCount} of ${task.maxRetries} times`] : []),
  ].join("; ");
}

export function resultBlock(task: WireTask): string[] {
  if (task.state === "failed" && task.error) return [block(`error of ${task.id}`, clip(task.error, 4_000))];
  const { result } = task;
  if (!result) return [];
  const output = result.output ? [clip(result.output, shown.resultCharacters)] : [];
  const lines = [...output, ...lightFields(resultFields(result))];
  return lines.length > 0 ? [block(`result of ${task.id}`, lines.join("\n"))] : [];
}

/** How many of them fit on one page. */
export function fitting(tasks: readonly WireTask[]): number {
  let weight = 0;
  for (const [index, task] of tasks.entries()) {
    weight += weigh(headOf(task)) + titleWeightMin + 2;
    if (weight > listWeightMax) return Math.max(1, index);
  }
  return tasks.length;
}

/** One line each; titles are cut so that the page stays within its weight, whatever they contain. */
export function taskLines(tasks: readonly WireTask[]): string {
  const heads = tasks.map(headOf);
  const rest = listWeightMax - heads.reduce((sum, head) => sum + weigh(head) + 2, 0);
  const each = Math.max(titleWeightMin, Math.min(60, rest / Math.max(1, tasks.length)));
  const lines = tasks.map(({ title }, index) => `${heads[index]} ${clipToWeight(oneLine(title), each)}`);
  return block("tasks", lines.join("\n"));
}

/** Open questions, one line each, within the same weight; get_task shows one whole. */
export function questionList(tasks: readonly WireTask[], eachMax = 400): string {
  const heads = tasks.map(({ id, claim }) => `${id} ${claim ? `by ${clip(claim.sessionId, 24)} ` : ""}·`);
  const rest = listWeightMax - heads.reduce((sum, head) => sum + weigh(head) + 2, 0);
  const each = Math.max(titleWeightMin, Math.min(eachMax, rest / Math.max(1, tasks.length)));
  const lines = tasks.map(({ question }, index) => {
    const { text = "", options } = question ?? {};
    const said = [text, ...(options ? [`options: ${options.join(" | ")}`] : [])].join(" ");
    return `${heads[index]} ${clipToWeight(oneLine(said), each)}`;
  });
  return block("open questions", lines.join("\n"));
}

function headOf({ id, state, priority, claim, pendingDependencies, openChildren, type }: WireTask): string {
  return [
    id,
    type === "group" ? `${state} group` : state,
    priorityText(priority),
    ...(claim ? [`by ${clip(claim.sessionId, 24)}`] : []),
    ...(pendingDependencies > 0 ? [`waits for ${pendingDependencies}`] : []),
    ...(openChildren > 0 ? [`${openChildren} open subtasks`] : []),
    "·",
  ].join(" ");
}
