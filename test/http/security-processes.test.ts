// The arguments of a process are everybody's to read: no token is among them, and no prompt that a task has.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempDir, until } from "../faults/support.js";
import { databaseIn, Program, run, Serving } from "./program.js";

/** The arguments of every process of this machine. */
function processList(): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      return [readFileSync(join("/proc", pid, "cmdline"), "utf8")];
    } catch {
      // It has just ended.
      return [];
    }
  });
}

// Only Linux shows the arguments of all processes as files.
test.skipIf(process.platform !== "linux")(
  "while a server, a runner and an agent work, no process has a token in its arguments",
  async () => {
    const directory = tempDir();
    const { url, token } = await new Serving(databaseIn(directory)).ready();
    const cwd = join(directory, "elsewhere");
    mkdirSync(cwd);
    const options = { cwd, env: { DIBS_URL: url, DIBS_TOKEN: token } };
    const prompt = "a prompt with secret-of-the-task in it";
    expect((await run(["add", prompt], options)).code).toBe(0);
    const [started, enough] = [join(directory, "started"), join(directory, "enough")];
    const agent = join(directory, "agent.mjs");
    writeFileSync(
      agent,
      `import { existsSync, writeFileSync } from "node:fs";
      writeFileSync(${JSON.stringify(started)}, "");
      setInterval(() => existsSync(${JSON.stringify(enough)}) && process.exit(), 20);`,
    );
    const runner = new Program(["work", "--once", "--", process.execPath, agent], options);
    await until("the agent works", () => existsSync(started) || runner.isOver);
    const list = processList();
    expect(list.filter((each) => each.includes(agent)).length, "the list shows the agent").toBeGreaterThan(0);
    for (const secret of [token, token.slice(-20), "secret-of-the-task"])
      expect(list.filter((each) => each.includes(secret))).toEqual([]);
    writeFileSync(enough, "");
    expect((await runner.exited).code).toBe(0);
  },
);
