import { expect, test } from "vitest";
import { scopesOf } from "./scopes.js";

const exclusive = ["**/package-lock.json", "migrations/", "src/generated/**"];

test.each([
  [["src/a.ts"], []],
  [["package-lock.json"], ["**/package-lock.json"]],
  [["web/*"], ["**/package-lock.json"]],
  [
    ["migrations/001.sql", "src/*/types.ts"],
    ["migrations/", "src/generated/**"],
  ],
  [["migrations/"], ["**/package-lock.json", "migrations/"]],
  [[], []],
])("a task with files %j needs %j alone", (files, scopes) => {
  expect(scopesOf(files, { exclusive })).toEqual(scopes);
});

test("a project without exclusive paths has none, and repeated ones count once", () => {
  expect(scopesOf(["**"], { exclusive: [] })).toEqual([]);
  expect(scopesOf(["**"], { exclusive: ["b", "a", "b"] })).toEqual(["a", "b"]);
});
