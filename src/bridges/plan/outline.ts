// The lines of a Markdown document by what they are: headings, list items and the rest.

import { fieldLine, isCriteria } from "./fields.js";
import { type Fence, fenceByLine, fencesOf, type Line, linesOf } from "./lines.js";
import { withoutEmphasis } from "./words.js";

export interface Item {
  indent: number;
  /** `1` of `1.`, or undefined for a bullet. */
  number?: string;
  /** Undefined without a box. */
  box?: "open" | "done";
  text: string;
  /** Where its text begins in the line, from 0. */
  start: number;
}

export type Piece =
  | { kind: "blank" | "rule" | "text"; line: Line }
  | { kind: "fenced"; line: Line; fence: Fence }
  | { kind: "heading"; line: Line; level: number; text: string; start: number }
  | { kind: "item"; line: Line; item: Item; hasBoxBelow: boolean; list: List };

/** Items on the same level of the same list share it. */
export interface List {
  hasBoxes: boolean;
}

export function piecesOf(text: string): Piece[] {
  const lines = linesOf(text);
  const fences = fenceByLine(fencesOf(lines));
  const comments = new Comments(lines);
  const pieces = lines.map((whole, index): Piece => {
    const fence = fences.get(index);
    if (fence) return { kind: "fenced", line: whole, fence };
    if (whole.isBlank) return { kind: "blank", line: whole };
    const line = { ...whole, text: comments.blank(whole.text, index) };
    if (line.text.trim() === "") return { kind: "blank", line };
    return headingAt(line) ?? ruleAt(line) ?? itemAt(line) ?? { kind: "text", line };
  });
  promoteBold(pieces);
  markBoxes(pieces);
  return pieces;
}

/** Comments of HTML; one that is never closed is none, nor is one in code. */
class Comments {
  private isOpen = false;
  private readonly lastEnd: number;

  constructor(lines: Line[]) {
    this.lastEnd = lines.findLastIndex(({ text }) => text.includes("-->"));
  }

  /** The line with blanks instead of what is commented out, so that columns stay. */
  blank(text: string, index: number): string {
    const lastEnd = index < this.lastEnd ? text.length : text.lastIndexOf("-->");
    let kept = "";
    let isCode = false;
    let from = 0;
    const take = (to: number) => {
      kept += this.isOpen ? " ".repeat(to - from) : text.slice(from, to);
      from = to;
    };
    for (const { 0: mark, index: at } of text.matchAll(/`|<!--|-->/g)) {
      if (mark === "`") isCode = !isCode && !this.isOpen;
      const isBegin = mark === "<!--" && !this.isOpen && !isCode && at < lastEnd;
      const isEnd = mark === "-->" && this.isOpen;
      if (!isBegin && !isEnd) continue;
      take(isEnd ? at + mark.length : at);
      this.isOpen = isBegin;
    }
    take(text.length);
    return kept;
  }
}

function headingAt(line: Line): Piece | undefined {
  const found = /^\s{0,3}(#{1,6})\s{1,8}/.exec(line.text.slice(0, 20));
  if (!found) return undefined;
  let text = line.text.slice(found[0].length).trimEnd();
  while (text.endsWith("#")) text = text.slice(0, -1);
  return { kind: "heading", line, level: found[1]!.length, text: text.trimEnd(), start: found[0].length };
}

function ruleAt(line: Line): Piece | undefined {
  const bare = line.text.trim();
  return bare.length < 200 && /^(?:[-*_=]\s?){3,}$/.test(bare) ? { kind: "rule", line } : undefined;
}

const boxes: Record<string, Item["box"]> = {
  "☐": "open",
  "⬜": "open",
  "☑": "done",
  "✅": "done",
  "✔": "done",
};

function itemAt(line: Line): Piece | undefined {
  const lead = line.text.length - line.text.trimStart().length;
  const head = line.text.slice(lead, lead + 48);
  const marker =
    /^(?:([-*+•‣–])|\(?(\d{1,6}(?:\.\d{1,6}){0,8})[.)]|(\d{1,6}(?:\.\d{1,6}){1,8}))(?:\s{1,8}|$)/.exec(head);
  let at = marker?.[0].length ?? 0;
  const box = /^\[([ xX✓✔~/>-]?|\s{2})\](?!\()\s{0,8}/.exec(head.slice(at));
  const sign = box ? undefined : /^([☐⬜☑✅✔])\ufe0f?\s{1,8}/u.exec(head.slice(at));
  if (!marker && !box && !sign) return undefined;
  const state = box ? (/[xX✓✔]/.test(box[1]!) ? "done" : "open") : sign ? boxes[sign[1]!] : undefined;
  at += (box ?? sign)?.[0].length ?? 0;
  const number = marker?.[2] ?? marker?.[3];
  const start = lead + at;
  return {
    kind: "item",
    line,
    hasBoxBelow: false,
    list: { hasBoxes: false },
    item: {
      indent: line.indent,
      text: line.text.slice(start).trimEnd(),
      start,
      ...(number !== undefined && { number }),
      ...(state && { box: state }),
    },
  };
}

/** A line in bold with a list below it is a heading, under all real ones. */
function promoteBold(pieces: Piece[]): void {
  let next: Piece | undefined;
  for (let index = pieces.length - 1; index >= 0; index--) {
    const piece = pieces[index]!;
    if (
      piece.kind === "text" &&
      piece.line.indent < 4 &&
      next?.kind === "item" &&
      next.line.indent <= piece.line.indent + 3
    ) {
      const bare = piece.line.text.trim();
      const inner = bare.length < 200 ? withoutEmphasis(bare.replace(/:$/, "")).replace(/:$/, "") : bare;
      const isBold = /^(?:\*\*|__)/.test(bare) && inner !== bare && !fieldLine(bare) && !isCriteria(bare);
      if (isBold) {
        const start = piece.line.text.indexOf(inner);
        pieces[index] = {
          kind: "heading",
          line: piece.line,
          level: 7,
          text: inner,
          start: Math.max(0, start),
        };
      }
    }
    if (piece.kind !== "blank") next = pieces[index];
  }
}

/** A child is indented by at least two columns. */
export const isUnder = (indent: number, parent: number) => indent >= parent + 2;

export type ItemPiece = Extract<Piece, { kind: "item" }>;

/** A list goes on until a heading, a rule, or a paragraph that is not indented under one of its items. */
function markBoxes(pieces: Piece[]): void {
  const newList = (): List => ({ hasBoxes: false });
  let top = newList();
  let stack: { piece: ItemPiece; below: List }[] = [];
  let isAfterBlank = false;
  for (const piece of pieces) {
    const isApart = isAfterBlank && !isUnder(piece.line.indent, stack[0]?.piece.item.indent ?? 0);
    isAfterBlank = piece.kind === "blank";
    if (piece.kind === "blank") continue;
    if (piece.kind === "item") {
      while (stack.length > 0 && !isUnder(piece.item.indent, stack.at(-1)!.piece.item.indent)) stack.pop();
      piece.list = stack.at(-1)?.below ?? top;
      if (piece.item.box) markAbove(piece, stack);
      stack.push({ piece, below: newList() });
    } else if (piece.kind === "heading" || piece.kind === "rule" || isApart) {
      top = newList();
      stack = [];
    }
  }
}

function markAbove({ list }: ItemPiece, stack: { piece: ItemPiece }[]): void {
  list.hasBoxes = true;
  for (let at = stack.length - 1; at >= 0 && !stack[at]!.piece.hasBoxBelow; at--)
    stack[at]!.piece.hasBoxBelow = true;
}
