// A lock that any program can take: `tasks.json.lock` exists. Whoever makes it (exclusively: O_EXCL, `set -C`, mkdir) has it, and
// whoever removes it gives it back. The first number in it is the holder's pid. A lock whose holder is dead, or that is older
// than a minute, is nobody's.

import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { DibsError } from "../../contract/error.js";

/** How to find out about processes; runtime knows. */
export interface Machine {
  hostId: string;
  processStart(pid: number): string | null;
  isAlive(pid: number, startedAt: string | null): boolean;
}

export interface LockOptions {
  machine: Machine;
  /** How long to wait for it. */
  timeoutMs: number;
  /** Beyond this age nobody holds it. */
  staleMs: number;
  now?: () => number;
  pause?: (ms: number) => Promise<unknown>;
}

export interface LockHolder {
  pid: number | null;
  startedAt: string | null;
  host: string | null;
  ageMs: number;
  inode: bigint;
}

const pauseMs = 20;
const contentMax = 1024;
/** A name that no other process uses, also not one with our pid on another host. */
const aside = (path: string) => `${path}.${process.pid}-${randomBytes(4).toString("hex")}`;

export class FileLock {
  private constructor(
    readonly path: string,
    private readonly inode: bigint,
  ) {}

  /** Throws STORE_BUSY, with who has it, when the time is over. */
  static async acquire(path: string, options: LockOptions): Promise<FileLock> {
    const { now = Date.now, pause = sleep, timeoutMs } = options;
    for (const deadline = now() + timeoutMs; ; await pause(pauseMs)) {
      const lock = FileLock.make(path, options.machine);
      if (lock) return lock;
      const holder = holderOf(path, now());
      if (holder && isStale(holder, options)) removeStale(path, holder);
      else if (holder && now() >= deadline) throw busy(path, holder);
    }
  }

  /** A link appears together with its content: nobody sees a lock without its holder. */
  private static make(path: string, { hostId, processStart }: Machine): FileLock | null {
    const draft = aside(path);
    const words = [process.pid, processStart(process.pid) ?? "-", hostId, new Date().toISOString()];
    writeFileSync(draft, `${words.join(" ")}\n`, { flag: "wx", mode: 0o644 });
    try {
      linkSync(draft, path);
      return new FileLock(path, lstatSync(path, { bigint: true }).ino);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return null;
      throw error;
    } finally {
      unlinkSync(draft);
    }
  }

  get isOurs(): boolean {
    return lstatSync(this.path, { bigint: true, throwIfNoEntry: false })?.ino === this.inode;
  }

  /** It is young again; false if somebody else took it. */
  renew(): boolean {
    if (!this.isOurs) return false;
    const now = new Date();
    utimesSync(this.path, now, now);
    return true;
  }

  release(): void {
    if (this.isOurs) rmSync(this.path, { force: true });
  }
}

/** Null if nobody has it. */
export function holderOf(path: string, now: number): LockHolder | null {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (!found) return null;
  const [pid = "", startedAt, host] = contentOf(path).trim().split(/\s+/);
  const isPid = /^[1-9]\d{0,9}$/.test(pid);
  return {
    pid: isPid ? Number(pid) : null,
    startedAt: isPid && /^\d+$/.test(startedAt ?? "") ? startedAt! : null,
    host: (isPid && host) || null,
    ageMs: now - Number(found.mtimeMs),
    inode: found.ino,
  };
}

/** Some programs lock with a directory, and those say nothing. */
function contentOf(path: string): string {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return "";
  }
  try {
    if (!fstatSync(file).isFile()) return "";
    const buffer = Buffer.alloc(contentMax);
    return buffer.toString("latin1", 0, readSync(file, buffer));
  } finally {
    closeSync(file);
  }
}

function isStale({ pid, startedAt, host, ageMs }: LockHolder, { machine, staleMs }: LockOptions): boolean {
  if (ageMs > staleMs) return true;
  // Pids mean something on their own host only; shell scripts write no host and are taken to be on ours.
  return pid !== null && (host === null || host === machine.hostId) && !machine.isAlive(pid, startedAt);
}

/** Taken away under a name of our own and looked at again: somebody quicker may have made a fresh one in its place. */
function removeStale(path: string, stale: LockHolder): void {
  const taken = aside(path);
  try {
    renameSync(path, taken);
  } catch {
    return; // Somebody was quicker.
  }
  if (lstatSync(taken, { bigint: true }).ino !== stale.inode) {
    try {
      linkSync(taken, path);
    } catch {
      // A third one has it by now.
    }
  }
  rmSync(taken, { recursive: true, force: true });
}

function busy(path: string, { pid, ageMs }: LockHolder): DibsError {
  const who = pid === null ? "another program" : `process ${pid}`;
  return new DibsError("STORE_BUSY", `${path} has been held by ${who} for ${Math.round(ageMs / 1000)} s.`, {
    hint: "If nobody is writing the file, remove the lock.",
    details: { lock: path, pid },
  });
}
