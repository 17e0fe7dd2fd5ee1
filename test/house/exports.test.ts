import { describe, expect, test } from "vitest";
import { unusedExports } from "./exports.js";
import { expectNone, readSources } from "./source.js";

const isCode = (path: string) => /\.[cm]?[jt]sx?$/.test(path);
const isChecked = (path: string) => /^(?:src|web\/src)\//.test(path);

test("every exported value is imported by another file", () => {
  const folders = ["src", "web", "test", "scripts", "bench", "site"];
  expectNone(
    unusedExports(
      folders.flatMap((folder) => readSources(folder, isCode)),
      isChecked,
    ),
  );
});

describe("the checker itself", () => {
  const problems = (text: string, importer: string) =>
    unusedExports(
      [
        { path: "src/runtime/a.ts", text },
        { path: "test/b.test.ts", text: importer },
      ],
      isChecked,
    );

  test.each([
    ["export function one() {}", ""],
    ["export const one = 1;", 'import { two } from "../src/runtime/a.js";'],
    ["export const one = 1;", 'import { one } from "../src/runtime/other.js";'],
    ["export const one = 1;", 'import { two as one } from "../src/runtime/a.js";'],
    ["export async function* one() {}", 'import one from "../src/runtime/a.js";'],
    ['export { one } from "./other.js";', ""],
    ['export { type one, two } from "./other.js";', 'import { two } from "../src/runtime/a.js";'],
  ])("refuses %s with %s", (text, importer) => {
    expect(problems(text, importer)).toEqual([
      "src/runtime/a.ts exports one, but no other file imports it. Remove the export, or the code.",
    ]);
  });

  test.each([
    ["export function one() {}", 'import { one } from "../src/runtime/a.js";'],
    ["export const one = 1;", 'import {\n  type two,\n  one as three,\n} from "../src/runtime/a.js";'],
    ["export class one {}", 'export { one } from "../src/runtime/a.js";'],
    ["export class one {}", 'import * as all from "../src/runtime/a.js";'],
    ["export class one {}", 'const { one } = await import("../src/runtime/a.js");'],
    ["export class one {}", 'import { one } from "../dist/runtime/a.js";'],
    ["export interface one {}\nconst two = 2;", ""],
  ])("allows %s with %s", (text, importer) => {
    expect(problems(text, importer)).toEqual([]);
  });
});
