// Texts for terminals are the same here and in `dibs watch`.

export { cut, padTo, plain, plainLines, visibleLines, widthOf, wrap } from "../../../common/text.js";

/** A description that is more than the prompt says already: plans put it into both. */
export function furtherText({ prompt, description }: { prompt: string; description: string | null }): string {
  return description === null || prompt.includes(description) ? "" : description;
}
