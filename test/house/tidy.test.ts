import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import {
  expectNone,
  filesUnder,
  importCycles,
  isTest,
  lineOf,
  parse,
  readSources,
  root,
  type Source,
  walk,
} from "./source.js";

const sleepMsMin = 100;
const src = readSources("src");
const testCode = [
  ...src.filter(({ path }) => isTest(path) || path.startsWith("src/store/conformance/")),
  ...readSources("test"),
];

test("a skipped or singled-out test says why", () => {
  expectNone(testCode.flatMap(unexplainedSkips));
});

test("tests do not sleep", () => {
  expectNone(testCode.filter(({ path }) => !path.startsWith("test/faults/")).flatMap(sleeps));
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

function sleeps(source: Source): string[] {
  const names = sleepNames(source);
  return calls(source).flatMap(({ name, call, at }) => {
    const isLong = call.arguments.some((argument) => (milliseconds(argument) ?? 0) >= sleepMsMin);
    if (!names.includes(name.replace(/^(globalThis|timers)\./, "")) || !isLong) return [];
    return (
      `${source.path}:${lineOf(at)} waits ${sleepMsMin} ms or more by the wall clock, which is slow and flaky. ` +
      "Inject a clock and move it, or await the event itself (for a limit: AbortSignal.timeout or the test's own timeout)."
    );
  });
}

// `import { setTimeout as sleep } from "node:timers/promises"` sleeps under another name.
function sleepNames(source: Source): string[] {
  const names = ["setTimeout"];
  walk(parse(source), (node) => {
    if (ts.isImportSpecifier(node) && node.propertyName?.text === "setTimeout") names.push(node.name.text);
  });
  return names;
}

function milliseconds(node: ts.Node): number | undefined {
  if (ts.isNumericLiteral(node)) return Number(node.text);
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.AsteriskToken)
    return undefined;
  const [left, right] = [milliseconds(node.left), milliseconds(node.right)];
  return left !== undefined && right !== undefined ? left * right : undefined;
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

/** All calls, with the callee as dotted text: `test.skip.each`, `console.log`. `at` is the last name in it. */
function calls(source: Source): { name: string; call: ts.CallExpression; at: ts.Node }[] {
  const found: { name: string; call: ts.CallExpression; at: ts.Node }[] = [];
  walk(parse(source), (call) => {
    if (!ts.isCallExpression(call)) return;
    const callee = call.expression;
    const at = ts.isPropertyAccessExpression(callee) ? callee.name : callee;
    found.push({ name: dotted(callee), call, at });
  });
  return found;
}

function dotted(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text;
  return ts.isPropertyAccessExpression(node) ? `${dotted(node.expression)}.${node.name.text}` : "";
}

describe("the checker itself", () => {
  const source = (text: string): Source => ({ path: "test/example.test.ts", text });

  test("finds skips without a reason", () => {
    expect(unexplainedSkips(source(`test.skip("a // b", () => {});`))).toHaveLength(1);
    expect(unexplainedSkips(source(`describe.only.each([1])("a", () => {});`))).toHaveLength(1);
    expect(unexplainedSkips(source(`test.skip("a", () => {}); // needs PostgreSQL`))).toEqual([]);
    expect(unexplainedSkips(source(`const text = "test.skip(";`))).toEqual([]);
  });

  test("finds sleeps", () => {
    const sleep = `import { setTimeout as sleep } from "node:timers/promises";`;
    expect(sleeps(source("await new Promise((done) => setTimeout(done, 1_000));"))).toHaveLength(1);
    expect(sleeps(source(`${sleep} await sleep(2 * 1000);`))).toHaveLength(1);
    expect(sleeps(source(`${sleep} await sleep(10);`))).toEqual([]);
  });

  test("finds circles, but not those of types", () => {
    const a = { path: "src/core/a.ts", text: `import "./b.js";` };
    const b = { path: "src/core/b.ts", text: `export * from "./a.js";` };
    const types = { path: "src/core/b.ts", text: `import type { A } from "./a.js";` };
    expect(importCycles([a, b])).toEqual([["src/core/a.ts", "src/core/b.ts", "src/core/a.ts"]]);
    expect(importCycles([a, types])).toEqual([]);
  });
});
