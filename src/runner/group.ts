// The runner's hand on a group of processes: a warden that waits, then a command and whatever it starts.

import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Exit, type Order, Unstartable, type WardenMessage } from "./order.js";
import { endGroup, type Machine, signalGroup } from "./processes.js";

/** What a claim's metadata says about its group. */
export interface GroupRecord {
  host: string;
  pid: number;
  pgid: number;
  processStartedAt: string | null;
}

export interface GroupOptions {
  sessionId: string;
  machine: Machine;
  /** Between SIGTERM and SIGKILL. */
  killGraceMs: number;
  /** How long output may still come when everybody is gone: whoever left the group may keep the pipe. */
  drainMs: number;
  /** The warden's program; default: the built one beside this file. */
  wardenFile?: string | undefined;
}

const defaultWarden = () => fileURLToPath(new URL("./warden.js", import.meta.url));

export class Group {
  readonly record: GroupRecord;
  /** How the command ended, or that the warden did. */
  readonly exited: Promise<Exit>;
  private readonly warden: ChildProcess;
  private readonly closed: Promise<void>;
  private ending: Promise<void> | null = null;
  private isGone = false;
  private isEnded = false;

  constructor(private readonly options: GroupOptions) {
    const { sessionId, killGraceMs, machine, wardenFile = defaultWarden() } = options;
    // The command gets its own environment; what is meant for other programs of node must not stop this one.
    const { NODE_OPTIONS: _, ...env } = process.env;
    this.warden = spawn(process.execPath, [wardenFile, sessionId, String(killGraceMs)], {
      detached: true,
      stdio: ["pipe", "pipe", "pipe", "ipc"],
      env,
    });
    this.closed = new Promise((resolve) => {
      this.warden.once("close", () => resolve());
      this.warden.once("error", () => resolve());
    });
    this.exited = new Promise((resolve) => {
      this.warden.once("exit", (_code, signal) => {
        this.isGone = true;
        resolve({ code: null, signal });
      });
      this.warden.once("error", () => {
        this.isGone = true;
        resolve({ code: null, signal: null });
      });
      this.warden.on("message", (message: WardenMessage) => {
        if (message.type === "exited") resolve({ code: message.code, signal: message.signal });
      });
    });
    // A command need not read what it is told.
    this.warden.stdin?.on("error", () => undefined);
    const pid = this.warden.pid ?? 0;
    this.record = { host: machine.hostId, pid, pgid: pid, processStartedAt: machine.processStart(pid) };
  }

  get isReady(): boolean {
    return this.record.pid !== 0 && !this.isGone;
  }

  get output(): { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream } {
    return { stdout: this.warden.stdout!, stderr: this.warden.stderr! };
  }

  /** Resolves when the command runs. */
  async run(order: Order, input: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.warden.on("message", (message: WardenMessage) => {
        if (message.type === "started") resolve();
        if (message.type === "failed") reject(new Unstartable(message.code, message.message));
      });
      const lost = () => reject(new Unstartable("WARDEN", "the process that was to start it is gone"));
      this.exited.then(lost);
      this.warden.send(order, (error) => error && lost());
    });
    this.warden.stdin?.end(input);
  }

  /** The command is told to end, and made to after the grace. */
  end({ now = false } = {}): Promise<void> {
    if (now && !this.isEnded && this.record.pid !== 0) signalGroup(this.record.pgid, "SIGKILL");
    this.ending ??= this.endAll();
    return this.ending;
  }

  /** Everybody is gone, and what they printed has been read. */
  private async endAll(): Promise<void> {
    const { pid, pgid } = this.record;
    if (pid === 0) return;
    this.warden.stdin?.destroy();
    await endGroup(pgid, this.options.killGraceMs, [pid]);
    this.isEnded = true;
    const late = new AbortController();
    const drained = sleep(this.options.drainMs, undefined, { signal: late.signal }).catch(() => undefined);
    await Promise.race([this.closed, drained]);
    late.abort();
    this.warden.stdout?.destroy();
    this.warden.stderr?.destroy();
  }
}
