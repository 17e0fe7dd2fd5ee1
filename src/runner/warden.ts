// The first process of an attempt's group, a program of its own. It is there before the task is claimed, so that the claim can
// name the group; it starts the command when told to, and when the runner is gone, however it went, it ends the group.
//
//   node warden.js <session> <grace in ms>

import { type ChildProcess, spawn } from "node:child_process";
import type { Order, WardenMessage } from "./order.js";

const graceMs = Number(process.argv[3]);
let command: ChildProcess | null = null;
let isAlone = false;

function say(message: WardenMessage): void {
  // Whoever does not hear it is gone, and `disconnect` tells so.
  process.send?.(message, () => undefined);
}

function signalGroup(signal: NodeJS.Signals): void {
  try {
    process.kill(-process.pid, signal);
  } catch {
    process.exit(1);
  }
}

function run({ file, args, cwd, env }: Order): void {
  try {
    command = spawn(file, args, { cwd, env, stdio: "inherit", windowsHide: true });
  } catch (error) {
    say(failure(error));
    return;
  }
  command.once("spawn", () => say({ type: "started" }));
  command.once("error", (error) => say(failure(error)));
  command.once("exit", (code, signal) => {
    say({ type: "exited", code, signal });
    if (isAlone) signalGroup("SIGKILL");
  });
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
  isAlone = true;
  signalGroup("SIGTERM");
  if (command.exitCode !== null || command.signalCode !== null) signalGroup("SIGKILL");
  setTimeout(() => signalGroup("SIGKILL"), graceMs);
});
