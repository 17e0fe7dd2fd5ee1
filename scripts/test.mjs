// Everything that must hold before a commit: lint, types, tests. Arguments go to vitest:
//   npm test -- src/core -t "late completion"
// --quick leaves out what needs the built program, a browser, PostgreSQL or DynamoDB.
//
// The last line is always `N passed, N failed`, with `, N skipped` when some were. All files of a run are in one temporary
// directory. If a test fails, what it left is kept there, and the path is printed. Else the directory is removed; a file or a
// process that a test left behind is a failure too.

import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const root = resolve(import.meta.dirname, "..");
const bin = (path) => join(root, "node_modules", path);
const quick = ["src", "test/house", "test/view", "test/web"];
const isQuick = process.argv[2] === "--quick";
const selection = isQuick ? [...quick, ...process.argv.slice(3)] : process.argv.slice(2);
const total = { passed: 0, failed: 0, skipped: 0 };
const failedSteps = [];

if (step("install", ["scripts/ensure.mjs", "--no-build"])) {
  const tsc = [bin("typescript/bin/tsc"), "--noEmit", "-p"];
  const build = isQuick ? [] : [sideBySide("build", ["scripts/ensure.mjs"])];
  const checks = [
    sideBySide("types", [...tsc, "tsconfig.json"]),
    sideBySide("types of the dashboard", [...tsc, "web/tsconfig.json"]),
    sideBySide("lint", [bin("@biomejs/biome/bin/biome"), "check", "."]),
  ];
  for (const ok of await Promise.all(build)) if (!ok) total.failed++;
  if (isQuick) await tests();
  for (const ok of await Promise.all(checks)) count(ok);
  if (!isQuick) await tests();
} else {
  total.failed++;
}

for (const name of failedSteps) console.log(`FAILED ${name}`);
const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed > 0 ? 1 : 0;

async function tests() {
  // A quick answer does not wait for a disk.
  const scratch = mkdtempSync(join(tmpdir(), "dibs-test-"));
  chmodSync(scratch, 0o755);
  const isInMemory = isQuick && existsSync("/dev/shm");
  const temporary = isInMemory ? mkdtempSync("/dev/shm/dibs-test-") : join(scratch, "tmp");
  const failures = process.env.TEST_FAILURES_DIRECTORY ?? join(scratch, "failures");
  const report = join(scratch, "report.json");
  mkdirSync(temporary, { recursive: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const ok = step("tests", [bin("vitest/vitest.mjs"), "run", ...reporters, ...selection], {
    TMPDIR: temporary,
    TEST_FAILURES_DIRECTORY: failures,
    ...(isQuick ? { TEST_QUICK: "1" } : {}),
  });
  const failedBefore = total.failed;
  for (const file of readReport(report)) countFile(file);
  // A crash, an unhandled error or an empty selection fails the run without failing a test.
  if (!ok && total.failed === failedBefore) total.failed++;
  const left = [...filesLeft(temporary), ...(await processesLeft(temporary))];
  for (const what of left) console.log(`left behind: ${what}`);
  count(left.length === 0);
  if (isInMemory) rmSync(temporary, { recursive: true, force: true });
  if (total.failed === failedBefore) rmSync(scratch, { recursive: true, force: true });
  else console.log(`\nThe files of the failed tests are in ${existsSync(failures) ? failures : scratch}`);
}

function filesLeft(directory) {
  // Node keeps compiled code there, and V8 removes it by itself.
  return readdirSync(directory).filter((name) => name !== "node-compile-cache");
}

/** A process that is just ending gets a moment. What is left then is killed. */
async function processesLeft(directory) {
  for (let tries = 0; tries < 50 && processesOf(directory).length > 0; tries++) await sleep(100);
  return processesOf(directory).map(({ pid, command, own }) => {
    try {
      process.kill(pid, "SIGKILL");
    } catch {}
    return `process ${pid} (${command}) of ${own}`;
  });
}

/** Tests give their temporary directory to every process they start. */
function processesOf(directory) {
  if (!existsSync("/proc/self/environ")) return [];
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.flatMap((pid) => {
    const own = readFile(`/proc/${pid}/environ`)
      ?.split("\0")
      .find((each) => each.startsWith(`TMPDIR=${directory}`));
    const command = readFile(`/proc/${pid}/cmdline`)?.replaceAll("\0", " ").slice(0, 200).trim();
    return own && command ? [{ pid: Number(pid), command, own }] : [];
  });
}

function readFile(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function countFile({ name, status, message, assertionResults }) {
  const failed = assertionResults.filter((test) => test.status === "failed");
  const passed = assertionResults.filter((test) => test.status === "passed").length;
  const file = relative(root, name);
  for (const { fullName, failureMessages } of failed) {
    console.log(`FAILED ${file}: ${fullName}\n${indented(failureMessages.join("\n"))}`);
  }
  if (status === "failed" && failed.length === 0) console.log(`FAILED ${file}\n${indented(message)}`);
  total.passed += passed;
  // A file that could not be loaded, or whose hook failed, has no failed test of its own.
  total.failed += status === "failed" ? Math.max(failed.length, 1) : failed.length;
  total.skipped += assertionResults.length - passed - failed.length;
}

/** The first lines: they have the message, and the seed of a random test. */
function indented(text) {
  return text
    .split("\n")
    .slice(0, 8)
    .map((line) => `    ${line}`)
    .join("\n");
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).testResults;
  } catch {
    console.log("vitest left no report");
    return [];
  }
}

function count(ok) {
  total[ok ? "passed" : "failed"]++;
}

/** Its output is printed when it has ended, so that steps do not mix. */
function sideBySide(name, args) {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  const printed = [];
  child.stdout.on("data", (data) => printed.push(data));
  child.stderr.on("data", (data) => printed.push(data));
  return new Promise((resolve) => {
    child.once("error", (error) => printed.push(Buffer.from(`${error.message}\n`)));
    child.once("close", (code) => {
      console.log(`\n== ${name}`);
      process.stdout.write(Buffer.concat(printed));
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      console.log(`== ${name}: ${code === 0 ? "ok" : "FAILED"} in ${seconds} s`);
      if (code !== 0) failedSteps.push(name);
      resolve(code === 0);
    });
  });
}

function step(name, args, env = {}) {
  console.log(`\n== ${name}`);
  const startedAt = performance.now();
  const run = spawnSync(process.execPath, args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...env },
  });
  if (run.error) console.log(run.error.message);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`== ${name}: ${run.status === 0 ? "ok" : "FAILED"} in ${seconds} s`);
  return run.status === 0;
}
