// The built program as a process of its own, and words to talk to it. Every process is ended by its pid.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterwards, until } from "../faults/support.js";
import { onFailure } from "../support.js";
import { Reader } from "./reader.js";

const built = resolve(import.meta.dirname, "../../dist/bin.js");

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own.
  body: any;
}

export interface Start {
  env?: Record<string, string>;
  cwd?: string;
  /** Another copy of the program. */
  bin?: string;
  /** How many files and connections it may have open; POSIX only. */
  openMax?: number;
}

export class Program {
  stdout = "";
  stderr = "";
  isOver = false;
  readonly exited: Promise<Exit>;
  readonly child: ChildProcess;

  constructor(args: string[], { env = {}, cwd, openMax, bin = built }: Start = {}) {
    const { DIBS_DATABASE_URL: _, DIBS_PROJECT: __, ...inherited } = process.env;
    const limited = ["sh", "-c", `ulimit -n ${openMax} && exec "$0" "$@"`];
    const [file, ...rest] = [...(openMax === undefined ? [] : limited), process.execPath, bin, ...args];
    this.child = spawn(file!, rest, {
      cwd,
      env: { ...inherited, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child.stdout!.setEncoding("utf8").on("data", (text) => {
      this.stdout += text;
    });
    this.child.stderr!.setEncoding("utf8").on("data", (text) => {
      this.stderr += text;
    });
    this.exited = once(this.child, "close").then(([code, signal]) => {
      this.isOver = true;
      return { code, signal };
    });
    onFailure(`output-${this.child.pid}.txt`, () => `${args.join(" ")}\n${this.stdout}\n${this.stderr}`);
    afterwards(async () => {
      this.signal("SIGKILL");
      await this.exited;
    });
  }

  get pid(): number {
    return this.child.pid!;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.isOver) this.child.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exited;
  }
}

/** A command that ends by itself. */
export async function run(args: string[], options?: Start) {
  const program = new Program(args, options);
  await until(`dibs ${args.join(" ")} has ended`, () => program.isOver);
  const { code } = await program.exited;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

/** `dibs serve` on a file or a database. */
export class Serving extends Program {
  url = "";
  token = "";

  constructor(
    readonly db: string,
    { args = [], ...options }: Start & { args?: string[] } = {},
  ) {
    const port = args.includes("--port") ? [] : ["--port", "0"];
    super(["serve", "--db", db, ...port, ...args], options);
  }

  /** It listens, and its token is known. */
  async ready(): Promise<this> {
    const printed = () => /^listening on (\S+)\n[\s\S]*token in (.+)\n/.exec(this.stdout);
    await until("the server listens", () => {
      if (this.isOver) throw new Error(`the server ended: ${this.stderr}`);
      return printed() !== null;
    });
    const [, url, tokenFile] = printed()!;
    this.url = url!;
    this.token = readFileSync(tokenFile!, "utf8").trim();
    return this;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  async ask(method: string, path: string, body?: unknown, headers = {}): Promise<Answer> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.text();
    return { status: answer.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  }

  get = (path: string, headers = {}) => this.ask("GET", path, undefined, headers);
  post = (path: string, body: unknown = {}, headers = {}) => this.ask("POST", path, body, headers);

  async task(more: object = {}): Promise<string> {
    return (await this.post("/api/tasks", { prompt: "do it", ...more })).body.task.id;
  }

  reader(query = ""): Reader {
    const reader = new Reader({ url: this.url, token: this.token, query });
    afterwards(() => reader.destroy());
    return reader;
  }

  async stop(): Promise<Exit> {
    this.signal("SIGTERM");
    return this.exited;
  }
}

export const databaseIn = (directory: string) => join(directory, ".dibs", "dibs.db");
