// JSON as people keep it in settings: with comments and trailing commas. Read with the places of its values, so that an entry can
// be put in or taken out and every other character stays where it is.

export interface Property {
  key: string;
  start: number;
  node: Node;
}

export interface Node {
  start: number;
  end: number;
  value: unknown;
  /** Of an object. */
  properties?: Property[];
}

/** Nobody's settings are deeper. */
const depthMax = 200;

const trivia = /(?:\s+|\/\/[^\r\n]*|\/\*[\s\S]*?\*\/)*/y;
const scalar = /"(?:[^"\\\r\n]|\\.)*"|-?\d[\d.eE+-]*|true|false|null/y;

function matched(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

/** Behind blanks and comments. */
const skip = (text: string, at: number): number => at + matched(trivia, text, at)!.length;

export function parseJsonc(text: string): Node {
  const node = valueAt(text, skip(text, 0), 0);
  if (skip(text, node.end) < text.length) throw broken(text, node.end);
  return node;
}

function broken(text: string, at: number): Error {
  return new Error(`it is not JSON (line ${text.slice(0, at).split("\n").length})`);
}

function valueAt(text: string, start: number, depth: number): Node {
  if (depth > depthMax) throw new Error("it is nested too deeply");
  if (text[start] === "{") return objectAt(text, start, depth);
  if (text[start] === "[") return arrayAt(text, start, depth);
  const word = matched(scalar, text, start);
  if (word === null) throw broken(text, start);
  try {
    return { start, end: start + word.length, value: JSON.parse(word) };
  } catch {
    throw broken(text, start);
  }
}

function objectAt(text: string, start: number, depth: number): Node {
  const properties: Property[] = [];
  const end = eachItem(text, start, "}", (at) => {
    const key = valueAt(text, at, depth);
    const colon = skip(text, key.end);
    if (typeof key.value !== "string" || text[colon] !== ":") throw broken(text, at);
    const node = valueAt(text, skip(text, colon + 1), depth + 1);
    properties.push({ key: key.value, start: at, node });
    return node.end;
  });
  // Not by assignment: `__proto__` is a key like any other.
  const value = Object.fromEntries(properties.map(({ key, node }) => [key, node.value]));
  return { start, end, value, properties };
}

function arrayAt(text: string, start: number, depth: number): Node {
  const items: Node[] = [];
  const end = eachItem(text, start, "]", (at) => {
    const item = valueAt(text, at, depth + 1);
    items.push(item);
    return item.end;
  });
  return { start, end, value: items.map(({ value }) => value) };
}

/** Items between commas; one comma may stand behind the last. Returns where the closing sign ends. */
function eachItem(text: string, start: number, closing: string, item: (at: number) => number): number {
  let at = skip(text, start + 1);
  while (text[at] !== closing) {
    at = skip(text, item(at));
    if (text[at] === ",") at = skip(text, at + 1);
    else if (text[at] !== closing) throw broken(text, at);
  }
  return at + 1;
}

/** As readers of JSON do: of two with the same name the last one counts. */
export function propertyOf({ properties }: Node, key: string): Property | undefined {
  return properties?.findLast((each) => each.key === key);
}

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

/** Where a comma follows, if one does. */
function commaBehind(text: string, at: number): number | null {
  const next = skip(text, at);
  return text[next] === "," ? next : null;
}

const indentOf = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", at - 1) + 1))![0];

/** What is put before everything inside an object on a line of its own. */
function unitOf(text: string, root: Node): string {
  const [first] = root.properties ?? [];
  return first && text.slice(root.start, first.start).includes("\n")
    ? indentOf(text, first.start) || "  "
    : "  ";
}

/** The text with one more property at the end of an object. */
export function withProperty(text: string, root: Node, object: Node, key: string, value: unknown): string {
  const { properties = [] } = object;
  const eol = text.includes("\r\n") ? "\r\n" : "\n";
  const unit = unitOf(text, root);
  const last = properties.at(-1);
  const isInline = last !== undefined && !text.slice(object.start, last.start).includes("\n");
  if (isInline) {
    const comma = commaBehind(text, last.node.end);
    const put = ` ${JSON.stringify(key)}: ${JSON.stringify(value)}`;
    if (comma !== null) return edited(text, [{ from: comma + 1, to: comma + 1, text: `${put},` }]);
    return edited(text, [{ from: last.node.end, to: last.node.end, text: `,${put}` }]);
  }
  const indent = last ? indentOf(text, last.start) : indentOf(text, object.start) + unit;
  const body = JSON.stringify(value, null, unit).replaceAll("\n", `${eol}${indent}`);
  const put = `${eol}${indent}${JSON.stringify(key)}: ${body}`;
  if (last) return edited(text, behind(text, last.node.end, put));
  // The closing brace comes on a line of its own; comments in between stay.
  const inside = text.slice(object.start + 1, object.end - 1).trimEnd();
  const closing = `${eol}${indentOf(text, object.start)}`;
  return edited(text, [{ from: object.start + 1, to: object.end - 1, text: `${inside}${put}${closing}` }]);
}

/** Behind a value, its comma and what is remarked about it on the same line. */
function behind(text: string, end: number, put: string): Edit[] {
  const comma = commaBehind(text, end);
  const from = comma === null ? end : comma + 1;
  const remark = /^[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/)/.exec(text.slice(from))?.[0] ?? "";
  const to = from + remark.length;
  if (comma !== null) return [{ from: to, to, text: `${put},` }];
  return remark === ""
    ? [{ from: end, to: end, text: `,${put}` }]
    : [
        { from: end, to: end, text: "," },
        { from: to, to, text: put },
      ];
}

/** The text without one of an object's properties, and without its comma. */
export function withoutProperty(text: string, object: Node, property: Property): string {
  const before = text.slice(0, property.start);
  const own = { from: before.trimEnd().length, to: property.node.end, text: "" };
  const following = commaBehind(text, property.node.end);
  const { properties = [] } = object;
  const previous = properties[properties.indexOf(property) - 1];
  const comma = following ?? (previous ? commaBehind(text, previous.node.end) : null);
  return edited(text, comma === null ? [own] : [own, { from: comma, to: comma + 1, text: "" }]);
}
