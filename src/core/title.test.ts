import { expect, test } from "vitest";
import { titleFrom } from "./title.js";

test.each([
  ["the first line", "Fix the login\nIt is broken.", "Fix the login"],
  ["up to a carriage return", "Fix the login\r\nIt is broken.", "Fix the login"],
  ["without blank lines before it", "\n\n  Fix the login  \nmore", "Fix the login"],
  ["fifty characters whole", "x".repeat(50), "x".repeat(50)],
  ["fifty-one cut to forty-seven and dots", "x".repeat(51), `${"x".repeat(47)}...`],
  ["a long first line only", `${"x".repeat(60)}\nshort`, `${"x".repeat(47)}...`],
  ["nothing from nothing", "", ""],
  ["nothing from blanks", " \n \n", ""],
])("a title is %s", (_what, prompt, title) => {
  expect(titleFrom(prompt)).toBe(title);
});

test("a title is never cut through a character", () => {
  expect(titleFrom("🙂".repeat(51))).toBe(`${"🙂".repeat(47)}...`);
  expect(titleFrom("🙂".repeat(50))).toBe("🙂".repeat(50));
});
