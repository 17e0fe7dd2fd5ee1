// JSON with the place of every value, so that a problem can be shown where it is. Comments, trailing commas and a
// byte order mark are let through: models and people write them.

import type { At, Json } from "./plan.js";
import { quote } from "./words.js";

export type JsonNode =
  | { kind: "object"; members: Map<string, JsonNode>; at: At }
  | { kind: "array"; items: JsonNode[]; at: At }
  | { kind: "value"; value: string | number | boolean | null; at: At };

/** A comment, with the line it begins in. */
export interface Comment {
  number: number;
  text: string;
}

export type JsonResult =
  | { ok: true; node: JsonNode; comments: Comment[] }
  | { ok: false; at: At; message: string };

const depthMax = 200;

/** `firstLine` is where the text begins in its document. */
export function parseJson(text: string, firstLine = 1): JsonResult {
  const parser = new Parser(text, firstLine);
  try {
    return { ok: true, node: parser.whole(), comments: parser.comments };
  } catch (error) {
    if (error instanceof SyntaxProblem) return { ok: false, at: error.at, message: error.message };
    throw error;
  }
}

/** The value that a text begins with, and the line and offset at which it ends; null: it begins with none. */
export function parseLeadingJson(
  text: string,
  firstLine: number,
): { node: JsonNode; comments: Comment[]; line: number; offset: number } | null {
  const parser = new Parser(text, firstLine);
  try {
    return { node: parser.leading(), comments: parser.comments, ...parser.end };
  } catch (error) {
    if (error instanceof SyntaxProblem) return null;
    throw error;
  }
}

export function toJson(node: JsonNode): Json {
  if (node.kind === "value") return node.value;
  if (node.kind === "array") return node.items.map(toJson);
  return Object.fromEntries([...node.members].map(([name, member]) => [name, toJson(member)]));
}

class SyntaxProblem extends Error {
  constructor(
    readonly at: At,
    message: string,
  ) {
    super(message);
  }
}

class Parser {
  readonly comments: Comment[] = [];
  private offset = 0;
  private line: number;
  private lineStart = 0;

  constructor(
    private readonly text: string,
    firstLine: number,
  ) {
    this.line = firstLine;
  }

  leading(): JsonNode {
    return this.value(0);
  }

  get end(): { line: number; offset: number } {
    return { line: this.line, offset: this.offset };
  }

  whole(): JsonNode {
    const node = this.value(0);
    this.skipBlanks();
    if (this.offset < this.text.length) this.fail(`The JSON ends before this ${this.found()}.`);
    return node;
  }

  private value(depth: number): JsonNode {
    this.skipBlanks();
    if (depth > depthMax) this.fail(`This is nested more than ${depthMax} levels deep.`);
    const at = this.at();
    const character = this.text[this.offset];
    if (character === "{") return { kind: "object", members: this.members(depth), at };
    if (character === "[") return { kind: "array", items: this.items(depth), at };
    if (character === '"') return { kind: "value", value: this.string(), at };
    return { kind: "value", value: this.literal(), at };
  }

  private members(depth: number): Map<string, JsonNode> {
    const members = new Map<string, JsonNode>();
    const opened = this.at();
    this.offset++;
    while (!this.closes("}", opened)) {
      if (this.text[this.offset] !== '"') {
        this.fail(`A field name in double quotes or '}' is expected here, not ${this.found()}.`);
      }
      const name = this.string();
      this.skipBlanks();
      if (this.text[this.offset] !== ":") this.fail(`A ':' is expected after ${quote(name)}.`);
      this.offset++;
      members.set(name, this.value(depth + 1));
      this.separator("}");
    }
    return members;
  }

  private items(depth: number): JsonNode[] {
    const items: JsonNode[] = [];
    const opened = this.at();
    this.offset++;
    while (!this.closes("]", opened)) {
      items.push(this.value(depth + 1));
      this.separator("]");
    }
    return items;
  }

  private closes(end: string, opened: At): boolean {
    this.skipBlanks();
    if (this.offset >= this.text.length) {
      this.fail(`The text ends, but what line ${opened.line} opens is not closed by '${end}'.`);
    }
    if (this.text[this.offset] !== end) return false;
    this.offset++;
    return true;
  }

  private separator(end: string): void {
    this.skipBlanks();
    const character = this.text[this.offset];
    if (character === ",") this.offset++;
    else if (character !== end && character !== undefined) {
      this.fail(`A ',' or '${end}' is expected here, not ${this.found()}.`);
    }
  }

  private string(): string {
    const start = this.offset;
    const opened = this.at();
    for (this.offset++; this.offset < this.text.length; this.offset++) {
      const character = this.text[this.offset];
      if (character === "\\") this.offset++;
      else if (character === '"') {
        this.offset++;
        return this.unescaped(this.text.slice(start, this.offset), opened);
      } else if (character === "\n") break;
    }
    this.offset = start;
    return this.fail("This text has no closing quote on its line.", opened);
  }

  private unescaped(quoted: string, at: At): string {
    try {
      return JSON.parse(quoted.replaceAll("\t", "\\t")) as string;
    } catch {
      return this.fail("This text has an escape or a control character that JSON does not allow.", at);
    }
  }

  private literal(): number | boolean | null {
    const word = /^[\w.+-]{1,40}/.exec(this.text.slice(this.offset, this.offset + 41))?.[0] ?? "";
    const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(word);
    if (!isNumber && word !== "true" && word !== "false" && word !== "null") {
      const hint = this.text[this.offset] === "'" ? " Texts are written in double quotes." : "";
      this.fail(`A value is expected here, not ${this.found()}.${hint}`);
    }
    this.offset += word.length;
    return JSON.parse(word) as number | boolean | null;
  }

  private skipBlanks(): void {
    while (this.offset < this.text.length) {
      const character = this.text[this.offset]!;
      if (character === "\n") {
        this.line++;
        this.lineStart = this.offset + 1;
      } else if (character === "/" && this.text[this.offset + 1] === "/") {
        const end = this.text.indexOf("\n", this.offset);
        const from = this.offset;
        this.offset = end < 0 ? this.text.length : end;
        this.comment(from, this.line);
        continue;
      } else if (character === "/" && this.text[this.offset + 1] === "*") {
        this.skipComment();
        continue;
      } else if (!/[\s\ufeff]/.test(character)) return;
      this.offset++;
    }
  }

  private skipComment(): void {
    const end = this.text.indexOf("*/", this.offset + 2);
    if (end < 0) this.fail("This comment is not closed.");
    const [from, line] = [this.offset, this.line];
    for (; this.offset < end + 2; this.offset++) {
      if (this.text[this.offset] === "\n") {
        this.line++;
        this.lineStart = this.offset + 1;
      }
    }
    this.comment(from, line);
  }

  private comment(from: number, number: number): void {
    const text = this.text.slice(from, Math.min(this.offset, from + 500));
    if (this.comments.length < 1000) this.comments.push({ number, text });
  }

  private at(): At {
    return { line: this.line, column: this.offset - this.lineStart + 1 };
  }

  private found(): string {
    const character = this.text[this.offset];
    if (character === undefined) return "the end of the text";
    const word = /^[\w-]{1,20}/.exec(this.text.slice(this.offset, this.offset + 21))?.[0];
    return `'${(word ?? character).replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, "?")}'`;
  }

  private fail(message: string, at = this.at()): never {
    throw new SyntaxProblem(at, message);
  }
}
