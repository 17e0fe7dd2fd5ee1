// How much of a text an answer shows, in characters or in tokens.

export function clip(text: string, charactersMax: number): string {
  const characters = [...text.slice(0, charactersMax * 2 + 2)];
  if (characters.length <= charactersMax && text.length <= charactersMax * 2) return text;
  return `${characters.slice(0, Math.max(0, charactersMax - 1)).join("")}…`;
}

/**
 * At least as many tokens as a tokenizer would count, without loading one: small letters come in twos or more, and anything else
 * may cost a token per byte.
 */
export function weigh(text: string): number {
  let weight = 0;
  for (const character of text) weight += weightOf(character);
  return weight;
}

function weightOf(character: string): number {
  if (/[a-z ]/.test(character)) return 0.6;
  const code = character.codePointAt(0)!;
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

/** As much of the beginning as this weight allows. */
export function clipToWeight(text: string, weightMax: number): string {
  let weight = 0;
  let end = 0;
  for (const character of text) {
    weight += weightOf(character);
    if (weight > weightMax) return `${text.slice(0, end)}…`;
    end += character.length;
  }
  return text;
}
