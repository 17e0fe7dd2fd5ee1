// Tables that fit: fixed columns take what they need, the others share what is left.

import type { Look, Style } from "./look.js";
import { cut, padTo, widthOf } from "./text.js";

export interface Column<Row> {
  head: string;
  of(row: Row): string;
  style?(row: Row): Style | undefined;
  /** Takes what is left; others are as wide as their longest cell, up to `max`. */
  grows?: boolean;
  max?: number;
  right?: boolean;
}

export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], look: Look): string {
  const cells = rows.map((row) => columns.map((column) => column.of(row)));
  const shown = columns.map((_, at) => cells.some((row) => row[at] !== ""));
  const widths = columns.map(({ head, max = 40 }, at) =>
    shown[at] ? Math.min(max, Math.max(head.length, ...cells.map((row) => widthOf(row[at]!)))) : 0,
  );
  const kept = columns.map((_, at) => at).filter((at) => shown[at]);
  const gaps = 2 * (kept.length - 1);
  const fixed = kept.filter((at) => !columns[at]!.grows).reduce((sum, at) => sum + widths[at]!, gaps);
  const growing = kept.filter((at) => columns[at]!.grows);
  for (const at of growing) {
    const natural = Math.max(columns[at]!.head.length, ...cells.map((row) => widthOf(row[at]!)));
    widths[at] = Math.max(8, Math.min(natural, Math.floor((look.columns - fixed) / growing.length)));
  }
  const line = (texts: readonly string[], paint: (text: string, at: number) => string) =>
    kept
      .map((at, index) => {
        const { right } = columns[at]!;
        const width = widths[at]!;
        const isLast = index === kept.length - 1;
        const text = right
          ? cut(texts[at]!, width).padStart(width)
          : isLast
            ? cut(texts[at]!, width)
            : padTo(texts[at]!, width);
        return paint(text, at);
      })
      .join("  ")
      .trimEnd();
  const head = line(
    columns.map((column) => column.head),
    (text) => look.paint(text, "dim"),
  );
  const body = cells.map((row, index) =>
    line(row, (text, at) => look.paint(text, columns[at]!.style?.(rows[index]!))),
  );
  return [head, ...body].map((each) => `${each}\n`).join("");
}
