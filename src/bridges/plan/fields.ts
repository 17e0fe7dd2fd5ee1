// The names that authors give to our fields, in any format, and how their values are read.

import { priority as priorityField } from "../../contract/fields.js";
import type { At, RawTask } from "./plan.js";
import type { Report } from "./report.js";
import { plain, quote, unwrap, withoutEmphasis } from "./words.js";

export type Field =
  | "title"
  | "description"
  | "prompt"
  | "priority"
  | "files"
  | "dependsOn"
  | "requires"
  | "labels"
  | "assignee"
  | "agentType"
  | "phase"
  | "maxRetries"
  | "status"
  | "type"
  | "label"
  | "parent";

const names: Record<Field, string[]> = {
  title: ["title", "name", "task title", "task name"],
  description: ["description", "desc", "details", "summary", "goal", "objective", "what"],
  prompt: ["prompt", "instructions"],
  priority: ["priority", "prio"],
  files: [
    "files",
    "file",
    "paths",
    "files to modify",
    "files to create",
    "files to change",
    "files to touch",
  ].concat([
    "files to create modify",
    "files to modify create",
    "files modified",
    "files affected",
    "affected files",
    "file paths",
    "expected files",
    "target files",
  ]),
  dependsOn: [
    "depends on",
    "dependson",
    "depends",
    "dependencies",
    "dependency",
    "deps",
    "after",
    "needs",
  ].concat(["blocked by", "blockedby", "prerequisite", "prerequisites", "waits for", "waits on"]),
  requires: ["requires", "required capabilities", "capabilities"],
  labels: ["labels", "label", "tags", "tag"],
  assignee: ["assignee", "assigned to", "assignedto", "owner"],
  agentType: ["agent type", "agenttype", "agent"],
  phase: ["phase", "stage"],
  maxRetries: ["max retries", "maxretries", "retries"],
  status: ["status", "state"],
  type: ["type", "kind"],
  label: ["id", "task id", "taskid", "key"],
  parent: ["parent", "parent id", "parentid", "parent key", "parent task"],
};

const byName = new Map(
  Object.entries(names).flatMap(([field, all]) => all.map((name) => [name, field as Field])),
);

/** Which field an author means by a name such as `DEPENDS_ON`, `dependsOn` or `Depends on`. */
export function fieldNamed(name: string): Field | undefined {
  const bare = name.toLowerCase().replace(/[\s_/&-]+/g, " ");
  return byName.get(bare.trim());
}

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
  return { field, name: named.name, ...valueAt(line, named.end) };
}

const criteria = /^(?:acceptance criteria|definition of done|success criteria|done when|verification)/i;

/** What a task is accepted by: boxes below it are not tasks. */
export function isCriteria(line: string): boolean {
  const at = skipMarks(line);
  return criteria.test(line.slice(at, at + 40));
}

const isMark = (character: string | undefined) => character !== undefined && "*_`~".includes(character);
const isBlank = (character: string | undefined) => character === " " || character === "\t";

/** Past indentation, one bullet, number or row of hashes, and opening emphasis. */
export function skipMarks(line: string): number {
  let at = skip(line, 0, isBlank);
  const lead = /^(?:#{1,6}|[-*+•‣>]|\d{1,6}[.)])(?=\s)/.exec(line.slice(at, at + 12));
  if (lead) at = skip(line, at + lead[0].length, isBlank);
  return skip(line, at, isMark);
}

export function skip(line: string, from: number, test: (character: string | undefined) => boolean): number {
  let at = from;
  while (at < line.length && test(line[at])) at++;
  return at;
}

function nameAt(line: string, from: number): { name: string; end: number } | undefined {
  const window = line.slice(from, from + 48);
  const found = /^([A-Za-z][A-Za-z _/&-]{1,30}?)[*_`~]{0,3}\s{0,3}[:：]/.exec(window);
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
  return { value: closed(line.slice(start).trimEnd()), start };
}

/** Without `**` at the end that was opened before the value. */
export function closed(value: string): string {
  const mark = ["**", "__"].find((each) => value.endsWith(each) && isOdd(value, each));
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
  return bare.split(/[,;]/).flatMap((part) => (isNothing(part) ? [] : [unwrap(part)]));
}

/** A path and what the author says about it: `src/a.ts (new)`, `` `src/a.ts` - the model ``. */
export function readPath(part: string): string {
  const quoted = /^`([^`]{1,4000})`/.exec(part.trim());
  if (quoted) return quoted[1]!.trim();
  const bare = unwrap(part);
  const remark = /^(\S{1,4000}?):?\s{1,4}(?:[([–—-]|←|#)/.exec(bare);
  return remark && looksLikePath(remark[1]!) ? remark[1]! : bare;
}

export function looksLikePath(text: string): boolean {
  return /^\S+$/.test(text) && /[./*\\]|^[A-Z][A-Za-z]*file$/.test(text) && !/^[.]+$/.test(text);
}

const doneWords = new Set([
  "done",
  "completed",
  "complete",
  "closed",
  "finished",
  "cancelled",
  "canceled",
  "resolved",
]);
export const isDone = (status: string) => doneWords.has(unwrap(status).toLowerCase());

const groups = new Set(["group", "epic", "milestone", "phase", "section"]);
export const isGroupWord = (type: string) => groups.has(unwrap(type).toLowerCase());

/** Whether a line of prose that looks like a field can be one: `Type: the user's name` is not. */
export function isPlausible({ field, value }: FieldLine): boolean {
  if (field === "type") return isGroupWord(value) || unwrap(value).toLowerCase() === "task";
  if (field === "status") return value.length < 30;
  if (field === "priority") return value.length < 80;
  if (field === "assignee" || field === "agentType" || field === "phase")
    return value !== "" && value.length < 80;
  if (field === "maxRetries") return /^\d{1,4}$/.test(value.trim());
  return true;
}

/** Puts a value of a text into its task. Descriptions and lists that go on over lines are their caller's. */
export function setField(task: RawTask, { field, value }: FieldLine, at: At, report: Report): void {
  const { details } = task;
  const bare = unwrap(value);
  switch (field) {
    case "title":
      if (bare) task.title = withoutEmphasis(value.trim());
      return;
    case "description":
      addText(task, value);
      return;
    case "prompt":
      task.prompt = value;
      return;
    case "priority": {
      const read = readPriority(value);
      if (read !== undefined) details.priority = read;
      else if (!isNothing(value))
        report.note(`Line ${at.line}: priority ${quote(value)} is not known; the default is taken.`);
      return;
    }
    case "files":
      add(details, "files", readList(value).map(readPath));
      return;
    case "dependsOn":
    case "requires":
      if (!isNothing(value)) {
        task.references.push({
          text: value,
          at,
          isList: true,
          ...(field === "requires" && { orCapability: true }),
        });
      }
      return;
    case "labels":
      add(
        details,
        "labels",
        readList(value).map((label) => label.replace(/^#/, "")),
      );
      return;
    case "assignee":
    case "agentType":
    case "phase":
      if (!isNothing(value)) details[field] = plain(bare.replace(/^@/, ""));
      return;
    case "maxRetries":
      details.maxRetries = Number(bare);
      return;
    case "status":
      if (isDone(value)) task.done = true;
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
