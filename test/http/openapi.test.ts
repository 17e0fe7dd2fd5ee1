import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { httpStatus } from "../../src/contract/codes.js";
import { operations } from "../../src/contract/registry.js";
import { idProblem } from "../../src/core/ids.js";
import { openApiDocument } from "../../src/surfaces/http/openapi.js";
import { lookUp, problemType } from "../../src/surfaces/http/openapi-types.js";

const document = openApiDocument({ version: "1.2.3", serverUrl: "http://127.0.0.1:3427" });
const all = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);
const named = (name: string) => all.find(({ operation }) => operation.operationId === name)!.operation;
const parametersOf = (name: string) =>
  (named(name).parameters ?? []).map((parameter) => lookUp(document, parameter));
const bodyOf = (name: string) => named(name).requestBody?.content["application/json"]?.schema;

/** Every `$ref` of the document. */
function references(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) =>
    key === "$ref" && typeof each === "string" ? [each] : references(each),
  );
}

describe("the OpenAPI document", () => {
  test("is valid OpenAPI 3.1", async () => {
    const result = await new Validator().validate(structuredClone(document) as never);
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    expect(document).toMatchObject({ openapi: "3.1.0", info: { version: "1.2.3" } });
  });

  test("has every operation of the registry once, at its path and method, and each operationId once", () => {
    const ids = all.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { name, http, role, summary } of operations) {
      const found = all.filter(({ operation }) => operation.operationId === name);
      expect(found, name).toHaveLength(1);
      expect(found[0]).toMatchObject({
        path: http.path.replace(/:(\w+)/g, "{$1}"),
        method: http.method.toLowerCase(),
        operation: { summary, "x-dibs-role": role, tags: [expect.any(String)] },
      });
      expect(found[0]!.operation.responses).toHaveProperty(String(http.status ?? 200));
    }
  });

  test("has the routes that are not operations, and second paths to some", () => {
    const extra = all
      .filter(({ operation }) => !operations.some(({ name }) => name === operation.operationId))
      .map(({ path, method }) => `${method} ${path}`);
    expect(extra.sort()).toEqual([
      "delete /mcp",
      "get /api/auth/me",
      "get /api/events/stream",
      "get /healthz",
      "get /mcp",
      "get /metrics",
      "get /openapi.json",
      "get /readyz",
      "post /api/auth/code",
      "post /api/auth/exchange",
      "post /api/auth/sign-out",
      "post /api/locks/{name}",
      "post /mcp",
    ]);
  });

  test("every reference leads somewhere, and every component is used", () => {
    const used = new Set(references(document));
    for (const reference of used) {
      expect(lookUp(document, { $ref: reference }), reference).toBeTypeOf("object");
      expect(reference).toMatch(/^#\/components\/(schemas|responses|parameters)\/\w+$/);
    }
    const { securitySchemes: _, ...components } = document.components;
    for (const [kind, group] of Object.entries(components)) {
      for (const name of Object.keys(group)) expect(used).toContain(`#/components/${kind}/${name}`);
    }
  });

  test("each placeholder of a path is a required parameter, and no other parameter is in the path", () => {
    for (const { path, operation } of all) {
      const placeholders = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(path.replace(/\{\w+\}/g, "")).not.toMatch(/[{}:]/);
      const inPath = parametersOf(operation.operationId).filter((each) => each.in === "path");
      expect(inPath.map(({ name }) => name)).toEqual(placeholders);
      expect(inPath.every(({ required }) => required)).toBe(true);
      const body = bodyOf(operation.operationId);
      for (const name of placeholders) {
        expect(body?.properties ?? {}).not.toHaveProperty(name!);
        expect(body?.required ?? []).not.toContain(name);
      }
    }
  });

  test("each refusal of an operation is documented under its status", () => {
    for (const { name, refusals } of operations) {
      const common = [
        "VALIDATION_FAILED",
        "PROJECT_NOT_FOUND",
        "UNAUTHENTICATED",
        "FORBIDDEN",
        "PAYLOAD_TOO_LARGE",
      ];
      const more = ["UNSUPPORTED_MEDIA_TYPE", "RATE_LIMITED", "STORE_BUSY", "STORE_FULL", "INTERNAL"];
      for (const code of [...refusals, ...common, ...more] as (keyof typeof httpStatus)[]) {
        const response = lookUp(document, named(name).responses[httpStatus[code]]!);
        const [problem, narrowed] = response.content![problemType]!.schema.allOf!;
        expect(problem).toEqual({ $ref: "#/components/schemas/Problem" });
        expect(narrowed!.properties!.error!.enum, `${name} ${code}`).toContain(code);
        expect(response.description).toContain(`\`${code}\``);
      }
    }
  });

  test("commands take an idempotency key, and what has a project takes it as header and parameter", () => {
    for (const { name, http, input } of operations) {
      const names = parametersOf(name).map((each) => `${each.in} ${each.name}`);
      expect(names.includes("header Idempotency-Key"), name).toBe(http.method !== "GET");
      expect("422" in named(name).responses, name).toBe(http.method !== "GET");
      const hasProject = "project" in (input as unknown as { shape: object }).shape;
      expect(names.includes("header Dibs-Project"), name).toBe(hasProject);
      expect(names.includes("query project"), name).toBe(hasProject);
    }
  });

  test("queries have no body, and their inputs are parameters", () => {
    for (const { name, http } of operations.filter((each) => each.kind === "query")) {
      expect(http.method, name).toBe("GET");
      expect(bodyOf(name)).toBeUndefined();
    }
    expect(parametersOf("tasks.list").map(({ name }) => name)).toEqual([
      "state",
      "label",
      "assignee",
      "parent",
      "q",
      "claimable",
      "order",
      "limit",
      "cursor",
      "project",
      "Dibs-Project",
    ]);
    const [state, , , , , claimable, , limit] = parametersOf("tasks.list");
    expect(state).toMatchObject({ style: "form", explode: false, schema: { type: "array" } });
    expect(state!.schema.items!.enum).toContain("running");
    expect(claimable!.schema).toEqual({ type: "boolean" });
    expect(limit!.schema).toEqual({ type: "integer", minimum: 1, maximum: 1000, default: 100 });
  });

  test("what zod transforms is described by what a caller sends", () => {
    const { priority, notBefore, metadata, id } = bodyOf("tasks.create")!.properties!;
    expect(priority!.anyOf![0]).toEqual({ type: "integer", minimum: 0, maximum: 100 });
    expect(priority!.anyOf![1]!.enum).toEqual(expect.arrayContaining(["p1", "critical", "low"]));
    expect(notBefore!.anyOf).toEqual([{ type: "string", format: "date-time" }, { type: "integer" }]);
    expect(metadata).toEqual({ type: "object", additionalProperties: {} });
    expect(id).toMatchObject({ $ref: "#/components/schemas/Id" });
    expect(bodyOf("tasks.complete")!.properties!.result!.anyOf).toHaveLength(2);
  });

  test("ids are described by the rule that judges them", () => {
    const { pattern, minLength, maxLength } = document.components.schemas.Id!;
    const form = new RegExp(pattern!, "u");
    const ids = [
      "0001",
      "a",
      "a.b-c_d",
      "",
      ".a",
      "-a",
      "a..b",
      "a b",
      "ä",
      "a/b",
      "a\n",
      "x".repeat(128),
      "x".repeat(129),
    ];
    for (const id of ids) {
      const fits = form.test(id) && id.length >= minLength! && id.length <= maxLength!;
      expect(fits, JSON.stringify(id)).toBe(idProblem(id) === null);
    }
  });

  test("only what must be reachable without a token is", () => {
    const open = all.filter(({ operation }) => operation.security?.length === 0).map(({ path }) => path);
    expect(open.sort()).toEqual(["/api/auth/exchange", "/healthz", "/openapi.json", "/readyz"]);
    expect(document.security).toEqual([{ bearer: [] }, { cookie: [] }]);
  });

  test("is the same every time, and small", () => {
    const text = JSON.stringify(document);
    const again = openApiDocument({ version: "1.2.3", serverUrl: "http://127.0.0.1:3427" });
    expect(JSON.stringify(again)).toBe(text);
    expect(text.length / operations.length).toBeLessThan(3_400);
    expect(text).not.toMatch(/__shared|\$defs|\$schema/);
  });
});
