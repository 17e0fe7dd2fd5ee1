// Whoever reads what we print may be slow. A runner goes on and keeps little; a command waits and leaves nothing out.

import { expect, test } from "vitest";
import { bin, openPlace, sh, waitFor } from "../cli/run-place.js";

const lineCount = 60_000;
const flood = `yes ${"x".repeat(90)} | head -n ${lineCount}`;

test("a runner whose output is not read reports its task, keeps about a megabyte, and says how much is missing", async () => {
  const place = await openPlace();
  await place.add({ title: "Flood", prompt: "x" });
  // A pipe as shells make them: writing to it when it is full stops the whole process.
  const slow = `"$0" "$@" 2>&1 >/dev/null | { ${waitFor("go")}; cat > "$NOTES/read"; }`;
  const command = [process.execPath, bin, "work", "--once", "--", ...sh(flood)];
  const { ended } = place.start("sh", ["-c", slow, ...command]);
  await place.becomes("0001", "completed");
  place.leave("go");
  await ended;
  const read = place.note("read");
  expect(read.length).toBeLessThan(1.5 * 1024 * 1024);
  const [, leftOut] = /^dibs: (\d+) lines left out here: .*\n/m.exec(read)!;
  const shown = read.split("\n").filter((line) => /^0001 │ x{90}$/.test(line)).length;
  expect(shown + Number(leftOut)).toBe(lineCount);
});

test("a runner whose reader is gone goes on", async () => {
  const place = await openPlace();
  await place.add({ title: "Talk", prompt: "x" });
  const command = [process.execPath, bin, "work", "--once", "--", ...sh(`${waitFor("go")}; ${flood}`)];
  const { ended } = place.start("sh", [
    "-c",
    `"$0" "$@" 2>&1 | { read -r _; }; : > "$NOTES/over"`,
    ...command,
  ]);
  // It has seen the first line, and that was enough.
  await place.becomes("0001", "running");
  place.leave("go");
  await place.becomes("0001", "completed");
  await ended;
});

test("a command whose output is read late leaves nothing out, also on a pipe that does not block", async () => {
  const place = await openPlace();
  const tasks = Array.from({ length: 200 }, (_, n) => ({ title: `Task ${n}`, prompt: "x".repeat(2_000) }));
  await place.add(...tasks);
  // Node makes its own end of a pipe one that does not block, and whoever inherits it has the same.
  const parent = `process.stdout.write(""); require("node:child_process").spawnSync(process.execPath, process.argv.slice(1), { stdio: "inherit" })`;
  const slow = `"$0" -e '${parent}' "$@" | dd bs=256 status=none`;
  const args = [bin, "list", "--limit", "1000", "--json"];
  const { out } = await place.start("sh", ["-c", slow, process.execPath, ...args]).ended;
  expect(out.length).toBeGreaterThan(200_000);
  expect(JSON.parse(out).tasks).toHaveLength(200);
});
