// Tables that fit: fixed columns take what they need, the others share what is left; where even that is too much, the widest give.

import type { Display, Style } from "./display.js";
import { cut, padTo, widthOf } from "./text.js";

export interface Column<Row> {
  head: string;
  of(row: Row): string;
  style?(row: Row): Style | undefined;
  /** Takes what is left; others are as wide as their longest cell, up to `max`. */
  grows?: boolean;
  max?: number;
  right?: boolean;
  /** Of no use when cut, such as an id: others give first. */
  whole?: boolean;
}

const gap = 2;
const widthMin = 6;
const growsMin = 20;

export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], display: Display): string {
  const used = columns.filter((column) => rows.some((row) => column.of(row) !== ""));
  const cells = rows.map((row) => used.map((column) => column.of(row)));
  const widths = widthsOf(used, cells, display.columns);
  const line = (texts: readonly string[], styleAt: (at: number) => Style | undefined) =>
    used
      .map(({ right }, at) => {
        const isLast = at === used.length - 1;
        const width = widths[at]!;
        const text = cut(texts[at]!, width);
        const shown = right ? text.padStart(width) : isLast ? text : padTo(text, width);
        return display.paint(shown, styleAt(at));
      })
      .join(" ".repeat(gap))
      .trimEnd();
  const head = line(
    used.map((column) => column.head),
    () => "dim",
  );
  const body = rows.map((row, at) => line(cells[at]!, (column) => used[column]!.style?.(row)));
  return [head, ...body].map((each) => `${each}\n`).join("");
}

function widthsOf<Row>(columns: readonly Column<Row>[], cells: readonly string[][], room: number): number[] {
  const natural = columns.map(({ head, max = 40, grows }, at) => {
    const widest = Math.max(head.length, ...cells.map((row) => widthOf(row[at]!)));
    return grows ? widest : Math.min(max, widest);
  });
  const widths = [...natural];
  const excess = () => widths.reduce((sum, width) => sum + width, gap * (widths.length - 1)) - room;
  const give = (at: number, least: number) => {
    widths[at] = Math.max(Math.min(least, natural[at]!), widths[at]! - Math.max(0, excess()));
  };
  for (const at of widths.keys()) if (columns[at]!.grows) give(at, growsMin);
  while (excess() > 0) {
    const byWidth = [...widths.keys()]
      .filter((at) => !columns[at]!.right && widths[at]! > widthMin)
      .sort((a, b) => widths[b]! - widths[a]!);
    const widest = byWidth.find((at) => !columns[at]!.whole) ?? byWidth[0];
    if (widest === undefined) break;
    widths[widest]!--;
  }
  return widths;
}
