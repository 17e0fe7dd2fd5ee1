import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { expectNone, filesUnder, root } from "./source.js";

const linesMax = 400;

test(`no file of src has more than ${linesMax} lines`, () => {
  const problems = filesUnder("src").flatMap((path) => {
    const lines = readFileSync(join(root, path), "utf8").replace(/\n$/, "").split("\n").length;
    if (lines <= linesMax) return [];
    return `${path} has ${lines} lines; ${linesMax} is the most. Split it by concern, so that each part can be read in one sitting.`;
  });
  expectNone(problems);
});
