// Reads a plan out of whatever a person or a model has written. The formats give tasks with references in words
// (json.ts, markdown.ts, text.ts); references.ts finds what the words mean; assemble.ts makes the plan and looks for cycles.

import { plainly } from "../../contract/plain.js";
import { createTasks } from "../../contract/tasks/batch.js";
import { Asides } from "./asides.js";
import { assemble } from "./assemble.js";
import { toBatch } from "./batch.js";
import { detectFormat, fencedMarkdown, fencedPlan, proseAround } from "./detect.js";
import { readJson } from "./json.js";
import { type Comment, type JsonNode, parseJson } from "./json-parse.js";
import { fencesOf, linesOf } from "./lines.js";
import { readMarkdown } from "./markdown.js";
import {
  bounds,
  type Plan,
  type PlanFormat,
  type RawTask,
  type ReadOptions,
  type ReadResult,
} from "./plan.js";
import { Report } from "./report.js";
import { readText } from "./text.js";

export function readPlan(source: string, options: ReadOptions = {}): ReadResult {
  const report = new Report();
  const text = cleaned(source, report);
  const format = detectFormat(text, options);
  const asides = new Asides();
  const tasks = rawTasks(format, text, asides, report);
  if (tasks.length === 0 && report.problems.length === 0) nothingFound(text, report);
  else if (format !== "json") report.refuseIfLost();
  const plan = assemble(format, tasks, asides, report, options);
  if (report.problems.length === 0) checkInput(plan, report);
  if (report.problems.length > 0) return { ok: false, problems: report.problems };
  return { ok: true, plan: { ...plan, notes: report.notes } };
}

function cleaned(source: string, report: Report): string {
  const text = source
    .toWellFormed()
    .replace(/^\ufeff/, "")
    .replace(/\r\n?/g, "\n");
  if (!text.includes("\u0000")) return text;
  report.note("NUL characters were replaced; is this file in UTF-8?");
  return text.replaceAll("\u0000", "\ufffd");
}

function rawTasks(format: PlanFormat, text: string, asides: Asides, report: Report): RawTask[] {
  if (format === "markdown") return readMarkdown(fencedMarkdown(text, report) ?? text, asides, report);
  return format === "text" ? readText(text, report) : jsonTasks(text, report);
}

function jsonTasks(text: string, report: Report): RawTask[] {
  const parsed = parseJson(text);
  if (parsed.ok) return jsonTasksOf(parsed, report);
  const fenced = fencedPlan(text) ?? proseAround(text);
  if (fenced) {
    for (const line of linesOf(text)) {
      if (!line.isBlank && (line.number < fenced.open || line.number > fenced.close)) report.stray(line);
    }
    return jsonTasksOf(fenced, report);
  }
  report.problem(parsed.at, parsed.message);
  return [];
}

function jsonTasksOf({ node, comments }: { node: JsonNode; comments: Comment[] }, report: Report): RawTask[] {
  for (const comment of comments) report.stray(comment);
  return readJson(node, report) ?? [];
}

const forms =
  'A plan is a Markdown list ("- [ ] title"), blocks of "TASK: title" with DESCRIPTION, PRIORITY, FILES and DEPENDS_ON, or JSON: [{"title": "…", "dependsOn": ["…"]}].';

/** Perhaps there was a block of JSON that cannot be read. */
function nothingFound(text: string, report: Report): void {
  const lines = linesOf(text);
  for (const { open, close, language } of fencesOf(lines)) {
    if (!language.startsWith("json")) continue;
    const inner = lines.slice(open + 1, close).map((line) => line.text);
    const parsed = parseJson(inner.join("\n"), open + 2);
    if (!parsed.ok) {
      report.problem(parsed.at, parsed.message);
      return;
    }
  }
  report.problem(
    { line: 1, column: 1 },
    text.trim() === "" ? "The plan is empty." : "There are no tasks in this plan.",
    forms,
  );
}

/** What the server would refuse, told with the line. */
function checkInput(plan: Plan, report: Report): void {
  const input = toBatch(plan);
  if (input.tasks.length === 0) return;
  const byKey = new Map(plan.tasks.map((task) => [task.key, task.line]));
  const lineOf = (index: number) => byKey.get(input.tasks[index]?.key ?? "") ?? 1;
  const checked = createTasks.input.safeParse(input);
  for (const { path, message } of checked.success ? [] : checked.error.issues) {
    const [, index, ...field] = path;
    const line = typeof index === "number" ? lineOf(index) : 1;
    report.problem({ line, column: 1 }, `${field.join(".") || "This task"} ${plainly(message)}.`);
  }
  for (const [index, { prompt = "", description = "" }] of input.tasks.entries()) {
    if (Math.max(bytesOf(prompt), bytesOf(description)) <= bounds.promptBytesMax) continue;
    const message = `The text has more than ${bounds.promptBytesMax} bytes.`;
    report.problem(
      { line: lineOf(index), column: 1 },
      message,
      "Put long material into a file and name it in `files`.",
    );
  }
}

const bytesOf = (text: string) => new TextEncoder().encode(text).length;
