// Plans as people and models write them who have not read docs/guides/plans.md. What becomes of each is in the file next to it:
// tasks with what they wait for, what their agents are told, and notes. `npx vitest run test/plan/styles.test.ts --update`
// writes these files; read what changed.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type PlannedTask, readPlan } from "../../src/bridges/plan/index.js";
import { outline } from "./outline.js";
import { lostWords } from "./words.js";

const directory = new URL("fixtures/styles/", import.meta.url);
const names = readdirSync(directory).filter((name) => !name.endsWith(".out"));
const sourceOf = (name: string) => readFileSync(new URL(name, directory), "utf8");

test("there are more than forty of them", () => {
  expect(names.length).toBeGreaterThan(40);
});

test.each(names)("%s is read as it was meant", async (name) => {
  const out = fileURLToPath(new URL(`${name}.out`, directory));
  await expect(written(name)).toMatchFileSnapshot(out);
});

test.each(names)("no word of %s is lost", (name) => {
  expect(lostWords(sourceOf(name), readPlan(sourceOf(name), { fileName: name }))).toEqual([]);
});

function written(name: string): string {
  const read = readPlan(sourceOf(name), { fileName: name });
  if (!read.ok)
    return read.problems
      .map(({ line, column, message }) => `problem ${line}:${column} ${message}\n`)
      .join("");
  const { plan } = read;
  const lines = outline(plan).flatMap((line, index) => [line, ...detailsOf(plan.tasks[index]!)]);
  return [...lines, ...plan.notes.map((note) => `note: ${note}`), ""].join("\n");
}

const shown = [
  "priority",
  "labels",
  "files",
  "assignee",
  "requires",
  "phase",
  "maxRetries",
  "timeoutMs",
  "metadata",
] as const;

function detailsOf(task: PlannedTask): string[] {
  const fields = shown.flatMap((field) =>
    task[field] === undefined ? [] : [`${field}: ${JSON.stringify(task[field])}`],
  );
  const text = task.prompt === task.title ? [] : task.prompt.split("\n").map((line) => `| ${line}`.trimEnd());
  return [...fields, ...text].map((line) => `      ${line}`);
}
