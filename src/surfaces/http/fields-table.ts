// The fields of a schema as rows: name, type with its bounds, and what it is for.

import { componentOf } from "./example.js";
import { html, join, type Markup, type Piece, prose, raw } from "./markup.js";
import type { ParameterObject } from "./openapi-types.js";
import { resolve, type Schema } from "./schema.js";

export interface Row {
  name: string;
  isRequired: boolean;
  type: Markup;
  notes: Piece;
}

type Components = Record<string, Schema>;

export function fieldTable(title: string, rows: readonly Row[]): Markup | undefined {
  if (rows.length === 0) return undefined;
  const body = rows.map(
    ({ name, isRequired, type, notes }) => html`<tr><th scope="row"><code>${name}</code>${
      isRequired && html` <span class="needed">required</span>`
    }</th><td>${type}${notes && html`<div class="notes">${notes}</div>`}</td></tr>
`,
  );
  return html`${title && html`<h4>${title}</h4>\n`}<table class="fields"><tbody>
${body}</tbody></table>`;
}

export function parameterRow(parameter: ParameterObject, components: Components): Row {
  const { name, required = false, description, schema, in: place } = parameter;
  const where = place === "query" ? "" : place;
  const notes = [description && prose(description), where && html`In the ${where}`, defaultOf(schema)];
  return { name, isRequired: required, type: typeOf(schema, components), notes: sentences(notes) };
}

/** A row per field; those of an object inside follow it with their path. */
export function bodyRows(schema: Schema | undefined, components: Components, prefix = ""): Row[] {
  const { properties = {}, required = [] } = schema ?? {};
  return Object.entries(properties).flatMap(([name, each]) => {
    const row: Row = {
      name: prefix + name,
      isRequired: required.includes(name) && each.default === undefined && isInput(schema),
      type: typeOf(each, components),
      notes: sentences([each.description && prose(each.description), defaultOf(each)]),
    };
    const inner = each.items?.properties ? each.items : objectIn(each);
    const path = `${prefix}${name}${each.items ? "[]" : ""}.`;
    return [row, ...bodyRows(inner, components, path)];
  });
}

// Almost every field of an answer is there always; saying so at each would hide the rest.
const isInput = (schema: Schema | undefined) =>
  Object.keys(schema?.properties ?? {}).length !== schema?.required?.length;

function objectIn(schema: Schema): Schema | undefined {
  if (schema.properties) return schema;
  return schema.anyOf?.find(({ properties }) => properties);
}

function sentences(notes: readonly Piece[]): Piece {
  const said = notes.filter((note) => note !== undefined && note !== "" && note !== false);
  return said.length > 0 && join(said, ". ");
}

function defaultOf({ default: value }: Schema): Markup | undefined {
  return value === undefined ? undefined : html`Default <code>${JSON.stringify(value)}</code>`;
}

const wordsShownMax = 12;

function typeOf(schema: Schema, components: Components): Markup {
  const component = componentOf(schema);
  if (component) return html`<a href="#${component}">${component}</a>`;
  if (schema.anyOf) {
    const types = new Set(schema.anyOf.map((each) => typeOf(each, components).toString()));
    return raw([...types].join(" or "));
  }
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum) return words(schema.enum, "one of");
  if (Array.isArray(schema.type)) return html`${schema.type.map(typeWord).join(" or ")}`;
  if (schema.type === "array") return listOf(schema, components);
  return html`${schema.format === "date-time" ? "time" : typeWord(schema.type)}${bounds(schema)}`;
}

function listOf(schema: Schema, components: Components): Markup {
  const { items = {} } = schema;
  if (items.enum && items.enum.length > wordsShownMax) return words(items.enum, "list of any of");
  const isObject = resolve(items, components).properties && !items.$ref;
  return html`list of ${isObject ? "objects" : typeOf(items, components)}${bounds(schema)}`;
}

const typeWord = (type: string | string[] | undefined) =>
  type === "string" ? "text" : String(type ?? "any JSON");

function words(values: unknown[], what: string): Markup {
  const codes = values.map((each) => html`<code>${String(each)}</code>`);
  if (values.length <= wordsShownMax) return join(codes, html` <i>|</i> `);
  return html`<details><summary>${what} ${values.length} words</summary>${join(codes, " ")}</details>`;
}

const number = new Intl.NumberFormat("en-US");

function bounds(schema: Schema): string {
  return [
    range(schema.minimum, schema.maximum, ""),
    range(schema.minLength, schema.maxLength, " characters"),
    range(schema.minItems, schema.maxItems, " items"),
  ].join("");
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  if (least !== undefined && most !== undefined)
    return `, ${number.format(least)} to ${number.format(most)}${unit}`;
  if (most !== undefined) return `, at most ${number.format(most)}${unit}`;
  return least === undefined || (least === 0 && unit !== "")
    ? ""
    : `, at least ${number.format(least)}${unit}`;
}
