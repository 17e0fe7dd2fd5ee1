// Every answer of every HTTP test is held against the OpenAPI document: the status is documented, and the body is what the schema
// says and nothing else. The document leaves answers open, so that they may grow; here they are closed, so that nothing leaks.

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { type Code, httpStatus } from "../../src/contract/codes.js";
import { openApiDocument } from "../../src/surfaces/http/openapi.js";
import { lookUp, type OperationObject, problemType } from "../../src/surfaces/http/openapi-types.js";
import { componentPrefix, type Schema } from "../../src/surfaces/http/schema.js";

export interface Answer {
  method: string;
  /** As requested; a query is ignored. */
  path: string;
  status: number;
  contentType: string | null | undefined;
  /** Parsed JSON, or text. */
  body: unknown;
}

const document = openApiDocument({ version: "test" });

/** References are to schemas of their own, so that each is compiled once. */
function prepared(schema: Schema, close: boolean): Schema {
  const copy: Schema = { ...schema };
  const inner = (each: Schema) => prepared(each, close);
  if (copy.$ref) copy.$ref = copy.$ref.replace(componentPrefix, "");
  for (const key of ["anyOf", "allOf"] as const) if (copy[key]) copy[key] = copy[key].map(inner);
  if (copy.items) copy.items = inner(copy.items);
  if (typeof copy.additionalProperties === "object") {
    copy.additionalProperties = inner(copy.additionalProperties);
  }
  if (copy.properties) {
    const properties = Object.entries(copy.properties).map(([name, each]) => [name, inner(each)] as const);
    copy.properties = Object.fromEntries(properties);
    if (close) copy.additionalProperties ??= false;
  }
  return copy;
}

const ajv = new Ajv2020({ strict: false });
formats.default(ajv);
for (const [name, schema] of Object.entries(document.components.schemas)) {
  ajv.addSchema({ ...prepared(schema, name !== "Problem"), $id: name });
}

interface Route {
  template: string;
  pattern: RegExp;
  byMethod: Record<string, OperationObject>;
}

/** Fixed words before placeholders, as the server routes. */
const routes: Route[] = Object.entries(document.paths)
  .sort(([a], [b]) => a.split("{").length - b.split("{").length)
  .map(([template, byMethod]) => {
    const pattern = template.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+");
    return { template, byMethod, pattern: new RegExp(`^${pattern}$`) };
  });

const validators = new Map<string, ValidateFunction>();

function validatorFor(key: string, schema: Schema, isSuccess: boolean): ValidateFunction {
  const known = validators.get(key);
  if (known) return known;
  const compiled = ajv.compile(prepared(schema, isSuccess));
  validators.set(key, compiled);
  return compiled;
}

/** Throws with what is wrong first, where, and what was answered. */
export function expectConforms(answer: Answer): void {
  const path = answer.path.split(/[?#]/)[0]!;
  const method = answer.method.toLowerCase();
  const type = (answer.contentType ?? "").split(";")[0]!.trim().toLowerCase();
  const body =
    typeof answer.body === "string" && type.endsWith("json") ? JSON.parse(answer.body) : answer.body;
  const route = routes.find(({ pattern, byMethod }) => pattern.test(path) && method in byMethod);
  const operation = route?.byMethod[method];
  const wrong = operation
    ? problemOf(operation, { ...answer, contentType: type, body })
    : problemElsewhere({ ...answer, path, contentType: type, body });
  if (!wrong) return;
  const name = operation?.operationId ?? "no operation";
  throw new Error(`${answer.method} ${path} (${name}) answered ${answer.status}: ${wrong}\n${excerpt(body)}`);
}

function problemOf(
  { operationId, responses }: OperationObject,
  { status, contentType, body }: Answer,
): string | undefined {
  const documented = responses[status];
  if (!documented) return `documented are only ${Object.keys(responses).join(", ")}`;
  const { content = {} } = lookUp(document, documented);
  const type = contentType ?? "";
  const media = content[type];
  if (Object.keys(content).length === 0) return body === "" ? undefined : "it has a body";
  if (!media) return `its type is ${type || "missing"}, not ${Object.keys(content).join(" or ")}`;
  if (!type.endsWith("json")) return typeof body === "string" ? undefined : "its body is no text";
  return mismatch(validatorFor(`${operationId} ${status} ${type}`, media.schema, type !== problemType), body);
}

/** Nothing is documented there: pages of people, or a refusal that every address can answer. */
function problemElsewhere({ path, status, contentType, body }: Answer): string | undefined {
  if (!path.startsWith("/api/") && !contentType?.endsWith("json")) return undefined;
  const schema = document.components.schemas.Problem!;
  if (contentType !== problemType) return "the document has no such route";
  const code = (body as { error: Code }).error;
  if (httpStatus[code] !== status) return `${code} belongs to ${httpStatus[code]}`;
  return mismatch(validatorFor("elsewhere", schema, false), body);
}

function mismatch(validate: ValidateFunction, body: unknown): string | undefined {
  if (validate(body)) return undefined;
  const [error] = validate.errors ?? [];
  const { additionalProperty, allowedValues } = (error?.params ?? {}) as Record<string, unknown>;
  const more = additionalProperty ?? allowedValues;
  const said = `${error?.message}${more === undefined ? "" : ` ${JSON.stringify(more)}`}`;
  return `at ${error?.instancePath || "the top"}: ${said} (${error?.schemaPath})`;
}

function excerpt(body: unknown): string {
  const text = typeof body === "string" ? body : (JSON.stringify(body) ?? "nothing");
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}
