// A server of a few lines that speaks the wire, and fails as it is told to: the real one does not drop answers on demand.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ConnectOptions, connectDibs, type Dibs } from "../../src/index.js";
import { afterwards } from "../support.js";

export interface Seen {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage["headers"];
  // biome-ignore lint/suspicious/noExplicitAny: whatever the client sent; the test knows.
  body: any;
}

export type Behaviour = (seen: Seen, response: ServerResponse) => unknown;

export class FakeServer {
  readonly seen: Seen[] = [];
  /** One per request, in their order; the last one stays. */
  behaviours: Behaviour[] = [];

  private constructor(private readonly server: Server) {}

  static async start(...behaviours: Behaviour[]): Promise<FakeServer> {
    const server = createServer((request, response) => void fake.take(request, response));
    const fake = new FakeServer(server);
    fake.behaviours = behaviours;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    afterwards(() => fake.stop());
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The keys that came in, in order. */
  get keys(): (string | undefined)[] {
    return this.seen.map(({ headers }) => headers["idempotency-key"] as string | undefined);
  }

  connect(options: Partial<ConnectOptions> = {}): Dibs {
    const dibs = connectDibs({ url: this.url, retry: { baseMs: 1 }, ...options });
    afterwards(() => dibs.close());
    return dibs;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    const url = new URL(request.url ?? "", this.url);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const seen: Seen = {
      method: request.method ?? "",
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: text === "" ? undefined : JSON.parse(text),
    };
    this.seen.push(seen);
    const behave = this.behaviours.length > 1 ? this.behaviours.shift()! : this.behaviours[0]!;
    await behave(seen, response);
  }
}

export function answer(value: unknown, status = 200, headers: Record<string, string> = {}): Behaviour {
  return (_seen, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };
}

export function refusal(status: number, error: string, more: object = {}, headers = {}): Behaviour {
  const problem = { success: false, error, message: `refused: ${error}`, retryable: status >= 500, ...more };
  return answer(problem, status, { "content-type": "application/problem+json", ...headers });
}

export function page(status: number): Behaviour {
  return (_seen, response) => {
    response.writeHead(status, { "content-type": "text/html" });
    response.end("<h1>a proxy</h1>");
  };
}

/** Acts, and nobody hears of it. */
export const drop: Behaviour = (_seen, response) => response.destroy();

/** Half of an answer. */
export const cut: Behaviour = (_seen, response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  response.write('{"success":true,', () => response.destroy());
};

/** Never answers. */
export const hang: Behaviour = () => undefined;

/** A stream of events: these texts, one write each, and then the end or silence. */
export function stream(texts: (string | Buffer)[], { stays = false } = {}): Behaviour {
  return async (_seen, response) => {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    for (const text of texts) await new Promise((resolve) => response.write(text, resolve));
    if (!stays) response.destroy();
  };
}

export function event(seq: number, more: object = {}): string {
  return `id: ${seq}\ndata: ${JSON.stringify({ seq, type: "task:created", taskId: `t-${seq}`, ...more })}\n\n`;
}

/** Resolves with the error a call ends with. */
export async function failure(call: Promise<unknown>): Promise<Error & { code?: string }> {
  return call.then(
    (value) => Promise.reject(new Error(`expected a failure, got ${JSON.stringify(value)}`)),
    (error: Error) => error,
  );
}
