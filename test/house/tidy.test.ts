import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  calls,
  expectNone,
  filesUnder,
  importCycles,
  isTest,
  lineOf,
  readSources,
  root,
  type Source,
} from "./source.js";

const src = readSources("src");
const testCode = [
  ...src.filter(({ path }) => isTest(path) || path.startsWith("src/store/conformance/")),
  ...readSources("test"),
];

test("a skipped or singled-out test says why", () => {
  expectNone(testCode.flatMap(unexplainedSkips));
});

test("only the demo and the surfaces print", () => {
  const mayPrint = (path: string) => /^src\/(demo\/|surfaces\/|bin\.ts$)/.test(path);
  expectNone(src.filter(({ path }) => !mayPrint(path)).flatMap(prints));
});

test("no files of src import each other in a circle", () => {
  const advice =
    "Move what they share into a file of its own, or use `import type` where only types are needed.";
  expectNone(importCycles(src).map((cycle) => `${cycle.join(" → ")} is a circle of imports. ${advice}`));
});

test("lockfiles name no registry address", () => {
  expectNone(filesUnder(".").filter(isLockfile).flatMap(addresses));
});

const isLockfile = (path: string) => /(^|\/)package-lock\.json$/.test(path);

function addresses(path: string): string[] {
  const found = readFileSync(join(root, path), "utf8").match(/"resolved": "[a-z+]+:\/\/[^"]*"/g) ?? [];
  if (found.length === 0) return [];
  return [
    `${path} has ${found.length} addresses such as ${found[0]}, which other machines may not reach. ` +
      "Put omit-lockfile-registry-resolved=true into the .npmrc beside it, remove the lockfile and run npm install.",
  ];
}

function unexplainedSkips(source: Source): string[] {
  return calls(source).flatMap(({ name, at }) => {
    if (!/\.(only|skip)(\.|$)/.test(name) || hasComment(source, lineOf(at))) return [];
    return `${source.path}:${lineOf(at)} calls ${name}( without a reason. Say why in a comment on the same line, or remove it.`;
  });
}

function hasComment(source: Source, line: number): boolean {
  const text = source.text.split("\n")[line - 1] ?? "";
  return /\/[/*]\s*\w/.test(text.replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '""'));
}

function prints(source: Source): string[] {
  return calls(source)
    .filter(({ name }) => name === "console.log")
    .map(
      ({ at }) =>
        `${source.path}:${lineOf(at)} prints with console.log, which corrupts the output of whoever embeds Dibs. ` +
        "Use the injected logger, or return the text to the surface.",
    );
}

describe("the checker itself", () => {
  const source = (text: string): Source => ({ path: "test/example.test.ts", text });

  test("finds skips without a reason", () => {
    expect(unexplainedSkips(source(`test.skip("a // b", () => {});`))).toHaveLength(1);
    expect(unexplainedSkips(source(`describe.only.each([1])("a", () => {});`))).toHaveLength(1);
    expect(unexplainedSkips(source(`test.skip("a", () => {}); // needs PostgreSQL`))).toEqual([]);
    expect(unexplainedSkips(source(`const text = "test.skip(";`))).toEqual([]);
  });

  test("finds circles, but not those of types", () => {
    const a = { path: "src/core/a.ts", text: `import "./b.js";` };
    const b = { path: "src/core/b.ts", text: `export * from "./a.js";` };
    const types = { path: "src/core/b.ts", text: `import type { A } from "./a.js";` };
    expect(importCycles([a, b])).toEqual([["src/core/a.ts", "src/core/b.ts", "src/core/a.ts"]]);
    expect(importCycles([a, types])).toEqual([]);
  });
});
