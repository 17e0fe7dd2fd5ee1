// A document as lines: their indentation, and which of them stand between code fences.

export interface Line {
  /** From 1. */
  number: number;
  text: string;
  /** In columns; a tab goes to the next multiple of four. */
  indent: number;
  isBlank: boolean;
}

export function linesOf(text: string): Line[] {
  return text.split("\n").map((line, index) => {
    const { indent, length } = indentOf(line);
    return { number: index + 1, text: line, indent, isBlank: length === line.length };
  });
}

function indentOf(line: string): { indent: number; length: number } {
  let indent = 0;
  let length = 0;
  for (; length < line.length; length++) {
    const character = line[length]!;
    if (character === "\t") indent += 4 - (indent % 4);
    else if (/\s/.test(character)) indent++;
    else break;
  }
  return { indent, length };
}

/** Lines `open` and `close` are the fences themselves, as indexes. */
export interface Fence {
  open: number;
  close: number;
  language: string;
}

/** Blocks between ``` or ~~~. One that is never closed is none. */
export function fencesOf(lines: Line[]): Fence[] {
  const fences: Fence[] = [];
  let opened: { index: number; mark: string; language: string } | undefined;
  for (const [index, line] of lines.entries()) {
    const found = /^(?:[-*+>]\s{1,4})?(`{3,20}|~{3,20})\s{0,4}([\w-]{0,20})/.exec(
      line.text.trimStart().slice(0, 64),
    );
    if (!found) continue;
    const [, mark = "", language = ""] = found;
    if (!opened) opened = { index, mark, language: language.toLowerCase() };
    else if (mark[0] === opened.mark[0] && mark.length >= opened.mark.length && language === "") {
      fences.push({ open: opened.index, close: index, language: opened.language });
      opened = undefined;
    }
  }
  return fences;
}

/** For every line the fence it belongs to. */
export function fenceByLine(fences: Fence[]): Map<number, Fence> {
  const byLine = new Map<number, Fence>();
  for (const fence of fences) for (let at = fence.open; at <= fence.close; at++) byLine.set(at, fence);
  return byLine;
}

/** Without the indentation that all of them have. */
export function dedent(lines: string[]): string {
  const filled = lines.filter((line) => line.trim() !== "");
  const shared = filled.reduce((least, line) => Math.min(least, line.length - line.trimStart().length), 1000);
  const cut = lines.map((line) => (line.trim() === "" ? "" : line.slice(shared).trimEnd()));
  return cut.join("\n");
}
