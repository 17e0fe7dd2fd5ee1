// The workers of the documentation, in TypeScript, shell and Python, against real stores and servers.

import { execFile, execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { Serving } from "../http/program.js";
import { tempDir, until } from "../support.js";
import { exampleOf, page, root } from "./pages.js";

const run = promisify(execFile);
const index = pathToFileURL(join(root, "dist/index.js")).href;
const hasPython =
  spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 8))"]).status === 0;

describe("the worker in TypeScript", () => {
  const guide = "docs/guides/typescript-worker.md";

  test("does what it says", () => {
    const directory = tempDir();
    const code = exampleOf(guide, "worker.mjs").replace('"dibs"', JSON.stringify(index));
    writeFileSync(join(directory, "worker.mjs"), code);
    const output = execFileSync(process.execPath, ["worker.mjs"], { cwd: directory, encoding: "utf8" });
    expect(output).toContain("0001 completed: done: Write the database schema");
    expect(output).toContain("0002 completed: done: Build the API on it");
  });

  test("of the README works, too", async () => {
    const [, code = ""] = /```js\n([\s\S]*?)```/.exec(page("README.md")) ?? [];
    const directory = tempDir();
    mkdirSync(join(directory, ".dibs"));
    const task = `await dibs.tasks.create({ prompt: "Write the docs" });
const { value } = await dibs.events.follow({ after: 0, types: ["task:completed"] })[Symbol.asyncIterator]().next();
console.log(value.taskId, (await dibs.tasks.get({ taskId: value.taskId })).task.result.output);
await worker.stop();
await dibs.close();`;
    writeFileSync(join(directory, "lines.mjs"), `${code.replace('"dibs"', JSON.stringify(index))}${task}`);
    const { stdout } = await run(process.execPath, ["lines.mjs"], { cwd: directory });
    expect(stdout).toBe("0001 done: Write the docs\n");
  });

  test("also without dibs.work: it asks, and completes the task with the answer", async () => {
    const directory = tempDir();
    const code = `import { openDibs } from ${JSON.stringify(index)};
const dibs = await openDibs({ path: "dibs.db" });
await dibs.tasks.create({ prompt: "Choose the colour" });
const human = (async () => {
  for await (const { taskId } of dibs.events.follow({ after: 0, types: ["task:awaiting-response"] }))
    return dibs.tasks.respond({ taskId, response: "teal" });
})();
${exampleOf(guide, "by-hand.mjs")}
await human;
console.log((await dibs.tasks.get({ taskId: "0001" })).task.result.output);
await dibs.close();`;
    writeFileSync(join(directory, "by-hand.mjs"), code);
    expect((await run(process.execPath, ["by-hand.mjs"], { cwd: directory })).stdout).toBe("it is teal\n");
  });
});

describe("the worker over HTTP", () => {
  const guide = "docs/guides/http-worker.md";

  test("as curl lines, on a store that has tasks already, and twice", async () => {
    const server = await new Serving(join(tempDir(), "dibs.db")).ready();
    for (const prompt of ["An older task", "Another one"])
      await server.ask("POST", "/api/tasks", { prompt, priority: "high" });
    const lines = exampleOf(guide, "curl")
      .split("\n")
      // The stream does not end by itself, and the token is in another place.
      .filter((line) => !/events\/stream|^export/.test(line))
      .join("\n")
      .replaceAll("localhost:3427", new URL(server.url).host);
    const env = { ...process.env, DIBS_TOKEN: server.token };
    for (const id of ["0003", "0004"]) {
      const { stdout } = await run("sh", ["-c", lines], { env });
      expect(stdout).not.toContain('"success":false');
      const { task } = (await server.ask("GET", `/api/tasks/${id}`)).body;
      expect(task).toMatchObject({ state: "completed", result: { output: "written" } });
    }
  });

  // Skipped where python3 (3.8 or later) is not installed: the example needs it.
  describe.skipIf(!hasPython)("in Python", () => {
    async function worker() {
      const directory = tempDir();
      const server = await new Serving(join(directory, "dibs.db")).ready();
      const file = join(directory, "worker.py");
      writeFileSync(file, exampleOf(guide, "worker.py"));
      const env = { ...process.env, DIBS_URL: server.url, DIBS_TOKEN: server.token };
      return { server, file, env };
    }

    test("works on every ready task, dependents included", async () => {
      const { server, file, env } = await worker();
      await server.ask("POST", "/api/tasks", { prompt: "Count these four words" });
      await server.ask("POST", "/api/tasks", { prompt: "And these", dependsOn: ["0001"] });
      const { stdout } = await run("python3", [file, "--until-idle"], { env });
      expect(stdout).toBe(
        "0001 completed: The prompt has 4 words.\n0002 completed: The prompt has 2 words.\n",
      );
      const { task } = (await server.ask("GET", "/api/tasks/0002")).body;
      expect(task).toMatchObject({ state: "completed", result: { output: "The prompt has 2 words." } });
    });

    test("fails the attempt if its work raises, and stops if the task was cancelled meanwhile", async () => {
      const { server, file, env } = await worker();
      const work = `def work(task):
    if "cancel" not in task.prompt:
        raise ValueError("no such table")
    while not os.path.exists(${JSON.stringify(`${file}.cancelled`)}):
        time.sleep(0.05)
    return "too late"
`;
      writeFileSync(file, exampleOf(guide, "worker.py").replace(/def work\(task\):\n(?: {4}.*\n)+/, work));
      await server.ask("POST", "/api/tasks", { prompt: "Break", maxRetries: 0 });
      const first = await run("python3", [file, "--until-idle"], { env });
      expect(first.stdout).toBe("0001 failed: no such table\n");
      await server.ask("POST", "/api/tasks", { prompt: "Wait for the cancel" });
      const second = run("python3", [file, "--until-idle"], { env });
      const stateOf = async () => (await server.ask("GET", "/api/tasks/0002")).body.task.state;
      await until("the worker has the task", async () => (await stateOf()) === "running");
      await server.ask("POST", "/api/tasks/0002/cancel", {});
      writeFileSync(`${file}.cancelled`, "");
      expect((await second).stdout).toMatch(/^0002 rejected: .*\n$/);
      expect(await stateOf()).toBe("cancelled");
    });
  });
});
