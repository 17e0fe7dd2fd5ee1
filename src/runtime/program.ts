import { spawn } from "node:child_process";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

/** Runs another program of this package on this terminal; returns its exit code. */
export function runProgram(entry: URL, stopping: AbortSignal): Promise<number> {
  const child = spawn(process.execPath, [fileURLToPath(entry)], { stdio: "inherit" });
  const stop = () => child.kill("SIGTERM");
  stopping.addEventListener("abort", stop, { once: true });
  return new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(code ?? 128 + constants.signals[signal!]));
  }).finally(() => stopping.removeEventListener("abort", stop));
}
