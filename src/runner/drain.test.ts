import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { drain } from "./drain.js";

/** Nothing else happens in this process meanwhile. */
const block = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test("what was written before the end is read, however busy this process is", async () => {
  const child = spawn(process.execPath, ["-e", 'process.stdout.write("x".repeat(100_000))']);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const closed = once(child, "close").then(() => undefined);
  await once(child, "spawn");
  const draining = drain([child.stdout, child.stderr], closed, 1);
  block(3_000);
  await draining;
  expect(text).toHaveLength(100_000);
  await closed;
});

test("a process that keeps the output open is not waited for", async () => {
  const child = spawn("sleep", ["600"]);
  await once(child, "spawn");
  await drain(
    [child.stdout],
    once(child, "close").then(() => undefined),
    20,
  );
  child.kill("SIGKILL");
});

test("nor is one that writes without an end", async () => {
  const child = spawn("yes");
  let size = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    size += chunk.length;
  });
  await once(child, "spawn");
  await drain(
    [child.stdout],
    once(child, "close").then(() => undefined),
    20,
  );
  child.kill("SIGKILL");
  expect(size).toBeGreaterThan(0);
});
