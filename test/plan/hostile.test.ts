// A megabyte of the worst of each kind. There is no limit on the time here but the test's own: a pattern that
// backtracks, or a search per task, would take minutes.

import { expect, test } from "vitest";
import { previewPlan, readPlan, toBatch } from "../../src/bridges/plan/index.js";

const megabyte = 1_000_000;
const fill = (piece: string, length = megabyte) => piece.repeat(Math.ceil(length / piece.length));
const lines = (count: number, line: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => line(n)).join("\n");

const inputs: Record<string, () => string> = {
  brackets: () => fill("["),
  "open objects": () => fill('{"tasks":['),
  "a text without an end": () => `["${fill("\\")}`,
  blanks: () => `- [ ] a${fill(" ")}b`,
  "blank lines": () => `- [ ] a\n${fill(" \n")}b`,
  parentheses: () => fill(`- [ ] ${"(".repeat(1900)}\n`),
  "closed parentheses": () => fill(`- [ ] ${"(a)".repeat(600)}\n`),
  clauses: () => fill(`- [ ] a ${"files: , ".repeat(200)}\n`),
  emphasis: () => fill("**"),
  "emphasis in items": () => fill(`- ${"*_`".repeat(600)}\n`),
  comments: () => `- [ ] a ${fill("<!-- -->")}`,
  "open comments": () => fill("- [ ] a `<!--\n"),
  backticks: () => fill("`"),
  fences: () => fill("```json\n[{}]\n```\n"),
  "open fences": () => fill("```json\n"),
  headings: () => fill("# a heading that goes on\n"),
  "task names": () => fill("TASK"),
  "empty tasks": () => fill("TASK:\n"),
  "one long title": () => `TASK: ${fill("a b ")}`,
  "many items": () => fill("- [ ] a\n"),
  "deep items": () => lines(1400, (n) => `${" ".repeat(n)}- [ ] a`),
  "a long list of unknown names": () => `- [ ] a\n  depends on: ${fill("x, ")}`,
  "long lists of known names": () =>
    `- [ ] b\n${lines(360, (n) => `- [ ] a${n}\n  depends on: ${"b, ".repeat(900)}`)}`,
  "one title under many parents": () => lines(4000, (n) => `- [ ] a${n}\n  - [ ] b`),
  "one title again and again": () => lines(9000, () => "- [ ] b"),
  "titles with commas": () => lines(5000, (n) => `- [ ] a, b ${n}\n  depends on: ${"a, b, ".repeat(15)}c`),
  "unknown names everywhere": () =>
    lines(5000, (n) => `- [ ] title number ${n} (depends on: some other ${n})`),
  "parts of titles": () =>
    lines(5000, (n) => `- [ ] word${n} something\n  depends on: word${(n * 7) % 5000}`),
  "all before each": () => lines(5000, (n) => `- [ ] a${n}\n  depends on: all previous tasks`),
  "a long chain": () => lines(5000, (n) => (n === 0 ? "- [ ] a0" : `- [ ] a${n} (depends on: a${n - 1})`)),
  "a long cycle": () => lines(5000, (n) => `- [ ] a${n} (depends on: a${(n + 1) % 5000})`),
  "numbers that begin again": () => lines(5000, (n) => `1. a${n}\n   1. b${n} (after 1)`.slice(0, 90)),
};

test.each(Object.keys(inputs))("%s", (name) => {
  const read = readPlan(inputs[name]!());
  if (!read.ok) {
    expect(read.problems.length).toBeLessThanOrEqual(50);
    return;
  }
  expect(toBatch(read.plan).tasks.length).toBeLessThanOrEqual(10_000);
  expect(previewPlan(read.plan).tree.length).toBeGreaterThan(0);
});
