// A directory of task files, a store beside it, and a proxy that looks when it is told to: the words that the spool's tests are told
// with. Time stands still unless a test moves it; processes are real ones.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Spool, type SpoolEvent, type SpoolOptions } from "../../src/bridges/spool/index.js";
import { type Dibs, openDibs } from "../../src/index.js";
import { hostId, isAlive, processStart } from "../../src/runtime/liveness.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { afterwards, tempDir } from "../support.js";

export { afterwards, tempDir, until } from "../support.js";

/** A process that does nothing until it is killed. */
export class Sleeper {
  private readonly child: ChildProcess = spawn("sleep", ["600"], { stdio: "ignore" });

  constructor() {
    afterwards(() => this.kill());
  }

  get pid(): number {
    return this.child.pid!;
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill("SIGKILL");
    await once(this.child, "exit");
  }
}

export const machine = { hostId, isAlive, processStart };

export type Told<T extends SpoolEvent["type"]> = Extract<SpoolEvent, { type: T }>;

export class Rig {
  readonly events: SpoolEvent[] = [];
  private readonly proxies: Spool[] = [];

  constructor(
    readonly directory: string,
    readonly dibs: Dibs,
    readonly clock: TestClock,
    readonly agent: string,
  ) {}

  /** Its own eyes and hands, on the same directory and store. */
  async proxy(options: Partial<SpoolOptions> = {}): Promise<Spool> {
    const spool = new Spool({
      dibs: this.dibs,
      agent: this.agent,
      directory: join(this.directory, "ai_comms"),
      machine,
      clock: { now: () => this.clock.now(), wait: async () => undefined },
      timings: { settleMs: 250, claimMs: 0 },
      onEvent: (event) => void this.events.push(event),
      ...options,
    });
    await spool.open();
    this.proxies.push(spool);
    return spool;
  }

  /** As after kill -9: nothing of it is left but what it wrote; its locks are a dead process's. */
  async afterKill(): Promise<Spool> {
    for (const lock of (await this.dibs.locks.list()).locks) {
      await this.dibs.locks.release({ name: lock.name, force: true });
    }
    rmSync(join(this.directory, "ai_comms/locks", `${this.agent}.lock`), { force: true });
    return this.proxy();
  }

  path(...parts: string[]): string {
    return join(this.directory, "ai_comms", this.agent, "tasks", ...parts);
  }

  has(...parts: string[]): boolean {
    return existsSync(this.path(...parts));
  }

  ls(...parts: string[]): string[] {
    return this.has(...parts) ? readdirSync(this.path(...parts)).sort() : [];
  }

  read(...parts: string[]): string {
    return readFileSync(this.path(...parts), "utf8");
  }

  write(file: string, text: string | Buffer): void {
    mkdirSync(dirname(this.path(file)), { recursive: true });
    writeFileSync(this.path(file), text);
  }

  mv(from: string, to: string): void {
    mkdirSync(dirname(this.path(to)), { recursive: true });
    renameSync(this.path(from), this.path(to));
  }

  /** As a worker does it. */
  take(name: string, pid = process.pid): string {
    const taken = `in_progress/${name}/${name}.${pid}.md`;
    this.mv(`to_execute/${name}/${name}.md`, taken);
    return taken;
  }

  told<T extends SpoolEvent["type"]>(type: T): Told<T>[] {
    return this.events.filter((each): each is Told<T> => each.type === type);
  }

  async task(taskId: string) {
    return (await this.dibs.tasks.get({ taskId })).task;
  }

  async add(...prompts: string[]): Promise<string[]> {
    return (await this.dibs.tasks.batch({ tasks: prompts.map((prompt) => ({ prompt })) })).tasks.map(
      ({ id }) => id,
    );
  }

  /** Files come, and are left alone for a moment: the second look may read them. */
  async settle(spool: Spool): Promise<void> {
    await spool.poll();
    this.clock.advance(300);
    await spool.poll();
  }
}

export async function openRig({ agent = "claude" } = {}): Promise<Rig> {
  const directory = tempDir();
  const clock = new TestClock();
  const dibs = await openDibs({ memory: true, clock });
  afterwards(() => dibs.close());
  return new Rig(directory, dibs, clock, agent);
}
