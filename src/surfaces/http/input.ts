// Query text as an operation's input. The contract's JSON Schema says what each field is, read once when the server starts; what
// does not convert stays the text it was, so that the contract refuses it in its own words.

import type { Operation } from "../../contract/operation.js";
import { operations } from "../../contract/registry.js";
import { inputSchemas, resolve, type Schema } from "./schema.js";

type Kind = "text" | "number" | "flag" | "list";
type Fields = ReadonlyMap<string, Kind>;

const { of: schemas, components } = inputSchemas(operations);
const known: ReadonlyMap<string, Fields> = new Map(
  [...schemas].map(([name, { properties = {} }]) => [
    name,
    new Map(Object.entries(properties).map(([field, schema]) => [field, kindOf(schema)])),
  ]),
);

function kindOf(schema: Schema): Kind {
  const alternatives = alternativesOf(schema);
  const may = (...types: string[]) => alternatives.some(({ type }) => types.includes(String(type)));
  // Where one value or a list may stand, a list is both.
  if (may("array")) return "list";
  if (may("boolean")) return "flag";
  // A time may be a number, and no time as text looks like one; a free text might.
  const isFree = alternatives.some((each) => each.type === "string" && !each.format && !each.enum);
  return may("number", "integer") && !isFree ? "number" : "text";
}

function alternativesOf(schema: Schema): Schema[] {
  const resolved = resolve(schema, components);
  return resolved.anyOf?.flatMap(alternativesOf) ?? [resolved];
}

/** The names and kinds of an operation's input. */
export function inputFields({ name }: Operation): Fields {
  return known.get(name) ?? new Map();
}

/** Unknown parameters are ignored; a parameter that may stand once and stands twice is refused by its schema. */
export function readQuery(
  operation: Operation,
  entries: Iterable<readonly [string, string]>,
): Record<string, unknown> {
  const fields = inputFields(operation);
  const texts = new Map<string, string[]>();
  for (const [said, text] of entries) {
    const name = operation.http.aliases?.[said] ?? said;
    if (fields.has(name)) texts.set(name, [...(texts.get(name) ?? []), text]);
  }
  const input: Record<string, unknown> = {};
  for (const [name, all] of texts) {
    const value = valueFrom(fields.get(name)!, all);
    if (value !== undefined) input[name] = value;
  }
  return input;
}

function valueFrom(kind: Kind, texts: string[]): unknown {
  if (kind === "list") return listOf(texts);
  const [text = ""] = texts;
  if (texts.length > 1) return texts;
  if (kind === "number") return numberOf(text);
  return kind === "flag" ? flagOf(text) : text;
}

/** An empty list is what an empty field of a form sends: nothing was chosen. */
function listOf(texts: string[]): string[] | undefined {
  const values = texts
    .flatMap((text) => text.split(","))
    .map((text) => text.trim())
    .filter((text) => text !== "");
  return values.length > 0 ? values : undefined;
}

function numberOf(text: string): number | string | undefined {
  if (text === "") return undefined;
  return /^-?\d{1,15}(?:\.\d+)?$/.test(text) ? Number(text) : text;
}

function flagOf(text: string): boolean | string {
  if (text === "true" || text === "1" || text === "") return true;
  return text === "false" || text === "0" ? false : text;
}
