// HTML from templates: texts that are put into `html` are escaped, markup is not.

/** HTML that is not escaped again. */
export class Markup {
  constructor(private readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

export type Piece = Markup | string | number | undefined | false | readonly Piece[];

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function rendered(piece: Piece): string {
  if (piece === undefined || piece === false) return "";
  if (piece instanceof Markup) return piece.toString();
  if (typeof piece === "string" || typeof piece === "number")
    return String(piece).replace(/[&<>"']/g, (character) => entities[character]!);
  return piece.map(rendered).join("");
}

export const raw = (text: string): Markup => new Markup(text);

export function html(parts: TemplateStringsArray, ...pieces: Piece[]): Markup {
  return raw(parts.map((part, at) => part + rendered(pieces[at])).join(""));
}

export function join(pieces: readonly Piece[], separator: Piece): Markup {
  return html`${pieces.flatMap((piece, i) => (i === 0 ? [piece] : [separator, piece]))}`;
}

/** Text with `code` in backticks. */
export function prose(text: string): Markup {
  return html`${text.split("`").map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}
