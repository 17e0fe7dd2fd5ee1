// A process group as the runner controls it: a watchdog, then a command and the processes that it starts.

import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { drain } from "./drain.js";
import { endGroup, type Machine, signalGroup } from "./processes.js";
import { type Exit, type StartRequest, Unstartable, type WatchdogMessage } from "./watchdog-messages.js";

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
  /** How long no output must come after the group has ended: a process that left the group can keep the pipe open. */
  drainMs: number;
  /** The watchdog's program; default: the built one beside this file. */
  watchdogFile?: string | undefined;
}

const defaultWatchdog = () => fileURLToPath(new URL("./watchdog.js", import.meta.url));

export class Group {
  readonly record: GroupRecord;
  /** How the command ended, or that the watchdog did. */
  readonly exited: Promise<Exit>;
  private readonly watchdog: ChildProcess;
  private readonly closed: Promise<void>;
  private ending: Promise<void> | null = null;
  private isGone = false;
  private isEnded = false;

  constructor(private readonly options: GroupOptions) {
    const { sessionId, killGraceMs, machine, watchdogFile = defaultWatchdog() } = options;
    // NODE_OPTIONS of the user must not break the watchdog; the command gets its own environment.
    const { NODE_OPTIONS: _, ...env } = process.env;
    this.watchdog = spawn(process.execPath, [watchdogFile, sessionId, String(killGraceMs)], {
      detached: true,
      stdio: ["pipe", "pipe", "pipe", "ipc"],
      env,
    });
    this.closed = new Promise((resolve) => {
      this.watchdog.once("close", () => resolve());
      this.watchdog.once("error", () => resolve());
    });
    this.exited = new Promise((resolve) => {
      this.watchdog.once("exit", (_code, signal) => {
        this.isGone = true;
        resolve({ code: null, signal });
      });
      this.watchdog.once("error", () => {
        this.isGone = true;
        resolve({ code: null, signal: null });
      });
      this.watchdog.on("message", (message: WatchdogMessage) => {
        if (message.type === "exited") resolve({ code: message.code, signal: message.signal });
      });
    });
    // A command can end without reading its input.
    this.watchdog.stdin?.on("error", () => undefined);
    const pid = this.watchdog.pid ?? 0;
    this.record = { host: machine.hostId, pid, pgid: pid, processStartedAt: machine.processStart(pid) };
  }

  get isReady(): boolean {
    return this.record.pid !== 0 && !this.isGone;
  }

  get output(): { stdout: NodeJS.ReadableStream; stderr: NodeJS.ReadableStream } {
    return { stdout: this.watchdog.stdout!, stderr: this.watchdog.stderr! };
  }

  /** Resolves when the command runs. */
  async run(request: StartRequest, input: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.watchdog.on("message", (message: WatchdogMessage) => {
        if (message.type === "started") resolve();
        if (message.type === "failed") reject(new Unstartable(message.code, message.message));
      });
      const lost = () => reject(new Unstartable("WATCHDOG", "the process that was to start it is gone"));
      this.exited.then(lost);
      this.watchdog.send(request, (error) => error && lost());
    });
    this.watchdog.stdin?.end(input);
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. */
  end({ now = false } = {}): Promise<void> {
    if (now && !this.isEnded && this.record.pid !== 0) signalGroup(this.record.pgid, "SIGKILL");
    this.ending ??= this.endAll();
    return this.ending;
  }

  /** Resolves when the group has ended and its output is read. */
  private async endAll(): Promise<void> {
    const { pid, pgid } = this.record;
    if (pid === 0) return;
    this.watchdog.stdin?.destroy();
    await endGroup(pgid, this.options.killGraceMs, [pid]);
    this.isEnded = true;
    const { stdout, stderr } = this.output;
    await drain([stdout, stderr], this.closed, this.options.drainMs);
    this.watchdog.stdout?.destroy();
    this.watchdog.stderr?.destroy();
  }
}
