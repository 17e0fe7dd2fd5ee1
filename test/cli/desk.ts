// A directory with a store, and the command line called in it: in this process, with the real world but for the clock, the
// terminal and the environment. With a server, every call goes through it as it would by itself.

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { connectDibs } from "../../src/client/connect.js";
import { signInCode } from "../../src/client/sign-in-code.js";
import {
  backupDibs,
  checkDibs,
  createTables,
  exportDibs,
  importDibs,
  openDibs,
  replayLog,
  tableTemplate,
} from "../../src/compose.js";
import * as facts from "../../src/runtime/facts.js";
import { linesOf, writeLines } from "../../src/runtime/lines.js";
import { hostId, processStart } from "../../src/runtime/liveness.js";
import { databaseFor, makeRoomFor } from "../../src/runtime/locate.js";
import * as ownFiles from "../../src/runtime/own-files.js";
import { withSpareToken } from "../../src/runtime/plain-fetch.js";
import { readPrivate } from "../../src/runtime/private-file.js";
import { readText } from "../../src/runtime/read-text.js";
import { findServer, tokenFileOf } from "../../src/runtime/server-file.js";
import { type DibsServer, serveDibs } from "../../src/serve.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { main } from "../../src/surfaces/cli/main.js";
import type { Parts } from "../../src/surfaces/cli/parts.js";
import { hearHook } from "../../src/surfaces/mcp/hooks.js";
import * as trust from "../../src/trust.js";
import { tempDir } from "../support.js";

export type Way = "embedded" | "server";
export const ways: Way[] = ["embedded", "server"];

export interface Called {
  code: number;
  out: string;
  err: string;
}

export interface Calling {
  env?: Record<string, string>;
  input?: string;
  cwd?: string;
  columns?: number;
  /** What whoever sits at the terminal answers; absent: nobody does. */
  answers?: string[];
}

const asAsync = <T extends object>(module: T) =>
  new Proxy(module, {
    get:
      (target, name) =>
      async (...given: unknown[]) =>
        (target as Record<string | symbol, (...given: unknown[]) => unknown>)[name]!(...given),
  }) as never;

export class Desk {
  readonly clock = new TestClock();
  readonly asked: string[] = [];
  server: DibsServer | null = null;
  /** Where calls have connected to, and with which token. */
  readonly connected: { url: string; token?: string }[] = [];

  /** The tokens of all requests, in order. */
  readonly sent: string[] = [];

  /** What requests wait for. */
  holdUp: (address: string) => Promise<unknown> = async () => undefined;

  constructor(readonly directory: string) {}

  get database(): string {
    return databaseFor(this.directory);
  }

  async serve(): Promise<DibsServer> {
    makeRoomFor(this.database);
    const { clock, database: path } = this;
    this.server = await serveDibs({ path, clock, port: 0, logLevel: "silent" });
    return this.server;
  }

  /** Its exit code and what it said. */
  async dibs(argv: string[], calling: Calling = {}): Promise<Called> {
    const said = { out: "", err: "" };
    const code = await main(argv, this.parts(said, calling));
    return { code, ...said };
  }

  /** What it said to people, if it went well. */
  async says(argv: string[], calling?: Calling): Promise<string> {
    const { code, out, err } = await this.dibs(argv, calling);
    if (code !== 0) throw new Error(`dibs ${argv.join(" ")} ended with ${code}: ${err}${out}`);
    return out;
  }

  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own.
  async json(argv: string[], calling?: Calling): Promise<any> {
    const { out } = await this.dibs([...argv, "--json"], calling);
    return JSON.parse(out);
  }

  /** What the HTTP API answers. */
  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own.
  async http(path: string): Promise<any> {
    const { url, token } = this.server!;
    return (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } })).json();
  }

  read(name: string): string {
    return readFileSync(join(this.directory, name), "utf8");
  }

  /** Remembers the token of every request. */
  private async send(address: string | URL | Request, init?: RequestInit): Promise<Response> {
    const { authorization = "" } = { ...(init?.headers as Record<string, string>) };
    this.sent.push(authorization.replace("Bearer ", ""));
    await this.holdUp(String(address));
    return fetch(address, init);
  }

  private parts(said: { out: string; err: string }, calling: Calling): Parts {
    const { clock } = this;
    const { env = {}, input = "", cwd = this.directory, columns = 80, answers } = calling;
    const isTerminal = answers !== undefined;
    const left = [...(answers ?? [])];
    return {
      env,
      cwd,
      out: (text) => {
        said.out += text;
      },
      err: (text) => {
        said.err += text;
      },
      stdout: { isTerminal, columns },
      stdin: { isTerminal },
      askUser: async (question) => {
        this.asked.push(question);
        return left.shift() ?? "";
      },
      page: async () => false,
      now: () => clock.now(),
      stopping: new AbortController().signal,
      killing: new AbortController().signal,
      program: [process.execPath, "dibs"],
      machine: async () => await import("../../src/runtime/liveness.js"),
      readInput: async () => input,
      readFile: async (path, bytesMax) => readText(path, bytesMax),
      files: asAsync(ownFiles),
      health: asAsync(facts),
      care: {
        backup: (place, file) => backupDibs({ ...place, clock }, file),
        check: (place) => checkDibs({ ...place, clock }),
        createTables,
        replayLog,
        tableTemplate,
        exportLines: (place) => exportDibs({ ...place, clock }),
        importLines: (place, lines) => importDibs({ ...place, clock }, lines),
        linesOf,
        writeLines,
      },
      parentPid: process.pid,
      processOf: async (pid) => {
        const processStartedAt = processStart(pid);
        return { pid, host: hostId, ...(processStartedAt === null ? {} : { processStartedAt }) };
      },
      demo: async () => 0,
      watch: async () => undefined,
      serveMcp: async () => true,
      hearHook: (dibs, { event, agent }) => hearHook(dibs, event, agent, clock.now()),
      endWithin: () => undefined,
      trust: asAsync(trust),
      databaseFor: async (directory) => databaseFor(directory),
      makeRoomFor: async (database) => makeRoomFor(database),
      findServer: async (database) => {
        const found = findServer(database);
        if (!found) return null;
        const { url, pid, storeId } = found;
        return {
          url,
          pid,
          token: readPrivate(tokenFileOf(database))?.trim() ?? null,
          ...(storeId && { storeId }),
        };
      },
      open: (place, creating) =>
        openDibs({ ...place, ...creating, clock, detached: true, actor: "user:ann" }),
      connect: async ({ spareToken, ...server }) => {
        this.connected.push(server);
        const send = withSpareToken((address, init) => this.send(address, init), spareToken);
        return connectDibs({ ...server, fetch: send, retry: { tries: 1 } });
      },
      signInCode: ({ spareToken, ...server }, role) => {
        const send = withSpareToken((address, init) => this.send(address, init), spareToken);
        return signInCode({ ...server, fetch: send }, role);
      },
      serve: () => Promise.reject(new Error("the desk has its own server")),
      version: async () => "0.0.0",
    };
  }
}

/** An empty store, as a first task would create it. */
export async function createStore(path: string, clock?: TestClock): Promise<void> {
  await (await openDibs({ path, ...(clock ? { clock } : {}) })).close();
}

/** With a store, as `dibs init` or a server creates it. */
export async function deskWithStore(way?: Way, name?: string): Promise<Desk> {
  const desk = await openDesk(way, name);
  if (desk.server === null) await createStore(desk.database, desk.clock);
  return desk;
}

/** Without a store, but for a server's. Gone after the test. */
export async function openDesk(way: Way = "embedded", name = "shop"): Promise<Desk> {
  const home = tempDir();
  const directory = join(home, name);
  // A repository of its own: what lies above it is not this test's.
  mkdirSync(join(directory, ".git"), { recursive: true });
  const desk = new Desk(directory);
  onTestFinished(async () => {
    await desk.server?.close();
  });
  if (way === "server") await desk.serve();
  return desk;
}
