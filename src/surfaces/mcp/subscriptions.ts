import type { McpServer } from "@modelcontextprotocol/server";
import type { Desk } from "./desk.js";
import { keepWatching } from "./resources.js";

const subscriptionsMax = 1_000;

/** What a client of 2025 subscribed to. Events are followed from the first subscription on. */
export class Subscriptions {
  private readonly uris = new Set<string>();
  private isWatching = false;

  constructor(
    { server }: McpServer,
    private readonly desk: Desk,
    private readonly tell: (uri: string) => void,
    private readonly trouble: (error: unknown) => void,
  ) {
    server.setRequestHandler("resources/subscribe", ({ params }) => {
      if (this.uris.size < subscriptionsMax) this.uris.add(params.uri);
      this.watch();
      return {};
    });
    server.setRequestHandler("resources/unsubscribe", ({ params }) => {
      this.uris.delete(params.uri);
      return {};
    });
  }

  private watch(): void {
    if (this.isWatching) return;
    this.isWatching = true;
    const { desk, tell, trouble } = this;
    void keepWatching(desk, desk.signal, tell, trouble, (uri) => this.uris.has(uri));
  }
}
