// The server's life: it listens, it answers, and when it is told to stop it lets everybody go: waits end with nothing, streams
// close with a hint to come back, requests under way are answered, and only then do the connections go.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { DibsError } from "../../contract/error.js";
import type { App } from "./app.js";

export interface ListenOptions {
  host: string;
  port: number;
  headersMs: number;
  requestMs: number;
  connectionsMax: number;
}

export async function listen(app: App, options: ListenOptions): Promise<Listening> {
  const listener = getRequestListener((request, env) => app.fetch(request, env as never), {
    overrideGlobalObjects: false,
  });
  const server = createServer(
    {
      headersTimeout: options.headersMs,
      requestTimeout: options.requestMs,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: Math.max(50, Math.min(options.headersMs, options.requestMs) / 4),
    },
    listener as (incoming: IncomingMessage, outgoing: ServerResponse) => void,
  );
  server.maxConnections = options.connectionsMax;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(cannotListen(error as NodeJS.ErrnoException, options)));
    server.listen({ host: options.host, port: options.port }, resolve);
  });
  return new Listening(server, app);
}

function cannotListen(error: NodeJS.ErrnoException, { host, port }: ListenOptions): DibsError {
  const where = `${host}:${port}`;
  if (error.code === "EADDRINUSE") {
    return new DibsError("STORE_UNAVAILABLE", `${where} is in use by another program.`, {
      hint: "Take another port with --port, or --port 0 for a free one.",
    });
  }
  return new DibsError("STORE_UNAVAILABLE", `Cannot listen on ${where}: ${error.message}`, { cause: error });
}

export class Listening {
  readonly port: number;
  private stopped: Promise<void> | null = null;

  constructor(
    private readonly server: Server,
    private readonly app: App,
  ) {
    this.port = (server.address() as AddressInfo).port;
  }

  /** Nothing new comes in; what is under way ends, or is cut off after `graceMs`. */
  stop(graceMs: number): Promise<void> {
    this.stopped ??= this.drain(graceMs);
    return this.stopped;
  }

  private async drain(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    this.app.streams.close();
    // A connection that is idle between two requests would be waited for.
    const sweeping = setInterval(() => this.server.closeIdleConnections(), 50);
    const cut = setTimeout(() => this.server.closeAllConnections(), graceMs);
    this.server.closeIdleConnections();
    await closed;
    clearInterval(sweeping);
    clearTimeout(cut);
  }
}
