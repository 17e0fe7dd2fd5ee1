// What an author writes beside a title in the same line:
// `[p1] Build the API (priority: high) #backend @alice files: api.ts depends on: Schema, Login`.

import {
  add,
  fieldNamed,
  isPlausible,
  looksLikePath,
  readList,
  readPath,
  readPriority,
  setField,
} from "./fields.js";
import type { At, RawTask } from "./plan.js";
import type { Report } from "./report.js";
import { unwrap, withoutEmphasis } from "./words.js";

/** Longer lines are prose; what stands at their end is not looked for, and no pattern has to run over them. */
const lengthMax = 2000;

const clauseNames = [
  "depends[ _]?on",
  "depend(?:s|encies|ency)",
  "deps",
  "after",
  "needs",
  "requires",
  "blocked[ _]by",
  "prerequisites?",
  "waits (?:for|on)",
  "files?",
  "priority",
  "prio",
  "labels?",
  "tags?",
  "assignee",
  "assigned to",
  "owner",
  "agent[ _]?type",
  "phase",
  "max[ _]?retries",
].join("|");

const clause = new RegExp(
  `(?<=^|[\\s,;|.])[*_\`]{0,3}(${clauseNames})[*_\`]{0,3} ?[:：][*_\`]{0,3} ?`,
  "giu",
);
/** Without a colon, in parentheses or after a dash. */
const bareClause = /^(depends on|blocked by|after|needs|requires|waits for) +(?=\S)/i;
const dashed = / [-–—] (?=(?:depends on|blocked by) )/i;
const labelList =
  /^(?:(?:tasks?|steps?|items?) )?#?[a-z]{0,2}\d[\w.]{0,12}(?:(?: ?, ?| and | ?& ?| ?[-–] ?)(?:(?:task|step|item) )?#?[a-z]{0,2}\d[\w.]{0,12}){0,50}$/i;

/** Reads the metadata out of a title into the task, and returns the title without it. */
export function readInline(text: string, task: RawTask, at: At, report: Report): string {
  if (text.length > lengthMax) return text.trim();
  const reader = new Reader(task, at, report);
  let rest = reader.brackets(text);
  rest = reader.clauses(rest);
  rest = reader.tokens(rest);
  return rest.replace(/ {2,}/g, " ").trim() || text.trim();
}

class Reader {
  constructor(
    private readonly task: RawTask,
    private readonly at: At,
    private readonly report: Report,
  ) {}

  /** `(priority: high)`, `[p1]`, `(depends on 1, 2)`, `[TEST]`; other brackets are part of the title. */
  brackets(text: string): string {
    const isInCode = codeIn(text);
    return text.replace(
      /([([])([^()[\]]{1,600})([)\]])/g,
      (all, open: string, inner: string, _close, offset: number) => {
        const isLink = open === "[" && text[offset + all.length] === "(";
        const isCall = open === "(" && /[\w\]]/.test(text[offset - 1] ?? " ");
        if (isLink || isCall || isInCode[offset]) return all;
        const isRead =
          this.inBrackets(inner, offset + 1) || (open === "[" && this.tag(inner, text.slice(0, offset)));
        // Blanks keep the columns of what follows.
        return isRead ? " ".repeat(all.length) : all;
      },
    );
  }

  private inBrackets(inner: string, offset: number): boolean {
    const word = inner.trim().toLowerCase();
    if (/^(?:p[0-5]|critical|urgent|high|medium|low)(?: prio(?:rity)?)?$/.test(word))
      return this.priority(word);
    const bare = bareClause.exec(inner);
    if (bare && (/^(?:dep|blo)/i.test(inner) || labelList.test(inner.slice(bare[0].length).trim()))) {
      return this.set(bare[1]!, inner.slice(bare[0].length), offset + bare[0].length);
    }
    const found = [...inner.matchAll(clause)];
    if (found.length === 0 || inner.slice(0, found[0]!.index).trim() !== "") return false;
    return this.clauses(inner, offset).trim() === "";
  }

  /** `[TEST]` or `[US1]` before the title. */
  private tag(inner: string, before: string): boolean {
    if (!/^[\w.-]{1,24}$/.test(inner) || !/^[\s\dT.)]*(?:\[[\w.-]{1,24}\]\s?)*\s*$/.test(before))
      return false;
    const phase = { impl: "implementation", implementation: "implementation", test: "test", tests: "test" }[
      inner.toLowerCase()
    ];
    if (phase) this.task.details.phase = phase;
    else if (inner !== "P") add(this.task.details, "labels", [inner]);
    return true;
  }

  /** `… files: a.ts depends on: X, Y`: from each name up to the next one. Returns what comes before the first. */
  clauses(text: string, offset = 0): string {
    const dash = dashed.exec(text);
    if (dash) {
      const name = bareClause.exec(text.slice(dash.index + dash[0].length));
      const start = dash.index + dash[0].length + (name?.[0].length ?? 0);
      if (name && this.set(name[1]!, this.tokens(text.slice(start)), offset + start))
        return text.slice(0, dash.index);
    }
    const isInCode = codeIn(text);
    const found = [...text.matchAll(clause)].filter(
      ({ index }) => (index > 0 || offset > 0) && !isInCode[index],
    );
    let rest = text;
    let end = text.length;
    for (const match of found.reverse()) {
      const start = match.index + match[0].length;
      const value = trimEnd(this.tokens(text.slice(start, end)), ",;|.");
      if (!this.set(match[1]!, value, offset + start)) break;
      end = match.index;
      rest = trimEnd(text.slice(0, end), ",;|([–—-");
    }
    return rest;
  }

  private set(name: string, value: string, offset: number): boolean {
    const field = fieldNamed(name);
    if (!field || value.trim() === "") return false;
    const line = { field, name, value: value.trim(), start: offset };
    if (!isPlausible(line) || !this.fits(line)) return false;
    const blanks = value.length - value.trimStart().length;
    setField(this.task, line, { line: this.at.line, column: this.at.column + offset + blanks }, this.report);
    return true;
  }

  /** `the files: read them` and `owner: whoever is free` are prose. */
  private fits({ field, value }: { field: string; value: string }): boolean {
    if (field === "files") return readList(value).map(readPath).every(looksLikePath);
    if (field === "priority") return readPriority(value) !== undefined && /^\S+(?: \(.*\))?$/.test(value);
    if (field === "assignee" || field === "agentType") return /^\S+$/.test(unwrap(value));
    if (field === "phase") return value.split(" ").length <= 3;
    if (field === "labels") return readList(value).every((label) => label.split(" ").length <= 3);
    return true;
  }

  /** `#label @assignee !high` at the end, and `!high` or `P1:` at the beginning. */
  tokens(text: string): string {
    let rest = text.trimEnd();
    for (;;) {
      const found = /(?:^|\s)(#[\p{L}][\p{L}\p{N}_/-]{0,60}|@[\w][\w.-]{0,60}|![a-z0-9]{2,8})[,;]?$/iu.exec(
        rest.slice(-80),
      );
      if (!found || !this.token(found[1]!)) break;
      rest = rest.slice(0, rest.length - found[0].length).trimEnd();
    }
    const first = /^\s*(?:!([a-z0-9]{2,8})(?=\s)|(p[0-5])\s?:)\s*/i.exec(rest);
    if (first && this.priority((first[1] ?? first[2])!))
      rest = " ".repeat(first[0].length) + rest.slice(first[0].length);
    return rest;
  }

  private token(token: string): boolean {
    const word = token.slice(1);
    if (token.startsWith("!")) return this.priority(word);
    if (token.startsWith("#")) this.task.details.labels = [word, ...(this.task.details.labels ?? [])];
    else if (this.task.details.assignee === undefined) this.task.details.assignee = word;
    else return false;
    return true;
  }

  private priority(word: string): boolean {
    const read = readPriority(word);
    if (read === undefined || /^\d+$/.test(word)) return false;
    this.task.details.priority ??= read;
    return true;
  }
}

/** For every character whether it stands between backticks. */
function codeIn(text: string): boolean[] {
  let isOpen = false;
  return Array.from({ length: text.length }, (_, at) => {
    if (text[at] === "`") isOpen = !isOpen;
    return isOpen;
  });
}

function trimEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && (characters.includes(text[end - 1]!) || text[end - 1]!.trim() === "")) end--;
  return text.slice(0, end);
}

/** `**Title**: what it is about` → both parts. A title in bold without more is just the title. */
export function splitBold(text: string): { title: string; description: string } {
  const found = /^(\*\*|__)(.{1,500}?)\1(?:\s*[:：–—]|\s+-)?(?=\s|$)\s*/.exec(text.slice(0, lengthMax));
  if (!found) return { title: withoutEmphasis(text.trim()), description: "" };
  const title = found[2]!.trim().replace(/\s*[:：]$/, "");
  return { title, description: text.slice(found[0].length).trim() };
}

const labelled =
  /^(?:(?:task|step)\s{0,2}[#-]?\s{0,2}([A-Za-z]{0,2}\d{1,6}(?:\.\d{1,6}){0,8})\s{0,2}[:.)–—-]\s{0,4}|(T-?\d{1,6}|#?\d{1,6}(?:\.\d{1,6}){1,8})[:.)]?\s{1,4}|#?(\d{1,6})[.):]\s{1,4})(?=\S)/i;

/** `T001 Create it`, `2.1 Create it`, `Task 3: Create it` → the author's number, and the rest. */
export function splitLabel(text: string): { label?: string; length: number } {
  const found = labelled.exec(text.slice(0, 80));
  const label = found?.[1] ?? found?.[2] ?? found?.[3];
  return label === undefined ? { length: 0 } : { label: label.replace(/^#/, ""), length: found![0].length };
}
