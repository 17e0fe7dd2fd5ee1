import { describe, expect, test } from "vitest";
import { operations } from "../../src/contract/registry.js";
import { exampleAddress, exampleBody } from "../../src/surfaces/http/example.js";
import { readQuery } from "../../src/surfaces/http/input.js";
import { openApiDocument } from "../../src/surfaces/http/openapi.js";
import { referenceCss, referencePage } from "../../src/surfaces/http/reference.js";

const document = openApiDocument({ version: "1.2.3" });
const page = referencePage(document);
const matches = (pattern: RegExp) => [...page.matchAll(pattern)].map(([, found]) => found!);

describe("the reference", () => {
  test("has every operation and every shape once, and each link leads somewhere", () => {
    const ids = matches(/ id="([^"]+)"/g);
    expect(new Set(ids).size).toBe(ids.length);
    const shapes = Object.keys(document.components.schemas);
    expect(ids).toEqual(expect.arrayContaining([...operations.map(({ name }) => name), ...shapes]));
    for (const link of matches(/ href="#([^"]+)"/g)) expect(ids).toContain(link);
  });

  test("needs no script, no style inside and nothing from elsewhere", () => {
    expect(page).not.toMatch(/<script|<style|<img|<iframe|<form| style=| on\w+=|javascript:| src=/i);
    const addresses = new Set(matches(/ href="([^#][^"]*)"/g));
    expect([...addresses].sort()).toEqual(["/openapi.json", "/reference.css"]);
    expect(referenceCss).not.toMatch(/url\(|@import|https?:/);
  });

  test("is light and dark, and tells who may call", () => {
    expect(referenceCss).toContain("prefers-color-scheme: dark");
    for (const { role } of operations) expect(page).toContain(`needs the role <b>${role}</b>`);
    expect(page).toContain("needs no token");
  });

  test("its tags are closed in the order they were opened", () => {
    const open: string[] = [];
    for (const [, slash, name] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
      if (["meta", "link", "wbr"].includes(name!)) continue;
      if (slash === "") open.push(name!);
      else expect(open.pop()).toBe(name);
    }
    expect(open).toEqual([]);
  });

  test("texts stay texts", () => {
    const hostile = structuredClone(document);
    const evil = `<script>alert("x")</script>'&\`<b>`;
    const operation = hostile.paths["/api/tasks"]!.post!;
    operation.summary = evil;
    operation.description = evil;
    operation.requestBody!.content["application/json"]!.schema.properties![evil] = {
      type: "string",
      description: evil,
      enum: [evil],
      default: evil,
    };
    const text = referencePage(hostile);
    expect(text).not.toMatch(/<script|<b>`?</);
    expect(text).toContain("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&#39;&amp;");
  });

  test.each(operations.map(({ name }) => [name]))("the example of %s is a valid call", (name) => {
    const definition = operations.find((each) => each.name === name)!;
    const path = definition.http.path.replace(/:(\w+)/g, "{$1}");
    const operation = document.paths[path]![definition.http.method.toLowerCase()]!;
    const address = exampleAddress(document, path, operation);
    expect(address).not.toMatch(/[{}]/);
    const values = new RegExp(`^${definition.http.path.replace(/:(\w+)/g, "(?<$1>[^/]+)")}$`);
    const [place, query] = address.split("?");
    const input = {
      ...readQuery(definition, new URLSearchParams(query)),
      ...(exampleBody(document, operation) as object | undefined),
      ...values.exec(place!)!.groups,
    };
    const { error } = definition.input.safeParse(input);
    expect(error?.issues ?? [], "give it values in example.ts").toEqual([]);
  });
});
