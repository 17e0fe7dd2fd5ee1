// One proxy per spool. The store's lock decides between those that use the same store; the lock file says so to scripts, which look
// at its first line, and is honoured where one of them, or a proxy on another store, holds it.

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

const lockBytesMax = 4_096;

export class ProxyLock {
  private readonly files: string[];

  private constructor(private readonly options: LockOptions) {
    const { tree, agent, lockDirectory } = options;
    const directories = [join(tree.root, "locks"), ...(lockDirectory === undefined ? [] : [lockDirectory])];
    this.files = [...new Set(directories)].map((directory) => join(directory, `${agent}.lock`));
  }

  /** Refused with SESSION_BUSY where somebody who lives holds it. */
  static async acquire(options: LockOptions): Promise<ProxyLock> {
    const lock = new ProxyLock(options);
    await lock.renew();
    try {
      if (options.lockDirectory !== undefined) mkdirSync(options.lockDirectory, { recursive: true });
      for (const file of lock.files) lock.refuseHeld(file);
      for (const file of lock.files) options.tree.replace(file, lock.text());
    } catch (error) {
      await lock.release();
      throw error;
    }
    return lock;
  }

  /** Where this process cannot be seen from the store, the lock is a lease. */
  async renew(): Promise<void> {
    const { dibs, project, name } = this.options;
    await dibs.locks.acquire({ ...project, name, ...this.process() });
  }

  async release(): Promise<void> {
    const { dibs, project, name, tree } = this.options;
    for (const file of this.files) if (this.holderIn(file) === process.pid) tree.removeFile(file);
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

  private text(): string {
    return `${process.pid}\n${new Date().toISOString()}\n${this.options.name}\n`;
  }

  private holderIn(file: string): number | null {
    const reading = this.options.tree.read(file, lockBytesMax);
    if (!reading.ok && !reading.isGone) {
      throw new DibsError("FORBIDDEN", `${file} is no lock of ours: it ${reading.problem}.`, {
        hint: "Look at it, and remove it.",
      });
    }
    const pid = reading.ok ? Number(reading.text.split("\n")[0]!.trim()) : Number.NaN;
    return isPid(pid) ? pid : null;
  }

  private refuseHeld(file: string): void {
    const { machine, agent } = this.options;
    const pid = this.holderIn(file);
    if (pid === null || pid === process.pid || !machine.isAlive(pid, null)) return;
    throw new DibsError("SESSION_BUSY", `Process ${pid} holds the session lock of ${agent}: ${file}.`, {
      hint: "Only one spool can run for an agent's directory: end that process, or remove the file if it is another's.",
    });
  }
}
