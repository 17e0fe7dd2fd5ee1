// The lines of a Markdown document by what they are: headings, items of lists, tables and the rest.

import { fieldLine, isCriteria } from "./fields.js";
import { saysTask } from "./labels.js";
import { type Fence, fenceByLine, fencesOf, type Line, linesOf } from "./lines.js";
import { withoutEmphasis } from "./words.js";

export interface Item {
  indent: number;
  /** `1` of `1.`, or undefined for a bullet. */
  number?: string;
  /** Undefined without a box. `[-]` is skipped. */
  box?: "open" | "done" | "skipped";
  text: string;
  /** Where its text begins in the line, from 0. */
  start: number;
}

export type Piece =
  | { kind: "blank" | "rule" | "text" | "front"; line: Line }
  | { kind: "fenced"; line: Line; fence: Fence }
  | { kind: "row"; line: Line; isFirst: boolean }
  | { kind: "heading"; line: Line; level: number; text: string; start: number; box?: Item["box"] }
  | { kind: "item"; line: Line; item: Item };

/** `comment` gets what is commented out. */
export function piecesOf(text: string, comment: (line: Line) => void): Piece[] {
  const lines = linesOf(text);
  const isOrg = lines.some((line) => orgHeading.test(line.text.slice(0, 40)));
  const fences = fenceByLine(fencesOf(lines));
  const comments = new Comments(lines, comment);
  const frontEnd = frontMatterEnd(lines);
  const pieces = lines.map((whole, index): Piece => {
    if (index < frontEnd) return { kind: "front", line: whole };
    const fence = fences.get(index);
    if (fence) return { kind: "fenced", line: whole, fence };
    if (whole.isBlank) return { kind: "blank", line: whole };
    const line = { ...whole, text: comments.blank(whole, index) };
    if (line.text.trim() === "") return { kind: "blank", line };
    return headingAt(line, { isOrg }) ?? ruleAt(line) ?? itemAt(line) ?? { kind: "text", line };
  });
  promoteUnderlined(pieces);
  promoteLines(pieces);
  markTables(pieces);
  return pieces;
}

/** How many lines of `---`, `key: value`, `---` the document begins with. */
function frontMatterEnd(lines: Line[]): number {
  if (lines[0]?.text.trimEnd() !== "---") return 0;
  for (let at = 1; at < Math.min(lines.length, 200); at++) {
    const text = lines[at]!.text.trimEnd();
    if (text === "---") return at > 1 ? at + 1 : 0;
    if (!/^(?:[\w.-]{1,60}\s?:|\s|#|-\s|$)/.test(text.slice(0, 80))) return 0;
  }
  return 0;
}

/** Comments of HTML; one that is never closed is none, nor is one in code. */
class Comments {
  private isOpen = false;
  private readonly lastEnd: number;

  constructor(
    lines: Line[],
    private readonly left: (line: Line) => void,
  ) {
    this.lastEnd = lines.findLastIndex(({ text }) => text.includes("-->"));
  }

  /** The line with blanks instead of what is commented out, so that columns stay. */
  blank(line: Line, index: number): string {
    const { text } = line;
    const lastEnd = index < this.lastEnd ? text.length : text.lastIndexOf("-->");
    let kept = "";
    let cut = "";
    let isCode = false;
    let from = 0;
    const take = (to: number) => {
      const piece = text.slice(from, to);
      kept += this.isOpen ? " ".repeat(to - from) : piece;
      if (this.isOpen) cut += piece;
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
    if (/[\p{L}\p{N}]/u.test(cut)) this.left({ ...line, text: cut.trim() });
    return kept;
  }
}

/** `** TODO Title`, as org-mode writes it. */
const orgHeading = /^(\*{1,6})\s{1,4}(?=(?:TODO|DONE|NEXT|WAITING|CANCELLED|CANCELED)\s)/;
const wordStates: Record<string, Item["box"]> = {
  TODO: "open",
  NEXT: "open",
  WAITING: "open",
  DONE: "done",
  CANCELLED: "skipped",
  CANCELED: "skipped",
};
const headingBox =
  /^(?:\[([ xX✓✔~/>!?*-]?)\](?!\()|(TODO|NEXT|WAITING|DONE|CANCELLED|CANCELED)(?=\s))\s{0,8}/;

function headingAt(line: Line, { isOrg }: { isOrg: boolean }): Piece | undefined {
  const found = (isOrg ? /^(\*{1,6})\s{1,8}/ : /^\s{0,3}(#{1,6})\s{1,8}/).exec(line.text.slice(0, 20));
  if (!found) return undefined;
  const box = headingBox.exec(line.text.slice(found[0].length, found[0].length + 12));
  const start = found[0].length + (box?.[0].length ?? 0);
  let text = line.text.slice(start).trimEnd();
  while (text.endsWith("#")) text = text.slice(0, -1);
  const state = box && (box[1] === undefined ? wordStates[box[2]!] : stateOf(box[1]));
  return {
    kind: "heading",
    line,
    level: found[1]!.length,
    text: text.trimEnd(),
    start,
    ...(state && { box: state }),
  };
}

function ruleAt(line: Line): Piece | undefined {
  const bare = line.text.trim();
  return bare.length < 200 && /^(?:[-*_=]\s?){3,}$/.test(bare) ? { kind: "rule", line } : undefined;
}

const signs: Record<string, Item["box"]> = Object.fromEntries([
  ...[..."☐⬜🔲◻▢□❌🚧⏳🔄"].map((sign) => [sign, "open"] as const),
  ...[..."☑✅✔✓"].map((sign) => [sign, "done"] as const),
]);

const marker =
  /^(?:([-*+•‣–])|\(?(\d{1,6}(?:\.\d{1,6}){0,8})[.)]|(\d{1,6}(?:\.\d{1,6}){1,8})|(\d)\ufe0f?\u20e3|([A-Ha-h])\)|([A-H])\.)(?:\s{1,8}|$)/;
const keycap = /^(\d)\ufe0f?\u20e3\s{0,8}/;

function itemAt(line: Line): Piece | undefined {
  const lead = line.text.length - line.text.trimStart().length;
  const head = line.text.slice(lead, lead + 48);
  const found = marker.exec(head) ?? keycap.exec(head);
  let at = found?.[0].length ?? 0;
  // With a star behind it, the task is optional.
  const box = /^\[([ xX✓✔~/>!?*-]?|\s{2})\](?!\()(?:\*(?=\s))?\s{0,8}/.exec(head.slice(at));
  const sign = box ? undefined : /^([☐⬜🔲◻▢□❌🚧⏳🔄☑✅✔✓])\ufe0f?\s{1,8}/u.exec(head.slice(at));
  // `- DONE: title`
  const word =
    found && !box && !sign ? /^(TODO|DONE|WIP|CANCELLED|CANCELED)[:：]\s{1,4}/.exec(head.slice(at)) : null;
  if (!found && !box && !sign) return undefined;
  const state = box
    ? stateOf(box[1]!)
    : sign
      ? signs[sign[1]!]
      : word
        ? (wordStates[word[1]!] ?? "open")
        : undefined;
  at += (box ?? sign ?? word)?.[0].length ?? 0;
  const isBullet = found?.[1] !== undefined && /[-*+•‣–]/.test(found[1]);
  const number = isBullet ? undefined : found?.slice(1).find((each) => each !== undefined);
  const start = lead + at;
  return {
    kind: "item",
    line,
    item: {
      indent: line.indent,
      text: line.text.slice(start).trimEnd(),
      start,
      ...(number !== undefined && { number }),
      ...(state && { box: state }),
    },
  };
}

function stateOf(mark: string): Item["box"] {
  if (/[xX✓✔]/.test(mark)) return "done";
  return mark === "-" ? "skipped" : "open";
}

/** A line with `=====` below it, or with as many `-` as it has characters. */
function promoteUnderlined(pieces: Piece[]): void {
  for (const [index, piece] of pieces.entries()) {
    const next = pieces[index + 1];
    if (piece.kind !== "text" || next?.kind !== "rule" || piece.line.indent > 3) continue;
    const bare = piece.line.text.trim();
    const under = next.line.text.trim();
    const isUnderlined =
      /^=+$/.test(under) || (/^-{4,}$/.test(under) && Math.abs(under.length - bare.length) <= 3);
    if (!isUnderlined || bare.length > 200 || pieces[index - 1]?.kind === "text") continue;
    const start = piece.line.text.indexOf(bare);
    pieces[index] = {
      kind: "heading",
      line: piece.line,
      level: under.startsWith("=") ? 1 : 2,
      text: bare,
      start,
    };
  }
}

/** A line in bold with a list below it is a heading, under all real ones; so is a line that begins with `Task 1:`. */
function promoteLines(pieces: Piece[]): void {
  let next: Piece | undefined;
  for (let index = pieces.length - 1; index >= 0; index--) {
    const piece = pieces[index]!;
    const isAlone = pieces[index - 1]?.kind !== "text" || pieces[index + 1]?.kind !== "text";
    if (piece.kind === "text" && piece.line.indent < 4) {
      const isAboveList = next?.kind === "item" && next.line.indent <= piece.line.indent + 3;
      pieces[index] =
        (isAboveList && boldHeading(piece.line)) || (isAlone && taskHeading(piece.line)) || piece;
    }
    if (piece.kind !== "blank") next = pieces[index];
  }
}

function boldHeading(line: Line): Piece | undefined {
  const bare = line.text.trim();
  if (bare.length > 200 || !/^(?:\*\*|__)/.test(bare)) return undefined;
  // `**Phase 2 – Do it** (after phase 1)`
  const remark = /^(\*\*|__)([^*_]{1,150})\1(\s?\([^()]{1,60}\)):?$/.exec(bare);
  const inner = remark
    ? `${remark[2]}${remark[3]}`
    : withoutEmphasis(bare.replace(/[:：]$/, "")).replace(/[:：]$/, "");
  if (inner === bare || fieldLine(bare) || isCriteria(bare)) return undefined;
  return { kind: "heading", line, level: 7, text: inner, start: Math.max(0, line.text.indexOf(inner)) };
}

/** `**1. Create the table**` */
const boldNumber = /^(\*\*|__)\d{1,3}[.)]\s[^*_]{1,200}\1$/;

function taskHeading(line: Line): Piece | undefined {
  const text = line.text.trim();
  if (text.length > 500 || !(saysTask(text) || boldNumber.test(text)) || fieldLine(text)) return undefined;
  return { kind: "heading", line, level: 7, text, start: line.text.indexOf(text) };
}

const separator = /^\s*\|?\s{0,8}:?-{2,}:?\s{0,8}(?:\|\s{0,8}:?-{2,}:?\s{0,8}){0,60}\|?\s*$/;

/** Rows with `|` in them, the second of which is `|---|---|`. */
function markTables(pieces: Piece[]): void {
  for (let index = 0; index + 1 < pieces.length; index++) {
    const [first, second] = [pieces[index]!, pieces[index + 1]!];
    if (first.kind !== "text" || !first.line.text.includes("|")) continue;
    const isRuled =
      second.line.text.includes("|") && second.line.text.length < 1000 && separator.test(second.line.text);
    if (second.kind !== "text" || !isRuled) continue;
    const isRow = (piece: Piece | undefined) => piece?.kind === "text" && piece.line.text.includes("|");
    for (let at = index; isRow(pieces[at]); at++)
      pieces[at] = { kind: "row", line: pieces[at]!.line, isFirst: at === index };
  }
}

/** A child is indented by at least two columns. */
export const isUnder = (indent: number, parent: number) => indent >= parent + 2;
