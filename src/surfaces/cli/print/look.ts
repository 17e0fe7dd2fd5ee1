// How things are shown to people: as wide as their terminal, in colours that mean something, or plain where nobody looks.

import type { Parts } from "../parts.js";

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, cyan: 36 } as const;
export type Style = keyof typeof codes;

export interface Look {
  columns: number;
  now: number;
  isTerminal: boolean;
  paint(text: string, style: Style | undefined): string;
}

/** How to see what comes after this page. */
export function moreLine({ nextCursor }: { nextCursor: string | null }, look: Look): string {
  return nextCursor === null ? "" : look.paint(`more: --cursor ${nextCursor}\n`, "dim");
}

export function columnsOf({ env, stdout }: Pick<Parts, "env" | "stdout">): number {
  return Math.max(40, Number(env.COLUMNS) || stdout.columns || 80);
}

export function lookOf({ env, stdout, now }: Pick<Parts, "env" | "stdout" | "now">): Look {
  const isForced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "0";
  const isColoured = !env.NO_COLOR && (isForced || (stdout.isTerminal && env.TERM !== "dumb"));
  return {
    columns: columnsOf({ env, stdout }),
    now: now(),
    isTerminal: stdout.isTerminal,
    paint: (text, style) => (isColoured && style ? painted(text, codes[style]) : text),
  };
}

/** A line's end stays its end. */
function painted(text: string, code: number): string {
  const end = text.endsWith("\n") ? "\n" : "";
  return `\x1b[${code}m${text.slice(0, text.length - end.length)}\x1b[0m${end}`;
}
