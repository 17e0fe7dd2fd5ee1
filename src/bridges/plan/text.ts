// Blocks of TASK: / DESCRIPTION: / PRIORITY: / FILES: / DEPENDS_ON: / USES:, as decomposition prompts ask for them and as models
// answer: with numbers, headings, bold names, bullets, fences and remarks around them.

import type { Field } from "./field-names.js";
import {
  addText,
  closed,
  type FieldLine,
  fieldLine,
  isCriteria,
  isPlausible,
  setField,
  skip,
  skipMarks,
  valueAt,
} from "./fields.js";
import { readInline } from "./inline.js";
import { type Fence, fenceByLine, fencesOf, type Line, linesOf } from "./lines.js";
import { newTask, type RawTask } from "./plan.js";
import { closingRemark, describe } from "./remarks.js";
import type { Report } from "./report.js";
import { isAsideName } from "./section-names.js";
import { withoutEmphasis } from "./words.js";

export interface TaskLine {
  label?: string;
  title: string;
  /** Where the title begins in the line, from 0. */
  start: number;
}

const head =
  /^task(?:[\s_-]{0,3}(?:#|no\.?\s?|number\s)?\s{0,2}([A-Za-z]{0,2}\d{1,6}(?:\.\d{1,6}){0,8}[a-z]?))?[*_`~]{0,3}\s{0,3}([:：]|[-–—.)](?=\s))/i;

/** `TASK: x`, `Task 1: x`, `1. **TASK:** x`, `### TASK 2 - x`. */
export function taskLine(line: string): TaskLine | undefined {
  const at = skipMarks(line);
  const found = head.exec(line.slice(at, at + 60));
  if (!found || (found[1] === undefined && !/[:：]/.test(found[2]!))) return undefined;
  const { value, start } = valueAt(line, at + found[0].length);
  const label = found[1] ?? /^\s*(?:#{1,6}\s{1,4})?(\d{1,6})[.)]\s/.exec(line.slice(0, 40))?.[1];
  return { title: withoutEmphasis(closed(value)), start, ...(label !== undefined && { label }) };
}

/** Within a description, `Key: …` or `Name: …` is a line of it; `KEY: …` is not. */
const softNames = new Set<Field>(["title", "description", "prompt", "label", "type", "parent"]);
const mayBeText = ({ field, name }: FieldLine) => softNames.has(field) && name !== name.toUpperCase();

export function readText(text: string, report: Report): RawTask[] {
  const lines = linesOf(text);
  const reader = new TextReader(report, closingRemark(lines));
  const fences = fencesOf(lines).filter((fence) => !holdsTasks(fence, lines));
  const verbatim = fenceByLine(fences);
  const opaque = new Set(fencesOf(lines).flatMap((fence) => [fence.open, fence.close]));
  for (const [index, line] of lines.entries()) {
    if (verbatim.has(index)) reader.verbatim(line);
    else if (!opaque.has(index)) reader.take(line);
  }
  return reader.tasks;
}

function holdsTasks(fence: Fence, lines: Line[]): boolean {
  for (let at = fence.open + 1; at < fence.close; at++) if (taskLine(lines[at]!.text)) return true;
  return false;
}

/** `**Steps**:` begins a part of the description. */
const section = /^\s{0,8}(?:[-*+#]{1,6}\s{1,4})?(?:\*\*|__)[^*_]{2,40}(?:\*\*|__)/;

class TextReader {
  readonly tasks: RawTask[] = [];
  private task: RawTask | undefined;
  private field: FieldLine | undefined;
  /** Its field had no value in its own line: bullets below it are the values. */
  private isOpen = false;
  private isAfterBlank = false;
  /** How many `#` its line begins with. */
  private taskLevel = 0;
  private isAside = false;

  constructor(
    private readonly report: Report,
    private readonly remark: Set<number>,
  ) {}

  verbatim(line: Line): void {
    if (this.task) addText(this.task, line.text);
    else this.report.stray(line);
  }

  take(line: Line): void {
    if (line.isBlank) {
      this.isAfterBlank = true;
      if (this.task?.description && (this.isInText() || !this.field)) addText(this.task, "");
      return;
    }
    this.filled(line);
    this.isAfterBlank = false;
  }

  private filled(line: Line): void {
    const head = taskLine(line.text);
    if (head) {
      this.begin(head, line);
      return;
    }
    if (this.endsTask(line)) this.task = undefined;
    if (!this.task) {
      this.stray(line);
      return;
    }
    const bare = line.text.trim();
    if (bare.length < 200 && /^(?:[-*_=]\s?){3,}$/.test(bare)) {
      this.task = undefined;
      return;
    }
    const field = fieldLine(line.text);
    if (field && isPlausible(field) && !(this.isInText() && mayBeText(field)))
      this.set(this.task, field, line);
    else this.goOn(this.task, line);
  }

  /** A heading that is no part of a task, and the author's last words. */
  private endsTask(line: Line): boolean {
    if (this.remark.has(line.number)) return true;
    const level = levelOf(line.text);
    if (level === 0 || fieldLine(line.text) || isCriteria(line.text)) return false;
    return this.task !== undefined && level <= (this.taskLevel || 6);
  }

  private stray(line: Line): void {
    this.report.stray(line);
    const level = levelOf(line.text);
    if (level > 0) this.isAside = isAsideName(line.text.trim().slice(level));
    if (itemStart.test(line.text.slice(0, 120)) && !this.remark.has(line.number))
      this.report.item(line, { isLost: !this.isAside });
  }

  private begin({ label, title, start }: TaskLine, line: Line): void {
    const at = { line: line.number, column: start + 1 };
    this.task = newTask(at);
    // `TASK:` alone: the title is in the next line.
    if (title !== "") this.task.title = readInline(title, this.task, at, this.report);
    if (label !== undefined) this.task.label = label;
    this.field = undefined;
    this.taskLevel = levelOf(line.text);
    this.report.item(line, { isLost: false });
    this.tasks.push(this.task);
  }

  private set(task: RawTask, field: FieldLine, line: Line): void {
    this.field = field;
    this.isOpen = field.value === "";
    if (field.value !== "")
      setField(task, field, { line: line.number, column: field.start + 1 }, this.report);
  }

  private isInText(): boolean {
    return this.field?.field === "description" || this.field?.field === "prompt";
  }

  /** A line without a name goes on with what came before it. */
  private goOn(task: RawTask, line: Line): void {
    if (task.title === "") {
      task.title = withoutEmphasis(line.text.trim());
      return;
    }
    if (this.field?.field === "prompt") {
      task.prompt = task.prompt ? `${task.prompt}\n${line.text}` : line.text.trim();
      return;
    }
    if (this.isInText()) {
      addText(task, line.text);
      return;
    }
    if (this.field && this.isListing(line)) {
      this.listed(task, this.field, line);
      return;
    }
    // After the fields, a paragraph of its own is what the agent has to know.
    const isApart = this.isAfterBlank && this.field !== undefined;
    if (isApart || isCriteria(line.text) || section.test(line.text.slice(0, 80))) this.field = undefined;
    if (isApart && task.description) addText(task, "");
    describe(task, line);
  }

  private isListing(line: Line): boolean {
    const { field, value } = this.field!;
    if (!["files", "dependsOn", "requires", "uses", "labels"].includes(field)) return false;
    const isBullet = /^\s*[-*+•]\s+(?!\[[ xX]\])/.test(line.text.slice(0, 200));
    if (isBullet) return this.isOpen;
    return !this.isAfterBlank && (value === "" || /,\s*$/.test(value.slice(-20)));
  }

  private listed(task: RawTask, field: FieldLine, line: Line): void {
    const start = skip(line.text, skipBullet(line.text), (character) => character === " ");
    const value = line.text.slice(start).trimEnd();
    setField(task, { ...field, value }, { line: line.number, column: start + 1 }, this.report);
    this.field = { ...field, value };
  }
}

const itemStart = /^\s{0,100}(?:[-*+•]|\d{1,6}[.)])\s{1,8}\S/;
const levelOf = (line: string) => /^\s{0,3}(#{1,6})\s/.exec(line.slice(0, 12))?.[1]?.length ?? 0;

function skipBullet(line: string): number {
  const lead = line.length - line.trimStart().length;
  return /^[-*+•]\s/.test(line.slice(lead, lead + 2)) ? lead + 2 : lead;
}
