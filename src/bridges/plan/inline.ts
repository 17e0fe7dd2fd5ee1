// What an author writes beside a title in the same line:
// `[p1] Build the API (priority: high) #backend @alice files: api.ts depends on: Schema, Login`.

import { type Field, fieldNamed, namesOf } from "./field-names.js";
import {
  add,
  addText,
  durationMs,
  isNothing,
  isPlausible,
  looksLikePath,
  readList,
  readPath,
  readPriority,
  setField,
  timeoutNote,
} from "./fields.js";
import { type At, newTask, type RawTask } from "./plan.js";
import { Report } from "./report.js";
import { waitsIn } from "./waits.js";
import { unwrap, withoutEmphasis } from "./words.js";

/** Longer lines are prose; what stands at their end is not looked for, and no pattern has to run over them. */
const lengthMax = 2000;

const clauseFields: Field[] = [
  "dependsOn",
  "requires",
  "files",
  "priority",
  "labels",
  "assignee",
  "agentType",
  "phase",
];
const clauseNames = [...clauseFields, "maxRetries" as const, "timeout" as const]
  .flatMap(namesOf)
  // `the user agent: …` is a title.
  .filter((name) => name !== "agent" && name !== "stage")
  .map((name) => name.replaceAll(" ", "[ _]"))
  .join("|");

const clause = new RegExp(
  `(?<=^|[\\s,;|.])[*_\`]{0,3}(${clauseNames})[*_\`]{0,3} ?[:：][*_\`]{0,3} ?`,
  "giu",
);
/** What can stand between a title and what it waits for. */
const joint = /\s(?:[-–—→⟶➜⇒⟵←]|[-=]>)\s+|\s?[,;]\s+/g;
const jointsMax = 12;
const arrow = /\s(?:←|⟵|⬅\ufe0f?|<-{1,2})\s?(\S.*)$/u;
/** `Build it after step 1`: nothing between them, so only numbers and quoted titles count. */
const unjoined =
  /\s((?:only )?after|depends? on|blocked by|needs|nach|après|después de)\s+((?:tasks? |steps? |items? |#|[A-Z]{1,10}-?\d)\S*.*|\d[\d,.&\s-]*|["“«].+["”»])$/iu;
const emphasised = /(^|\s)([*_]{1,3})([^*_]{3,300})\2(?=\s|$|[.,;])/gu;

/** Reads the metadata out of a title into the task, and returns the title without it. */
export function readInline(text: string, task: RawTask, at: At, report: Report): string {
  if (text.length > lengthMax) return text.trim();
  const reader = new Reader(task, at, report);
  const before = task.references.length;
  let rest = reader.brackets(text);
  rest = reader.marked(rest);
  rest = reader.joined(rest);
  rest = reader.clauses(rest);
  rest = reader.tokens(rest);
  const title = rest.replace(/ {2,}/g, " ").trim();
  if (title !== "") return title;
  // All of it is the title then: nothing is put back.
  for (const { guess } of task.references.slice(before)) if (guess) delete guess.phrase;
  return text.trim();
}

class Reader {
  constructor(
    private readonly task: RawTask,
    private readonly at: At,
    private readonly report: Report,
  ) {}

  /** `(priority: high)`, `[p1]`, `_(depends on 1, 2)_`, `[TEST]`; other brackets are part of the title. */
  brackets(text: string): string {
    const isInCode = codeIn(text);
    let isMarked = false;
    const rest = text.replace(
      /([([（【])([^()[\]（）【】]{1,600})([)\]）】])/gu,
      (all, open: string, inner: string, _close, offset: number) => {
        const isLink = open === "[" && text[offset + all.length] === "(";
        const marks = /(?:^|\s)[*_~]{1,3}$/.test(text.slice(Math.max(0, offset - 4), offset));
        const isCall = open === "(" && !marks && /[\w\]]/.test(text[offset - 1] ?? " ");
        if (isLink || isCall || isInCode[offset]) return all;
        const isRead =
          this.inBrackets(inner, offset + 1, all) || (open === "[" && this.tag(inner, text.slice(0, offset)));
        if (isRead && marks) isMarked = true;
        // Blanks keep the columns of what follows.
        return isRead ? " ".repeat(all.length) : all;
      },
    );
    return isMarked ? rest.replace(/(^|\s)([*_~]{1,3}\s+[*_~]{1,3})(?=\s|$)/g, blanks) : rest;
  }

  /** `(high, depends on 1, 2; 2h)`: facts, each up to the next one; what else is said becomes text. */
  private inBrackets(inner: string, offset: number, phrase: string): boolean {
    if (this.fact(inner, offset, phrase)) return true;
    const parts = [...inner.matchAll(/(?<=^|[,;])[^,;]+/g)].slice(0, 12);
    const isFact = ({ 0: part, index }: RegExpExecArray) =>
      new Reader(newTask(this.at), this.at, new Report()).fact(part, index, part);
    const starts = parts.length < 2 ? [] : parts.filter(isFact).map(({ index }) => index);
    if (starts.length === 0) return false;
    const said = [inner.slice(0, starts[0])];
    for (const [at, start] of starts.entries()) {
      const text = inner.slice(start, starts[at + 1]);
      const more = moreThanNumbers.exec(text)?.index ?? text.length;
      const whole = trimEnd(text.slice(0, more), ",;");
      if (this.fact(whole, offset + start, `(${whole.trim()})`)) said.push(text.slice(more));
      else said.push(text);
    }
    const rest = said.map((each) => each.replace(/^[\s,;]+|[\s,;]+$/g, "")).filter(Boolean);
    if (rest.length > 0) addText(this.task, rest.join(", "));
    return true;
  }

  /** All of it is a priority, a field or what the task waits for. */
  private fact(text: string, offset: number, phrase: string): boolean {
    const word = text.trim().toLowerCase();
    const said = /^(?:prio(?:rity)? )?(p[0-5]|critical|urgent|high|medium|low)(?: prio(?:rity)?)?$/.exec(
      word,
    );
    if (said) return this.priority(said[1]!);
    return this.phrase(text, offset, { phrase }) || this.onlyClauses(text, offset);
  }

  private onlyClauses(inner: string, offset: number): boolean {
    const [found] = inner.matchAll(clause);
    if (!found || inner.slice(0, found.index).trim() !== "") return false;
    return this.clauses(inner, offset).trim() === "";
  }

  /** `` `depends on: 1` `` and `_after 1_`: all of the code or the emphasis says what the task waits for. */
  marked(text: string): string {
    const inCode = text.replace(/`[([]?([^`()[\]]{2,300})[)\]]?`/g, (all, inner: string, offset: number) =>
      this.onlyClauses(inner, offset + 1) || this.inBrackets(inner, offset + 1, all)
        ? " ".repeat(all.length)
        : all,
    );
    return inCode.replace(emphasised, (all, lead: string, mark: string, inner: string, offset: number) => {
      const start = offset + lead.length + mark.length;
      const isRead = this.onlyClauses(inner, start) || this.phrase(inner, start, { phrase: all.trim() });
      return isRead ? " ".repeat(all.length) : all;
    });
  }

  /** `depends on 1` without a colon. */
  private phrase(
    text: string,
    offset: number,
    { phrase, isGuess = false, isSilent = false }: { phrase: string; isGuess?: boolean; isSilent?: boolean },
  ): boolean {
    const lead = text.length - text.trimStart().length;
    const waits = waitsIn(text.slice(lead));
    if (!waits) return false;
    const column = this.at.column + offset + lead + waits.start;
    this.task.references.push({
      text: trimEnd(this.tokens(waits.value), ",;|"),
      at: { line: this.at.line, column },
      isList: true,
      guess: waits.rest
        ? { isSilent: true }
        : { phrase, isSilent, ...(waits.isFirm && !isGuess && { isFirm: true }) },
    });
    // With more to say, all of it stays in the title.
    return waits.rest === "";
  }

  /** `— after step 1`, `→ needs #1`, `, depends on 2`, `← 1`. Returns what comes before it. */
  joined(text: string): string {
    const isInCode = codeIn(text);
    for (const { 0: mark, index } of [...text.matchAll(joint)].slice(-jointsMax)) {
      if (isInCode[index] || isBracketed(text, index)) continue;
      const start = index + mark.length;
      const isComma = /[,;]/.test(mark);
      // `— high priority`
      if (/^\s*\w+ prio(?:rity)?$/i.test(text.slice(start)) && this.fact(text.slice(start), start, ""))
        return this.joined(text.slice(0, index));
      const phrase = text.slice(index).trim();
      if (this.phrase(text.slice(start), start, { phrase, isGuess: isComma, isSilent: isComma }))
        return text.slice(0, index);
    }
    const found = arrow.exec(text) ?? unjoined.exec(text);
    if (!found || isInCode[found.index]) return text;
    const value = found[2] ?? found[1]!;
    const start = text.length - value.length;
    this.task.references.push({
      text: this.tokens(value),
      at: { line: this.at.line, column: this.at.column + start },
      isList: true,
      guess: { phrase: found[0].trim(), isSilent: found[2] !== undefined },
    });
    return text.slice(0, found.index);
  }

  /** `[TEST]` or `[US1]` before the title. */
  private tag(inner: string, before: string): boolean {
    if (!/^[\w.-]{1,24}$/.test(inner) || !/^[\s\dT.)]*(?:\[[\w.-]{1,24}\]\s?)*\s*$/.test(before))
      return false;
    if (
      /^(?:T-?|TASK-?)\d{1,6}$|^[A-Z]{2,10}-\d{1,6}$|^\d{1,6}(?:\.\d{1,6}){0,8}$/.test(inner) &&
      this.task.label === undefined
    ) {
      this.task.label = inner;
      return true;
    }
    // `[DELETE] legacy.css`: what to do with it is no label.
    if (/^(?:MODIFY|DELETE|NEW|CREATE|UPDATE|ADD|REMOVE|RENAME|FIX)$/.test(inner)) return false;
    const phase = { impl: "implementation", implementation: "implementation", test: "test", tests: "test" }[
      inner.toLowerCase()
    ];
    if (phase) this.task.details.phase = phase;
    else if (inner !== "P") add(this.task.details, "labels", [inner]);
    return true;
  }

  /** `… files: a.ts depends on: X, Y`: from each name up to the next one. Returns what comes before the first. */
  clauses(text: string, offset = 0): string {
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
    // What cannot be read stays in the title.
    if (field === "timeout" && durationMs(unwrap(value)) === undefined) {
      if (!isNothing(value)) this.report.note(timeoutNote(this.at.line, value.trim(), "title"));
      return false;
    }
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

/** In `depends on 1, 2, 2h` where something else begins. */
const moreThanNumbers =
  /[,;]\s*(?!(?:and )?(?:tasks? |steps? )?#?[A-Z]{0,10}-?\d[\d.–-]*[a-c]?\s*(?:[,;]|$))/i;

const blanks = (text: string) => " ".repeat(text.length);

/** For every character whether it stands between backticks. */
function codeIn(text: string): boolean[] {
  let isOpen = false;
  return Array.from({ length: text.length }, (_, at) => {
    if (text[at] === "`") isOpen = !isOpen;
    return isOpen;
  });
}

/** Whether a bracket is open there that closes later. */
function isBracketed(text: string, at: number): boolean {
  let depth = 0;
  for (const character of text.slice(0, at)) {
    if ("([（【".includes(character)) depth++;
    else if (")]）】".includes(character)) depth = Math.max(0, depth - 1);
  }
  return depth > 0 && /[)\]）】]/.test(text.slice(at));
}

function trimEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && (characters.includes(text[end - 1]!) || text[end - 1]!.trim() === "")) end--;
  return text.slice(0, end);
}

/** `**Title**: what it is about` → both parts. A title in bold without more is just the title. */
export function splitBold(text: string): { title: string; description: string } {
  const found = /^(\*\*|__)(.{1,500}?)\1(?:[：，]|(?:\s*[:–—]|\s+-)?(?=\s|$))\s*/.exec(
    text.slice(0, lengthMax),
  );
  if (!found) return { title: withoutEmphasis(text.trim()), description: "" };
  const title = found[2]!.trim().replace(/\s*[:：]$/, "");
  return { title, description: text.slice(found[0].length).trim() };
}
