import { expect, test } from "vitest";
import { globMatcher } from "./glob.js";

const matches = (glob: string, path: string) => globMatcher([glob])(path);

test.each([
  ["package.json", "package.json"],
  ["**/package.json", "package.json"],
  ["**/package.json", "a/b/package.json"],
  [".github/**", ".github/workflows/x.yml"],
  ["**/{vitest,jest}.config.*", "web/jest.config.mjs"],
  ["a/*/c", "a/b/c"],
  ["a/**/c", "a/c"],
  ["?.md", "ä.md"],
  ["**/build.gradle*", "app/build.gradle.kts"],
  ["[x].md", "[x].md"],
  ["a/**", "a/b\nc"],
])("%s matches %s", (glob, path) => expect(matches(glob, path)).toBe(true));

test.each([
  ["package.json", "a/package.json"],
  ["**/package.json", "package.json.bak"],
  ["**/package.json", "xpackage.json"],
  [".github/**", ".github"],
  ["a/*", "a/b/c"],
  ["?.md", "ab.md"],
  ["a.b", "axb"],
  ["*.ts", "a/b.ts"],
])("%s does not match %s", (glob, path) => expect(matches(glob, path)).toBe(false));

test("a glob of many stars and braces comes to an end", () => {
  const matches = globMatcher([`${"{a,b}".repeat(30)}`, `${"*".repeat(50)}x`]);
  expect(matches("a".repeat(200))).toBe(false);
});

test.each([
  ["names", `${"*a".repeat(200)}b`, "a".repeat(4_000)],
  ["directories", `${"**/a/".repeat(200)}b`, `${"a/".repeat(2_000)}a`],
  ["both", `${"**/*a*/".repeat(100)}b`, `${"aa/".repeat(1_300)}a`],
])("stars over %s are not tried in every combination", (_, glob, path) => {
  expect(matches(glob, path)).toBe(false);
});

test("stars take what they need, and no more", () => {
  expect(matches("*a*b*c", "xaxbxcxc")).toBe(true);
  expect(matches("*ab*ab", "aab")).toBe(false);
  expect(matches("**/a/**/b/**/c.*", "a/x/b/b/c.d/c.e")).toBe(true);
  expect(matches("**/a/b/**/a/b", "a/b")).toBe(false);
  expect(matches("**/a/b/**/a/b", "a/a/b/a/b")).toBe(true);
  expect(matches("a/**/**", "a/b")).toBe(true);
});
