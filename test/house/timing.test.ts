// Tests that fail on a busy machine: patterns that a program can find.

import ts from "typescript";
import { expect, test } from "vitest";
import {
  calls,
  expectNone,
  importsOf,
  isTest,
  lineOf,
  parse,
  readSources,
  type Source,
  sleepNames,
  walk,
} from "./source.js";

/** A process that waits for a core, a disk or a debugger can stand still for seconds. */
const patienceMsMin = 60_000;
/** What must not take minutes may be expected to take less than this. */
const boundMsMin = 15_000;
const testTimeoutMs = 240_000;

const testCode = [
  ...readSources("src").filter(({ path }) => isTest(path) || path.startsWith("src/store/conformance/")),
  ...readSources("test").filter(({ path }) => !path.startsWith("test/house/")),
];

test("tests wait for what they expect: a pause is part of a loop that looks again", () => {
  expectNone(testCode.flatMap(pauses));
});

test("tests wait long enough: what takes 10 ms on a quiet machine can take seconds", () => {
  expectNone(testCode.flatMap(shortWaits));
});

test("no test has less time than the others", () => {
  expectNone(testCode.flatMap(shortTests));
});

test("tests do not expect that something took less than a few seconds", () => {
  expectNone(testCode.flatMap(shortBounds));
});

test("tests do a number of rounds, not as much as there is time for", () => {
  expectNone(testCode.flatMap(timedLoops));
});

test("terminals are read through test/terminal.ts, which loses nothing at the end", () => {
  const others = testCode.filter(({ path }) => path !== "test/terminal.ts");
  expectNone(
    others.flatMap((source) =>
      importsOf(source)
        .filter(({ specifier }) => /node-pty|xterm/.test(specifier))
        .map(({ line }) => `${source.path}:${line} opens a terminal of its own. Use test/terminal.ts.`),
    ),
  );
});

test("the address of a page follows what was done: tests wait for it", () => {
  const immediate = /expect\((new URL\()?\w*\.?page\.url\(\)\)(?!\.origin)/;
  expectNone(
    testCode.flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, at) =>
          immediate.test(line)
            ? [`${path}:${at + 1} reads the address at once. Use page.waitForURL(…).`]
            : [],
        ),
    ),
  );
});

test("input goes to a process through sendInput: one that ends early must not fail the run", () => {
  const others = testCode.filter(({ path }) => path !== "test/support.ts");
  const sent = others.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, at) =>
        /stdin[!?]?\.end\([^)]/.test(line) ? [`${path}:${at + 1} ends stdin itself. Use sendInput.`] : [],
      ),
  );
  expectNone(sent);
});

test("tests wait for an abort with aborted(…): a signal that has fired does not fire again", () => {
  const others = testCode.filter(({ path }) => path.endsWith(".ts"));
  const listening = others.flatMap(({ path, text }) =>
    text
      .split("\n")
      .flatMap((line, at) =>
        /addEventListener\(\s*"abort"/.test(line)
          ? [`${path}:${at + 1} waits for a signal that may have fired. Use aborted(…) of test/support.ts.`]
          : [],
      ),
  );
  expectNone(listening);
});

test("each pattern is found where it is, and nowhere else", () => {
  const source = (text: string): Source => ({ path: "test/x.test.ts", text });
  const inTest = (line: string) =>
    source(
      `import { setTimeout as sleep } from "node:timers/promises";\ntest("x", async () => { ${line} });`,
    );
  const found = (find: (each: Source) => string[], ...lines: string[]) =>
    lines.map((line) => find(inTest(line)).length);
  expect(
    found(
      pauses,
      "await sleep(20); expect(done).toBe(1);",
      "await new Promise((resolve) => setTimeout(resolve, 300));",
      "while (!done) await sleep(20);",
      "for (;;) { if (done) break; await sleep(20); }",
      "const timer = setTimeout(() => abort(), 20);",
      "await sleep(random() * 30); kill();",
    ),
  ).toEqual([1, 1, 0, 0, 0, 0]);
  expect(
    found(
      shortWaits,
      "await vi.waitFor(() => expect(done).toBe(1));",
      "await vi.waitFor(() => expect(done).toBe(1), { timeout: 5_000 });",
      "await vi.waitFor(() => expect(done).toBe(1), { timeout: 90_000 });",
      "await expect.poll(() => done, { timeout: 1_000 }).toBe(1);",
      "await expect.poll(() => done).toBe(1);",
      "page.setDefaultTimeout(5_000);",
      "page.setDefaultTimeout(90_000);",
    ),
  ).toEqual([1, 1, 0, 1, 0, 1, 0]);
  expect(
    found(
      shortTests,
      "test('y', { timeout: 20_000 }, run); test('z', { timeout: 300_000 }, run); describe('w', () => {}, 5_000);",
      "test.each([1, 2])('%d', () => {}, 120_000); test.each([1, 2])('%d', () => {}, 300_000);",
      "test('y', () => {}, 60_000 * (times + 1)); test('z', () => {}, 240_000 * times);",
    ),
  ).toEqual([2, 1, 1]);
  expect(
    found(
      shortBounds,
      "expect(performance.now() - begun).toBeLessThan(500);",
      "expect(Date.now() - begun).toBeLessThanOrEqual(2 * 1_000);",
      "expect(performance.now() - begun).toBeLessThan(30_000);",
      "expect(performance.now() - begun).toBeGreaterThan(500);",
      "expect(count).toBeLessThan(5);",
    ),
  ).toEqual([1, 1, 0, 0, 0]);
  expect(
    found(
      timedLoops,
      "while (performance.now() < end) await step();",
      "for (const end = Date.now() + 5_000; Date.now() < end; ) await step();",
      "while (!done) if (performance.now() > end) throw new Error('waited');",
    ),
  ).toEqual([1, 1, 0]);
});

function pauses(source: Source): string[] {
  const names = sleepNames(source);
  return calls(source).flatMap(({ name, call, at }) => {
    if (!names.includes(name.replace(/^(globalThis|timers)\./, ""))) return [];
    if (!isPause(call) || isInLoop(call) || isRandom(call)) return [];
    return (
      `${source.path}:${lineOf(at)} waits for a time and hopes that the thing has happened. ` +
      "Wait for the thing: until(…) of test/support.ts. To show that nothing happens, do something else and wait for that."
    );
  });
}

/** `setTimeout(() => …)` does something later. A pause is awaited, or only resolves a promise. */
function isPause({ arguments: [first] }: ts.CallExpression): boolean {
  return first !== undefined && !ts.isArrowFunction(first) && !ts.isFunctionExpression(first);
}

/** A fault that comes at any moment. */
function isRandom(call: ts.CallExpression): boolean {
  return call.arguments.some((each) => /\brandom\(/.test(each.getText()));
}

function isInLoop(node: ts.Node): boolean {
  for (let at = node.parent; at; at = at.parent) {
    if (ts.isIterationStatement(at, false)) return true;
    if (ts.isCallExpression(at) && /^(test|describe)\b/.test(at.expression.getText())) return false;
  }
  return false;
}

function shortWaits(source: Source): string[] {
  return calls(source).flatMap(({ name, call, at }) => {
    const text = call.arguments.at(-1);
    // Without a timeout vi.waitFor waits for one second; expect.poll has its default in vitest.config.ts.
    const usualMs = /^vi\.wait(For|Until)$/.test(name) ? 1_000 : patienceMsMin;
    const takesMs = /\.setDefault(Navigation)?Timeout$/.test(name);
    if (!takesMs && !/^(vi\.wait(For|Until)|expect\.poll)$/.test(name)) return [];
    const ms = (takesMs ? milliseconds(text) : timeoutIn(text)) ?? usualMs;
    if (ms >= patienceMsMin) return [];
    return `${source.path}:${lineOf(at)} waits for ${ms} ms only. Wait for ${patienceMsMin} ms or more, or use until(…) of test/support.ts.`;
  });
}

function shortTests(source: Source): string[] {
  return calls(source).flatMap(({ name, call, at }) => {
    const callee = ts.isCallExpression(call.expression) ? call.expression.expression.getText() : name;
    if (!/^(test|it|describe)(\.|$)/.test(callee)) return [];
    const given = call.arguments.map((each) => timeoutIn(each) ?? leastMs(each)).find((ms) => ms);
    if (given === undefined || given >= testTimeoutMs) return [];
    return `${source.path}:${lineOf(at)} has ${given} ms, less than a test has anyway. Remove it.`;
  });
}

function timeoutIn(options: ts.Node | undefined): number | undefined {
  if (!options || !ts.isObjectLiteralExpression(options)) return undefined;
  const timeout = options.properties.find((each) => each.name?.getText() === "timeout");
  return timeout && ts.isPropertyAssignment(timeout) ? milliseconds(timeout.initializer) : undefined;
}

function shortBounds(source: Source): string[] {
  return calls(source).flatMap(({ name, call, at }) => {
    if (!/\.toBeLessThan(OrEqual)?$/.test(name)) return [];
    const ms = milliseconds(call.arguments[0]);
    if (!/\b(performance|Date)\.now\(\)/.test(call.expression.getText())) return [];
    if (ms !== undefined && ms >= boundMsMin) return [];
    return (
      `${source.path}:${lineOf(at)} expects that something takes less than ${call.arguments[0]?.getText()} ms. ` +
      "On a busy machine it takes longer. Compare with something measured next to it, or expect what must not have happened meanwhile."
    );
  });
}

function timedLoops(source: Source): string[] {
  const found: string[] = [];
  walk(parse(source), (node) => {
    if (!ts.isWhileStatement(node) && !ts.isForStatement(node)) return;
    const condition = ts.isWhileStatement(node) ? node.expression : node.condition;
    if (!condition || !/\b(performance|Date)\.now\(\)\s*</.test(condition.getText())) return;
    found.push(
      `${source.path}:${lineOf(node)} goes on for a time. On a busy machine little happens in it, or nothing. Count rounds.`,
    );
  });
  return found;
}

/** A limit that a variable multiplies is taken as the number beside it. */
function leastMs(node: ts.Node): number | undefined {
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.AsteriskToken)
    return milliseconds(node);
  const [left, right] = [leastMs(node.left), leastMs(node.right)];
  return left !== undefined && right !== undefined ? left * right : (left ?? right);
}

function milliseconds(node: ts.Node | undefined): number | undefined {
  if (!node) return undefined;
  if (ts.isNumericLiteral(node)) return Number(node.text);
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.AsteriskToken)
    return undefined;
  const [left, right] = [milliseconds(node.left), milliseconds(node.right)];
  return left !== undefined && right !== undefined ? left * right : undefined;
}
