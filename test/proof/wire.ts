// Stands between clients and a server that speaks anything over TCP, and breaks, stalls and half-closes their connections.

import { createServer, connect as dial, type Server, type Socket } from "node:net";

interface Link {
  client: Socket;
  server: Socket;
}

export class Wire {
  /** Connections that were broken or stalled. */
  faults = 0;
  /** The server's. */
  target = 0;
  /** How much a new connection carries in each direction before it breaks. */
  bytesMax: () => number = () => Number.POSITIVE_INFINITY;
  private readonly links = new Set<Link>();
  private readonly listening: Server;

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
    const server = dial({ port: this.target, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
    const link = { client, server };
    this.links.add(link);
    this.carry(client, server, link);
    this.carry(server, client, link);
  }

  private carry(from: Socket, to: Socket, link: Link): void {
    let left = this.bytesMax();
    from.on("data", (chunk) => {
      to.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left <= 0) this.break(link);
    });
    from.on("end", () => to.end());
    from.on("error", () => undefined);
    from.on("close", () => {
      to.destroy();
      this.links.delete(link);
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

  /** Nothing arrives in either direction, and no side learns why, until `resume`. */
  stall(): void {
    for (const { client, server } of this.links) {
      this.faults++;
      client.pause();
      server.pause();
    }
  }

  resume(): void {
    for (const { client, server } of this.links) {
      client.resume();
      server.resume();
    }
  }

  /** The clients are gone; the server is not informed. */
  halfOpen(): void {
    for (const link of [...this.links]) {
      this.faults++;
      link.client.removeAllListeners("close").destroy();
    }
  }

  async close(): Promise<void> {
    for (const { client, server } of this.links) {
      client.destroy();
      server.destroy();
    }
    await new Promise((resolve) => this.listening.close(resolve));
  }
}
