// HTML whose texts cannot break out: whatever is put into `html` is escaped unless it is markup itself.

export class Markup {
  constructor(readonly text: string) {}
}

export type Piece = Markup | string | number | undefined | false | readonly Piece[];

export function html(parts: TemplateStringsArray, ...pieces: Piece[]): Markup {
  return new Markup(parts.map((part, i) => part + (i < pieces.length ? write(pieces[i]) : "")).join(""));
}

export function join(pieces: readonly Piece[], separator: Piece): Markup {
  return new Markup(pieces.map(write).join(write(separator)));
}

/** Text with `code` in backticks. */
export function prose(text: string): Markup {
  return join(
    text.split("`").map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part)),
    "",
  );
}

function write(piece: Piece): string {
  if (piece === undefined || piece === false) return "";
  if (piece instanceof Markup) return piece.text;
  if (Array.isArray(piece)) return piece.map(write).join("");
  return escaped(String(piece));
}

const escapes: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => escapes[character]!);
