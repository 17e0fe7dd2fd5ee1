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

let segmenter: Intl.Segmenter | null = null;
/** What people see as one character. Made when it is needed: most text is plain. */
function segmentsOf(text: string) {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return segmenter.segment(text);
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
  for (const { segment } of segmentsOf(bare)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** At most this wide; what is cut off leaves a mark. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width < 1) return "";
  let kept = "";
  let taken = 0;
  for (const { segment } of segmentsOf(text)) {
    const next = wide.test(segment) ? 2 : 1;
    if (taken + next > width - 1) break;
    kept += segment;
    taken += next;
  }
  return `${kept}…`;
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
