// Where the parts of an operation's input stand in a request: the path, the query, a header.

import { idempotencyKey } from "../../contract/fields.js";
import type { Operation } from "../../contract/operation.js";
import type { ParameterObject, Reference } from "./openapi-types.js";
import { fieldSchema, type Schema } from "./schema.js";

export const pathNames = (path: string) => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);

const parameter = (name: string): Reference => ({ $ref: `#/components/parameters/${name}` });

/** Those of the path, then the query's, then what most operations share. */
export function operationParameters(operation: Operation, input: Schema): (ParameterObject | Reference)[] {
  const { method } = operation.http;
  return [
    ...pathParameters(operation, input),
    ...(method === "GET" || method === "DELETE" ? queryParameters(operation, input) : []),
    ...projectParameters(input),
    ...(method === "GET" ? [] : [parameter("IdempotencyKey")]),
  ];
}

function pathParameters({ http }: Operation, input: Schema): ParameterObject[] {
  return pathNames(http.path).map((name) => ({
    ...described(name, input.properties![name]!),
    in: "path",
    required: true,
  }));
}

function queryParameters({ http }: Operation, input: Schema): ParameterObject[] {
  const elsewhere = [...pathNames(http.path), "project"];
  return Object.entries(input.properties ?? {})
    .filter(([name]) => !elsewhere.includes(name))
    .map(([name, schema]) => queryParameter(name, schema, input.required?.includes(name)));
}

/** A list is written with commas; where one value or a list may stand, the list is both. */
export function queryParameter(name: string, schema: Schema, required = false): ParameterObject {
  const { anyOf, ...rest } = schema;
  const list = anyOf?.find(({ type }) => type === "array");
  const fitting = list ? { ...rest, ...list } : schema;
  return {
    ...described(name, fitting),
    in: "query",
    ...(required ? { required } : {}),
    ...(fitting.type === "array" ? { style: "form", explode: false } : {}),
  };
}

function described(name: string, { description, ...schema }: Schema) {
  return { name, ...(description ? { description } : {}), schema };
}

export function projectParameters({ properties }: Schema): Reference[] {
  if (!properties?.project) return [];
  const kind = properties.project.anyOf ? "ProjectOrAll" : "Project";
  return [parameter(kind), parameter(`${kind}Header`)];
}

export function sharedParameters(): Record<string, ParameterObject> {
  const one: Schema = { $ref: "#/components/schemas/Id" };
  const orAll: Schema = { anyOf: [{ type: "string", const: "*" }, one] };
  const inHeader = { in: "header", description: "The same as the parameter `project`" } as const;
  return {
    IdempotencyKey: {
      name: "Idempotency-Key",
      in: "header",
      description: "Repeated with the same body, the first answer is given again",
      schema: fieldSchema(idempotencyKey()),
    },
    Project: { name: "project", in: "query", description: "Default: the server's own", schema: one },
    ProjectHeader: { name: "Dibs-Project", ...inHeader, schema: one },
    ProjectOrAll: {
      name: "project",
      in: "query",
      description: "`*` for all of the org; default: the server's own",
      schema: orAll,
    },
    ProjectOrAllHeader: { name: "Dibs-Project", ...inHeader, schema: orAll },
  };
}
