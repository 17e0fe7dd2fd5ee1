// Runs the whole suite several times while other processes keep every core busy, as a person's machine does:
//   npm run test:stress              five runs
//   npm run test:stress -- 2 test/cli   two runs of a part
// Every failure is printed with the log of its run. The load ends with this process, and after an hour and a half in any case.

import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const [first = "", ...rest] = process.argv.slice(2);
const hasCount = /^\d+$/.test(first);
const runs = hasCount ? Number(first) : 5;
const selection = hasCount ? rest : process.argv.slice(2);
const loadMsMax = 90 * 60_000;
const logs = mkdtempSync(join(tmpdir(), "dibs-stress-"));

let red = 0;
for (let run = 1; run <= runs; run++) {
  const log = join(logs, `run-${run}.log`);
  const startedAt = performance.now();
  const ok = await underLoad(() => suite(log));
  const text = readFileSync(log, "utf8");
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  console.log(`run ${run} of ${runs}: ${text.trimEnd().split("\n").at(-1)} in ${minutes} min`);
  if (ok) continue;
  red++;
  const failures = text.match(
    /^(FAILED |left behind: |The files of the failed |== .*FAILED)(.*\n( {4}.*\n)*)/gm,
  );
  console.log(`${(failures ?? []).join("")}log: ${log}`);
}
console.log(`${runs - red} passed, ${red} failed`);
if (red === 0) rmSync(logs, { recursive: true, force: true });
process.exitCode = red > 0 ? 1 : 0;

async function underLoad(work) {
  const burn = `
    const until = performance.now() + ${loadMsMax};
    process.once("disconnect", () => process.exit());
    (function round() {
      for (const end = performance.now() + 50; performance.now() < end; );
      if (performance.now() < until) setImmediate(round);
      else process.exit();
    })();`;
  const load = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ["--eval", burn], { stdio: ["ignore", "ignore", "ignore", "ipc"] }),
  );
  try {
    return await work();
  } finally {
    await Promise.all(load.map(ended));
  }
}

function ended(child) {
  return new Promise((resolve) => {
    child.once("close", resolve);
    child.kill("SIGKILL");
  });
}

function suite(log) {
  const output = openSync(log, "w");
  const child = spawn(process.execPath, [join(root, "scripts", "test.mjs"), ...selection], {
    cwd: root,
    stdio: ["ignore", output, output],
  });
  return new Promise((resolve) => {
    child.once("error", () => resolve(false));
    child.once("close", (code) => {
      closeSync(output);
      resolve(code === 0);
    });
  });
}
