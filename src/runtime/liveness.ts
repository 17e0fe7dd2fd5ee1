// Is that process still the one it was? A pid alone does not tell: pids are reused, and mean something only in one boot of one
// machine and one pid namespace. So a process is named by host identity, pid and start time.

import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

function readOr<T>(read: () => T, fallback: T): T {
  try {
    return read();
  } catch {
    return fallback;
  }
}

/** Stays the same over reboots. Hashed: the id of a machine is not for others. Containers of one image differ by their names. */
function machineId(): string {
  const id = readOr(() => readFileSync("/etc/machine-id", "utf8").trim(), "");
  return createHash("sha256").update(`${hostname()} ${id}`).digest("hex").slice(0, 16);
}

/** The same host: same boot and same pid namespace, not the same name. The last part is the machine. */
export const hostId: string = [
  readOr(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(), hostname()),
  readOr(() => readlinkSync("/proc/self/ns/pid").replace(/\D/g, ""), "0"),
  machineId(),
].join("/");

interface ProcessState {
  zombie: boolean;
  startedAt: string;
}

/** From /proc where there is one, else from ps; null if there is no such process or nobody can tell. */
function inspect(pid: number): ProcessState | null {
  if (process.platform === "linux") {
    const stat = readOr(() => readFileSync(`/proc/${pid}/stat`, "utf8"), "");
    // The command name is in parentheses and may contain anything, parentheses and blanks too.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields.length > 19 ? { zombie: fields[0] === "Z", startedAt: fields[19]! } : null;
  }
  const { execFileSync } = process.getBuiltinModule("node:child_process");
  const line = readOr(
    () => execFileSync("ps", ["-o", "stat=,lstart=", "-p", String(pid)], { encoding: "utf8", timeout: 2000 }),
    "",
  ).trim();
  const [state = "", ...start] = line.split(/\s+/);
  return line === "" ? null : { zombie: state.startsWith("Z"), startedAt: start.join(" ") };
}

export function processStart(pid: number): string | null {
  return inspect(pid)?.startedAt ?? null;
}

export function isAlive(pid: number, startedAt: string | null): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Not permitted to signal means alive.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const state = inspect(pid);
  if (!state) return true;
  return !state.zombie && (startedAt === null || startedAt === state.startedAt);
}
