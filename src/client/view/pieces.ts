// A filter's text in pieces: words, quoted words, and keys with their values, each with its place. Nothing is understood here yet.

export interface Piece {
  from: number;
  to: number;
  negated: boolean;
  /** Null for words that stand alone. */
  key: string | null;
  values: string[];
  isQuoted: boolean;
  /** False while a quotation has no end. */
  isClosed: boolean;
}

/** One value, bare or quoted; `\"` and `\\` inside quotes stand for themselves. */
interface Value {
  text: string;
  to: number;
  isQuoted: boolean;
  isClosed: boolean;
}

const blank = /\s/;

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  while (at < text.length) {
    if (blank.test(text[at]!)) at++;
    else {
      const piece = pieceAt(text, at);
      pieces.push(piece);
      at = piece.to;
    }
  }
  return pieces;
}

function pieceAt(text: string, from: number): Piece {
  const negated = text[from] === "-" && from + 1 < text.length && !blank.test(text[from + 1]!);
  const start = negated ? from + 1 : from;
  const key = /^([A-Za-z]+):/.exec(text.slice(start, start + 40))?.[1] ?? null;
  let value = valueAt(text, key === null ? start : start + key.length + 1, key !== null);
  const { isQuoted } = value;
  const values = [value.text];
  let isClosed = value.isClosed;
  while (key !== null && text[value.to] === ",") {
    value = valueAt(text, value.to + 1, true);
    values.push(value.text);
    isClosed &&= value.isClosed;
  }
  return { from, to: value.to, negated, key: key?.toLowerCase() ?? null, values, isQuoted, isClosed };
}

function valueAt(text: string, from: number, endsAtComma: boolean): Value {
  if (text[from] !== '"') {
    let to = from;
    while (to < text.length && !blank.test(text[to]!) && !(endsAtComma && text[to] === ",")) to++;
    return { text: text.slice(from, to), to, isQuoted: false, isClosed: true };
  }
  let value = "";
  for (let at = from + 1; at < text.length; at++) {
    const letter = text[at]!;
    if (letter === '"') return { text: value, to: at + 1, isQuoted: true, isClosed: true };
    const isEscape = letter === "\\" && (text[at + 1] === '"' || text[at + 1] === "\\");
    value += isEscape ? text[++at] : letter;
  }
  return { text: value, to: text.length, isQuoted: true, isClosed: false };
}

/** With quotes where it needs them. A word that stands alone must not look like a key or a minus. */
export function quoted(value: string, { always = false, isWord = false } = {}): string {
  const isBare = isWord
    ? /^[^\s"-][^\s]*$/.test(value) && !/^[A-Za-z]+:/.test(value)
    : /^[^\s",]+$/.test(value);
  return isBare && !always ? value : `"${value.replace(/["\\]/g, "\\$&")}"`;
}
