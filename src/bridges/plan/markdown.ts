// Markdown: a document is read into a tree (tree.ts), its nodes are judged (judge.ts), and here they are written into tasks.
// Text goes to the nearest task or group above it. Where there is none, it is reported with its words.

import type { Asides } from "./asides.js";
import { fieldOf, hasBoxes } from "./evidence.js";
import { addText, type FieldLine, setField, skipTask } from "./fields.js";
import { frontTasks } from "./front-matter.js";
import { type Judge, judge } from "./judge.js";
import { type Line, linesOf } from "./lines.js";
import { type Piece, piecesOf } from "./outline.js";
import { newTask, type RawTask } from "./plan.js";
import { closingRemark, describe } from "./remarks.js";
import { Report } from "./report.js";
import { rowTask, taskColumns } from "./table.js";
import { readTitle } from "./titles.js";
import {
  type HeadingNode,
  type ItemNode,
  isAbout,
  isThrough,
  type LabelNode,
  type Leaf,
  type Node,
  treeOf,
} from "./tree.js";
import { quote } from "./words.js";

export function readMarkdown(text: string, asides: Asides, report: Report): RawTask[] {
  const pieces = piecesOf(text, (comment) => report.stray(comment));
  const listed = frontTasks(
    pieces.flatMap((piece) => (piece.kind === "front" ? [piece.line] : [])),
    report,
  );
  if (listed.length > 0) return withBody(listed, pieces);
  const root = treeOf(pieces);
  const writer = new Writer(judge(root), linesOf(text), asides, report);
  writer.all(root.children, {});
  return writer.finish();
}

/** The front matter lists the tasks; the document below it is what each of their agents has to know. */
function withBody(tasks: RawTask[], pieces: Piece[]): RawTask[] {
  const body = pieces
    .flatMap((piece) => (piece.kind === "front" ? [] : [piece.line.text]))
    .join("\n")
    .trim();
  if (body) for (const task of tasks) addText(task, body);
  return tasks;
}

/** What a node is below of. */
interface Above {
  /** The task or group that gets the text. */
  task?: RawTask;
  /** Lines are text, whatever they look like. */
  isText?: boolean;
  /** Items that belong to no task are remarks, not tasks that were not understood. */
  isAside?: boolean;
  /** The field whose values the items are. */
  field?: FieldLine;
  /** The items are directly below a heading, or below none. */
  isInItem?: boolean;
}

class Writer {
  private readonly tasks: RawTask[] = [];
  private readonly numbered: RawTask[] = [];
  private byNumber = new Map<string, RawTask>();
  private readonly remark: Set<number>;

  constructor(
    private readonly judged: Judge,
    private readonly lines: Line[],
    private readonly asides: Asides,
    private readonly report: Report,
  ) {
    this.remark = closingRemark(lines);
  }

  finish(): RawTask[] {
    this.countLazyNumbers();
    return this.tasks;
  }

  all(nodes: readonly Node[], above: Above): void {
    for (const node of nodes) this.write(node, above);
  }

  private write(node: Node, above: Above): void {
    if (node.kind === "heading") this.heading(node, above);
    else if (node.kind === "item") this.item(node, above);
    else if (node.kind === "label") this.label(node, above);
    else if (node.kind === "text") this.line(node, node.lines[0]!, above);
    else if (this.judged.role(node) === "task") this.table(node, above);
    else {
      if (node.kind === "table") this.rows(node);
      this.verbatim(node.lines, above);
    }
  }

  /** A table next to tasks can say more about them. */
  private rows(node: Leaf): void {
    const columns = taskColumns(node.lines);
    for (const line of columns ? node.lines.slice(2) : []) {
      const row = rowTask(columns!, line, new Report());
      if (row) this.asides.rows.push({ ...row, at: { line: line.number, column: 1 } });
    }
  }

  private verbatim(lines: Line[], above: Above): void {
    for (const line of lines) this.text(line, { ...above, isText: true });
  }

  /** Every line that is no task and no field ends here. */
  private text(line: Line, { task, isText }: Above): void {
    if (!task || this.remark.has(line.number)) {
      this.report.stray(line);
      if (!task) this.asides.line(line);
      return;
    }
    if (task.description && this.lines[line.number - 2]?.isBlank && !task.description.endsWith("\n"))
      addText(task, "");
    if (isText) addText(task, line.text);
    else describe(task, line);
  }

  private line(node: Node, line: Line, above: Above): void {
    const field = above.isText ? undefined : fieldOf(node);
    if (field && above.task) this.field(above.task, field, line);
    else this.text(line, above);
  }

  private field(task: RawTask, field: FieldLine, line: Line): void {
    // A title within an item is text: the item has one.
    if (field.field === "title") addText(task, line.text);
    else if (field.value !== "")
      setField(task, field, { line: line.number, column: field.start + 1 }, this.report);
  }

  private heading(node: HeadingNode, above: Above): void {
    const role = this.judged.role(node);
    const line = node.lines[0]!;
    this.byNumber = new Map();
    if (role === "title") {
      this.report.note(
        `Line ${line.number}: ${quote(node.text)} is above everything and was read as the title.`,
      );
      this.all(node.children, {});
    } else if (role === "text") {
      const isAside = above.isAside || this.judged.isAside(node);
      this.text(line, { ...above, isText: true });
      this.all(node.children, { ...above, isText: isAside || above.task !== undefined, isAside });
    } else this.all(node.children, { task: this.headingTask(node, above, role) });
  }

  private headingTask(node: HeadingNode, above: Above, role: "task" | "group" | "through"): RawTask {
    const line = node.lines[0]!;
    const task = newTask({ line: line.number, column: node.start + 1 });
    const isParagraph = node.level > 6;
    readTitle(node.text, task, { line: line.number, column: node.start + 1 }, this.report, { isParagraph });
    task.title ||= node.text;
    if (node.box === "done") task.done = true;
    if (node.box === "skipped") skipTask(task);
    if (role === "group") task.type = "group";
    if (above.task) task.parent = above.task;
    if (this.judged.besides.has(node))
      this.report.note(`Line ${line.number}: ${quote(task.title)} is next to tasks and was read as one.`);
    this.report.item(line, { isLost: false });
    this.tasks.push(task);
    return task;
  }

  private label(node: LabelNode, above: Above): void {
    const line = node.lines[0]!;
    const field = above.isText ? undefined : fieldOf(node);
    if (isAbout(line.text)) {
      this.text(line, { ...above, isText: true });
      this.all(node.children, { ...above, isText: true, isAside: above.isAside || !above.task });
    } else if (field && above.task) this.all(node.children, { ...above, field });
    else {
      if (!isThrough(line.text) || above.isText) this.text(line, above);
      this.all(node.children, above);
    }
  }

  private item(node: ItemNode, above: Above): void {
    const line = node.lines[0]!;
    const role = this.judged.role(node);
    const isLost = role === "text" && !above.task && !above.isAside;
    this.report.item(line, { isLost });
    if (role === "task" || role === "group") this.taskItem(node, role, above);
    else if (role === "through") this.all(node.children, { ...above, isInItem: above.isInItem ?? false });
    else this.textItem(node, above);
  }

  private textItem(node: ItemNode, above: Above): void {
    const line = node.lines[0]!;
    const field = above.isText ? undefined : fieldOf(node);
    if (above.field && above.task && !node.item.box) {
      this.value(above.task, above.field, node);
      this.all(node.children, { ...above, isText: true });
    } else if (field && above.task) {
      this.field(above.task, field, line);
      const isListing = ["files", "dependsOn", "requires", "labels", "description"].includes(field.field);
      this.all(node.children, isListing ? { ...above, field } : { ...above, isText: true });
    } else {
      this.text(line, above);
      this.all(node.children, { ...above, isText: above.isText || isAbout(node.item.text) });
    }
  }

  private value(task: RawTask, field: FieldLine, { item, lines }: ItemNode): void {
    const line = lines[0]!;
    if (field.field === "description" || field.field === "title") addText(task, line.text);
    else
      setField(
        task,
        { ...field, value: item.text },
        { line: line.number, column: item.start + 1 },
        this.report,
      );
  }

  private taskItem(node: ItemNode, role: "task" | "group", above: Above): void {
    const { item } = node;
    const line = node.lines[0]!;
    const at = { line: line.number, column: item.start + 1 };
    const task = newTask(at);
    readTitle(item.text, task, at, this.report);
    task.label ??= item.number;
    const { label } = task;
    if (task.title === "") {
      this.report.note(`Line ${line.number}: an item without a title was left out.`);
      this.all(node.children, above);
      return;
    }
    if (label !== undefined && label === item.number) this.numbered.push(task);
    if (item.box === "done") task.done = true;
    // With open parts, `[-]` means that somebody is at it.
    if (item.box === "skipped" && !node.hasBoxBelow) skipTask(task);
    if (role === "group") task.type = "group";
    const isBeside = !item.box && !node.hasBoxBelow && hasBoxes(node.list);
    if (isBeside)
      this.report.note(
        `Line ${line.number}: ${quote(task.title)} has no box, but is among tasks; it was read as one.`,
      );
    const parent = (above.isInItem ? undefined : this.numberedAbove(label)) ?? above.task;
    if (parent) task.parent = parent;
    if (label !== undefined) this.byNumber.set(label, task);
    this.tasks.push(task);
    this.all(node.children, { task, isInItem: true });
  }

  private table(node: Leaf, above: Above): void {
    const columns = taskColumns(node.lines)!;
    for (const line of node.lines.slice(2)) {
      const task = rowTask(columns, line, this.report);
      if (!task) continue;
      this.report.item(line, { isLost: false });
      if (above.task) task.parent = above.task;
      this.tasks.push(task);
    }
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
}
