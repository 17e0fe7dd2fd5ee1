// The built program as scripts call it: a process per call, real shells, real worktrees. Terminals are in pty.test.ts.

import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../eventually.js";
import { sendInput, tempDir } from "../support.js";

const bin = resolve(import.meta.dirname, "../../dist/bin.js");

beforeAll(() => {
  if (!existsSync(bin)) throw new Error("dist/bin.js is missing: run `npm run build` first.");
});

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

interface Options {
  cwd: string;
  env?: Record<string, string>;
  input?: string;
}

function start(file: string, args: string[], { cwd, env = {} }: Options): ChildProcessWithoutNullStreams {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(DIBS_|npm_|NO_COLOR|FORCE_COLOR)/.test(name)),
  );
  const child = spawn(file, args, { cwd, env: { ...inherited, TERM: "xterm", ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function ended(child: ChildProcessWithoutNullStreams, input = ""): Promise<Ended> {
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    err += text;
  });
  sendInput(child, input);
  const [code] = await once(child, "close");
  return { code, out, err };
}

const dibs = (args: string[], options: Options) =>
  ended(start(process.execPath, [bin, ...args], options), options.input);

// biome-ignore lint/suspicious/noExplicitAny: each operation has its own.
async function json(args: string[], options: Options): Promise<any> {
  return JSON.parse((await dibs([...args, "--json"], options)).out);
}

/** `dibs` as a word that shells know. */
function withDibs(directory: string): Record<string, string> {
  const folder = join(directory, "..", "bin");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "dibs"), `#!/bin/sh\nexec "${process.execPath}" "${bin}" "$@"\n`, {
    mode: 0o755,
  });
  return { PATH: `${folder}:${process.env.PATH}` };
}

/** A repository, gone after the test. */
function repository(): Options {
  const home = tempDir();
  const cwd = join(home, "shop");
  mkdirSync(cwd);
  execFileSync("git", ["init", "-q"], { cwd });
  return { cwd };
}

test("version and help", async () => {
  const here = repository();
  const { version } = JSON.parse(readFileSync(resolve(bin, "../../package.json"), "utf8"));
  expect((await dibs(["--version"], here)).out).toBe(`${version}\n`);
  for (const args of [[], ["help"], ["--help"]])
    expect((await dibs(args, here)).out).toContain("Get started");
  expect((await dibs(["help", "lock", "acquire"], here)).out).toContain("dibs lock acquire <name>");
  expect(existsSync(join(here.cwd, ".dibs"))).toBe(false);
});

test("where no directory can be made, that is said at once", async () => {
  const here = repository();
  const place = ["--db", "/proc/none/of/it/dibs.db"];
  const refusal = expect.stringMatching(/\/proc\/none.*STORE_UNAVAILABLE/s);
  expect(await dibs(["add", "One", ...place], here)).toEqual({ code: 6, out: "", err: refusal });
  expect(await dibs(["serve", "--port", "0", ...place], here)).toEqual({ code: 6, out: "", err: refusal });
});

test("a sub-directory and a worktree have the repository's store", async () => {
  const here = repository();
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: here.cwd });
  git("commit", "-q", "--allow-empty", "-m", "first");
  git("worktree", "add", "-q", "../tree");
  mkdirSync(join(here.cwd, "src"));
  await dibs(["add", "One"], here);
  for (const cwd of [join(here.cwd, "src"), join(here.cwd, "../tree")]) {
    expect((await json(["list"], { cwd })).tasks).toHaveLength(1);
  }
});

describe("with a server", () => {
  test("commands go through it, and past it when it is gone", async () => {
    const here = repository();
    const server = start(process.execPath, [bin, "serve", "--port", "0", "--log-level", "silent"], here);
    const [line] = await once(server.stdout.setEncoding("utf8"), "data");
    expect(line).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+\n/);
    expect((await dibs(["add", "One"], here)).code).toBe(0);
    expect((await dibs(["doctor"], here)).out).toMatch(/ok +server +runs/);
    const { tasks } = await json(["list"], here);
    expect(tasks[0].createdBy).not.toBe(
      (await json(["add", "Two", "--org", "default"], here)).task.createdBy,
    );
    server.kill("SIGTERM");
    expect((await once(server, "exit"))[0]).toBe(0);
    expect((await json(["list"], here)).tasks).toHaveLength(2);
  });
});

describe("in a shell script", () => {
  test("a lock is the script's for as long as it runs", async () => {
    const here = repository();
    await dibs(["init", "--yes"], here);
    const env = withDibs(here.cwd);
    const script = start("sh", ["-c", "dibs lock acquire build && echo held && read line; true"], {
      ...here,
      env,
    });
    await once(script.stdout.setEncoding("utf8"), "data");
    await eventually(async () => (await dibs(["lock", "status", "build"], here)).out).toContain(
      `process ${script.pid}`,
    );
    const other = await ended(start("sh", ["-c", "dibs lock acquire build; echo $?"], { ...here, env }));
    expect(other.out).toBe("1\n");
    expect(other.err).toContain(`held by process ${script.pid}`);
    const over = once(script, "exit");
    sendInput(script, "go on\n");
    await over;
    expect((await dibs(["lock", "status", "build"], here)).out).toBe("build is free\n");
  });

  test("whoever stops reading is no trouble", async () => {
    const here = repository();
    const input = Array.from({ length: 300 }, (_, at) => `- [ ] Task ${at} ${"x".repeat(100)}`).join("\n");
    await dibs(["plan", "-", "--yes"], { ...here, input });
    const env = withDibs(here.cwd);
    const { out, err } = await ended(
      start("sh", ["-c", "dibs list --json --limit 1000 | head -c 10"], { ...here, env }),
    );
    expect([out.length, err]).toEqual([10, ""]);
  });
});

test("a wait is over when the process is told to end", async () => {
  const here = repository();
  await dibs(["add", "Later", "--not-before", "1h"], here);
  const waiting = start(process.execPath, [bin, "claim", "--session", "a", "--wait", "10m"], here);
  await eventually(async () => (await json(["sessions"], here)).sessions.length).toBe(1);
  const over = once(waiting, "exit");
  waiting.kill("SIGINT");
  expect((await over)[0]).toBe(5);
});

test("the demo runs, and its verdict is the exit code", async () => {
  const { code, out } = await dibs(["demo"], { ...repository(), env: { DIBS_DEMO_SPEED: "0.1" } });
  expect(out).toContain("every task was completed exactly once");
  expect(code).toBe(0);
});
