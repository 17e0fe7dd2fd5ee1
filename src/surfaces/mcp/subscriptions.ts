import type { McpServer } from "@modelcontextprotocol/server";
import type { AgentSessions } from "./agent-sessions.js";
import { ResourceUpdates } from "./resource-updates.js";

const subscriptionsMax = 1_000;

/** What a client of 2025 subscribed to. Events are followed from the first subscription on. */
export class Subscriptions {
  private readonly uris = new Set<string>();

  constructor(
    { server }: McpServer,
    agents: AgentSessions,
    tell: (uri: string) => void,
    onTrouble: (error: unknown) => void,
  ) {
    const isWanted = (uri: string) => this.uris.has(uri);
    const watching = new ResourceUpdates(agents, agents.signal, { tell, isWanted, onTrouble });
    server.setRequestHandler("resources/subscribe", async ({ params }) => {
      if (this.uris.size < subscriptionsMax) this.uris.add(params.uri);
      await watching.begin();
      return {};
    });
    server.setRequestHandler("resources/unsubscribe", ({ params }) => {
      this.uris.delete(params.uri);
      return {};
    });
  }
}
