// Edits of settings files in JSON with comments and trailing commas. jsonc-parser reads them. Its `modify` is not used:
// it moves comments when it inserts a property and deletes them when it removes one. Here every other character stays.

import { createScanner, type Node, type ParseError, parseTree, visit } from "jsonc-parser";

const depthMax = 200;

export function parseJsonc(text: string): Node {
  // A blank instead of a byte order mark keeps the offsets.
  const marked = text.replace(/^\ufeff/, " ");
  refuseDeepNesting(marked);
  const errors: ParseError[] = [];
  const root = parseTree(marked, errors, { allowTrailingComma: true });
  if (root && errors.length === 0) return root;
  const before = text.slice(0, errors[0]?.offset);
  throw new Error(`it is not JSON (line ${before.split("\n").length})`);
}

/** `parseTree` recurses without a limit, so deep nesting overflows the stack. */
function refuseDeepNesting(text: string): void {
  let depth = 0;
  const open = () => {
    if (++depth > depthMax) throw new Error("it is nested too deeply");
  };
  const close = () => {
    depth--;
  };
  visit(text, { onObjectBegin: open, onObjectEnd: close, onArrayBegin: open, onArrayEnd: close });
}

/** Of two properties with the same name the last one counts, as `JSON.parse` does it. */
export function propertyOf(object: Node, key: string): Node | undefined {
  return object.children?.findLast(({ children }) => children![0]!.value === key);
}

export const valueNode = ({ children }: Node): Node => children![1]!;

export const endOf = ({ offset, length }: Node): number => offset + length;

interface Edit {
  from: number;
  to: number;
  text: string;
}

function edited(text: string, edits: readonly Edit[]): string {
  return edits
    .toSorted((a, b) => b.from - a.from)
    .reduce((whole, { from, to, text: put }) => whole.slice(0, from) + put + whole.slice(to), text);
}

/** The offset of the comma that follows, if one does. */
function commaBehind(text: string, at: number): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(at);
  scanner.scan();
  const next = scanner.getTokenOffset();
  return text[next] === "," ? next : null;
}

const indentOf = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", at - 1) + 1))![0];

/** The indentation of one level. */
function unitOf(text: string, root: Node): string {
  const [first] = root.children!;
  return first && text.slice(root.offset, first.offset).includes("\n")
    ? indentOf(text, first.offset) || "  "
    : "  ";
}

/** The text with one more property at the end of an object. */
export function withProperty(text: string, root: Node, object: Node, key: string, value: unknown): string {
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const unit = unitOf(text, root);
  const last = object.children!.at(-1);
  const isInline = last !== undefined && !text.slice(object.offset, last.offset).includes("\n");
  if (isInline) {
    const comma = commaBehind(text, endOf(last));
    const put = ` ${JSON.stringify(key)}: ${JSON.stringify(value)}`;
    if (comma !== null) return edited(text, [{ from: comma + 1, to: comma + 1, text: `${put},` }]);
    return edited(text, [{ from: endOf(last), to: endOf(last), text: `,${put}` }]);
  }
  const indent = last ? indentOf(text, last.offset) : indentOf(text, object.offset) + unit;
  const body = JSON.stringify(value, null, unit).replaceAll("\n", `${eol}${indent}`);
  const put = `${eol}${indent}${JSON.stringify(key)}: ${body}`;
  if (last) return edited(text, behind(text, endOf(last), put));
  // The closing brace comes on a line of its own; comments in between stay.
  const [from, to] = [object.offset + 1, endOf(object) - 1];
  const inside = text.slice(from, to).trimEnd();
  const closing = `${eol}${indentOf(text, object.offset)}`;
  return edited(text, [{ from, to, text: `${inside}${put}${closing}` }]);
}

/** Behind a value, its comma and a comment on the same line. */
function behind(text: string, end: number, put: string): Edit[] {
  const comma = commaBehind(text, end);
  const from = comma === null ? end : comma + 1;
  const comment = /^[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/)/.exec(text.slice(from))?.[0] ?? "";
  const to = from + comment.length;
  if (comma !== null) return [{ from: to, to, text: `${put},` }];
  return comment === ""
    ? [{ from: end, to: end, text: `,${put}` }]
    : [
        { from: end, to: end, text: "," },
        { from: to, to, text: put },
      ];
}

/** The text without one of an object's properties, and without its comma. */
export function withoutProperty(text: string, object: Node, property: Node): string {
  const before = text.slice(0, property.offset);
  const own = { from: before.trimEnd().length, to: endOf(property), text: "" };
  const following = commaBehind(text, endOf(property));
  const previous = object.children![object.children!.indexOf(property) - 1];
  const comma = following ?? (previous ? commaBehind(text, endOf(previous)) : null);
  return edited(text, comma === null ? [own] : [own, { from: comma, to: comma + 1, text: "" }]);
}
