// Stands between clients and a server that speaks anything over TCP: breaks, stalls and half-closes their connections, and serves
// them in another order than they came.

import { createServer, connect as dial, type Server, type Socket } from "node:net";

/** One connection of a client, and the one to the server that belongs to it. */
export interface Link {
  readonly client: Socket;
  readonly server: Socket;
  /** What the server has said since the client has. */
  answer: Buffer | null;
  usedAt: number;
}

/** Something has arrived on a stalled connection. */
export const isHeldUp = ({ client, server }: Link) => client.readableLength + server.readableLength > 0;

/** Who is not informed that a connection is gone. */
type Uninformed = "client" | "server";

export class Wire {
  /** Connections that were broken, stalled or overtaken. */
  faults = 0;
  /** The server's. */
  target = 0;
  /** How much a new connection carries in each direction before it breaks. */
  bytesMax: () => number = () => Number.POSITIVE_INFINITY;
  private readonly links = new Set<Link>();
  private readonly halves = new Set<Link>();
  private readonly listening: Server;
  private isOvertaking = false;
  /** It came before the next one, and is served after it. */
  private waiting: Socket | null = null;

  private constructor() {
    this.listening = createServer({ noDelay: true, allowHalfOpen: true }, (client) => this.accept(client));
  }

  static async open(): Promise<Wire> {
    const wire = new Wire();
    await new Promise<void>((resolve) => wire.listening.listen(0, "127.0.0.1", resolve));
    return wire;
  }

  get port(): number {
    return (this.listening.address() as { port: number }).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  private accept(client: Socket): void {
    client.on("error", () => undefined);
    if (this.isOvertaking && this.waiting === null) {
      this.waiting = client;
      return;
    }
    const { server } = this.serve(client);
    if (this.waiting === null) return;
    this.faults++;
    const overtaken = this.waiting;
    this.waiting = null;
    let isServed = false;
    const serve = () => {
      if (!isServed) this.serve(overtaken);
      isServed = true;
    };
    server.once("data", serve).once("close", serve);
  }

  private serve(client: Socket): Link {
    const server = dial({ port: this.target, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
    server.on("error", () => undefined);
    const link: Link = { client, server, answer: null, usedAt: performance.now() };
    this.links.add(link);
    this.carry(client, server, link);
    this.carry(server, client, link);
    return link;
  }

  private carry(from: Socket, to: Socket, link: Link): void {
    let left = this.bytesMax();
    from.on("data", (chunk) => {
      link.answer = from === link.server ? chunk : null;
      link.usedAt = performance.now();
      to.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) this.break(link);
    });
    from.on("end", () => to.end());
    from.on("close", () => {
      to.destroy();
      this.links.delete(link);
      this.halves.delete(link);
    });
  }

  private break({ client, server }: Link): void {
    this.faults++;
    client.destroy();
    server.destroy();
  }

  breakAll(): void {
    for (const link of [...this.links]) this.break(link);
  }

  /** The one that was used last, of those for which it holds. */
  latest(isMeant: (link: Link) => boolean = () => true): Link | undefined {
    return [...this.links].filter(isMeant).sort((a, b) => b.usedAt - a.usedAt)[0];
  }

  /** Nothing arrives in either direction, and no side learns why. Returns what ends it. */
  stall(links: Iterable<Link> = this.links): () => void {
    const sockets = [...links].flatMap(({ client, server }) => [client, server]);
    this.faults += sockets.length / 2;
    for (const socket of sockets) socket.pause();
    return () => {
      for (const socket of sockets) socket.resume();
    };
  }

  /** One side is gone, and the other one is not informed. Returns what informs it. */
  halfOpen(uninformed: Uninformed, links: Iterable<Link> = this.links): () => void {
    const halves = [...links];
    for (const link of halves) {
      this.faults++;
      this.links.delete(link);
      this.halves.add(link);
      const gone = uninformed === "server" ? link.client : link.server;
      gone.removeAllListeners("close").destroy();
    }
    return () => {
      for (const link of halves) link[uninformed].destroy();
    };
  }

  /** All connect again, and every second one is served before the one that came before it. Returns what ends it. */
  overtake(): () => void {
    this.isOvertaking = true;
    this.breakAll();
    return () => {
      this.isOvertaking = false;
      if (this.waiting) this.serve(this.waiting);
      this.waiting = null;
    };
  }

  async close(): Promise<void> {
    this.waiting?.destroy();
    for (const { client, server } of [...this.links, ...this.halves]) {
      client.destroy();
      server.destroy();
    }
    await new Promise((resolve) => this.listening.close(resolve));
  }
}
