// Real commands, real processes: the words that the runner's tests are told with. Whatever was started is ended, whatever was made
// is removed.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";
import { type Dibs, openDibs, type Task } from "../../src/index.js";
import {
  type AttemptEnd,
  type Machine,
  type Runner,
  runWork,
  type WorkOptions,
} from "../../src/runner/index.js";
import { hostId, isAlive, processStart } from "../../src/runtime/liveness.js";
import { afterwards, tempDir, until } from "../support.js";

export const machine: Machine = { hostId, isAlive, processStart };
export const agentFile = resolve(import.meta.dirname, "children/agent.mjs");

export { afterwards, tempDir, until } from "../support.js";

/** A program of the runner: tests run from the sources, and the build may be older. */
export function programFile(program: "watchdog" | "guard"): string {
  const directory = tempDir();
  writeFileSync(join(directory, "package.json"), '{ "type": "module" }');
  for (const name of [program, "processes"]) {
    const source = resolve(import.meta.dirname, `../../src/runner/${name}.ts`);
    const { outputText } = ts.transpileModule(readFileSync(source, "utf8"), {
      compilerOptions: {
        module: ts.ModuleKind.ESNext,
        target: ts.ScriptTarget.ES2022,
        verbatimModuleSyntax: true,
      },
    });
    writeFileSync(join(directory, `${name}.js`), outputText);
  }
  return join(directory, `${program}.js`);
}

/** What an agent wrote down about itself. */
export interface Seen {
  pid: number;
  ppid: number;
  cwd: string;
  stdin: string;
  more: string[];
  grandchild: number | null;
  env: Record<string, string>;
}

export interface Plan {
  wait?: boolean;
  /** From the beginning: SIGTERM does nothing. */
  stubborn?: boolean;
  /** From the beginning: a child that ignores SIGTERM. */
  grandchild?: boolean;
  append?: boolean;
  /** Files to write, in the directory it runs in. */
  write?: Record<string, string>;
  /** Arguments for git, one list per call. */
  git?: string[][];
  /** Works for a moment, and writes down if somebody else is at work on the task. */
  exclusive?: boolean;
  result?: unknown;
  flood?: number;
  out?: string;
  err?: string;
  kill?: string;
  exit?: number;
}

export class Stage {
  readonly lines: string[] = [];
  readonly troubles: unknown[] = [];
  readonly ends: AttemptEnd[] = [];
  readonly watchdog = programFile("watchdog");

  constructor(
    readonly dibs: Dibs,
    readonly directory: string,
  ) {}

  command(plan: Plan = {}, ...more: string[]): string[] {
    return [process.execPath, agentFile, this.directory, JSON.stringify(plan), ...more];
  }

  get common() {
    return {
      dibs: this.dibs,
      machine,
      watchdogFile: this.watchdog,
      connectionEnv: { DIBS_URL: "http://127.0.0.1:1" },
      output: (line: string) => void this.lines.push(line),
      onEnd: (end: AttemptEnd) => void this.ends.push(end),
      onTrouble: (trouble: unknown) => void this.troubles.push(trouble),
      timings: {
        killGraceMs: 400,
        stopGraceMs: 300,
        logEveryMs: 50,
        logGapMs: 10,
        drainMs: 20_000,
        retryMs: 20,
      },
    };
  }

  work(options: Partial<WorkOptions> = {}): Runner {
    const { timings, ...rest } = options;
    const runner = runWork({
      ...this.common,
      command: this.command(),
      ...rest,
      timings: { ...this.common.timings, ...timings },
    });
    afterwards(() => runner.stop({ now: true }).catch(() => undefined));
    return runner;
  }

  async add(prompt: string, more: Record<string, unknown> = {}): Promise<Task> {
    return (await this.dibs.tasks.create({ prompt, ...more })).task;
  }

  async task(taskId: string): Promise<Task> {
    return (await this.dibs.tasks.get({ taskId })).task;
  }

  async becomes(taskId: string, state: Task["state"]): Promise<Task> {
    await until(`${taskId} is ${state}`, async () => (await this.task(taskId)).state === state);
    return this.task(taskId);
  }

  async log(taskId: string, epoch?: number): Promise<string> {
    return (await this.dibs.tasks.log({ taskId, ...(epoch === undefined ? {} : { epoch }) })).text;
  }

  /** What the agent of an attempt was given, once it runs. */
  async seen(taskId: string, epoch = 1): Promise<Seen> {
    const file = join(this.directory, `${taskId}.${epoch}.json`);
    await until(`the agent of ${taskId}.${epoch} runs`, () => existsSync(file));
    const seen = JSON.parse(readFileSync(file, "utf8")) as Seen;
    afterwards(() => killAll(seen));
    return seen;
  }

  hasRun(taskId: string, epoch = 1): boolean {
    return existsSync(join(this.directory, `${taskId}.${epoch}.json`));
  }

  /** The same in a process of its own. */
  workElsewhere(options: { command: string[] } & Record<string, unknown>): RunnerProcess {
    const { timings } = this.common;
    const input = { path: join(this.directory, "dibs.db"), options: { timings, ...options } };
    return new RunnerProcess(input, this.directory);
  }

  /** What an agent that waits is to do. */
  go(taskId: string, plan: Plan = {}): void {
    const file = join(this.directory, `${taskId}.go`);
    writeFileSync(`${file}.new`, JSON.stringify(plan));
    renameSync(`${file}.new`, file); // Whoever looks sees all of it.
  }
}

export async function stage(settings: Record<string, unknown> = {}): Promise<Stage> {
  const directory = join(tempDir(), "seen");
  mkdirSync(directory);
  const dibs = await openDibs({ path: join(directory, "dibs.db") });
  afterwards(() => dibs.close());
  await dibs.projects.update({
    settings: { retry: { delayMs: 0, jitter: 0 }, ...settings } as never,
  });
  return new Stage(dibs, directory);
}

/** A runner in a process of its own, on the built package. */
export class RunnerProcess {
  readonly exited: Promise<unknown>;
  private readonly process: ChildProcess;
  private isOver = false;
  private stderr = "";

  constructor(input: Record<string, unknown>, scratch: string) {
    this.process = fork(resolve(import.meta.dirname, "children/runner.mjs"), [JSON.stringify(input)], {
      execArgv: [],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      env: { ...process.env, TMPDIR: scratch },
    });
    this.process.stderr?.on("data", (chunk) => {
      this.stderr += chunk;
    });
    this.exited = once(this.process, "close").then(() => {
      this.isOver = true;
    });
    afterwards(() => this.kill());
  }

  get pid(): number {
    return this.process.pid!;
  }

  get said(): string {
    return this.stderr;
  }

  get isGone(): boolean {
    return this.isOver;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.isOver) this.process.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exited;
  }
}

export const isRunning = (pid: number) => isAlive(pid, null);

export async function gone(pid: number): Promise<void> {
  await until(`process ${pid} is gone`, () => !isRunning(pid));
}

function killAll({ pid, grandchild }: Seen): void {
  for (const each of [pid, grandchild]) {
    if (each === null) continue;
    try {
      process.kill(each, "SIGKILL");
    } catch {}
  }
}

/** Shell's dangers and terminals' dangers. */
export const hostilePrompts: [string, string][] = [
  ["a substitution", "$(touch pwned) `touch pwned` $HOME"],
  ["quotes", `'; touch pwned; echo "'" \\" \\' "\\`],
  ["newlines", "one\ntwo\r\nthree\n\n; touch pwned\n"],
  ["a leading dash", "--help"],
  ["a lone dash", "-"],
  ["escape sequences", "\u001b[2J\u001b]0;title\u0007\u001b[31mred\u001b[0m\u0008"],
  ["placeholders", "{id} {prompt} {title} %s $1"],
  ["other scripts", "日本語 🦀 \u202eevil\u202c \ufeff é"],
];

/** How a prompt or title is passed as an argument: never as an option. */
export const asArgument = (text: string) => (text.startsWith("-") ? ` ${text}` : text);
