// The server's life: it listens, it answers, and when it is told to stop it lets everybody go: waits end with nothing, streams
// close with a hint to come back, requests under way are answered, and only then do the connections go.

import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { DibsError } from "../../contract/error.js";
import type { App } from "./app.js";
import { refuseMalformed } from "./malformed-requests.js";

export interface ListenOptions {
  host: string;
  port: number;
  /** The Dibs server that has a port, if it is one. */
  ownerOf?: (port: number) => { pid: number; database: string } | null;
  headersMs: number;
  requestMs: number;
  connectionsMax: number;
}

/** A fleet connects all at once. The system has a limit of its own (Linux: net.core.somaxconn, 4096). */
const backlog = 16_384;

export async function listen(app: App, options: ListenOptions): Promise<Listening> {
  const server = createServer(
    {
      headersTimeout: options.headersMs,
      requestTimeout: options.requestMs,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: Math.max(50, Math.min(options.headersMs, options.requestMs) / 4),
    },
    (incoming, outgoing) => app.handle(incoming, outgoing),
  );
  server.maxConnections = options.connectionsMax;
  // A client that sends FIN behind its request still reads the answer (disconnects.ts). Node's types do not know the property.
  Object.assign(server, { httpAllowHalfOpen: true });
  await new Promise<void>((resolve, reject) => {
    // Also later: a connection that could not be accepted is no reason to end.
    server.on("error", (error) => reject(cannotListen(error as NodeJS.ErrnoException, options)));
    server.listen({ host: options.host, port: options.port, backlog }, resolve);
  });
  return new Listening(server, app);
}

function cannotListen(error: NodeJS.ErrnoException, { host, port, ownerOf }: ListenOptions): DibsError {
  const where = `${host}:${port}`;
  if (error.code === "EADDRINUSE") {
    const owner = ownerOf?.(port);
    if (owner) {
      const what = `dibs serve, pid ${owner.pid}, for ${owner.database}`;
      return new DibsError("STORE_UNAVAILABLE", `${where} is in use by another Dibs server: ${what}.`, {
        hint: `Take a free port with --port 0, or stop that server. Run: kill ${owner.pid}`,
      });
    }
    return new DibsError("STORE_UNAVAILABLE", `${where} is in use by another program.`, {
      hint: "Take another port with --port, or --port 0 for a free one.",
    });
  }
  return new DibsError("STORE_UNAVAILABLE", `Cannot listen on ${where}: ${error.message}`, { cause: error });
}

class Listening {
  readonly port: number;
  private readonly sockets = new Set<Socket>();
  private readonly underWay = new Set<ServerResponse>();
  private stopped: Promise<void> | null = null;

  constructor(
    private readonly server: Server,
    private readonly app: App,
  ) {
    this.port = (server.address() as AddressInfo).port;
    server.on("request", (_incoming, outgoing: ServerResponse) => {
      this.underWay.add(outgoing);
      outgoing.once("close", () => this.underWay.delete(outgoing));
      if (this.stopped) outgoing.shouldKeepAlive = false;
    });
    server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.once("close", () => this.sockets.delete(socket));
    });
    const isAnswered = (socket: Socket) =>
      [...this.underWay].some((outgoing) => outgoing.socket === socket && outgoing.headersSent);
    server.on("clientError", (error, socket) => refuseMalformed(error, socket as Socket, isAnswered));
  }

  /** Nothing new comes in; what is under way ends, or is cut off after `graceMs`. */
  stop(graceMs: number): Promise<void> {
    this.stopped ??= this.drain(graceMs);
    return this.stopped;
  }

  private async drain(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    // Whoever is answered now is told to come back on another connection.
    for (const outgoing of this.underWay) outgoing.shouldKeepAlive = false;
    this.app.streams.close();
    const sweeping = setInterval(() => this.closeIdle(), 50);
    const cut = setTimeout(() => this.server.closeAllConnections(), graceMs);
    this.closeIdle();
    await closed;
    clearInterval(sweeping);
    clearTimeout(cut);
  }

  /** Connections between two requests, and before the first one, would be waited for. */
  private closeIdle(): void {
    this.server.closeIdleConnections();
    for (const socket of this.sockets) if (socket.bytesRead === 0) socket.destroy();
  }
}
