// Runs one check: without a shell, in a process group, with a timeout, and without secrets.

import { spawn } from "node:child_process";
import type { WireProject } from "../contract/shapes.js";
import { checkEnvironment } from "./check-environment.js";
import { drain } from "./drain.js";
import { endGroup } from "./processes.js";

export type Check = WireProject["settings"]["land"]["checks"][number];

type Command = Pick<Check, "name" | "run" | "timeoutMs">;

export interface CheckRun {
  name: string;
  state: "passed" | "failed" | "timed-out";
  exitCode: number | null;
  durationMs: number;
  /** Why it could not be started. */
  error?: string;
}

export interface CheckPlace {
  root: string;
  env: Readonly<Record<string, string | undefined>>;
  onOutput(text: string): void;
  /** With its process group, once it runs. */
  onStart?(group: number): void;
  signal: AbortSignal;
}

/** Between SIGTERM and SIGKILL. */
const graceMs = 5_000;
/** How long nothing must come after the end. */
const drainMs = 1_000;

export async function runCheck({ name, run, timeoutMs }: Command, place: CheckPlace): Promise<CheckRun> {
  const { root, env, onOutput, signal } = place;
  const [file = "", ...args] = run;
  const startedAt = performance.now();
  const child = spawn(file, args, {
    cwd: root,
    env: { ...checkEnvironment(env), PWD: root },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    windowsHide: true,
  });
  if (child.pid !== undefined) place.onStart?.(child.pid);
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", onOutput);
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const exited = new Promise<{ code: number | null; error?: string }>((resolve) => {
    child.once("exit", (code) => resolve({ code }));
    child.once("error", (error: NodeJS.ErrnoException) =>
      resolve({ code: null, error: reasonOf(error, file) }),
    );
  });
  let isLate = false;
  // Everything in the group ends with the check, in time or not.
  const end = () => (child.pid === undefined ? undefined : endGroup(child.pid, graceMs));
  const timer = setTimeout(
    () => {
      isLate = true;
      void end();
    },
    Math.min(timeoutMs, 2 ** 31 - 1),
  );
  const stop = () => void end();
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  const { code, error } = await exited;
  clearTimeout(timer);
  signal.removeEventListener("abort", stop);
  const durationMs = Math.round(performance.now() - startedAt);
  if (error === undefined) {
    await end();
    await drain([child.stdout, child.stderr], closed, drainMs);
  }
  child.stdout.destroy();
  child.stderr.destroy();
  const state = isLate ? "timed-out" : code === 0 ? "passed" : "failed";
  return { name, state, exitCode: code, durationMs, ...(error === undefined ? {} : { error }) };
}

function reasonOf({ code, message }: NodeJS.ErrnoException, file: string): string {
  if (code === "ENOENT") return `${file} was not found`;
  return code === "EACCES" ? `${file} is not executable` : message;
}
