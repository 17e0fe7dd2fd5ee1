// How parts share a number of bytes: in order of importance, each as long as it is, while later parts keep their least.

import { bytesOf } from "./bytes.js";

export interface Rendered {
  text: string;
  /** Something is missing. */
  isCut: boolean;
}

export const nothing: Rendered = { text: "", isCut: false };
const dropped: Rendered = { text: "", isCut: true };

export interface Part {
  /** Bytes that are reserved for it while more important parts are long. */
  least: number;
  /** Bytes that it takes at most. */
  most: number;
  /** Within this many bytes; null if they are too few. */
  render(bytesMax: number): Rendered | null;
}

/** Each text is followed by a line break, which is counted. */
const sizeOf = ({ text }: Rendered) => (text === "" ? 0 : bytesOf(text) + 1);

export function shareBytes(parts: readonly Part[], bytesMax: number): Rendered[] {
  const whole = parts.map((part) => part.render(part.most) ?? dropped);
  const least = parts.map((part, at) => Math.min(part.least, sizeOf(whole[at]!)));
  let reserved = least.reduce((sum, bytes) => sum + bytes, 0);
  let left = bytesMax;
  return parts.map((part, at) => {
    reserved -= least[at]!;
    const room = Math.max(Math.min(least[at]!, left), left - reserved);
    const rendered = sizeOf(whole[at]!) <= room ? whole[at]! : (part.render(room - 1) ?? dropped);
    left -= sizeOf(rendered);
    return rendered;
  });
}
