// Stands between a store and its server, understands where one message ends and the next begins, and can cut, hold or drop.

import { createServer, connect as dial, type Server, type Socket } from "node:net";

/** One message with its type and length; the first of a client has no type. */
export type Message = Buffer;

/** What becomes of a message. `cut` ends both sides at once and forwards nothing more. */
type Verdict = "pass" | "drop" | "cut";

export interface Rules {
  fromClient?(message: Message, link: Link): Verdict;
  fromServer?(message: Message, link: Link): Verdict;
  /** What the client has lost stays open on the server's side. */
  keepsServer?: boolean;
  /** Bytes that a new connection may carry before it is cut, in each direction. */
  bytesMax?(): { toServer: number; toClient: number };
}

export const isQuery = (message: Message, text: string) =>
  message.toString("latin1", 0, 1) === "Q" && message.toString("utf8", 5, message.length - 1) === text;

/** CommandComplete of this command. */
export const isDone = (message: Message, command: string) =>
  message.toString("latin1", 0, 1) === "C" && message.toString("utf8", 5, message.length - 1) === command;

export const isNotification = (message: Message) => message.toString("latin1", 0, 1) === "A";

/** One client's connection with its counterpart. */
export class Link {
  constructor(
    readonly client: Socket,
    readonly server: Socket,
  ) {}

  cut(): void {
    this.client.destroy();
    this.server.destroy();
  }
}

class Messages {
  private rest = Buffer.alloc(0);

  constructor(private typeLength: 0 | 1) {}

  take(chunk: Buffer): Message[] {
    this.rest = Buffer.concat([this.rest, chunk]);
    const messages: Message[] = [];
    for (;;) {
      if (this.rest.length < this.typeLength + 4) return messages;
      const length = this.typeLength + this.rest.readUInt32BE(this.typeLength);
      if (this.rest.length < length) return messages;
      messages.push(this.rest.subarray(0, length));
      this.rest = this.rest.subarray(length);
      this.typeLength = 1;
    }
  }
}

export class ProxyServer {
  rules: Rules = {};
  cuts = 0;
  private readonly links = new Set<Link>();
  private readonly listening: Server;

  private constructor(private readonly serverPort: number) {
    this.listening = createServer({ noDelay: true }, (client) => this.accept(client));
  }

  /** In front of the server of this address; `url` is the address to use instead. */
  static async before(url: string): Promise<ProxyServer & { url: string }> {
    const target = new URL(url);
    const proxy = new ProxyServer(Number(target.port));
    await new Promise<void>((resolve) => proxy.listening.listen(0, "127.0.0.1", resolve));
    target.port = String((proxy.listening.address() as { port: number }).port);
    return Object.assign(proxy, { url: target.href });
  }

  private accept(client: Socket): void {
    const server = dial({ port: this.serverPort, host: "127.0.0.1", noDelay: true });
    const link = new Link(client, server);
    const max = this.rules.bytesMax?.() ?? { toServer: Infinity, toClient: Infinity };
    this.links.add(link);
    this.carry(client, server, link, max.toServer, new Messages(0), (message) =>
      this.rules.fromClient?.(message, link),
    );
    this.carry(server, client, link, max.toClient, new Messages(1), (message) =>
      this.rules.fromServer?.(message, link),
    );
  }

  private carry(
    from: Socket,
    to: Socket,
    link: Link,
    bytesMax: number,
    messages: Messages,
    judge: (message: Message) => Verdict | undefined,
  ): void {
    let left = bytesMax;
    from.on("data", (chunk) => {
      for (const message of messages.take(chunk)) {
        if (from.destroyed) return;
        const verdict = judge(message) ?? "pass";
        if (verdict === "pass") to.write(message.subarray(0, left));
        left -= message.length;
        if (verdict === "cut" || left <= 0) return this.cut(link);
      }
    });
    from.on("error", () => undefined);
    from.on("close", () => {
      if (from === link.client && this.rules.keepsServer) return;
      to.end();
      this.links.delete(link);
    });
  }

  private cut(link: Link): void {
    this.cuts++;
    link.cut();
  }

  /** From now on there are only new connections. */
  cutAll(): void {
    for (const link of this.links) link.cut();
  }

  async close(): Promise<void> {
    this.cutAll();
    await new Promise((resolve) => this.listening.close(resolve));
  }
}
