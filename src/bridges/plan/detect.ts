// Which format a document is in, and where in it the plan stands.

import { fieldLine, isCriteria } from "./fields.js";
import { looksLikePlan } from "./json.js";
import { type Comment, type JsonNode, parseJson, parseLeadingJson } from "./json-parse.js";
import { fenceByLine, fencesOf, linesOf } from "./lines.js";
import type { PlanFormat, ReadOptions } from "./plan.js";
import type { Report } from "./report.js";
import { taskLine } from "./text.js";

export function detectFormat(text: string, { format = "auto", fileName = "" }: ReadOptions): PlanFormat {
  if (format !== "auto") return format;
  if (/\.jsonc?$/i.test(fileName) || beginsLikeJson(text)) return "json";
  if (hasTaskBlocks(text)) return "text";
  return !hasBoxes(text) && (fencedPlan(text) ?? proseAround(text)) ? "json" : "markdown";
}

/** `[ ] title` and `[a link](…)` are Markdown. */
function beginsLikeJson(text: string): boolean {
  return /^\s*(?:\{\s*["}]|\[\s*[{"[]|\[\s*\]\s*$|(?:\/\/|\/\*))/.test(text.slice(0, 2000));
}

const shouted = /^[\s#*_>-]{0,12}(?:\d{1,6}[.)]\s{1,4})?[*_]{0,3}TASK(?: #?\w{1,8})?[*_]{0,3}:/;

/** `TASK:` says it; `Task 1:` with fields below it, unless that is a heading of Markdown. */
function hasTaskBlocks(text: string): boolean {
  let tasks = 0;
  let hasFields = false;
  for (const line of text.split("\n")) {
    if (shouted.test(line.slice(0, 60))) return true;
    if (tasks > 0 && fieldLine(line)) hasFields = true;
    if (taskLine(line) && !/^\s{0,3}#/.test(line.slice(0, 4))) tasks++;
  }
  return hasFields && !hasBoxes(text);
}

const box = /^\s{0,100}(?:[-*+]|\d{1,6}[.)])\s{1,8}\[[ xX✓✔~/>!?*-]?\]/;

/** Boxes that are tasks, not what a task is accepted by. */
function hasBoxes(text: string): boolean {
  let areCriteria = false;
  for (const line of text.split("\n")) {
    if (box.test(line.slice(0, 200))) {
      if (!areCriteria) return true;
    } else if (isCriteria(line)) areCriteria = true;
    else if (taskLine(line) || /^\s{0,3}#/.test(line.slice(0, 4))) areCriteria = false;
  }
  return false;
}

/** Where in a text the plan stands; its first and its last line. */
export interface Fenced {
  node: JsonNode;
  comments: Comment[];
  open: number;
  close: number;
}

/** The JSON between fences that is a plan. */
export function fencedPlan(text: string): Fenced | undefined {
  const lines = linesOf(text);
  for (const { open, close, language } of fencesOf(lines)) {
    if (!["", "json", "jsonc", "json5", "javascript", "js"].includes(language)) continue;
    const inner = lines.slice(open + 1, close).map((line) => line.text);
    const parsed = parseJson(inner.join("\n"), open + 2);
    if (parsed.ok && looksLikePlan(parsed.node))
      return { node: parsed.node, comments: parsed.comments, open: open + 1, close: close + 1 };
  }
  return undefined;
}

/**
 * The document between the only fences of an answer such as "Here is the plan: ```markdown …```". What is around it is
 * reported; blank lines stand for it, so that line numbers stay.
 */
export function fencedMarkdown(text: string, report: Report): string | undefined {
  const lines = linesOf(text);
  const [fence, another] = fencesOf(lines);
  if (!fence || another || !["markdown", "md"].includes(fence.language)) return undefined;
  const outside = lines.filter(({ number }) => number <= fence.open || number > fence.close + 1);
  if (outside.some(({ text: line }) => /^\s{0,3}(?:#|[-*+]\s|\d{1,6}[.)]\s)/.test(line.slice(0, 12))))
    return undefined;
  for (const line of outside) report.stray(line);
  return lines
    .slice(0, fence.close)
    .map((line, index) => (index <= fence.open ? "" : line.text))
    .join("\n");
}

const begins = /^(?:(?![-*+>#\d|])[^{[]{0,200}?:)??\s{0,3}(?=\{\s*(?:"|$)|\[\s*(?:\{|$))/;
const beginningsMax = 20;

/** The one plan in JSON without fences, between words of its author. If there are two, nobody knows which is meant. */
export function proseAround(text: string): Fenced | undefined {
  const lines = linesOf(text);
  const fenced = fenceByLine(fencesOf(lines));
  const found: Fenced[] = [];
  let tried = 0;
  for (let at = 0; at < lines.length && tried < beginningsMax; at++) {
    const lead = fenced.has(at) ? undefined : begins.exec(lines[at]!.text)?.[0];
    if (lead === undefined) continue;
    tried++;
    const plan = planFrom(text, lines, at, lead);
    if (!plan) continue;
    found.push(plan);
    at = plan.close - 1;
  }
  return found.length === 1 ? found[0] : undefined;
}

function planFrom(text: string, lines: { text: string }[], at: number, lead: string): Fenced | undefined {
  const offset = lines.slice(0, at).reduce((sum, line) => sum + line.text.length + 1, 0);
  // Blanks instead of words, so that places stay what they are.
  const rest = " ".repeat(lead.length) + text.slice(offset + lead.length);
  const parsed = parseLeadingJson(rest, at + 1);
  if (!parsed || !looksLikePlan(parsed.node)) return undefined;
  const [after = ""] = rest.slice(parsed.offset).split("\n", 1);
  const { node, comments, line } = parsed;
  return after.trim() === "" ? { node, comments, open: at + 1, close: line } : undefined;
}
