// A process that ends the running check if this one is gone, however it died.

import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const graceMs = 5_000;
const program = () => fileURLToPath(new URL("../runner/guard.js", import.meta.url));

export class Guard {
  private readonly child: ChildProcess;

  constructor(file = program()) {
    // NODE_OPTIONS of the user must not break it.
    const { NODE_OPTIONS: _, ...env } = process.env;
    this.child = spawn(process.execPath, [file, String(graceMs)], {
      detached: true,
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      env,
    });
    this.child.on("error", () => undefined);
    this.child.unref();
    this.child.channel?.unref();
  }

  /** The process group of the check that runs; 0: none does. */
  protect(group: number): void {
    if (this.child.connected) this.child.send(group, () => undefined);
  }

  close(): void {
    if (this.child.connected) this.child.disconnect();
  }
}
