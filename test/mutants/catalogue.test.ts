// Planted bugs rot: the code under a patch changes, a test is renamed. `npm run mutants` runs them.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { readCatalogue } from "../../scripts/catalogue.mjs";

const root = resolve(import.meta.dirname, "../..");
const catalogue = readCatalogue(root);

test("there are at least twenty planted bugs, in every part that can lose or repeat work", () => {
  const areas = new Set(catalogue.map(({ name }) => name.split("-")[0]));
  expect([...areas].sort()).toEqual([
    "core",
    "http",
    "lander",
    "memory",
    "operations",
    "postgres",
    "runner",
    "sqlite",
  ]);
  expect(catalogue.length).toBeGreaterThanOrEqual(20);
});

test("every patch applies to the tree as it is", () => {
  const stale = catalogue.flatMap(({ file }) => {
    const run = spawnSync("git", ["apply", "--check", file], { cwd: root, encoding: "utf8" });
    return run.status === 0 ? [] : [`${file} no longer applies; plant the bug again.\n${run.stderr.trim()}`];
  });
  expect(stale).toEqual([]);
});

test("every patch changes the program, and names tests that exist", () => {
  const texts = new Map<string, string>();
  const textOf = (file: string) => {
    if (!texts.has(file)) texts.set(file, readFileSync(join(root, file), "utf8"));
    return texts.get(file)!;
  };
  const conformance = readdirSync(join(root, "src/store/conformance")).map(
    (file) => `src/store/conformance/${file}`,
  );
  const wrong = catalogue.flatMap(({ name, suite, test, touches }) => {
    const missing = suite.filter((file) => !existsSync(join(root, file)));
    if (missing.length > 0) return [`${name} names ${missing.join(" ")}, which does not exist`];
    const others = touches.filter((file) => !file.startsWith("src/") || file.endsWith(".test.ts"));
    if (others.length > 0) return [`${name} changes ${others.join(" ")}, which is not the program`];
    const files = suite.flatMap((file) => (textOf(file).includes("conformance(") ? conformance : [file]));
    // Some names are put together: their longest words are somewhere.
    const words = (test ?? "").split(/[^A-Za-z_]+/).filter((word) => word.length > 5);
    const unknown = words.filter((word) => !files.some((file) => textOf(file).includes(word)));
    return unknown.length > 0 ? [`${name} names a test with ${unknown.join(", ")}, which is nowhere`] : [];
  });
  expect(wrong).toEqual([]);
});
