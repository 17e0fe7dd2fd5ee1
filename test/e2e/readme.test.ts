import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { tempDir } from "../support.js";

const root = resolve(import.meta.dirname, "../..");

test("the ten lines of the README do what they say", () => {
  execFileSync(process.execPath, [join(root, "scripts/ensure.mjs")]);
  const [, lines] = /## Ten lines\n\n```js\n(.*?)```/s.exec(readFileSync(join(root, "README.md"), "utf8"))!;
  const directory = tempDir();
  try {
    const dibs = pathToFileURL(join(root, "dist/index.js")).href;
    writeFileSync(join(directory, "lines.mjs"), lines!.replace('"dibs"', JSON.stringify(dibs)));
    const output = execFileSync(process.execPath, ["lines.mjs"], { cwd: directory, encoding: "utf8" });
    expect(output).toContain("0001 completed: done: Write the database schema");
    expect(output).toContain("0002 completed: done: Build the API on it");
  } finally {
  }
});
