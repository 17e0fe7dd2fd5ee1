import { plain } from "../common/text.js";

/** A worker reports an error with its stack; its message is enough here. */
export function messageOf(error: unknown): string {
  return plain(String(error ?? "").split("\n", 1)[0]).replace(/^Error: /, "");
}

export function seconds(ms: number): string {
  return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
}

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 };
export type Style = keyof typeof codes;
export type Paint = (text: string, style: Style) => string;

export const noColour: Paint = (text) => text;
export const colour: Paint = (text, style) => `\x1b[${codes[style]}m${text}\x1b[0m`;
