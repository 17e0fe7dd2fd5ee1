// The parts of a brief: fenced blocks of what others wrote, and sections of such blocks that say what is missing.

import { bytesOf, clipped, shortened } from "./bytes.js";
import { asData, block } from "./data.js";
import { nothing, type Part, shareBytes } from "./share.js";

interface BlockOptions {
  label: string;
  /** Short lines that are not cut. */
  head: readonly string[];
  text: string;
  textMax: number;
  /** The text was cut before. */
  isCut?: boolean;
}

const blockLeast = 300;

export function blockPart({ label, head, text, textMax, isCut = false }: BlockOptions): Part {
  // Results can have a megabyte: most of it need not be cleaned.
  const raw = shortened(text, 4 * textMax);
  const data = asData(raw);
  const render = (shown: string) => block(label, [...head, ...(shown === "" ? [] : [shown])].join("\n"));
  const frame = bytesOf(render("")) + 1;
  return {
    least: Math.max(blockLeast, frame),
    most: frame + textMax,
    render(bytesMax) {
      if (bytesMax < frame) return null;
      const shown = shortened(data, bytesMax - frame);
      return { text: render(shown), isCut: isCut || raw !== text || shown !== data };
    },
  };
}

interface SectionOptions {
  least: number;
  most: number;
  head: string;
  parts: readonly Part[];
  /** How many more there are that are not among the parts. */
  missing?: number;
  /** The last line when something is cut, or this many are missing. */
  more(missing: number): string;
}

const moreBytesMax = 400;

export function section({ least, most, head, parts, missing = 0, more }: SectionOptions): Part {
  return {
    least,
    most,
    render(bytesMax) {
      if (parts.length + missing === 0) return nothing;
      const room = bytesMax - bytesOf(head) - 1 - moreBytesMax;
      if (room <= 0) return null;
      const rendered = shareBytes(parts, room);
      const texts = rendered.map(({ text }) => text).filter((text) => text !== "");
      const left = missing + rendered.length - texts.length;
      const isCut = left > 0 || rendered.some((each) => each.isCut);
      const lines = [head, ...texts, ...(isCut ? [clipped(more(left), moreBytesMax)] : [])];
      return { text: lines.join("\n"), isCut };
    },
  };
}
