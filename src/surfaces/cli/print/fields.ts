import type { Display, Style } from "./display.js";
import { wrap } from "./text.js";

/** A label, its text, and how that looks; without text it is not shown. */
export type Field = readonly [name: string, text: string | null | undefined, style?: Style];

/** Labels in one column, texts beside them, broken to the width. */
export function fieldLines(fields: readonly Field[], display: Display): string {
  const shown = fields.filter(([, text]) => text !== null && text !== undefined && text !== "");
  const width = Math.max(0, ...shown.map(([name]) => name.length)) + 2;
  return shown
    .flatMap(([name, text, style]) => {
      const [first = "", ...rest] = wrap(text!, display.columns - width);
      return [
        `${display.paint(name.padEnd(width), "dim")}${display.paint(first, style)}`,
        ...rest.map((line) => `${" ".repeat(width)}${display.paint(line, style)}`),
      ];
    })
    .map((line) => `${line.trimEnd()}\n`)
    .join("");
}
