// Text of tasks and agents comes from anywhere: nothing of it may move a cursor, change a terminal's look or hide itself.

/** One line, with the blanks it has. */
export function harmless(text: unknown): string {
  return String(text ?? "").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, " ");
}

/** One line. */
export function plain(text: unknown): string {
  return harmless(text).trim();
}

/** Several lines, each harmless; tabs become blanks. */
export function plainLines(text: unknown): string[] {
  return String(text ?? "")
    .split(/\r\n|\r|\n/)
    .map((line) => line.replaceAll("\t", "    ").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, ""));
}

/** For code: nothing is left out. Characters that a terminal would obey or hide are written as their numbers. */
export function visibleLines(text: string): string[] {
  return text.split("\n").map(visible);
}

function visible(line: string): string {
  return line.replaceAll("\t", "    ").replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) => {
    const number = character.codePointAt(0)!.toString(16).toUpperCase();
    return `<U+${number.padStart(4, "0")}>`;
  });
}

let segmenter: Intl.Segmenter | null = null;
/** Created when it is needed: most text is plain. */
function segmentsOf(text: string) {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** `Intl.Segmenter` takes quadratic time. No character that people write is as long as this. */
const pieceMax = 256;

/** What people see as one character, one after the other, in linear time. What is longer than a piece is divided. */
export function* characters(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const piece = text.slice(from, pieceEnd(text, from));
    const isLast = from + piece.length === text.length;
    let taken = 0;
    for (const { segment, index } of segmentsOf(piece)) {
      // The last character of a piece may continue in the next one.
      if (!isLast && index > 0 && index + segment.length === piece.length) break;
      taken += segment.length;
      yield segment;
    }
    from += taken;
  }
}

/** Not between the halves of a surrogate pair. */
function pieceEnd(text: string, from: number): number {
  const end = Math.min(from + pieceMax, text.length);
  return end < text.length && /[\uD800-\uDBFF]/.test(text[end - 1]!) ? end - 1 : end;
}

/** East Asian wide and fullwidth, and emoji, take two columns. */
const wide =
  /^(?:\p{Emoji_Presentation}|\p{Emoji}\uFE0F|[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|[\u{20000}-\u{3FFFD}])/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: our own colours are not counted.
const colours = /\x1b\[\d+m/g;

export function widthOf(text: string): number {
  const bare = text.replace(colours, "");
  if (/^[\x20-\x7e]*$/.test(bare)) return bare.length;
  let width = 0;
  for (const character of characters(bare)) width += columnsOf(character);
  return width;
}

const columnsOf = (character: string): number => (wide.test(character) ? 2 : 1);

/** At most this wide; what is cut off leaves a mark. */
export function cut(text: string, width: number): string {
  if (fits(text, width)) return text;
  if (width < 1) return "";
  let kept = "";
  let taken = 0;
  for (const character of characters(text)) {
    taken += columnsOf(character);
    if (taken > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Reads no more of a long text than needed to tell. */
function fits(text: string, width: number): boolean {
  const bare = text.replace(colours, "");
  if (/^[\x20-\x7e]*$/.test(bare)) return bare.length <= width;
  let taken = 0;
  for (const character of characters(bare)) {
    taken += columnsOf(character);
    if (taken > width) return false;
  }
  return true;
}

export function padTo(text: string, width: number): string {
  const shown = cut(text, width);
  return shown + " ".repeat(Math.max(0, width - widthOf(shown)));
}

/** Broken at blanks. */
export function wrap(text: string, width: number): string[] {
  return plainLines(text).flatMap((line) => {
    const lines: string[] = [];
    let current = "";
    for (const word of line.split(/(?<=\s)(?=\S)/)) {
      if (current !== "" && widthOf(current) + widthOf(word.trimEnd()) > width) {
        lines.push(current.trimEnd());
        current = "";
      }
      current += word;
    }
    return [...lines, current.trimEnd()];
  });
}
