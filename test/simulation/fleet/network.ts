// The network between clients and servers, behind the `fetch` of the real client. Messages are late, lost, repeated and overtaken, as
// the faults of a schedule say. Everything that clients ask for is recorded for the checker of histories.

import { onAbort } from "../../../src/common/abort.js";
import type { Call } from "../../proof/history.js";
import { type Reply, type Request, requestIn, type Server } from "./server.js";
import type { Process, World } from "./world.js";

/** From one time to another. */
export interface Period {
  from: number;
  until: number;
}

export interface Cut extends Period {
  /** Messages between the two are lost, in both directions or in one of them. */
  a: string;
  b: string;
  way: "both" | "requests" | "answers";
}

export interface Weather extends Period {
  /** So many of 100 messages are lost, and so many requests arrive twice. */
  losePercent: number;
  repeatPercent: number;
  lateMs: number;
}

export class Network {
  readonly calls: Call[] = [];
  lost = 0;
  repeated = 0;
  readonly cuts: Cut[] = [];
  readonly weathers: Weather[] = [];
  private readonly keys = new Map<string, string>();
  private readonly connections = new Map<Process, Set<() => void>>();

  constructor(
    private readonly world: World,
    private readonly servers: readonly Server[],
  ) {}

  /** Ask a server, any that is up, and be answered. */
  fetchFor(client: Process): typeof fetch {
    return ((address: string, init: RequestInit) => {
      const request = requestIn(address, init);
      return request.operation ? this.exchange(client, request, init) : this.follow(client, request, init);
    }) as unknown as typeof fetch;
  }

  private serverFor(client: Process): Server {
    const up = this.servers.filter(({ process }) => !process.isDown);
    return client.random.of(up.length > 0 ? up : this.servers);
  }

  private exchange(client: Process, request: Request, { signal }: RequestInit): Promise<Response> {
    const server = this.serverFor(client);
    const records = this.recorded(client, request);
    return new Promise((resolve, reject) => {
      const { gone, toClient, close } = this.connect(client, server, signal, reject);
      const refuse = (why: string) => toClient(() => reject(new TypeError(`connection ${why}`)));
      const serve = (answer: (reply: Reply) => void) => {
        if (server.process.isDown) return refuse("refused");
        const reset = () => refuse("reset");
        server.exchanges.add(reset);
        void server.answer(request, gone).then((reply) => {
          server.exchanges.delete(reset);
          answer(reply);
        });
      };
      const first = (reply: Reply) =>
        toClient(() => {
          close();
          if (signal?.aborted) return;
          this.note(records, reply);
          resolve(responseOf(reply));
        });
      this.carry(client, server.process, () => serve(first));
      if (!client.random.chance(this.weather()?.repeatPercent ?? 0)) return;
      this.repeated++;
      this.recorded(client, request);
      this.carry(client, server.process, () => serve(() => undefined));
    });
  }

  /** A stream of events. Its pieces arrive in order, or none of the rest does. */
  private follow(client: Process, request: Request, { signal }: RequestInit): Promise<Response> {
    const server = this.serverFor(client);
    const { process } = server;
    return new Promise((resolve, reject) => {
      const { gone, toClient, isSame } = this.connect(client, server, signal, reject);
      const pipe = new Pipe();
      if (signal) onAbort(signal, () => pipe.end(signal.reason));
      let arrivesAt = 0;
      let isCut = false;
      const push = (text: string) => {
        isCut ||= this.isLost(process, client);
        if (isCut) return;
        arrivesAt = Math.max(arrivesAt, this.world.now + this.delay(process));
        this.world.after(client, arrivesAt - this.world.now, () => isSame() && pipe.push(text));
      };
      this.carry(client, process, () => {
        if (process.isDown) return toClient(() => reject(new TypeError("connection refused")));
        const reset = () => toClient(() => pipe.end(new TypeError("connection reset")));
        server.exchanges.add(reset);
        onAbort(gone, () => server.exchanges.delete(reset));
        toClient(() => resolve(pipe.response as never));
        void server.stream(request, push, gone).catch(reset);
      });
    });
  }

  /** The server is informed when the client leaves. What comes back reaches only the incarnation that has asked. */
  private connect(
    client: Process,
    { process: server }: Server,
    signal: AbortSignal | null | undefined,
    reject: (error: unknown) => void,
  ) {
    const { incarnation } = client;
    const leaving = new AbortController();
    const leave = () => {
      close();
      this.carry(client, server, () => leaving.abort());
    };
    const close = () => this.connections.get(client)?.delete(leave);
    const open = this.connections.get(client) ?? new Set();
    this.connections.set(client, open.add(leave));
    if (signal) {
      onAbort(signal, () => {
        leave();
        reject(signal.reason);
      });
    }
    const isSame = () => client.incarnation === incarnation;
    const toClient = (arrive: () => void, ms = this.delay(server)) => {
      const arriveThere = () => isSame() && arrive();
      if (!this.isLost(server, client)) this.world.after(client, ms, arriveThere);
      // Its connection can break, or stay silent.
      else if (server.random.chance(60))
        this.world.after(client, ms, () => isSame() && reject(new TypeError("connection broken")));
    };
    return { gone: leaving.signal, toClient, isSame, close };
  }

  /** The process was killed. */
  disconnect(client: Process): void {
    for (const leave of this.connections.get(client) ?? []) leave();
  }

  private carry(from: Process, to: Process, arrive: () => void): void {
    if (!this.isLost(from, to)) this.world.after(to, this.delay(from), arrive);
  }

  private isLost(from: Process, to: Process): boolean {
    const isLost = this.isCut(from, to) || from.random.chance(this.weather()?.losePercent ?? 0);
    if (isLost) this.lost++;
    return isLost;
  }

  private isCut(from: Process, to: Process): boolean {
    const { now } = this.world;
    const isServer = this.servers.some(({ process }) => process === to);
    return this.cuts.some(({ a, b, way, ...period }) => {
      const isHere = (a === from.name && b === to.name) || (a === to.name && b === from.name);
      return isHere && isIn(period, now) && (way === "both" || (way === "requests") === isServer);
    });
  }

  private delay(from: Process): number {
    const lateMs = this.weather()?.lateMs ?? 0;
    return from.random.between(1, 20) + (lateMs > 0 ? from.random.below(lateMs) : 0);
  }

  private weather(): Weather | undefined {
    return this.weathers.find((each) => isIn(each, this.world.now));
  }

  /** One call, or each of many that share a request. */
  private recorded(client: Process, { operation, input, key }: Request): Call[] {
    const start = this.world.tick();
    const record = (call: string, input: Record<string, unknown>, own?: string): Call => {
      const named = own === undefined ? {} : { key: this.nameOf(own) };
      return { process: client.name, call, input, start, ...named };
    };
    const calls =
      operation!.name === "calls.many"
        ? (input.calls as Part[]).map((part) => record(part.operation, part.input, part.idempotencyKey))
        : [record(operation!.name, input, key)];
    this.calls.push(...calls);
    return calls;
  }

  /** The client's keys are random; what is compared must not be. */
  private nameOf(key: string): string {
    const known = this.keys.get(key) ?? `key ${this.keys.size + 1}`;
    this.keys.set(key, known);
    return known;
  }

  private note(calls: Call[], { status, value }: Reply): void {
    const end = this.world.tick();
    const { answers = [] } = value as { answers?: Answer[] };
    const own = calls.length === 1 && answers.length === 0 ? [value as Answer] : answers;
    for (const [at, call] of calls.entries()) {
      const answer = status < 300 ? own[at]! : (value as Answer);
      if (answer.success === false) Object.assign(call, { end, refusal: answer.error });
      else Object.assign(call, { end, answer });
    }
  }
}

interface Answer {
  success?: boolean;
  error?: string;
}

interface Part {
  operation: string;
  input: Record<string, unknown>;
  idempotencyKey?: string;
}

const isIn = ({ from, until }: Period, now: number) => now >= from && now < until;

const responseOf = ({ status, value }: Reply) =>
  ({
    status,
    ok: status < 300,
    headers: { get: () => null },
    text: async () => JSON.stringify(value),
  }) as unknown as Response;

/** The body of a response that is still coming. */
class Pipe {
  private readonly pieces: string[] = [];
  private failure: { error: unknown } | null = null;
  private waiting: (() => void) | null = null;
  private readonly encoder = new TextEncoder();

  readonly response = {
    status: 200,
    ok: true,
    headers: { get: (name: string) => (name === "content-type" ? "text/event-stream" : null) },
    body: {
      getReader: () => ({ read: () => this.read(), cancel: async () => this.end(new Error("cancelled")) }),
    },
  };

  push(text: string): void {
    this.pieces.push(text);
    this.waiting?.();
  }

  end(error: unknown): void {
    this.failure ??= { error };
    this.waiting?.();
  }

  private async read(): Promise<{ done: boolean; value?: Uint8Array }> {
    for (;;) {
      if (this.failure) throw this.failure.error;
      const text = this.pieces.shift();
      if (text !== undefined) return { done: false, value: this.encoder.encode(text) };
      await new Promise<void>((resolve) => {
        this.waiting = resolve;
      });
    }
  }
}
