// docs/guides/tasks-json.md: its tables name what the code knows, and its example runs.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { dialects, names, stateWord } from "../../src/bridges/tasks-json/dialect.js";
import { happenings } from "../../src/bridges/tasks-json/index.js";
import { taskStates } from "../../src/core/task.js";
import { tempDir } from "../faults/support.js";
import { sendInput } from "../support.js";

const root = resolve(import.meta.dirname, "../..");
const text = readFileSync(join(root, "docs/guides/tasks-json.md"), "utf8");

test("the tables have every field, every word for a state and everything that is told", () => {
  for (const field of Object.values(names).flat()) {
    // Only found, never written.
    if (field === "claimedByAgentId" || field === "claimedAt") continue;
    expect(text, field).toMatch(new RegExp(`\`${field}\\b|\\b${field}\``));
  }
  const states = text.slice(text.indexOf("| state in the store |")).split("\n");
  for (const state of taskStates) {
    const row = states.find((line) => line.split("|")[1]!.includes(`\`${state}\``));
    for (const dialect of dialects) expect(row).toContain(`\`${stateWord(state, dialect)}\``);
  }
  for (const what of happenings) expect(text).toContain(`\`${what}\``);
});

test("the worked example works", async () => {
  const [, script = ""] = /<!-- example: tasks\.json -->\n```sh\n([\s\S]*?)```/.exec(text) ?? [];
  const home = tempDir();
  const bin = join(home, "bin");
  const shop = join(home, "shop");
  for (const directory of [bin, join(shop, ".git")]) mkdirSync(directory, { recursive: true });
  const program = `#!/bin/sh\nexec "${process.execPath}" "${join(root, "dist/bin.js")}" "$@"\n`;
  writeFileSync(join(bin, "dibs"), program, { mode: 0o755 });
  const child = spawn("sh", ["-e"], { cwd: shop, env: { PATH: `${bin}:${process.env.PATH}`, HOME: home } });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (part) => (said += part));
  sendInput(child, script);
  const [code] = await once(child, "close");
  expect([code, said]).toEqual([0, expect.stringContaining("exit 1: look at tasks.json.conflicts")]);
  for (const line of [
    "added api Write the API",
    "edited setup title",
    "claimed setup as shell-1",
    "completed setup as shell-1",
    "refused api agent-1 holds it, not shell-1.",
  ]) {
    expect(said).toContain(line);
  }
  expect(existsSync(join(shop, "tasks.json.conflicts"))).toBe(true);
});
