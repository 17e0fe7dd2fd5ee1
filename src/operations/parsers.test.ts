import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { judgeWithoutCompiling } from "../contract/brief.js";
import type { Operation } from "../contract/operation.js";
import { parseInput } from "../contract/parse.js";
import { operations } from "../contract/registry.js";
import { parserOf } from "./parsers.js";

/** Under a name of its own: others of this process may have called it already. */
function fresh(name: string): Operation {
  const operation = operations.find((each) => each.name === name) as Operation;
  return { ...operation, input: operation.input, name: `fresh ${name}` };
}

// A setting of the whole process, in which other tests may have run before.
const { jitless } = z.config();
beforeEach(() => void z.config({ jitless: false }));
afterEach(() => void z.config({ jitless }));

test("from the hundredth call on another parser gives the same answers", () => {
  const list = fresh("tasks.rows");
  const asked = () => parseInput(list, { limit: "5", q: "x" }, parserOf(list));
  expect(parserOf(list)).toBe(list.input);
  const first = asked();
  for (let call = 0; call < 150; call++) expect(asked()).toEqual(first);
  expect(parserOf(list)).not.toBe(list.input);
  expect(() => parseInput(list, { limit: 0 }, parserOf(list))).toThrow(/^limit must be at least 1/);
});

test("where nothing may be compiled, nothing is", () => {
  judgeWithoutCompiling();
  const graph = fresh("tasks.graph");
  for (let call = 0; call < 150; call++) expect(parserOf(graph)).toBe(graph.input);
});
