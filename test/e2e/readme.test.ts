import { execFile, execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { Serving } from "../http/program.js";
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

test("the curl lines of the README work on a store that has tasks already, and twice", async () => {
  execFileSync(process.execPath, [join(root, "scripts/ensure.mjs")]);
  const [, block] = /```sh\n(export DIBS_TOKEN=.*?)```/s.exec(readFileSync(join(root, "README.md"), "utf8"))!;
  const server = await new Serving(join(tempDir(), "dibs.db")).ready();
  for (const prompt of ["An older task", "Another one"])
    await server.ask("POST", "/api/tasks", { prompt, priority: "high" });
  const lines = block!
    .split("\n")
    // The stream does not end by itself, and the token is in another place.
    .filter((line) => !/events\/stream|^export/.test(line))
    .join("\n")
    .replaceAll("localhost:3427", new URL(server.url).host);
  const env = { ...process.env, DIBS_TOKEN: server.token };
  for (const id of ["0003", "0004"]) {
    const { stdout } = await promisify(execFile)("sh", ["-c", lines], { env });
    expect(stdout).not.toContain('"code"');
    const { task } = (await server.ask("GET", `/api/tasks/${id}`)).body;
    expect(task).toMatchObject({ state: "completed", result: { output: "written" } });
  }
});
