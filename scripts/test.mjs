// Everything that must hold before a commit: lint, types, tests. Arguments go to vitest:
//   npm test -- src/core -t "late completion"
// The last line is always `N passed, N failed`, with `, N skipped` when some were.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const bin = (path) => join(root, "node_modules", path);
const total = { passed: 0, failed: 0, skipped: 0 };

if (step("install", ["scripts/ensure.mjs", "--no-build"])) {
  const tsc = [bin("typescript/bin/tsc"), "--noEmit", "-p"];
  const [isBuilt, ...checks] = await Promise.all([
    beside("build", ["scripts/ensure.mjs"]),
    beside("types", [...tsc, "tsconfig.json"]),
    beside("types of the dashboard", [...tsc, "web/tsconfig.json"]),
    beside("lint", [bin("@biomejs/biome/bin/biome"), "check", "."]),
  ]);
  if (!isBuilt) total.failed++;
  for (const ok of checks) count(ok);
  tests();
} else {
  total.failed++;
}

const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
console.log(`${total.passed} passed, ${total.failed} failed${skipped}`);
process.exitCode = total.failed > 0 ? 1 : 0;

function tests() {
  const scratch = mkdtempSync(join(tmpdir(), "dibs-test-"));
  const report = join(scratch, "report.json");
  try {
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const ok = step("tests", [bin("vitest/vitest.mjs"), "run", ...reporters, ...process.argv.slice(2)]);
    const failedBefore = total.failed;
    for (const file of readReport(report)) countFile(file);
    // A crash, an unhandled error or an empty selection fails the run without failing a test.
    if (!ok && total.failed === failedBefore) total.failed++;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function countFile({ status, assertionResults }) {
  const failed = assertionResults.filter((test) => test.status === "failed").length;
  const passed = assertionResults.filter((test) => test.status === "passed").length;
  total.passed += passed;
  // A file that could not be loaded, or whose hook failed, has no failed test of its own.
  total.failed += status === "failed" ? Math.max(failed, 1) : failed;
  total.skipped += assertionResults.length - passed - failed;
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

/** What it printed comes when it has ended, so that steps do not mix. */
function beside(name, args) {
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
      resolve(code === 0);
    });
  });
}

function step(name, args) {
  console.log(`\n== ${name}`);
  const startedAt = performance.now();
  const run = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (run.error) console.log(run.error.message);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`== ${name}: ${run.status === 0 ? "ok" : "FAILED"} in ${seconds} s`);
  return run.status === 0;
}
