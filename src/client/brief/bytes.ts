// Cutting text to a number of UTF-8 bytes, in whole characters.

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

export const bytesOf = (text: string): number => encoder.encode(text).length;

const cutMark = "\n[… cut …]\n";

/** The beginning of a text. */
function beginningOf(text: string, bytesMax: number): string {
  const { read } = encoder.encodeInto(text, new Uint8Array(Math.max(0, bytesMax)));
  return text.slice(0, read);
}

/** The end of a text. */
function endOf(text: string, bytesMax: number): string {
  const bytes = encoder.encode(text);
  let from = Math.max(0, bytes.length - bytesMax);
  const isInsideCharacter = () => from < bytes.length && (bytes[from]! & 0xc0) === 0x80;
  while (isInsideCharacter()) from += 1;
  return decoder.decode(bytes.subarray(from));
}

/** Whole if it fits, else its beginning. */
export function clipped(text: string, bytesMax: number): string {
  if (bytesOf(text) <= bytesMax) return text;
  return bytesMax < 3 ? "" : `${beginningOf(text, bytesMax - 3)}…`;
}

/** Whole if it fits, else its beginning and its end: errors and summaries often have their point in the last lines. */
export function shortened(text: string, bytesMax: number): string {
  if (bytesOf(text) <= bytesMax) return text;
  const room = bytesMax - bytesOf(cutMark);
  if (room < 64) return clipped(text, bytesMax);
  const half = Math.floor(room / 2);
  return `${beginningOf(text, half)}${cutMark}${endOf(text, half)}`;
}
