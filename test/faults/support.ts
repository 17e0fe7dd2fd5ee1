// Real processes, real files: the words that the fault tests are told with. Every child is ended by its pid, every directory removed.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeAll, expect } from "vitest";
import { brokenInvariants, type Everything, everythingIn } from "../../src/core/invariants.js";
import { type Dibs, DibsError, type OpenOptions, openDibs } from "../../src/index.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import type { Store } from "../../src/store/store.js";
import { afterwards, tempDir, until } from "../support.js";

export { afterwards, tempDir, until };

const root = resolve(import.meta.dirname, "../..");

beforeAll(() => {
  if (!existsSync(join(root, "dist/index.js"))) {
    throw new Error("dist/index.js is missing, which the child processes load: run `npm run build` first.");
  }
});

export function tempFile(): string {
  return join(tempDir(), "dibs.db");
}

export async function open(options: OpenOptions): Promise<Dibs> {
  const dibs = await openDibs(options);
  afterwards(() => dibs.close().catch(() => undefined));
  return dibs;
}

export async function openStore(file: string): Promise<Store> {
  const store = await openSqliteStore(file, { now: Date.now });
  afterwards(() => store.close().catch(() => undefined));
  return store;
}

/** The refusal with which a call ends; any other end fails the test. */
export async function refusalOf(call: Promise<unknown>): Promise<DibsError> {
  const end = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if (!("error" in end)) {
    throw new Error(`expected a refusal, got ${JSON.stringify(end.value)?.slice(0, 300)}`);
  }
  if (!(end.error instanceof DibsError)) {
    throw new Error(`expected a DibsError, got ${end.error}`, { cause: end.error });
  }
  return end.error;
}

export async function readEverything(store: Store, org = "default"): Promise<Everything> {
  return store.read(org, everythingIn);
}

/** Opens the file on its own and checks its pages and I1–I9. */
export async function checkStore(file: string): Promise<Everything> {
  const store = await openSqliteStore(file, { now: Date.now });
  try {
    expect(await store.check()).toEqual([]);
    const all = await readEverything(store);
    expect(brokenInvariants(all)).toEqual([]);
    return all;
  } finally {
    await store.close();
  }
}

/** mulberry32: the same moments again for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

// biome-ignore lint/suspicious/noExplicitAny: what a child script sends is known where the test reads it.
export type Message = { type: string } & Record<string, any>;

/** A script of children/ as an OS process of its own. */
export class Child {
  readonly messages: Message[] = [];
  readonly exited: Promise<unknown>;
  private readonly process: ChildProcess;
  private stderr = "";
  private isOver = false;
  private callCount = 0;

  constructor(
    readonly script: string,
    input: Record<string, unknown> = {},
  ) {
    this.process = fork(resolve(import.meta.dirname, "children", script), [JSON.stringify(input)], {
      execArgv: [],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.process.stderr?.on("data", (chunk) => {
      this.stderr += chunk;
    });
    this.process.on("message", (message) => {
      this.messages.push(message as Message);
    });
    // `close` comes after the last message, `exit` may come before it.
    this.exited = once(this.process, "close").then(() => {
      this.isOver = true;
    });
    afterwards(async () => {
      this.signal("SIGKILL");
      await this.exited;
    });
  }

  get pid(): number {
    return this.process.pid!;
  }

  get exitCode(): number | null {
    return this.process.exitCode;
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.isOver) this.process.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exited;
  }

  send(type: string, more: Record<string, unknown> = {}): void {
    this.process.send({ type, ...more }, () => undefined);
  }

  of(type: string): Message[] {
    return this.messages.filter((message) => message.type === type);
  }

  /** The first message for which this holds, past or future. */
  async message(matches: (message: Message) => boolean, what: string): Promise<Message> {
    const find = () => this.messages.find(matches);
    await until(`${this.script} says ${what}`, () => {
      if (this.isOver && !find()) {
        throw new Error(`${this.script} ended without saying ${what}: ${this.stderr || "(no stderr)"}`);
      }
      return find() !== undefined;
    });
    return find()!;
  }

  said(type: string): Promise<Message> {
    return this.message((message) => message.type === type, type);
  }

  /** Has client.mjs call an operation such as `tasks.claim`; a refusal is thrown as here. */
  // biome-ignore lint/suspicious/noExplicitAny: the answer's type is the operation's, which is named by a string.
  async call(operation: string, input: Record<string, unknown> = {}, options = {}): Promise<any> {
    const id = ++this.callCount;
    this.send("call", { id, operation, input, options });
    const { value, error } = await this.message(
      (message) => message.type === "answer" && message.id === id,
      `the answer to ${operation}`,
    );
    if (error) throw new DibsError(error.code, error.message, error);
    return value;
  }
}
