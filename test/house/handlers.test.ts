import { describe, expect, test } from "vitest";
import { operations } from "../../src/contract/registry.js";
import { handlers } from "../../src/operations/handlers.js";
import { decisionsByName, definedHandlers } from "./handlers.js";
import { expectNone, readSources } from "./source.js";

const names = operations.map(({ name }) => name).sort();
const sources = readSources("src/operations");

test("each operation of the registry has exactly one handler object, under its own name", () => {
  expect(definedHandlers(sources).sort()).toEqual(names);
  expect(Object.keys(handlers).sort()).toEqual(names);
  expect(Object.entries(handlers).filter(([name, handler]) => handler.name !== name)).toEqual([]);
  expect(new Set(Object.values(handlers)).size).toBe(names.length);
});

test("no other file of the operations decides by the name of an operation", () => {
  expectNone(decisionsByName(sources, new Set(names)));
});

describe("the checker itself", () => {
  const problems = (text: string) =>
    decisionsByName([{ path: "src/operations/dispatch.ts", text }], new Set(names));

  test.each([
    `switch (name) { case "tasks.bulk": return bulk(); }`,
    `const sweeps = new Set(["events.list"]);`,
    `const preparations = { "tasks.list": recover };`,
    `const preparations = { "tasks.list"() {} };`,
    `if (name === "tasks.claim") wait();`,
  ])("refuses %s", (text) => {
    expect(problems(text)).toHaveLength(1);
  });

  test.each([
    `const all = { "tasks.list": forQuery("tasks.list", { query }) };`,
    `dispatch(executor, "claims.cleanup", {}, caller);`,
    `type Answer = OutputOf<OperationNamed<"tasks.claimNext">>;`,
    `const single = { name: "tasks.cancel", input };`,
  ])("allows %s", (text) => {
    expect(problems(text)).toEqual([]);
  });
});
