// Characters that a reader does not see, or that reorder what is read: control characters, bidirectional controls, characters of
// no width. They are shown by name, so that text reads as it is.

/** All but tabs, line ends, and what colours an emoji. */
const unseen = /(?!\t|\n|\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const everyUnseen = new RegExp(unseen, "gu");

export const hasUnseen = (text: string) => unseen.test(text);

/** `␛[31m`, `⟨U+202E⟩`; tabs and line ends stay. */
export function withUnseen(text: string): string {
  return hasUnseen(text) ? text.replace(everyUnseen, nameOf) : text;
}

function nameOf(character: string): string {
  const code = character.codePointAt(0)!;
  // Unicode has pictures of the oldest ones.
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
