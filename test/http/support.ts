// A real server on a real store, on a free port, with a clock of the test's. Every answer is checked against the OpenAPI document.

import { request as httpRequest } from "node:http";
import { join } from "node:path";
import type { Role } from "../../src/contract/operation.js";
import { type DibsServer, type ServeOptions, serveDibs } from "../../src/serve.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { hasNoLocal, newTables } from "../dynamodb/local.js";
import { cloneDatabase } from "../postgres/database.js";
import { onFailure, tempDir, until } from "../support.js";
import { expectConforms } from "./conforms.js";

export type StoreName = "memory" | "sqlite" | "postgres" | "dynamodb";
export const sqlStoreNames: StoreName[] = ["sqlite", "postgres"];
/** All that are durable. */
export const everyStoreName: StoreName[] = [...sqlStoreNames, ...(hasNoLocal ? [] : ["dynamodb" as const])];
/** DynamoDB Local takes its time: it is among them with DIBS_LONG=1 (npm run faults). */
export const storeNames: StoreName[] = process.env.DIBS_LONG ? everyStoreName : sqlStoreNames;

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers; their shape is checked against the contract.
  body: any;
}

export interface Asking {
  token?: string | null;
  headers?: Record<string, string>;
}

export class World {
  readonly logged: string[] = [];
  server!: DibsServer;

  constructor(
    readonly clock: TestClock,
    private readonly options: ServeOptions,
    private readonly cleanUp: () => Promise<void>,
  ) {
    onFailure("server.log", () => this.logged.join(""));
  }

  get url(): string {
    return this.server.url;
  }

  get token(): string {
    return this.server.token!;
  }

  /** On the port it had before, if it had one. */
  async start(): Promise<void> {
    const port = this.server?.port ?? 0;
    const log = (line: string) => void this.logged.push(line);
    // A connection of another process may have the port as its own end for a moment.
    await until("the port is free", async () => {
      try {
        this.server = await serveDibs({ logLevel: "debug", ...this.options, port, log });
        return true;
      } catch (error) {
        if (port === 0 || !String(error).includes("is in use")) throw error;
        return false;
      }
    });
  }

  async restart(): Promise<void> {
    await this.server.close();
    await this.start();
  }

  async ask(method: string, path: string, body?: unknown, { token, headers }: Asking = {}): Promise<Answer> {
    const bearer = token === undefined ? this.server.token : token;
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body),
    });
    const contentType = answer.headers.get("content-type") ?? "";
    const text = await answer.text();
    const parsed = /json/.test(contentType) ? JSON.parse(text) : text;
    expectConforms({ method, path, status: answer.status, contentType, body: parsed });
    return { status: answer.status, headers: answer.headers, body: parsed };
  }

  get = (path: string, asking?: Asking) => this.ask("GET", path, undefined, asking);
  post = (path: string, body: unknown = {}, asking?: Asking) => this.ask("POST", path, body, asking);
  patch = (path: string, body: unknown, asking?: Asking) => this.ask("PATCH", path, body, asking);
  delete = (path: string, asking?: Asking) => this.ask("DELETE", path, undefined, asking);

  async tokenFor(role: Role, name: string = role): Promise<string> {
    return (await this.post("/api/tokens", { name, role })).body.token;
  }

  async session(id: string, more: object = {}): Promise<void> {
    await this.post("/api/sessions", { id, ...more });
  }

  /** Its id. */
  async task(more: object = {}): Promise<string> {
    return (await this.post("/api/tasks", { prompt: "do it", ...more })).body.task.id;
  }

  async close(): Promise<void> {
    await this.server?.close();
    await this.cleanUp();
  }
}

export async function openWorld(store: StoreName, options: ServeOptions = {}): Promise<World> {
  const clock = new TestClock();
  const { place, cleanUp } = await placeFor(store);
  const world = new World(clock, { clock, project: "demo", ...place, ...options }, cleanUp);
  try {
    await world.start();
  } catch (error) {
    await cleanUp();
    throw error;
  }
  return world;
}

async function placeFor(store: StoreName): Promise<{ place: ServeOptions; cleanUp: () => Promise<void> }> {
  if (store === "memory") return { place: { memory: true }, cleanUp: async () => undefined };
  if (store === "dynamodb") return { place: { url: await newTables() }, cleanUp: async () => undefined };
  if (store === "postgres") {
    const { url, drop } = await cloneDatabase();
    return { place: { url }, cleanUp: drop };
  }
  const directory = tempDir();
  const path = join(directory, "dibs.db");
  return { place: { path }, cleanUp: async () => undefined };
}

/** One case on a server of its own. */
export function on(store: StoreName, story: (world: World) => Promise<void>, options: ServeOptions = {}) {
  return async () => {
    const world = await openWorld(store, options);
    try {
      await story(world);
    } finally {
      await world.close();
    }
  };
}

export interface RawRequest {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/** Past fetch, which does not let anybody choose the Host. */
export function raw(
  world: World,
  { method, path, headers = {}, body }: RawRequest,
): Promise<Omit<Answer, "headers">> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${world.url}${path}`, { method, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk) => chunks.push(chunk));
      answer.on("error", reject);
      answer.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = /json/.test(answer.headers["content-type"] ?? "");
        resolve({ status: answer.statusCode!, body: isJson ? JSON.parse(text) : text });
      });
    });
    request.on("error", reject);
    request.end(body);
  });
}
