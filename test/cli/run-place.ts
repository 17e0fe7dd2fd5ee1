// A repository in which the built program runs other programs: real processes, real signals, with or without a server. Whatever
// was started is ended, whatever was made is removed.

import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { isAlive } from "../../src/runtime/liveness.js";
import { onFailure, sendInput, tempDir, until } from "../support.js";
import { createStore, type Way } from "./desk.js";

export { until } from "../support.js";

export const bin = resolve(import.meta.dirname, "../../dist/bin.js");

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

export interface Calling {
  env?: Record<string, string>;
  cwd?: string;
  input?: string;
}

/** Nobody's own settings play a part. */
const gitEnv = {
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_AUTHOR_NAME: "t",
  GIT_AUTHOR_EMAIL: "t@example.com",
  GIT_COMMITTER_NAME: "t",
  GIT_COMMITTER_EMAIL: "t@example.com",
};

/** A process that was begun and goes on. */
export class Running {
  out = "";
  err = "";
  readonly ended: Promise<Ended>;
  private isOver = false;

  constructor(private readonly child: ChildProcessWithoutNullStreams) {
    child.stdout.setEncoding("utf8").on("data", (text) => {
      this.out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      this.err += text;
    });
    this.ended = once(child, "close").then(([code]) => {
      this.isOver = true;
      return { code, out: this.out, err: this.err };
    });
    onFailure(`output-${child.pid}.txt`, () => `${child.spawnargs.join(" ")}\n${this.out}\n${this.err}`);
    onTestFinished(async () => {
      this.signal("SIGKILL");
      await this.ended;
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.isOver) this.child.kill(signal);
  }

  /** One after the other: a second one that comes before the first was taken is the same one. */
  async signalTwice(signal: "SIGTERM"): Promise<void> {
    this.signal(signal);
    await until(`${signal} was taken`, () => !isPending(this.pid, constants.signals[signal]));
    this.signal(signal);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.ended;
  }

  async says(text: string): Promise<void> {
    await until(`it says ${text}, not only ${this.err}${this.out}`, () =>
      (this.out + this.err).includes(text),
    );
  }
}

function isPending(pid: number, signal: number): boolean {
  const file = `/proc/${pid}/status`;
  const [, mask] = (existsSync(file) && /^ShdPnd:\s*(\w+)/m.exec(readFileSync(file, "utf8"))) || [];
  return ((BigInt(`0x${mask ?? 0}`) >> BigInt(signal - 1)) & 1n) === 1n;
}

export class Place {
  /** Where agents write down what they were given. */
  readonly notes: string;
  /** The first in PATH. */
  readonly programs: string;
  readonly env: Record<string, string>;

  constructor(
    readonly home: string,
    readonly cwd: string,
  ) {
    this.notes = join(home, "notes");
    this.programs = join(home, "bin");
    mkdirSync(this.notes);
    mkdirSync(this.programs);
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(DIBS_|npm_|GIT_|NODE_OPTIONS|NO_COLOR|FORCE_COLOR)/.test(name),
    );
    this.env = {
      ...(Object.fromEntries(inherited) as Record<string, string>),
      ...gitEnv,
      TERM: "xterm",
      PATH: `${this.programs}:${process.env.PATH}`,
      NOTES: this.notes,
    };
    this.program("dibs", `exec "${process.execPath}" "${bin}" "$@"`);
  }

  /** A program of that name in PATH. */
  program(name: string, script: string): void {
    writeFileSync(join(this.programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  start(file: string, args: string[], { env = {}, cwd = this.cwd, input }: Calling = {}): Running {
    const child = spawn(file, args, { cwd, env: { ...this.env, ...env } });
    const running = new Running(child);
    sendInput(child, input ?? "");
    return running;
  }

  /** The program, which goes on. */
  begin(args: string[], calling?: Calling): Running {
    return this.start(process.execPath, [bin, ...args], calling);
  }

  dibs(args: string[], calling?: Calling): Promise<Ended> {
    return this.begin(args, calling).ended;
  }

  /** What it said, if it went well. */
  async says(args: string[], calling?: Calling): Promise<string> {
    const { code, out, err } = await this.dibs(args, calling);
    if (code !== 0) throw new Error(`dibs ${args.join(" ")} ended with ${code}: ${err}${out}`);
    return out;
  }

  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own.
  async json(args: string[], calling?: Calling): Promise<any> {
    return JSON.parse((await this.dibs([...args, "--json"], calling)).out);
  }

  /** Tasks in few processes; answers nothing, for their ids are known. */
  async add(...tasks: Record<string, unknown>[]): Promise<void> {
    const plan = tasks.map((task, at) => ({ key: `k${at}`, ...task }));
    await this.says(["plan", "-", "--yes"], { input: JSON.stringify({ tasks: plan }) });
  }

  // biome-ignore lint/suspicious/noExplicitAny: a task as the API gives it.
  async task(id: string): Promise<any> {
    return (await this.json(["show", id])).task;
  }

  async becomes(id: string, state: string): Promise<void> {
    await until(`${id} is ${state}`, async () => (await this.task(id)).state === state);
  }

  note(name: string): string {
    return readFileSync(join(this.notes, name), "utf8");
  }

  has(name: string): boolean {
    return existsSync(join(this.notes, name));
  }

  /** What an agent wrote down, once it has. */
  async noted(name: string): Promise<string> {
    await until(`there is a note ${name}`, () => this.has(name) && this.note(name).endsWith("\n"));
    return this.note(name).trimEnd();
  }

  /** What agents wait for. */
  leave(name: string): void {
    writeFileSync(join(this.notes, name), "");
  }

  git(...args: string[]): string {
    return execFileSync("git", args, { cwd: this.cwd, env: this.env, encoding: "utf8" }).trim();
  }

  tryGit(cwd: string, args: string[], env: Record<string, string> = {}) {
    return spawnSync("git", args, { cwd, env: { ...this.env, ...env }, encoding: "utf8" });
  }

  async serve(): Promise<void> {
    await this.begin(["serve", "--no-land", "--port", "0", "--log-level", "silent"]).says("listening on");
  }
}

/** With a store, as `dibs init` or a server creates it. */
export async function placeWithStore(way?: Way): Promise<Place> {
  const place = await openPlace(way);
  if (way !== "server") await createStore(join(place.cwd, ".dibs/dibs.db"));
  return place;
}

/** Without a store, but for a server's. Gone after the test. */
export async function openPlace(way: Way = "embedded"): Promise<Place> {
  if (!existsSync(bin)) throw new Error("dist/bin.js is missing: run `npm run build` first.");
  const home = realpathSync(tempDir());
  const cwd = join(home, "shop");
  mkdirSync(cwd);
  const place = new Place(home, cwd);
  place.git("init", "--quiet", "--initial-branch=main");
  if (way === "server") await place.serve();
  return place;
}

/** A line for a shell, as a command. */
export const sh = (script: string) => ["sh", "-c", script];

/** Waits for a note. */
export const waitFor = (name: string) => `while ! [ -e "$NOTES/${name}" ]; do sleep 0.05; done`;

export const isRunning = (pid: number) => isAlive(pid, null);

export async function gone(pid: number): Promise<void> {
  await until(`process ${pid} is gone`, () => !isRunning(pid));
}
