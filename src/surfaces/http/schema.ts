// The contract's zod schemas as JSON Schema: the shapes that many answers share become components, and what zod cannot say about
// inputs (transforms, dates, words in any case) is said here.

import { z } from "zod";
import { flag, id, word } from "../../contract/fields.js";
import type { Operation } from "../../contract/operation.js";
import * as shapes from "../../contract/shapes.js";

export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  pattern?: string;
  description?: string;
  default?: unknown;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  /** Of the problem: what each code is answered with. */
  "x-dibs-codes"?: Record<string, { status: number; retryable: boolean; means: string }>;
}

/** Schemas by operation name, and the components that they refer to. */
export interface SchemaSet {
  of: ReadonlyMap<string, Schema>;
  components: Record<string, Schema>;
}

export const componentPrefix = "#/components/schemas/";

/** `taskShape` is the component Task. */
const answerShapes: Record<string, z.ZodType> = {
  ...Object.fromEntries(
    Object.entries(shapes).flatMap(([name, shape]) =>
      name.endsWith("Shape") ? [[componentNameOf(name), (shape as () => z.ZodType)()]] : [],
    ),
  ),
  ResourceAnswer: shapes.resourceAnswer(),
  TaskAnswer: shapes.taskAnswer(),
  Time: shapes.time(),
};

function componentNameOf(name: string): string {
  return name[0]!.toUpperCase() + name.slice(1, -"Shape".length);
}

/** Closed in zod, open in the document: an answer may gain fields, and a reader must not break by them. */
export function answerSchemas(operations: readonly Operation[]): SchemaSet {
  const set = convert(
    operations.map(({ name, output }) => [name, output]),
    answerShapes,
    "output",
  );
  set.components.Time = {
    type: "string",
    format: "date-time",
    pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$",
    description: "A time in UTC with milliseconds",
  };
  return set;
}

export function inputSchemas(operations: readonly Operation[]): SchemaSet {
  return convert(
    operations.map(({ name, input }) => [name, input]),
    { Id: id(), SettingsPatch: shapes.settingsPatch(), Word: word() },
    "input",
  );
}

function convert(
  schemas: readonly (readonly [name: string, schema: z.ZodType])[],
  named: Record<string, z.ZodType>,
  io: "input" | "output",
): SchemaSet {
  const shared = z.registry<{ id: string }>();
  const names = new Map<z.ZodType, string>();
  for (const [name, schema] of [...Object.entries(named), ...schemas]) {
    if (names.has(schema)) continue;
    names.set(schema, name);
    shared.add(schema, { id: name });
  }
  const converted = z.toJSONSchema(shared, {
    io,
    unrepresentable: "any",
    override: io === "input" ? sayInput : () => {},
    uri: (name) => componentPrefix + name,
  }).schemas as Record<string, Schema>;
  const of = new Map<string, Schema>();
  for (const [name, schema] of schemas) {
    const known = names.get(schema)!;
    of.set(name, known === name ? tidy(converted[name]!, io) : { $ref: componentPrefix + known });
  }
  const components = Object.keys(named).map((name) => [name, tidy(converted[name]!, io)] as const);
  return { of, components: Object.fromEntries(components) };
}

type Override = { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema };

/** What `id` checks in code. */
const idRule = { minLength: 1, maxLength: 128, pattern: "^(?!.*\\.\\.)[A-Za-z0-9][A-Za-z0-9._-]*$" };

function sayInput({ zodSchema, jsonSchema }: Override): void {
  if ((zodSchema as unknown) === id()) {
    Object.assign(jsonSchema, idRule, {
      description: "Letters, digits, '.', '_' and '-'; starts with a letter or digit",
    });
  } else if ((zodSchema as unknown) === word()) {
    jsonSchema.description = "A short name without control characters; blanks around it are removed";
  } else if ((zodSchema as unknown) === flag()) {
    delete jsonSchema.anyOf;
    jsonSchema.type = "boolean";
  } else if (jsonSchema.type === "string" && jsonSchema.enum === undefined) {
    const words = wordsBehind(zodSchema);
    if (words) jsonSchema.enum = words;
  }
}

/** A text that becomes one of some words, such as a state or a priority in any case. */
function wordsBehind({ _zod: { def } }: z.core.$ZodTypes): string[] | undefined {
  if (def.type === "enum") return Object.values(def.entries) as string[];
  if (def.type !== "pipe") return undefined;
  return wordsBehind(def.out as z.core.$ZodTypes) ?? wordsBehind(def.in as z.core.$ZodTypes);
}

const integerBounds: unknown[] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];

/** Without what tells a reader nothing. */
function tidy(schema: Schema, io: "input" | "output"): Schema {
  const clean: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "$schema" || key === "$id" || key === "propertyNames") continue;
    if ((key === "minimum" || key === "maximum") && integerBounds.includes(value)) continue;
    if (key === "pattern" && schema.format === "date-time") continue;
    if (key === "additionalProperties" && value === false && io === "output") continue;
    clean[key] = tidyValue(key, value, io);
  }
  return unwrapSingle(clean as Schema);
}

function tidyValue(key: string, value: unknown, io: "input" | "output"): unknown {
  if (key === "properties") {
    const properties = Object.entries(value as Record<string, Schema>);
    return Object.fromEntries(properties.map(([name, each]) => [name, anyJson(each) ?? tidy(each, io)]));
  }
  if (key === "anyOf" || key === "allOf") {
    // A Date has no JSON: an empty alternative would allow anything.
    const alternatives = (value as Schema[]).filter((each) => Object.keys(each).length > 0);
    return alternatives.map((each) => anyJson(each) ?? tidy(each, io));
  }
  if ((key === "items" || key === "additionalProperties") && typeof value === "object") {
    return anyJson(value as Schema) ?? tidy(value as Schema, io);
  }
  return value;
}

/** zod writes "any JSON" as a schema that refers to itself. */
function anyJson({ $ref }: Schema): Schema | undefined {
  return $ref?.includes("__shared") ? {} : undefined;
}

function unwrapSingle(schema: Schema): Schema {
  const { anyOf, ...rest } = schema;
  return anyOf?.length === 1 ? { ...anyOf[0], ...rest } : schema;
}

/** A field on its own. */
export function fieldSchema(field: z.ZodType): Schema {
  return tidy(
    z.toJSONSchema(field, { io: "input", unrepresentable: "any", override: sayInput }) as Schema,
    "input",
  );
}

/** What a component's name stands for; other schemas are what they are. */
export function resolve(schema: Schema, components: Record<string, Schema>): Schema {
  if (!schema.$ref?.startsWith(componentPrefix)) return schema;
  const { $ref, ...rest } = schema;
  return { ...components[$ref.slice(componentPrefix.length)], ...rest };
}
