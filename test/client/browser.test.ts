// What `dibs/client` loads: nothing that a browser lacks.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { importsOf, readSources } from "../house/source.js";

const sources = new Map(readSources("src").map((source) => [source.path, source]));

/** Every file and package that is loaded with this one. */
function loaded(path: string, seen = new Set<string>()): Set<string> {
  const source = sources.get(path);
  if (!source || seen.has(path)) return seen;
  seen.add(path);
  for (const { target, typeOnly, specifier } of importsOf(source)) {
    if (typeOnly) continue;
    if (target.kind === "file") loaded(target.path, seen);
    else seen.add(specifier);
  }
  return seen;
}

test("the client, the contract, the core, common helpers and zod are all that it loads", () => {
  const others = [...loaded("src/client/connect.ts")].filter(
    (path) => !/^src\/(client|contract|core|common)\//.test(path),
  );
  expect(others).toEqual(["zod"]);
});

test("the package exports it under a name of its own", () => {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(exports["./client"]).toEqual({
    types: "./dist/client/connect.d.ts",
    default: "./dist/client/connect.js",
  });
});
