// The watchdog: the first process of an attempt's process group, a separate program. It starts before the task is claimed,
// so that the claim can name the group. It starts the command on request, and ends the group when the runner is gone.
//
//   node watchdog.js <session> <grace in ms>

import { type ChildProcess, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { askToEnd, signalGroup } from "./processes.js";
import type { StartRequest, WatchdogMessage } from "./watchdog-messages.js";

const graceMs = Number(process.argv[3]);
let command: ChildProcess | null = null;
let scratch = "";

function say(message: WatchdogMessage): void {
  // If the runner is gone, `disconnect` follows.
  process.send?.(message, () => undefined);
}

/** The runner is gone: ends the group and removes its files. */
async function endAlone(): Promise<void> {
  try {
    await askToEnd(process.pid, graceMs, [process.pid]);
    if (scratch !== "") rmSync(scratch, { recursive: true, force: true });
  } finally {
    signalGroup(process.pid, "SIGKILL");
  }
}

function run({ file, args, cwd, env, ...request }: StartRequest): void {
  scratch = request.scratch;
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

function failure(error: unknown): WatchdogMessage {
  const { code, message } = error as NodeJS.ErrnoException;
  return { type: "failed", code: code ?? "UNKNOWN", message };
}

// Signals to the group are meant for the command; the watchdog stays to report its exit.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const) process.on(signal, () => undefined);

process.once("message", (request) => run(request as StartRequest));
process.once("disconnect", () => {
  if (!command) process.exit(0);
  void endAlone();
});
