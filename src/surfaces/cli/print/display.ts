// How output is shown: the width of the terminal and colours; plain text if it is not a terminal.

import type { Parts } from "../parts.js";

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, cyan: 36 } as const;
export type Style = keyof typeof codes;

export interface Display {
  columns: number;
  now: number;
  isTerminal: boolean;
  paint(text: string, style: Style | undefined): string;
}

/** The flag for the next page. */
export function moreLine({ nextCursor }: { nextCursor: string | null }, display: Display): string {
  return nextCursor === null ? "" : display.paint(`more: --cursor ${nextCursor}\n`, "dim");
}

export function columnsOf({ env, stdout }: Pick<Parts, "env" | "stdout">): number {
  return Math.max(40, Number(env.COLUMNS) || stdout.columns || 80);
}

export function displayOf({ env, stdout, now }: Pick<Parts, "env" | "stdout" | "now">): Display {
  const isForced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0";
  const isColoured = !env.NO_COLOR && (isForced || (stdout.isTerminal && env.TERM !== "dumb"));
  return {
    columns: columnsOf({ env, stdout }),
    now: now(),
    isTerminal: stdout.isTerminal,
    paint: (text, style) => (isColoured && style ? painted(text, codes[style]) : text),
  };
}

/** The newline stays after the colour codes. */
function painted(text: string, code: number): string {
  const end = text.endsWith("\n") ? "\n" : "";
  return `\x1b[${code}m${text.slice(0, text.length - end.length)}\x1b[0m${end}`;
}
