import { plain } from "./text.js";

/** A word that a shell takes as it is. */
export function shellWord(text: string): string {
  const word = plain(text);
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
