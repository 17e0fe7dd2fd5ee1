// Groups of processes: who is in one, and how it is ended.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** How processes of this machine are told apart; the program passes what the store goes by. */
export interface Machine {
  /** The same boot and the same pid namespace. */
  hostId: string;
  processStart(pid: number): string | null;
  isAlive(pid: number, startedAt: string | null): boolean;
}

/** This process, as sessions and locks name it. */
export function ownProcess(machine: Machine) {
  const { pid } = process;
  const processStartedAt = machine.processStart(pid);
  return { pid, host: machine.hostId, ...(processStartedAt === null ? {} : { processStartedAt }) };
}

interface Process {
  pid: number;
  group: number;
}

/** Zombies are left out: they do nothing any more. */
export function membersOf(group: number): number[] {
  const all = process.platform === "linux" ? fromProc() : fromPs();
  return all.filter((each) => each.group === group).map(({ pid }) => pid);
}

function fromProc(): Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = readOr(`/proc/${name}/stat`);
      // The name of the program is in parentheses and may contain anything.
      const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return group === undefined || state === "Z" || state === "X"
        ? []
        : [{ pid: Number(name), group: Number(group) }];
    });
}

function fromPs(): Process[] {
  return ps(["-axo", "pid=,pgid=,stat="])
    .split("\n")
    .flatMap((line) => {
      const [pid, group, state = "Z"] = line.trim().split(/\s+/);
      return state.startsWith("Z") ? [] : [{ pid: Number(pid), group: Number(group) }];
    });
}

function ps(args: string[]): string {
  try {
    return execFileSync("ps", args, { encoding: "utf8", timeout: 2000, stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return "";
  }
}

function readOr(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** The words of its command line; where only the line is to be had, split at blanks. */
export function argumentsOf(pid: number): string[] {
  if (process.platform === "linux") return readOr(`/proc/${pid}/cmdline`).split("\0");
  return ps(["-o", "command=", "-p", String(pid)])
    .trim()
    .split(/\s+/);
}

/** The environment it was started with, as `NAME=value`; nothing where that cannot be seen. */
export function environmentOf(pid: number): string[] {
  return process.platform === "linux" ? readOr(`/proc/${pid}/environ`).split("\0") : [];
}

export function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch (error) {
    // Gone already; or, on some systems, only zombies are left.
    if (!["ESRCH", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

const lookMs = 20;

/** Whether it became so in time. */
async function became(isSo: () => boolean, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (!isSo()) {
    if (performance.now() >= until) return false;
    await sleep(lookMs);
  }
  return true;
}

/** SIGTERM, and the grace for those that are not gone at once. */
export async function askToEnd(group: number, graceMs: number, except: number[] = []): Promise<void> {
  const isLeft = () => membersOf(group).some((pid) => !except.includes(pid));
  if (!isLeft()) return;
  signalGroup(group, "SIGTERM");
  await became(() => !isLeft(), graceMs);
}

/** After SIGKILL only the kernel can hold a process. */
const unkillableMs = 5_000;

/** SIGKILL for those that are still there after the grace. False: not even that ended them. */
export async function endGroup(group: number, graceMs: number, except: number[] = []): Promise<boolean> {
  await askToEnd(group, graceMs, except);
  const isGone = () => membersOf(group).length === 0;
  // The number of a group that is gone may be another's by now.
  if (isGone()) return true;
  signalGroup(group, "SIGKILL");
  return became(isGone, unkillableMs);
}
