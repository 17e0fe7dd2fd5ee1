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

interface Found {
  content: string;
  ageMs: number;
  /** Another lock has another one. Inodes alone are given out again at once. */
  identity: string;
}

const pauseMs = 20;
const contentMax = 1024;

const newToken = () => `${process.pid}-${randomBytes(4).toString("hex")}`;

export class FileLock {
  private constructor(
    readonly path: string,
    private readonly content: string,
  ) {}

  /** Throws STORE_BUSY, with who has it, when the time is over. */
  static async acquire(path: string, options: LockOptions): Promise<FileLock> {
    const { now = Date.now, pause = sleep, timeoutMs } = options;
    for (const deadline = now() + timeoutMs; ; ) {
      const found = find(path, now());
      if (!found) {
        const lock = FileLock.make(path, options.machine);
        if (lock) return lock;
      } else if (isStale(found, options)) {
        removeStale(path, found);
        continue;
      } else if (now() >= deadline) throw busy(path, found);
      await pause(pauseMs);
    }
  }

  /** A link appears together with its content: nobody sees a lock without its holder. */
  private static make(path: string, { hostId, processStart }: Machine): FileLock | null {
    const token = newToken();
    const words = [process.pid, processStart(process.pid) ?? "-", hostId, new Date().toISOString(), token];
    const content = `${words.join(" ")}\n`;
    const draft = `${path}.${token}`;
    writeFileSync(draft, content, { flag: "wx", mode: 0o644 });
    try {
      linkSync(draft, path);
      return new FileLock(path, content);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return null;
      throw error;
    } finally {
      rmSync(draft, { force: true });
    }
  }

  get isOurs(): boolean {
    return contentOf(this.path) === this.content;
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
function find(path: string, now: number): Found | null {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (!stats) return null;
  const content = contentOf(path);
  const identity = [stats.ino, stats.mtimeNs, content].join(" ");
  return { content, ageMs: now - Number(stats.mtimeMs), identity };
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

/** Shell scripts write no more than their pid. */
function holderIn(content: string): { pid: number | null; startedAt: string | null; host: string | null } {
  const [pid = "", startedAt = "", host] = content.trim().split(/\s+/);
  if (!/^[1-9]\d{0,9}$/.test(pid)) return { pid: null, startedAt: null, host: null };
  return { pid: Number(pid), startedAt: /^\d+$/.test(startedAt) ? startedAt : null, host: host ?? null };
}

function isStale({ content, ageMs }: Found, { machine, staleMs }: LockOptions): boolean {
  if (ageMs > staleMs) return true;
  const { pid, startedAt, host } = holderIn(content);
  // Pids mean something on their own host only; whoever writes none is taken to be on ours.
  return pid !== null && (host === null || host === machine.hostId) && !machine.isAlive(pid, startedAt);
}

/** Taken away under a name of our own and looked at again: somebody quicker may have made a fresh one in its place. */
function removeStale(path: string, stale: Found): void {
  const taken = `${path}.${newToken()}`;
  try {
    renameSync(path, taken);
  } catch {
    return; // Somebody was quicker.
  }
  if (find(taken, 0)?.identity !== stale.identity) {
    try {
      linkSync(taken, path);
    } catch {
      // A third one has it by now.
    }
  }
  rmSync(taken, { recursive: true, force: true });
}

function busy(path: string, { content, ageMs }: Found): DibsError {
  const { pid } = holderIn(content);
  const who = pid === null ? "another program" : `process ${pid}`;
  const seconds = Math.round(ageMs / 1000);
  return new DibsError("STORE_BUSY", `${path} is held by ${who}, for ${seconds} s by now.`, {
    hint: "If no process writes the file, remove the lock.",
    details: { lock: path, pid },
  });
}
