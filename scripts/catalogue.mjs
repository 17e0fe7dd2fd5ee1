// The catalogue of planted bugs: patches in test/mutants/, each with the suite that must catch it.
//
// A patch begins with lines `Name: value`:
//   Bug    what it does wrong, as a sentence
//   Suite  test files, separated by blanks
//   Test   part of the names of the tests in them; without it, all of them run
//   Needs  `postgres` starts a server; `build` compiles, for tests that start the built program

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const mutantsDirectory = "test/mutants";
const names = ["Bug", "Suite", "Test", "Needs"];
const needs = ["postgres", "build"];

/** Throws if a header cannot be understood. */
export function readCatalogue(root) {
  const directory = join(root, mutantsDirectory);
  const files = readdirSync(directory).filter((file) => file.endsWith(".patch"));
  return files.sort().map((file) => {
    const text = readFileSync(join(directory, file), "utf8");
    const name = file.slice(0, -".patch".length);
    return { name, file: join(mutantsDirectory, file), ...readPatch(name, text) };
  });
}

function readPatch(name, text) {
  const begin = text.search(/^diff --git /m);
  if (begin < 0) throw new Error(`${name}: the patch has no line "diff --git"`);
  const fields = {};
  for (const line of text.slice(0, begin).split("\n").filter(Boolean)) {
    const [, field, value] = /^(\w+): (.+)$/.exec(line) ?? [];
    if (!names.includes(field)) throw new Error(`${name}: expected one of ${names.join(", ")}, not: ${line}`);
    fields[field] = value;
  }
  if (!fields.Bug || !fields.Suite) throw new Error(`${name}: Bug and Suite are required`);
  const wanted = fields.Needs?.split(" ") ?? [];
  const unknown = wanted.find((need) => !needs.includes(need));
  if (unknown) throw new Error(`${name}: Needs can be ${needs.join(" and ")}, not ${unknown}`);
  return {
    bug: fields.Bug,
    suite: fields.Suite.split(" "),
    test: fields.Test ?? null,
    needsPostgres: wanted.includes("postgres"),
    needsBuild: wanted.includes("build"),
    touches: [...text.matchAll(/^\+\+\+ b\/(.+)$/gm)].map(([, path]) => path),
  };
}
