// A Markdown document as a tree: every line is in exactly one node, so that none can fall through.

import { plain } from "../../common/text.js";
import { fieldLine, isCriteria } from "./fields.js";
import type { Line } from "./lines.js";
import { type Item, isUnder, type Piece } from "./outline.js";

/** Items on the same level of the same list, all numbered or all not. */
export interface List {
  items: ItemNode[];
}

interface Base {
  lines: Line[];
  parent: Parent;
}
export interface Root {
  kind: "root";
  children: Node[];
}
export interface HeadingNode extends Base {
  kind: "heading";
  level: number;
  text: string;
  start: number;
  box?: Item["box"];
  children: Node[];
}
export interface ItemNode extends Base {
  kind: "item";
  item: Item;
  list: List;
  /** A box is somewhere below it, apart from acceptance criteria. */
  hasBoxBelow: boolean;
  children: Node[];
}
/** A line such as `Acceptance criteria:` or `Files:`, with the list below it. */
export interface LabelNode extends Base {
  kind: "label";
  children: Node[];
}
export interface Leaf extends Base {
  kind: "text" | "fence" | "table";
}
export type Node = HeadingNode | ItemNode | LabelNode | Leaf;
export type Parent = Root | HeadingNode | ItemNode | LabelNode;

export function treeOf(pieces: Piece[]): Root {
  const builder = new Builder();
  for (const piece of pieces) builder.take(piece);
  return builder.root;
}

const through =
  /^(?:sub-?tasks|tasks|steps|to-?dos?|checklist|teilaufgaben|aufgaben|schritte|sous-tâches|tâches|étapes|subtareas|tareas|pasos|任务|子任务|步骤|タスク|サブタスク|手順)\s*[:：]?$/i;
const about =
  /^(?:acceptance criteria|definition of done|success criteria|done when|verification|notes?|details|steps to reproduce|(?:key |open )?(?:decisions?|questions?|points?)|attendees|participants|agenda|background|context|risks?|assumptions?|out of scope|non-goals|references?|links?|resources)\s*[:：]?$/i;

const bareText = (text: string) => plain(text.slice(0, 100)).replace(/[*_`]/g, "").trim();

/** `Subtasks:`: what is below it are parts. */
export const isThrough = (text: string) => through.test(bareText(text));
/** `Notes:`, `Acceptance criteria:`: what is below it is text. */
export const isAbout = (text: string) => isCriteria(text) || about.test(bareText(text));

/** A line that says what the list below it is. */
function isLabel(text: string): boolean {
  const isColon = /[:：][*_`]{0,3}\s*$/.test(text.slice(-12));
  return isCriteria(text) || (isColon && (isThrough(text) || isAbout(text))) || fieldLine(text)?.value === "";
}

interface Level {
  node: ItemNode | LabelNode;
  indent: number;
}

class Builder {
  readonly root: Root = { kind: "root", children: [] };
  private headings: HeadingNode[] = [];
  private levels: Level[] = [];
  /** The list that the next item continues, by its parent. */
  private lists = new Map<Parent, List>();
  private isAfterBlank = false;
  private current: Leaf | undefined;

  take(piece: Piece): void {
    switch (piece.kind) {
      case "blank":
        this.isAfterBlank = true;
        return;
      case "front":
        this.add(this.root, { kind: "text", lines: [piece.line], parent: this.root });
        break;
      case "rule":
        this.end();
        break;
      case "heading":
        this.heading(piece);
        break;
      case "item":
        this.item(piece);
        break;
      case "fenced":
        this.block("fence", piece.line, piece.line.number === piece.fence.open + 1);
        break;
      case "row":
        this.block("table", piece.line, piece.isFirst);
        break;
      case "text":
        this.text(piece.line);
        break;
    }
    this.isAfterBlank = false;
  }

  private add<N extends Node>(parent: Parent, node: N): N {
    parent.children.push(node);
    return node;
  }

  private get section(): Root | HeadingNode {
    return this.headings.at(-1) ?? this.root;
  }

  private end(): void {
    this.levels = [];
    this.lists = new Map();
  }

  private heading({ line, level, text, start, box }: Extract<Piece, { kind: "heading" }>): void {
    this.end();
    while (this.headings.length > 0 && this.headings.at(-1)!.level >= level) this.headings.pop();
    const parent = this.section;
    const node: HeadingNode = { kind: "heading", lines: [line], parent, level, text, start, children: [] };
    if (box) node.box = box;
    this.headings.push(this.add(parent, node));
  }

  /** Text belongs to the item that it is indented under, or that it follows without a blank line. */
  private ownerOf(indent: number): Parent {
    const ends = ({ node }: Level) => indent <= node.lines[0]!.indent;
    if (this.isAfterBlank) while (this.levels.length > 0 && ends(this.levels.at(-1)!)) this.levels.pop();
    return this.levels.at(-1)?.node ?? this.section;
  }

  private text(line: Line): void {
    // A label ends with the next one, and with a paragraph of its own.
    const isNew = isLabel(line.text);
    const top = this.levels.at(-1)?.node;
    if (isNew && top?.kind === "label" && line.indent <= top.lines[0]!.indent) this.levels.pop();
    const parent = this.ownerOf(line.indent);
    if (!isNew) this.add(parent, { kind: "text", lines: [line], parent });
    else {
      const node = this.add(parent, { kind: "label", lines: [line], parent, children: [] } as LabelNode);
      this.levels.push({ node, indent: line.indent - 2 });
    }
    // A paragraph between two lists makes them two.
    if (parent.kind === "root" || parent.kind === "heading") this.lists.delete(parent);
  }

  private block(kind: "fence" | "table", line: Line, isFirst: boolean): void {
    const parent = isFirst ? this.ownerOf(line.indent) : undefined;
    if (parent) this.current = this.add(parent, { kind, lines: [line], parent });
    else this.current?.lines.push(line);
  }
  private item({ line, item }: Extract<Piece, { kind: "item" }>): void {
    while (this.levels.length > 0 && !this.isBelow(item, this.levels.at(-1)!)) this.levels.pop();
    const parent = this.levels.at(-1)?.node ?? this.section;
    const list = this.listFor(parent, item);
    const node: ItemNode = {
      kind: "item",
      lines: [line],
      parent,
      item,
      list,
      hasBoxBelow: false,
      children: [],
    };
    list.items.push(this.add(parent, node));
    this.levels.push({ node, indent: item.indent });
    if (item.box) markAbove(node);
  }

  /** Bullets that follow a number at the same indentation are meant to be below it. */
  private isBelow(item: Item, { node, indent }: Level): boolean {
    if (isUnder(item.indent, indent)) return true;
    if (node.kind !== "item" || item.indent < indent) return false;
    const isNumbered = node.item.number !== undefined && item.number === undefined;
    return isNumbered && !(node.item.box && item.box);
  }

  private listFor(parent: Parent, item: Item): List {
    const known = this.lists.get(parent);
    const isSame = known && (known.items[0]!.item.number === undefined) === (item.number === undefined);
    if (isSame || (known?.items.some((each) => each.item.box) && item.box)) return known!;
    const list: List = { items: [] };
    this.lists.set(parent, list);
    return list;
  }
}

function markAbove(node: ItemNode): void {
  for (let at: Parent = node.parent; at.kind === "item" || at.kind === "label"; at = at.parent) {
    const text = at.lines[0]!.text;
    if (at.kind === "label" ? isAbout(text) || isCriteria(text) : isAbout(at.item.text)) return;
    if (at.kind !== "item") continue;
    if (at.hasBoxBelow) return;
    at.hasBoxBelow = true;
  }
}

export const childrenOf = (node: Node): Node[] => ("children" in node ? node.children : []);

export function headingOf(node: Parent): HeadingNode | undefined {
  let at = node;
  while (at.kind === "item" || at.kind === "label") at = at.parent;
  return at.kind === "heading" ? at : undefined;
}

export const isItem = (node: Node) => node.kind === "item";

export const hasNumbers = (heading: HeadingNode) =>
  heading.children.some((child) => child.kind === "item" && child.item.number !== undefined);
