// Markdown lists: a box makes a task, indentation makes a child, a heading above tasks makes a group. Where the document
// has no box at all, every list item is a task; so is an item without a box among those that have one. What stands below an
// item with a box describes it; the rest is prose.

import {
  addText,
  type Field,
  type FieldLine,
  fieldLine,
  isCriteria,
  isPlausible,
  setField,
} from "./fields.js";
import { readInline, splitBold, splitLabel } from "./inline.js";
import { type Item, type ItemPiece, isUnder, type Piece, piecesOf } from "./outline.js";
import { newTask, type RawTask } from "./plan.js";
import type { Report } from "./report.js";
import { plain, quote } from "./words.js";

export function readMarkdown(text: string, report: Report): RawTask[] {
  const pieces = piecesOf(text);
  const reader = new MarkdownReader(
    pieces.some((piece) => piece.kind === "item" && piece.item.box),
    report,
  );
  for (const piece of pieces) reader.take(piece);
  return reader.finish();
}

/** What deeper lines belong to: a task, or a part of one such as its acceptance criteria. */
interface Level {
  indent: number;
  task?: RawTask;
  /** Set for an empty `- Files:`, whose values are the items below it. */
  field?: FieldLine;
  /** Everything below is text of the task. */
  isText?: boolean;
  /** `- Subtasks:`, below which are parts of the task. */
  isParts?: boolean;
}

interface Heading {
  level: number;
  text: string;
  task: RawTask;
  hasFields: boolean;
  hasTasks: boolean;
  isAside: boolean;
  proseLines: number[];
}

const aside =
  /^(?:acceptance criteria|definition of done|success criteria|verification|notes?|risks?|open questions|references|overview|assumptions|out of scope|non-goals|goals|background|summary|context|requirements|next steps|legend|key)\b/i;
const criteria =
  /^(?:acceptance criteria|definition of done|success criteria|done when|verification|notes?|details|steps to reproduce)\s*:?$/i;
const through = /^(?:sub-?tasks|tasks|steps|to-?dos?|checklist)\s*:?$/i;
const titleWords =
  /\b(?:plan|tasks?|to-?dos?|checklist|roadmap|breakdown|decomposition|implementation|steps|work items)\b/i;

/** With one of these below it, a heading is more than a heading. */
const makesTask = new Set<Field>(["dependsOn", "requires", "files", "priority", "description", "prompt"]);
const listing = new Set<Field>(["files", "dependsOn", "requires", "labels", "description"]);

class MarkdownReader {
  private readonly tasks: { task: RawTask; isAside: boolean }[] = [];
  private readonly headings: Heading[] = [];
  private open: Heading[] = [];
  private levels: Level[] = [];
  private byNumber = new Map<string, RawTask>();
  private readonly numbered: RawTask[] = [];
  private isAfterBlank = false;
  private fenceOwner: RawTask | undefined;

  constructor(
    private readonly hasBoxes: boolean,
    private readonly report: Report,
  ) {}

  take(piece: Piece): void {
    switch (piece.kind) {
      case "blank":
        this.isAfterBlank = true;
        this.blank();
        return;
      case "fenced":
        this.fenced(piece);
        break;
      case "heading":
        this.heading(piece);
        break;
      case "rule":
        this.levels = [];
        break;
      case "item":
        this.item(piece);
        break;
      case "text":
        this.text(piece);
        break;
    }
    this.isAfterBlank = false;
  }

  private blank(): void {
    const task = this.levels.at(-1)?.task;
    if (task?.description) addText(task, "");
  }

  private fenced({ line, fence }: Extract<Piece, { kind: "fenced" }>): void {
    if (line.number === fence.open + 1) this.fenceOwner = this.ownerOf(line.indent);
    if (this.fenceOwner) addText(this.fenceOwner, line.text);
    else this.report.stray(line.number);
  }

  /** Text belongs to the item that it is indented under, or that it follows without a blank line. */
  private ownerOf(indent: number): RawTask | undefined {
    if (!this.isAfterBlank) return this.levels.at(-1)?.task;
    while (this.levels.length > 0 && indent <= this.levels.at(-1)!.indent) this.levels.pop();
    return this.levels.at(-1)?.task;
  }

  private heading({ line, level, text, start }: Extract<Piece, { kind: "heading" }>): void {
    this.levels = [];
    this.byNumber = new Map();
    while (this.open.length > 0 && this.open.at(-1)!.level >= level) this.open.pop();
    const task = newTask({ line: line.number, column: start + 1 });
    const { label, length } = splitLabel(text);
    if (label !== undefined) task.label = label;
    const inline = readInline(
      text.slice(length),
      task,
      { line: line.number, column: start + length + 1 },
      this.report,
    );
    task.title = splitBold(inline.replace(/:$/, "")).title;
    const parent = this.open.at(-1);
    if (parent) task.parent = parent.task;
    const heading: Heading = {
      level,
      text,
      task,
      hasFields: task.references.length > 0,
      hasTasks: false,
      isAside: parent?.isAside || aside.test(task.title),
      proseLines: [],
    };
    this.headings.push(heading);
    this.open.push(heading);
    this.tasks.push({ task, isAside: heading.isAside });
  }

  private text({ line }: { line: Piece["line"] }): void {
    const owner = this.ownerOf(line.indent);
    const level = this.levels.at(-1);
    if (isCriteria(line.text) && this.criteria(owner, line)) return;
    const field = fieldLine(line.text);
    if (field && isPlausible(field) && (owner ? !level?.isText : this.isInHeading())) {
      if (owner) this.field(owner, field, line, line.indent);
      else this.headingField(field, line);
      return;
    }
    if (owner) {
      addText(owner, line.text);
      return;
    }
    this.prose(line);
  }

  /** What follows at this indentation is text of the task, boxes too. */
  private criteria(owner: RawTask | undefined, line: Piece["line"]): boolean {
    const heading = this.open.at(-1);
    const task = owner ?? (heading?.hasFields ? heading.task : undefined);
    if (!task) return false;
    addText(task, line.text);
    this.levels.push({ indent: line.indent - 2, task, isText: true });
    return true;
  }

  private isInHeading(): boolean {
    const heading = this.open.at(-1);
    return heading !== undefined && !heading.isAside;
  }

  private headingField(field: FieldLine, line: Piece["line"]): void {
    const heading = this.open.at(-1)!;
    if (makesTask.has(field.field)) heading.hasFields = true;
    this.field(heading.task, field, line, line.indent);
  }

  private prose(line: Piece["line"]): void {
    const heading = this.open.at(-1);
    if (!heading || heading.hasTasks) {
      this.report.stray(line.number);
      return;
    }
    heading.proseLines.push(line.number);
    addText(heading.task, line.text.trimEnd());
  }

  private field(task: RawTask, field: FieldLine, line: Piece["line"], indent: number): void {
    if (field.field === "label" || field.field === "title") {
      // A title within an item is text: the item has one.
      if (field.field === "label")
        setField(task, field, { line: line.number, column: field.start + 1 }, this.report);
      else addText(task, line.text);
      return;
    }
    if (field.value !== "")
      setField(task, field, { line: line.number, column: field.start + 1 }, this.report);
    if (listing.has(field.field)) this.levels.push({ indent, task, field });
  }

  private item(piece: ItemPiece): void {
    const { line, item } = piece;
    while (this.levels.length > 0 && !isUnder(item.indent, this.levels.at(-1)!.indent)) this.levels.pop();
    const above = this.levels.at(-1);
    if (above?.field && !item.box) this.fieldValue(above, item, line);
    else if (above?.isText) this.asText(above.task, item, line);
    else if (item.box) this.taskItem(piece, above?.task);
    else if (!this.fieldItem(above, line, item)) this.plainItem(piece, above);
  }

  private plainItem(piece: ItemPiece, above: Level | undefined): void {
    const { line, item, hasBoxBelow } = piece;
    const isAmongTasks = !this.hasBoxes || hasBoxBelow || this.isBesideBoxes(piece, above);
    const bare = plain(item.text.slice(0, 100)).replace(/[*_]/g, "");
    const isCriteria = criteria.test(bare) && (above?.task !== undefined || this.hasBoxes);
    if (!isAmongTasks || isCriteria) this.asText(above?.task, item, line);
    else if (through.test(bare)) {
      this.levels.push({ indent: item.indent, isParts: true, ...(above?.task && { task: above.task }) });
    } else this.taskItem(piece, above?.task);
  }

  /** Below an item with a box it is text of that, whatever stands beside it. */
  private isBesideBoxes({ list }: ItemPiece, above: Level | undefined): boolean {
    const describes = above?.task?.type === "task" && !above.isParts;
    return list.hasBoxes && !describes;
  }

  private fieldItem(above: Level | undefined, line: Piece["line"], item: Item): boolean {
    const field = fieldLine(line.text);
    if (!field || !isPlausible(field)) return false;
    if (above?.task) this.field(above.task, field, line, item.indent);
    else if (this.isInHeading()) this.headingField(field, line);
    else return false;
    return true;
  }

  private fieldValue({ field, task, indent }: Level, item: Item, line: Piece["line"]): void {
    if (field!.field === "description")
      addText(task!, line.text.slice(Math.min(indent, line.indent)).trimEnd());
    else
      setField(
        task!,
        { ...field!, value: item.text },
        { line: line.number, column: item.start + 1 },
        this.report,
      );
  }

  private asText(task: RawTask | undefined, item: Item, line: Piece["line"]): void {
    if (task) addText(task, line.text);
    else this.prose(line);
    this.levels.push({ indent: item.indent, isText: true, ...(task && { task }) });
  }

  private taskItem({ item, line, hasBoxBelow }: ItemPiece, above: RawTask | undefined): void {
    const bold = /^(?:\*\*|__)/.exec(item.text)?.[0] ?? "";
    const { label = item.number, length } = splitLabel(item.text.slice(bold.length));
    const at = { line: line.number, column: item.start + length + 1 };
    const task = newTask({ line: line.number, column: item.start + 1 });
    const inline = readInline(bold + item.text.slice(bold.length + length), task, at, this.report);
    const { title, description } = splitBold(inline);
    if (title === "") {
      this.report.note(`Line ${line.number}: an item without a title was left out.`);
      return;
    }
    task.title = title.length > 1 ? title.replace(/:$/, "") : title;
    if (description) addText(task, description);
    if (label !== undefined) task.label = label;
    if (label !== undefined && label === item.number) this.numbered.push(task);
    if (item.box === "done" || /^~~.*~~$/.test(inline)) task.done = true;
    if (!item.box && this.hasBoxes) this.withoutBox(task, { isGroup: hasBoxBelow });
    const parent = above ?? this.numberedAbove(label) ?? this.open.at(-1)?.task;
    if (parent) task.parent = parent;
    if (label !== undefined) this.byNumber.set(label, task);
    const heading = this.open.at(-1);
    for (const each of this.open) each.hasTasks = true;
    this.tasks.push({ task, isAside: heading?.isAside ?? false });
    this.levels.push({ indent: item.indent, task });
  }

  private withoutBox(task: RawTask, { isGroup }: { isGroup: boolean }): void {
    if (isGroup) task.type = "group";
    else
      this.report.note(
        `Line ${task.at.line}: ${quote(task.title)} has no box, but stands among tasks; it was taken for one.`,
      );
  }

  /** `2.1` after `2.` is its child without any indentation. */
  private numberedAbove(label: string | undefined): RawTask | undefined {
    const dot = label?.lastIndexOf(".") ?? -1;
    return dot > 0 ? this.byNumber.get(label!.slice(0, dot)) : undefined;
  }

  /** `1. 1. 1.` is shown as 1, 2, 3, and meant so. */
  private countLazyNumbers(): void {
    const lists = new Map<RawTask | undefined, RawTask[]>();
    for (const task of this.numbered) {
      const list = lists.get(task.parent);
      if (list) list.push(task);
      else lists.set(task.parent, [task]);
    }
    for (const list of lists.values()) {
      if (list.length < 2 || list.some(({ label }) => label !== list[0]!.label)) continue;
      for (const [index, task] of list.entries()) task.label = `${index + 1}`;
    }
  }

  finish(): RawTask[] {
    this.countLazyNumbers();
    const asTask = new Map(this.headings.map((heading) => [heading.task, heading]));
    const hasOthers = this.tasks.some(
      ({ task, isAside }) => !isAside && (!asTask.has(task) || asTask.get(task)!.hasFields),
    );
    const kept = this.tasks.filter(({ task, isAside }) => {
      if (isAside && hasOthers) {
        if (!asTask.has(task)) this.report.stray(task.at.line);
        return false;
      }
      const heading = asTask.get(task);
      return !heading || heading.hasTasks || heading.hasFields;
    });
    const tasks = kept.map(({ task }) => task);
    const isKept = new Set(tasks);
    for (const heading of this.headings) this.settle(heading, isKept);
    return this.withoutTitle(tasks, asTask);
  }

  private settle(heading: Heading, kept: Set<RawTask>): void {
    if (heading.hasTasks) heading.task.type = "group";
    if (kept.has(heading.task) || kept.size === 0) return;
    for (const line of [heading.task.at.line, ...heading.proseLines]) this.report.stray(line);
  }

  /** A heading above everything groups nothing: it is what the document is called. */
  private withoutTitle(tasks: RawTask[], headings: Map<RawTask, Heading>): RawTask[] {
    const [first, ...rest] = tasks;
    const heading = first && headings.get(first);
    if (!heading || heading.hasFields || rest.length === 0) return tasks;
    if (heading.level > 1 && !titleWords.test(heading.text)) return tasks;
    const roots = rest.filter((task) => task.parent === undefined);
    if (roots.length > 0) return tasks;
    for (const task of rest) if (task.parent === first) delete task.parent;
    for (const line of heading.proseLines) this.report.stray(line);
    this.report.note(
      `Line ${first.at.line}: ${quote(first.title)} stands above everything and was taken for the title.`,
    );
    return this.withoutTitle(rest, headings);
  }
}
