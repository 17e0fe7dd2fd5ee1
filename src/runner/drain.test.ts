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

test.each([
  ["is silent", "sleep", ["600"]],
  ["writes without an end", "yes", []],
])("a process that keeps the output open and %s is not waited for", async (_how, command, args) => {
  const child = spawn(command, args);
  child.stdout.resume();
  await once(child, "spawn");
  const closed = once(child, "close").then(() => undefined);
  await drain([child.stdout], closed, 20);
  expect(child.exitCode).toBeNull();
  child.kill("SIGKILL");
  await closed;
});
