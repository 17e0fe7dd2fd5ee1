// One proxy per spool. A lock in the store excludes proxies on the same store; a lock file excludes scripts, which read its
// first line, and proxies on other stores.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Dibs } from "../../client/client.js";
import { DibsError } from "../../contract/error.js";
import { isPid } from "./names.js";
import type { SpoolMachine } from "./options.js";
import type { Tree } from "./tree.js";

export interface LockOptions {
  dibs: Dibs;
  project: { project?: string };
  tree: Tree;
  machine: SpoolMachine;
  agent: string;
  /** The name of the store's lock, and of the session in the lock file. */
  name: string;
  lockDirectory?: string | undefined;
}

interface Holder {
  pid: number;
  startedAt: string | null;
}

const lockBytesMax = 4_096;
const triesMax = 10;

export class ProxyLock {
  /** Another process has it. */
  isLost = false;
  private readonly files: string[];

  private constructor(private readonly options: LockOptions) {
    const { tree, agent, lockDirectory } = options;
    const directories = [join(tree.root, "locks"), ...(lockDirectory === undefined ? [] : [lockDirectory])];
    this.files = [...new Set(directories)].map((directory) => join(directory, `${agent}.lock`));
  }

  /** Refused with SESSION_BUSY if a live process holds it. */
  static async acquire(options: LockOptions): Promise<ProxyLock> {
    const lock = new ProxyLock(options);
    await lock.renew();
    try {
      if (options.lockDirectory !== undefined) mkdirSync(options.lockDirectory, { recursive: true });
      for (const file of lock.files) lock.take(file);
    } catch (error) {
      await lock.release();
      throw error;
    }
    return lock;
  }

  /** If the store cannot see this process, the lock is a lease. */
  async renew(): Promise<void> {
    const { dibs, project, name } = this.options;
    try {
      await dibs.locks.acquire({ ...project, name, ...this.process() });
    } catch (error) {
      this.isLost = error instanceof DibsError && error.code === "SESSION_BUSY";
      throw error;
    }
  }

  async release(): Promise<void> {
    const { dibs, project, name, tree } = this.options;
    for (const file of this.files) if (this.holderIn(file)?.pid === process.pid) tree.forget(file);
    await dibs.locks.release({ ...project, name, ...this.process() }).catch(() => undefined);
  }

  private process() {
    const { machine } = this.options;
    const processStartedAt = machine.processStart(process.pid);
    return {
      pid: process.pid,
      host: machine.hostId,
      ...(processStartedAt === null ? {} : { processStartedAt }),
    };
  }

  /** As scripts write it: pid, time, session; and the start time of the process, because pids are reused. */
  private text(): string {
    const { machine, name } = this.options;
    const startedAt = machine.processStart(process.pid) ?? "";
    return `${process.pid}\n${new Date().toISOString()}\n${name}\n${startedAt}\n`;
  }

  private holderIn(file: string): Holder | null {
    const reading = this.options.tree.read(file, lockBytesMax);
    if (!reading.ok && !reading.isGone) {
      throw new DibsError("FORBIDDEN", `${file} is no lock: it ${reading.problem}.`, {
        hint: "Look at it, and remove it.",
      });
    }
    const [first = "", , , startedAt = ""] = reading.ok ? reading.text.split("\n") : [];
    const pid = Number(first.trim());
    return isPid(pid) ? { pid, startedAt: startedAt === "" ? null : startedAt } : null;
  }

  private take(file: string): void {
    const { tree, machine } = this.options;
    for (let tries = 1; tries <= triesMax; tries++) {
      if (tree.create(file, this.text())) return;
      const holder = this.holderIn(file);
      if (holder && machine.isAlive(holder.pid, holder.startedAt)) {
        if (holder.pid === process.pid) return;
        throw this.busy(`Process ${holder.pid}`, file);
      }
      // The holder is dead. If another process took the lock meanwhile, it goes back.
      const away = `${file}.${process.pid}.away`;
      if (tree.move(file, away) !== "moved") continue;
      if (this.holderIn(away)?.pid !== holder?.pid) tree.move(away, file);
      tree.forget(away);
    }
    throw this.busy("Somebody", file);
  }

  private busy(who: string, file: string): DibsError {
    const { agent } = this.options;
    return new DibsError("SESSION_BUSY", `${who} holds the session lock of ${agent}: ${file}.`, {
      hint: "Only one spool can run for an agent's directory. Stop that process, or remove the file if no process uses it.",
    });
  }
}
