// Titles as people and models repeat them: with other case, quotes, numbering and emphasis.

import { plain } from "../../common/text.js";

/** Untrusted text in a message. */
export function quote(text: string, lengthMax = 80): string {
  const characters = [...plain(text.slice(0, 500))];
  const isLong = characters.length > lengthMax;
  return `"${isLong ? `${characters.slice(0, lengthMax - 3).join("")}…` : characters.join("")}"`;
}

const numbering =
  /^(?:(?:task|step|item|aufgabe|schritt|tâche|étape|tarea|paso|任务|タスク)\s*)?#?\d{1,6}(?:\.\d{1,6}){0,8}\s*[.):–—-]\s+/i;

/** Equal for titles that differ in case, punctuation, emphasis, numbering or blanks only. */
export function normalise(title: string): string {
  const bare = title
    .trim()
    .replace(/^[#>*_~`"'\s]{1,20}/, "")
    .replace(numbering, "");
  const words = bare
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[’'`]/g, "")
    .replace(/[^\p{L}\p{N}\p{M}+#]+/gu, " ")
    .trim();
  return words || title.trim().toLowerCase();
}

const pairs: Record<string, string> = {
  '"': '"',
  "'": "'",
  "`": "`",
  "“": "”",
  "‘": "’",
  "«": "»",
  "[": "]",
  "<": ">",
};

/** Takes off quotes, brackets and emphasis that wrap the whole, and a full stop at the end. */
export function unwrap(text: string): string {
  let bare = text.trim();
  for (let again = true; again && bare.length > 1; ) {
    const before = bare;
    if (bare.endsWith(".") && !bare.endsWith("..")) bare = bare.slice(0, -1).trimEnd();
    const close = pairs[bare[0]!];
    if (close && bare.endsWith(close) && bare.indexOf(close, 1) === bare.length - 1)
      bare = bare.slice(1, -1).trim();
    bare = withoutEmphasis(bare);
    again = bare !== before && bare.length < before.length;
  }
  return bare;
}

/** `**Title**` → `Title`; emphasis within stays. */
export function withoutEmphasis(text: string): string {
  for (const mark of ["***", "**", "__", "~~", "*", "_"]) {
    if (text.length <= mark.length * 2 || !text.startsWith(mark) || !text.endsWith(mark)) continue;
    const inner = text.slice(mark.length, -mark.length);
    if (!inner.includes(mark)) return inner.trim();
  }
  return text;
}

/** The titles that look most like it, best first. */
export function closest(text: string, titles: Iterable<string>, countMax = 3): string[] {
  const wanted = bigrams(normalise(text));
  const scored: { title: string; score: number }[] = [];
  let looked = 0;
  for (const title of titles) {
    if (++looked > 2000) break;
    const score = similarity(wanted, bigrams(normalise(title)));
    if (score >= 0.35) scored.push({ title, score });
  }
  scored.sort((a, b) => b.score - a.score);
  return [...new Set(scored.map(({ title }) => title))].slice(0, countMax);
}

function bigrams(text: string): Set<string> {
  const found = new Set<string>();
  const padded = ` ${text.slice(0, 80)} `;
  for (let i = 0; i + 1 < padded.length; i++) found.add(padded.slice(i, i + 2));
  return found;
}

function similarity(a: Set<string>, b: Set<string>): number {
  let common = 0;
  for (const pair of a) if (b.has(pair)) common++;
  return (2 * common) / (a.size + b.size);
}

/** The first line; over 50 characters its first 47 and an ellipsis, as the server does it. */
export function titleFrom(text: string): string {
  const characters = [...(text.trimStart().split("\n", 1)[0] ?? "").trimEnd().slice(0, 200)];
  return characters.length <= 50 ? characters.join("") : `${characters.slice(0, 47).join("")}...`;
}
