import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const started = new Set<ChildProcess>();
let scratch: string;

beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "dibs-demo-test-"));
  const build = spawn(process.execPath, [join(root, "scripts/ensure.mjs")], { stdio: "inherit" });
  expect(await once(build, "exit"), "the build failed").toEqual([0, null]);
});

afterAll(() => {
  for (const demo of started) demo.kill("SIGKILL");
  rmSync(scratch, { recursive: true, force: true });
});

interface Run {
  output: string;
  code: number | null;
}

async function runDemo(onText: (text: string, demo: ChildProcess) => void = () => undefined): Promise<Run> {
  const demo = spawn(process.execPath, [join(root, "dist/demo/main.js")], {
    env: { ...process.env, DIBS_DEMO_SPEED: "0.1", TMPDIR: scratch },
    stdio: ["ignore", "pipe", "pipe"],
  });
  started.add(demo);
  let output = "";
  for (const stream of [demo.stdout, demo.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      onText(output, demo);
    });
  }
  const [code] = await once(demo, "close");
  started.delete(demo);
  return { output, code };
}

function expectNothingLeft(output: string): void {
  const pids = [...output.matchAll(/starts \w+ \(pid (\d+)\)/g)].map((match) => Number(match[1]));
  expect(pids).toHaveLength(4);
  for (const pid of pids) expect(() => process.kill(pid, 0), `worker ${pid} is still there`).toThrow("ESRCH");
  expect(readdirSync(scratch)).toEqual([]);
}

function expectPlain(output: string): void {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not be there.
  expect(output).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  const table = output.slice(output.indexOf("Dibs demo:"));
  expect(table.split("\n").filter((line) => line.length > 80)).toEqual([]);
}

test("the demo tells of the kill, the recovery, the question and the retry, and proves its claim", async () => {
  const { output, code } = await runDemo();
  expect(output).toMatch(/the demo kills (\w+) \(kill -9 \d+\) in the middle of 0004_t2/);
  expect(output).toMatch(/0004_t2 Orders is taken back from \w+ \(process_gone\)/);
  expect(output).toMatch(/\w+ claims 0004_t2 Orders \(attempt 2\)/);
  expect(output).toMatch(/asks about 0002 Brand and colours: Accent colour: teal or orange/);
  expect(output).toMatch(/human answers 0002 Brand and colours: teal/);
  expect(output).toMatch(/failed at 0006 Sample data, retry in/);
  expect(output).toMatch(/\w+ claims 0006 Sample data \(attempt 2\)/);
  expect(output).toMatch(/Tasks +13 of 13 completed, and 2 groups with their subtasks/);
  expect(output).toMatch(/Attempts +15: /);
  expect(output).toMatch(/Verified +every task was completed exactly once/);
  expect(code).toBe(0);
  expectPlain(output);
  expectNothingLeft(output);
});

test("an interrupted demo stops its workers, removes its store and says so by its exit code", async () => {
  let interrupted = false;
  const { output, code } = await runDemo((text, demo) => {
    if (interrupted || !text.includes(" claims ")) return;
    interrupted = demo.kill("SIGINT");
  });
  expect(output).toMatch(/demo: stopped by SIGINT/);
  expect(code).toBe(130);
  expectNothingLeft(output);
});
