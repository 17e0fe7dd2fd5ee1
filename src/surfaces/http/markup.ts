// HTML from templates: texts that are put into `html` are escaped, markup is not.

import { html as asyncHtml, raw } from "hono/html";

export { raw };

export type Markup = ReturnType<typeof raw>;

export type Piece = Markup | string | number | undefined | false | readonly Piece[];

/** hono's type allows promises as pieces; only those make the result a promise. */
export const html = asyncHtml as (parts: TemplateStringsArray, ...pieces: Piece[]) => Markup;

export function join(pieces: readonly Piece[], separator: Piece): Markup {
  return html`${pieces.flatMap((piece, i) => (i === 0 ? [piece] : [separator, piece]))}`;
}

/** Text with `code` in backticks. */
export function prose(text: string): Markup {
  return html`${text.split("`").map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
