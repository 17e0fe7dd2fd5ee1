// Fields in the lines of a text, and how their values are read.

import { unitMs } from "../../common/duration.js";
import { plain } from "../../common/text.js";
import { priority as priorityField } from "../../contract/fields.js";
import { type Field, fieldNamed } from "./field-names.js";
import type { At, RawTask } from "./plan.js";
import type { Report } from "./report.js";
import { quote, unwrap, withoutEmphasis } from "./words.js";

export interface FieldLine {
  field: Field;
  name: string;
  value: string;
  /** Where the value begins in the line, from 0. */
  start: number;
}

/** Reads `- **Depends on:** A, B`, whatever bullet, numbering, heading marks and emphasis are around it. */
export function fieldLine(line: string): FieldLine | undefined {
  const named = nameAt(line, skipMarks(line));
  const field = named && fieldNamed(named.name);
  if (!field) return undefined;
  const found = { field, name: named.name, ...valueAt(line, named.end) };
  // `Uses: the new client` is prose.
  return field !== "uses" || isPlausible(found) ? found : undefined;
}

const criteria =
  /^(?:acceptance (?:criteria|tests?)|definition of done|success criteria|exit criteria|done when|verification|akzeptanzkriterien|abnahmekriterien|critères d['’]acceptation|criterios de aceptación|критерии при|验收标准|验收条件|驗收標準|受け?入れ?(?:基準|条件)|完了条件)/i;

/** What a task is accepted by: boxes below it are not tasks. */
export function isCriteria(line: string): boolean {
  const at = skipMarks(line);
  return criteria.test(line.slice(at, at + 40));
}

/** `🔗 Depends on: 1`: a sign before a name. */
const sign = /^(?:\p{Extended_Pictographic}\ufe0f?\s{1,4}){1,3}/u;
const isMark = (character: string | undefined) => character !== undefined && "*_`~".includes(character);
const isBlank = (character: string | undefined) => character === " " || character === "\t";

/** Past indentation, one bullet, number or row of hashes, and opening emphasis. */
export function skipMarks(line: string): number {
  let at = skip(line, 0, isBlank);
  const lead = /^(?:#{1,6}|[-*+•‣>]|\d{1,6}[.)])(?=\s)/.exec(line.slice(at, at + 12));
  if (lead) at = skip(line, at + lead[0].length, isBlank);
  at += sign.exec(line.slice(at, at + 24))?.[0].length ?? 0;
  return skip(line, at, isMark);
}

export function skip(line: string, from: number, test: (character: string | undefined) => boolean): number {
  let at = from;
  while (at < line.length && test(line[at])) at++;
  return at;
}

function nameAt(line: string, from: number): { name: string; end: number } | undefined {
  const window = line.slice(from, from + 48);
  const found = /^(\p{L}[\p{L}\p{M} _/&-]{0,30}?)[*_`~]{0,3}\s{0,3}[:：]/u.exec(window);
  return found ? { name: found[1]!, end: from + found[0].length } : undefined;
}

/** The rest of the line after a colon, without the emphasis that the name began or that the whole line has. */
export function valueAt(line: string, from: number): { value: string; start: number } {
  let start = skip(line, from, isBlank);
  for (const mark of ["**", "__", "*", "_", "`"]) {
    if (line.startsWith(mark, start) && isOdd(line.slice(start), mark)) {
      start = skip(line, start + mark.length, isBlank);
      break;
    }
  }
  const value = closed(line.slice(start).trimEnd());
  const isOpened = (mark: string) =>
    value.endsWith(mark) && isOdd(value, mark) && isOdd(line.slice(0, start), mark);
  return { value: ["*", "_"].some(isOpened) ? value.slice(0, -1) : value, start };
}

/** Without the `**` or backtick at the end that was opened before the value. */
export function closed(value: string): string {
  const mark = ["**", "__", "`"].find((each) => value.endsWith(each) && isOdd(value, each));
  return mark ? value.slice(0, -mark.length).trimEnd() : value;
}

const isOdd = (text: string, mark: string) => text.split(mark).length % 2 === 0;

const nothing = new Set([
  "",
  "-",
  "–",
  "—",
  "none",
  "n/a",
  "na",
  "nil",
  "null",
  "nothing",
  "no",
  "[]",
  "no dependencies",
  "keine",
  "nichts",
  "aucune",
  "aucun",
  "ninguna",
  "ninguno",
  "nenhuma",
  "nessuna",
  "нет",
  "无",
  "無",
  "なし",
  "没有",
]);

export function isNothing(value: string): boolean {
  return (
    value.length < 80 &&
    nothing.has(
      unwrap(value)
        .replace(/^\((.{0,40})\)$/, "$1")
        .trim()
        .toLowerCase(),
    )
  );
}

const priorities: Record<string, string> = {
  p0: "critical",
  urgent: "critical",
  highest: "critical",
  blocker: "critical",
  important: "high",
  med: "medium",
  moderate: "medium",
  default: "medium",
  minor: "low",
  lowest: "low",
  trivial: "low",
  kritisch: "critical",
  critique: "critical",
  crítica: "critical",
  紧急: "critical",
  緊急: "critical",
  hoch: "high",
  haute: "high",
  élevée: "high",
  alta: "high",
  高: "high",
  mittel: "medium",
  moyenne: "medium",
  media: "medium",
  média: "medium",
  中: "medium",
  niedrig: "low",
  basse: "low",
  faible: "low",
  baja: "low",
  baixa: "low",
  低: "low",
};

/** 0 to 100 from a number or any word; undefined when it is neither. */
export function readPriority(value: string): number | undefined {
  const word = /[\p{L}\p{N}.]+/u.exec(value.slice(0, 60))?.[0].toLowerCase() ?? "";
  const read = priorityField().safeParse(/^\d{1,3}$/.test(word) ? Number(word) : (priorities[word] ?? word));
  return read.success ? read.data : undefined;
}

/** `a.ts, b.ts`, `[a.ts; b.ts]`, each perhaps in quotes. */
export function readList(value: string): string[] {
  if (isNothing(value)) return [];
  const bare = value.trim().replace(/^\[([^[\]]*)\]$/, "$1");
  return bare.split(/[,;，、；]/).flatMap((part) => (isNothing(part) ? [] : [unwrap(part)]));
}

/** A path and what the author says about it: `src/a.ts (new)`, `` `src/a.ts` - the model ``. */
export function readPath(part: string): string {
  const quoted =
    /^(?:(?:create|modify|update|delete|remove|test|tests|new|add|edit|change)\s?:\s*)?`([^`]{1,4000})`/i.exec(
      part.trim(),
    );
  if (quoted) return quoted[1]!.trim();
  const bare = unwrap(part);
  const remark = /^(\S{1,4000}?):?\s{1,4}(?:[([–—-]|←|#)/.exec(bare);
  return remark && looksLikePath(remark[1]!) ? remark[1]! : bare;
}

export function looksLikePath(text: string): boolean {
  return /^\S+$/.test(text) && /[./*\\]|^[A-Z][A-Za-z]*file$/.test(text) && !/^[.]+$/.test(text);
}

const doneWords = new Set(["done", "completed", "complete", "closed", "finished", "resolved"]);
const skippedWords = new Set(["cancelled", "canceled", "skipped", "obsolete", "won't do", "wontfix"]);
const openWords = new Set(
  "open|pending|todo|to do|to-do|not started|in progress|in-progress|in_progress|started|planned|ready|backlog|new|available|queued|claimed|running|blocked|scheduled".split(
    "|",
  ),
);

/** Ticked off, by a word or a sign. */
export const isDone = (status: string) =>
  /^(?:\[[xX]\]|[✅☑✔])/u.test(status.trim()) || doneWords.has(bareWord(status));
export const isSkipped = (status: string) => skippedWords.has(bareWord(status));
export const isOpen = (status: string) => openWords.has(bareWord(status));

const bareWord = (status: string) => unwrap(status.replace(/^[^\p{L}[]+/u, "")).toLowerCase();

const groups = new Set(["group", "epic", "milestone", "phase", "section"]);
export const isGroupWord = (type: string) => groups.has(unwrap(type).toLowerCase());

/** Whether a line of prose that looks like a field can be one: `Type: the user's name` is not. */
export function isPlausible({ field, name, value }: FieldLine): boolean {
  if (field === "type") return isGroupWord(value) || unwrap(value).toLowerCase() === "task";
  if (field === "status") return value.length < 30;
  if (field === "priority") return value.length < 80;
  if (field === "assignee" || field === "agentType" || field === "phase")
    return value !== "" && value.length < 80;
  if (field === "maxRetries") return retries.test(unwrap(value));
  if (field === "timeout")
    return isNothing(value) || durationMs(unwrap(value)) !== undefined || isMisread(value);
  // `USES: db`, but `Uses: db=1`: `Uses: React` is about the work.
  if (field === "uses") {
    const isSaid = name === name.toUpperCase();
    const parts = readList(value);
    return (
      (isSaid || parts.length > 0) &&
      parts.every((part) => usesPart.test(part) && (isSaid || part.includes("=")))
    );
  }
  return true;
}

/** Short enough for a value that is no duration: a sentence about timeouts is prose. */
const isMisread = (value: string) => value.length < 40 && value.trim().split(/\s+/).length <= 3;

/** Of a timeout that stays in the description. */
export const timeoutNote = (line: number, value: string, where = "description") =>
  `Line ${line}: timeout ${quote(value)} is not a duration such as 30s or 15m; it is part of the ${where}.`;

const usesPart = /^[A-Za-z0-9][\w.-]*(?:\s?=\s?\S{1,20})?$/;

/** Units of resources from `db` and `gpu=2`; undefined where one of the texts is neither. */
export function readUses(parts: readonly string[]): Record<string, number> | undefined {
  if (!parts.every((part) => usesPart.test(part))) return undefined;
  const uses: Record<string, number> = {};
  for (const part of parts) {
    const [id = "", units = "1"] = part.split("=").map((word) => word.trim());
    // What is no number is reported with what else the contract rejects.
    uses[id] = (Object.hasOwn(uses, id) ? uses[id]! : 0) + Number(units);
  }
  return uses;
}

const retries = /^(\d{1,4})(?:\s?(?:x|times|retries))?$/i;
/** `15s`, `5 min`, `2 hours`; undefined when it is no duration. */
export function durationMs(value: string): number | undefined {
  const found = /^(\d{1,6}(?:\.\d{1,3})?)\s?(ms|s|m|h)(?:ec|ecs|econds?|in|ins|inutes?|r|rs|ours?)?$/i.exec(
    value.trim(),
  );
  return found ? Math.round(Number(found[1]) * unitMs[found[2]!.toLowerCase()]!) : undefined;
}

/**
 * Puts a value of a text into its task. Descriptions and lists that continue over lines are their caller's. What is more
 * than the value (a remark, a second value, a state that says nothing) stays in the description.
 */
export function setField(task: RawTask, line: FieldLine, at: At, report: Report): void {
  const { field, name, value } = line;
  const { details } = task;
  const bare = unwrap(value);
  const keep = () => addText(task, `${plain(name)}: ${value}`);
  switch (field) {
    case "title":
      if (!bare) return;
      if (task.title !== "") addText(task, task.title);
      task.title = withoutEmphasis(value.trim());
      return;
    case "description":
      addText(task, value);
      return;
    case "prompt":
      task.prompt = task.prompt ? `${task.prompt}\n${value}` : value;
      return;
    case "priority": {
      const read = readPriority(value);
      if (read !== undefined) details.priority ??= read;
      else if (!isNothing(value))
        report.note(`Line ${at.line}: priority ${quote(value)} is not known; the default is taken.`);
      if (read !== undefined && (details.priority !== read || wordsIn(value) > 1)) keep();
      return;
    }
    case "files": {
      const parts = readList(value);
      const paths = parts.map(readPath);
      add(details, "files", paths);
      if (
        parts.some((part, index) => unwrap(part) !== paths[index] && wordsIn(part) > wordsIn(paths[index]!))
      )
        keep();
      return;
    }
    case "dependsOn":
    case "requires":
      if (isNothing(value)) return;
      if (/^none\b/i.test(bare)) keep();
      else
        task.references.push({
          text: value,
          at,
          isList: true,
          ...(field === "requires" && { orCapability: true }),
        });
      return;
    case "blocks":
      keep();
      if (isNothing(value)) return;
      task.blocks ??= [];
      task.blocks.push({ text: value, at, isList: true });
      return;
    case "labels":
      add(
        details,
        "labels",
        readList(value).map((label) => label.replace(/^#/, "")),
      );
      return;
    case "uses": {
      const uses = readUses(readList(value));
      if (uses) details.uses = { ...details.uses, ...uses };
      else keep();
      return;
    }
    case "assignee":
    case "agentType":
    case "phase":
      if (isNothing(value)) return;
      if (details[field] === undefined) details[field] = plain(bare.replace(/^@/, ""));
      else keep();
      return;
    case "maxRetries":
      if (details.maxRetries === undefined) details.maxRetries = Number(retries.exec(bare)![1]);
      else keep();
      return;
    case "timeout": {
      const read = durationMs(bare);
      if (isNothing(value)) return;
      if (read === undefined) report.note(timeoutNote(at.line, value));
      if (read !== undefined && details.timeoutMs === undefined) details.timeoutMs = read;
      else keep();
      return;
    }
    case "status":
      if (isDone(value)) task.done = true;
      else if (isSkipped(value)) skipTask(task);
      else if (!isOpen(value) && !isNothing(value)) keep();
      return;
    case "type":
      if (isGroupWord(value)) task.type = "group";
      return;
    case "label":
      if (bare) task.label = bare;
      return;
    case "parent":
      if (!isNothing(value)) task.parentReference = { text: value, at, isList: false };
      return;
  }
}

const wordsIn = (text: string) => text.match(/[\p{L}\p{N}]+/gu)?.length ?? 0;

/** Cancelled: it counts as done, and is not created. */
export function skipTask(task: RawTask): void {
  task.done = true;
  task.isSkipped = true;
}

export function add(
  details: RawTask["details"],
  name: "files" | "labels" | "requires",
  values: string[],
): void {
  for (const value of values) {
    if (!value) continue;
    details[name] ??= [];
    details[name].push(value);
  }
}

export function addText(task: RawTask, text: string): void {
  task.description = task.description ? `${task.description}\n${text}` : text;
}
