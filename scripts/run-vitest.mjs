// Runs test files in a process group of its own, with a temporary directory of its own, and returns what became of each test.

import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const running = new Set();
process.once("exit", () => running.forEach(endGroup));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130));

/**
 * `tree`: where the tests are. `scratch`: a directory that can be written. `args`: for vitest. `env`: added to that of this process;
 * `undefined` removes.
 */
export async function runVitest({ tree, scratch, args, env = {}, msMax }) {
  const temporary = mkdtempSync(join(scratch, "run-"));
  // PostgreSQL runs as another user if this one is root.
  chmodSync(temporary, 0o755);
  const report = join(temporary, "report.json");
  mkdirSync(join(temporary, "tmp"));
  const vitest = join(tree, "node_modules/vitest/vitest.mjs");
  const child = spawn(
    process.execPath,
    [vitest, "run", ...args, "--reporter=json", `--outputFile=${report}`],
    {
      cwd: tree,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, TMPDIR: join(temporary, "tmp"), ...env },
    },
  );
  running.add(child);
  const printed = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => printed.push(data));
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    endGroup(child);
  }, msMax);
  await new Promise((done) => child.once("close", done));
  clearTimeout(timer);
  running.delete(child);
  const tests = readTests(report, tree);
  const failed = tests.filter(({ status }) => status === "failed");
  const passed = tests.filter(({ status }) => status === "passed");
  const skipped = tests.filter(({ status }) => status !== "passed" && status !== "failed");
  const output = Buffer.concat(printed).toString().trim();
  const problem = tests.length > 0 && child.exitCode === 0 ? null : output.slice(-2_000) || "no test ran";
  rmSync(temporary, { recursive: true, force: true });
  return { failed, passed, skipped, isLate, problem, output };
}

function endGroup({ pid }) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function readTests(report, tree) {
  if (!existsSync(report)) return [];
  const { testResults } = JSON.parse(readFileSync(report, "utf8"));
  return testResults.flatMap(({ name: file, assertionResults }) =>
    assertionResults.map(({ fullName: name, status, failureMessages }) => ({
      file: file.replace(`${tree}/`, ""),
      name,
      status,
      message: failureMessages.join("\n"),
    })),
  );
}
