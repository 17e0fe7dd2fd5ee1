// An operation that is called often is judged by a function that zod makes of its schema. It must say the same as the schema.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { metadata } from "./fields.js";
import type { Operation } from "./operation.js";
import { operations } from "./registry.js";

const circular: Record<string, unknown> = {};
circular.again = { circular };

const values: unknown[] = [
  ...[
    "0001",
    "me",
    "../x",
    "",
    " a ",
    "a\u0000b",
    "\ud800",
    "*",
    "P1",
    "high",
    "task",
    "queued",
    "true",
    "worker",
    "cancel",
  ],
  ...[
    "2026-11-16T00:00:00Z",
    "x".repeat(300),
    "priority",
    "depth-first",
    "running,queued",
    "30s",
    "hour",
    "task:done",
    "c".repeat(40),
    "conflict",
  ],
  ...[0, 1, 5, 50, 101, -1, 0.5, 1e9, Number.NaN, Number.POSITIVE_INFINITY, true, false, null, undefined],
  ...[[], ["a"], ["a", "b", 3], [["a"]], {}, { output: "x" }, { output: "x", filesCreated: ["f"], more: 1 }],
  ...[{ claim: { minTtlMs: 5 } }, { a: { b: [1, null, { c: "d" }] } }, { a: undefined }, new Date(0), 10n],
  ...[
    { taskId: "0001", prompt: "x" },
    [
      { prompt: "x", key: "k" },
      { prompt: "y", dependsOn: ["k"] },
    ],
  ],
  ...[
    {
      base: "c".repeat(40),
      files: [],
      fileCount: 0,
      insertions: 0,
      deletions: 0,
      reviewPaths: [],
      patchId: null,
    },
    { text: "diff", omitted: 0 },
    [{ operation: "tasks.create", input: { prompt: "x" } }],
  ],
  ...[() => 1, circular],
];
const anything = fc.oneof(fc.constantFrom(...values), fc.string(), fc.integer());

/** Mostly what the fields take, some of what they do not, and now and then a strange one. */
function inputs({ input }: Operation): fc.Arbitrary<unknown> {
  const { shape } = input as z.ZodObject;
  const fields = Object.entries(shape).map(([name, schema]) => {
    const fitting = values.filter((value) => (schema as z.ZodType).safeParse(value).success);
    return [name, fc.oneof({ weight: 19, arbitrary: fc.constantFrom(...fitting) }, anything)] as const;
  });
  const object = fc.record(Object.fromEntries(fields), { requiredKeys: [] });
  const strange = fc.dictionary(fc.constantFrom("strange", "__proto__"), anything);
  return fc.oneof(
    { weight: 6, arbitrary: object },
    { weight: 3, arbitrary: fc.tuple(object, strange).map(([a, b]) => ({ ...a, ...b })) },
    { weight: 1, arbitrary: anything },
  );
}

function said(schema: z.ZodType, input: unknown) {
  const result = schema.safeParse(input);
  return result.success ? { data: result.data } : { issues: result.error.issues };
}

test.each(operations.map((operation) => [operation.name, operation] as const))("%s", (_, operation) => {
  const made = z.compile(operation.input, { strict: true });
  let accepted = 0;
  fc.assert(
    fc.property(inputs(operation), (input) => {
      const expected = said(operation.input, input);
      const answer = said(made, input);
      expect(answer).toEqual(expected);
      // What is repeated under a key is known by its text: the order of fields counts.
      if (!("issues" in expected)) expect(JSON.stringify(answer)).toBe(JSON.stringify(expected));
      if ("data" in expected) accepted++;
    }),
    { numRuns: 300 },
  );
  expect(accepted).toBeGreaterThan(0);
});

describe("metadata", () => {
  const check = (value: unknown) => metadata().safeParse(value);
  const problem = (value: unknown) => {
    const { error } = check(value);
    return error && `${error.issues[0]!.path.join(".")}: ${error.issues[0]!.message}`;
  };

  test("is any JSON, and a copy of it", () => {
    const given = { a: [1, null, { b: "c" }], d: { e: true } };
    const { data } = check(given);
    expect(data).toEqual(given);
    given.d.e = false;
    expect(data).toMatchObject({ d: { e: true } });
  });

  test.each<[string, unknown, string]>([
    ["a value that JSON has not", { a: { b: [1, undefined] } }, "a.b.1: must be JSON"],
    ["a number that is none", { a: Number.NaN }, "a: must be JSON"],
    ["a big integer", { a: 10n }, "a: must be JSON"],
    ["a function", { a: () => 1 }, "a: must be JSON"],
    ["a date, which would come back as text", { a: new Date(0) }, "a: must be JSON"],
    ["a text with NUL", { a: "b\u0000" }, ": must be valid Unicode without NUL characters"],
    ["half a letter", { "\ud800": 1 }, ": must be valid Unicode without NUL characters"],
  ])("refuses %s", (_, value, expected) => expect(problem(value)).toBe(expected));

  test("refuses what refers to itself, or is deep without end", () => {
    expect(problem(circular)).toMatch(/^again\.circular\.again: is nested .* or refers to itself$/);
    const deep = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);
    expect(problem(deep(100))).toBeUndefined();
    expect(problem(deep(101))).toBe("a.a.a: is nested more than 100 levels deep, or refers to itself");
    expect(problem(deep(5_000))).toBe(problem(deep(101)));
  });

  test("refuses more than is kept", () => {
    expect(problem({ a: "x".repeat(1_000_000) })).toMatch(/^: must have at most \d+ characters as JSON$/);
    let doubled: unknown = 1;
    for (let times = 0; times < 90; times++) doubled = [doubled, doubled];
    expect(problem({ a: doubled })).toMatch(/^a\.0\.0: must have at most \d+ characters as JSON$/);
  });

  test("sets no prototype", () => {
    const { data } = check(JSON.parse('{"__proto__":{"x":1},"a":{"__proto__":{"x":1},"b":2}}'));
    expect(JSON.stringify(data)).toBe('{"a":{"b":2}}');
  });
});
