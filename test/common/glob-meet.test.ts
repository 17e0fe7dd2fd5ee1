import fc from "fast-check";
import { expect, test } from "vitest";
import { globMatcher } from "../../src/common/glob.js";
import { globsMeet, globsThatMeet } from "../../src/common/glob-meet.js";

test.each([
  ["package-lock.json", "package-lock.json", true],
  ["package-lock.json", "*.json", true],
  ["**/package-lock.json", "web/*", true],
  ["migrations/**", "**/*.sql", true],
  ["migrations/**", "src/**", false],
  ["src/*.ts", "src/*/index.ts", false],
  ["src/**", "src", false],
  ["a*b", "*c*", true],
  ["a?", "b?", false],
  ["{a,b}/x", "{b,c}/*", true],
  ["{a,b}/x", "{c,d}/*", false],
  ["a/{*,b}*/c", "a/x/y/c", true],
  ["**", "a/b/c", true],
  ["a/**/b", "a/b", true],
  ["*/", "a", false],
  ["{a", "{a", true],
  ["{a,b", "?a,b", true],
  ["ä*", "?", true],
])("%s and %s meet: %s", (a, b, expected) => {
  expect(globsMeet(a, b)).toBe(expected);
  expect(globsMeet(b, a)).toBe(expected);
});

test("a task's directory and a path from here meet what is in them", () => {
  expect(globsThatMeet(["migrations/**", "web/**"], ["migrations/"])).toEqual(["migrations/**"]);
  expect(globsThatMeet(["package-lock.json"], ["./package-lock.json"])).toEqual(["package-lock.json"]);
});

/** A shortest path that two globs of so many parts match is not longer than both together. */
const partsMax = 4;

const paths = pathsOf(["a", "b", "/"], 2 * partsMax);

function pathsOf(alphabet: readonly string[], length: number): string[] {
  let ofLength = [""];
  const found: string[] = [];
  for (let n = 1; n <= length; n++) {
    ofLength = ofLength.flatMap((path) => alphabet.map((character) => path + character));
    found.push(...ofLength);
  }
  return found.filter((path) => path.split("/").every((name) => name !== ""));
}

const part = fc.constantFrom("a", "b", "/", "/", "*", "*", "?", "**/", "/**");
const choice = fc.array(part, { maxLength: 2 }).map((parts) => parts.join(""));
const braces = fc.array(choice, { minLength: 1, maxLength: 3 }).map((choices) => `{${choices.join(",")}}`);
const globOf = (one: fc.Arbitrary<string>, maxLength: number) =>
  fc.array(one, { minLength: 1, maxLength }).map((parts) => parts.join(""));

test("two globs meet exactly if brute force finds a path that both match", () => {
  const glob = fc.oneof(globOf(part, partsMax), globOf(fc.oneof(part, braces), 3));
  let meetings = 0;
  fc.assert(
    fc.property(glob, glob, (a, b) => {
      const [inA, inB] = [globMatcher([a]), globMatcher([b])];
      const witness = paths.find((path) => inA(path) && inB(path));
      if (witness !== undefined) meetings++;
      expect(globsMeet(a, b), `${a} and ${b}: ${witness}`).toBe(witness !== undefined);
    }),
    { numRuns: Number(process.env.DIBS_RUNS ?? 1_000) },
  );
  expect(meetings).toBeGreaterThan(100);
});

test("a path meets a glob exactly if the glob matches it", () => {
  const glob = globOf(fc.oneof(part, fc.constantFrom("{", "}", ",")), 9);
  fc.assert(
    fc.property(glob, fc.constantFrom(...paths), (a, path) => {
      const asGlob = `{${path}}`;
      expect(globsMeet(a, asGlob), `${a} and ${path}`).toBe(globMatcher([a])(path));
    }),
    { numRuns: Number(process.env.DIBS_RUNS ?? 5_000) },
  );
});

test.each([
  ["stars", "*a".repeat(2_000), "*b".repeat(2_000)],
  ["braces", "{a,b}".repeat(800), `${"{b,a}".repeat(800)}c`],
  ["empty choices", "{,,,,,,a}".repeat(400), "{,,,,,,a}".repeat(400)],
  ["nested braces", "{".repeat(2_000) + "}".repeat(2_000), "*"],
  ["directories", "**/a/".repeat(600), "**/?/".repeat(600)],
])("hostile globs of %s take a bounded time", (_, a, b) => {
  const started = process.cpuUsage();
  globsMeet(a, b);
  globsThatMeet(
    Array.from({ length: 50 }, (_, n) => `${a}${n}`),
    Array.from({ length: 200 }, (_, n) => `${n}${b}`),
  );
  // Of this process only: the machine can be busy with other work.
  const { user, system } = process.cpuUsage(started);
  expect((user + system) / 1_000).toBeLessThan(10_000);
});
