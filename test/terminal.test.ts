import { expect, test } from "vitest";
import { isAlive } from "../src/runtime/liveness.js";
import { tempDir, until } from "./support.js";
import { keys, Terminal } from "./terminal.js";

const open = (...command: string[]) =>
  new Terminal(command, { cwd: tempDir(), env: { PATH: process.env.PATH ?? "" } });

/** As on a machine with other work to do: nothing is read meanwhile. */
function stall(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test("the last lines of a program are there when it ends, however late they are read", async () => {
  const script = `i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done; echo last; exit 3`;
  for (const ms of [0, 300, 600]) {
    const terminal = open("sh", "-c", script);
    stall(ms);
    expect(await terminal.ended).toBe(3);
    expect(terminal.raw).toMatch(/^line 0\r\n[\s\S]*line 2999\r\nlast\r\n$/);
    expect(terminal.allLines.slice(-2)).toEqual(["line 2999", "last"]);
  }
});

test("the end of a program that a signal or a key ended is reported with its number", async () => {
  const killed = open("sh", "-c", "echo up; exec sleep 60");
  await killed.shows("up");
  process.kill(killed.pid, "SIGKILL");
  expect(await killed.ended).toBe(137);
  const interrupted = open("sh", "-c", "echo up; exec sleep 60");
  await interrupted.shows("up");
  interrupted.press(keys.ctrlC);
  expect(await interrupted.ended).toBe(130);
  await until("the process is gone", () => !isAlive(interrupted.pid, null));
});
