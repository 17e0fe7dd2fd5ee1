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
