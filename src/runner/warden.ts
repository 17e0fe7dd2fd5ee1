// The first process of an attempt's group, a program of its own. It is there before the task is claimed, so that the claim can
// name the group; it starts the command when told to, and when the runner is gone, however it went, it ends the group.
//
//   node warden.js <session> <grace in ms>

import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import type { Order, WardenMessage } from "./order.js";
import { askToEnd, signalGroup } from "./processes.js";

const graceMs = Number(process.argv[3]);
let command: ChildProcess | null = null;
let scratch = "";

function say(message: WardenMessage): void {
  // Whoever does not hear it is gone, and `disconnect` tells so.
  process.send?.(message, () => undefined);
}

/** The runner is gone, and nobody else is left to tidy up. */
async function endAlone(): Promise<void> {
  try {
    await askToEnd(process.pid, graceMs, [process.pid]);
    if (scratch !== "") rmSync(scratch, { recursive: true, force: true });
  } finally {
    signalGroup(process.pid, "SIGKILL");
  }
}

function run({ file, args, cwd, env, ...order }: Order): void {
  scratch = order.scratch;
  try {
    command = spawn(file, args, { cwd, env, stdio: "inherit", windowsHide: true });
  } catch (error) {
    say(failure(error));
    return;
  }
  command.once("spawn", () => say({ type: "started" }));
  command.once("error", (error) => say(failure(error)));
  command.once("exit", (code, signal) => say({ type: "exited", code, signal }));
}

function failure(error: unknown): WardenMessage {
  const { code, message } = error as NodeJS.ErrnoException;
  return { type: "failed", code: code ?? "UNKNOWN", message };
}

// Signals to the group are meant for the command: this process stays to see how it ends.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const) process.on(signal, () => undefined);

process.once("message", (order) => run(order as Order));
process.once("disconnect", () => {
  if (!command) process.exit(0);
  void endAlone();
});
