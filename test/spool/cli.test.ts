// `dibs spool` as people call it: the built program, its lines, its exit codes, its signals; and the example of docs/guides/spool.md.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { openDesk } from "../cli/desk.js";
import { afterwards, tempDir, until } from "./support.js";

const root = resolve(import.meta.dirname, "../..");
const bin = join(root, "dist/bin.js");

class Place {
  readonly directory = tempDir();
  readonly env: Record<string, string | undefined>;

  constructor() {
    const inherited = Object.entries(process.env).filter(([name]) => !/^(DIBS_|NODE_OPTIONS)/.test(name));
    mkdirSync(join(this.directory, "bin"));
    mkdirSync(join(this.directory, ".git"));
    const dibs = join(this.directory, "bin/dibs");
    writeFileSync(dibs, `#!/bin/sh\nexec "${process.execPath}" "${bin}" "$@"\n`);
    chmodSync(dibs, 0o755);
    const PATH = `${join(this.directory, "bin")}:${process.env.PATH}`;
    this.env = { ...Object.fromEntries(inherited), HOME: this.directory, PATH };
  }

  dibs(...args: string[]) {
    const { env, directory: cwd } = this;
    const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
      cwd,
      env,
      encoding: "utf8",
    });
    return { code: status, out: stdout, err: stderr };
  }

  spool(...more: string[]): Spooling {
    const { env, directory: cwd } = this;
    const args = ["spool", "--agent", "claude", "--dir", "ai_comms", ...more];
    return new Spooling(
      spawn(process.execPath, [bin, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] }),
    );
  }

  path(...parts: string[]): string {
    return join(this.directory, "ai_comms/claude/tasks", ...parts);
  }

  /** As a worker that is this process. */
  finish(name: string): void {
    mkdirSync(this.path("completed", name), { recursive: true });
    renameSync(this.path("to_execute", name, `${name}.md`), this.path("completed", name, `${name}.md`));
  }
}

class Spooling {
  out = "";
  err = "";
  readonly ended: Promise<number | null>;

  constructor(private readonly child: ChildProcess) {
    child.stdout!.setEncoding("utf8").on("data", (text) => {
      this.out += text;
    });
    child.stderr!.setEncoding("utf8").on("data", (text) => {
      this.err += text;
    });
    this.ended = once(child, "close").then(([code]) => code);
    afterwards(async () => {
      child.kill("SIGKILL");
      await this.ended;
    });
  }

  async says(text: string): Promise<void> {
    await until(`it says ${text}`, () => this.out.includes(text));
  }

  stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    this.child.kill(signal);
    return this.ended;
  }
}

test("it tells in a line what happens, is alone there, and gives back what nobody has begun", async () => {
  const place = new Place();
  place.dibs("add", "Write the schema");
  place.dibs("add", "Build on it");
  const spool = place.spool();
  await spool.says("0002 placed in to_execute/0002: Build on it\n");
  const second = place.spool();
  expect(await second.ended).toBe(1);
  expect(second.err).toMatch(/SESSION_BUSY/);
  expect(existsSync(place.path("to_execute/0001/0001.md"))).toBe(true);
  place.finish("0001");
  await spool.says("0001 completed\n");
  expect(await spool.stop()).toBe(0);
  expect(spool.out).toContain("0002 released: the spool was stopped\n");
  expect(spool.err).toBe("");
  expect(readdirSync(place.path("to_execute"))).toEqual([]);
  expect(readdirSync(join(place.directory, "ai_comms/locks"))).toEqual([]);
  expect(place.dibs("list").out).toMatch(/0002 .* ready/);
});

test("--json: one object for each thing that happens; --until-empty ends when all is done", async () => {
  const place = new Place();
  place.dibs("add", "one");
  const spool = place.spool("--json", "--until-empty");
  await spool.says('"placed"');
  place.finish("0001");
  expect(await spool.ended).toBe(0);
  const told = spool.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(told.map(({ type, taskId }) => `${type} ${taskId}`)).toEqual(["placed 0001", "completed 0001"]);
});

test("--once looks once and leaves the leases to the next call; with nothing to do it ends with 5", async () => {
  const place = new Place();
  expect(await place.spool("--once").ended).toBe(5);
  place.dibs("add", "one");
  const first = place.spool("--once");
  expect(await first.ended).toBe(0);
  expect(place.dibs("list").out).toContain("claimed");
  place.finish("0001");
  const second = place.spool("--once", "--locks", "locks");
  expect(await second.ended).toBe(0);
  expect(second.out).toBe("0001 completed\n");
  expect(readdirSync(join(place.directory, "locks"))).toEqual([]);
});

test("it goes through the server that runs for the store, and on without it", async () => {
  const desk = await openDesk("server");
  await desk.dibs(["add", "one"]);
  const running = desk.dibs(["spool", "--agent", "claude", "--dir", "ai_comms", "--until-empty"]);
  const tasks = join(desk.directory, "ai_comms/claude/tasks");
  await until("the task is laid out", () => existsSync(join(tasks, "to_execute/0001/0001.md")));
  await desk.server!.close();
  desk.server = null;
  renameSync(join(tasks, "to_execute/0001"), join(tasks, "completed/0001"));
  const { code, out, err } = await running;
  expect(code, err).toBe(0);
  expect(out).toContain("0001 completed\n");
});

describe("said wrongly", () => {
  test.each([
    [["--dir", "x"], /Missing --agent/],
    [["--agent", "x"], /Missing --dir/],
    [["--agent", "../x", "--dir", "x"], /cannot be an agent's name/],
    [["--agent", "x", "--dir", "x", "--hold", "0"], /hold must be a whole number/],
    [["--agent", "x", "--dir", "x", "--once", "--until-empty"], /cannot be combined/],
  ])("%j", async (args, message) => {
    const { code, err } = await (await openDesk()).dibs(["spool", ...args]);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });
});

test("the worked example of docs/guides/spool.md does what it says", async () => {
  const place = new Place();
  const text = readFileSync(join(root, "docs/guides/spool.md"), "utf8");
  const [, script = ""] = /<!-- example: spool -->\n```bash\n([\s\S]*?)```/.exec(text) ?? [];
  expect(script).toContain("dibs spool");
  const child = spawn("bash", ["-c", `set -eu\n${script}`], {
    cwd: place.directory,
    env: place.env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const run = new Spooling(child);
  expect(await run.ended, run.out + run.err).toBe(0);
  expect(run.out).toMatch(/completed.*Write the schema|Write the schema.*completed/);
  const log = readFileSync(join(place.directory, "spool.log"), "utf8");
  expect(log.replaceAll(/process \d+/g, "process N").split("\n")).toEqual(
    expect.arrayContaining([
      "0001 placed in to_execute/0001: Write the schema",
      "0001 taken by process N",
      "0001 completed",
      "review created from to_execute/review/review.md: Review the schema",
      "review stale: process N is gone; back in the queue (stale/review)",
      "review placed in to_execute/review: Review the schema",
      "review released: the spool was stopped",
    ]),
  );
});
