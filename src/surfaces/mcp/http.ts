// /mcp of the server: streamable HTTP for both versions of the protocol. Clients of 2026 have no MCP session: each request
// is independent. Clients of 2025 have one. It belongs to the token that opened it, their number is limited, and an idle
// session ends.

import { randomUUID } from "node:crypto";
import {
  createMcpHandler,
  InMemoryServerEventBus,
  isLegacyRequest,
  type McpHttpHandler,
  type McpServer,
  type ServerEvent,
  type ServerEventBus,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { Dibs } from "../../client/client.js";
import { Ending } from "../../common/abort.js";
import { DibsError } from "../../contract/error.js";
import { AgentSessions } from "./agent-sessions.js";
import { ResourceUpdates } from "./resource-updates.js";
import { createServer } from "./server.js";
import { Subscriptions } from "./subscriptions.js";

/** The caller; the same key means the same caller. */
export interface McpCaller {
  key: string;
  dibs: Dibs;
  mayAnswer: boolean;
  /** Its token is still valid. */
  isLive(): Promise<boolean>;
}

export interface McpHttpOptions {
  version: string;
  bodyBytesMax: number;
  /** Of all callers, and of one. */
  sessionsMax: number;
  sessionsPerCallerMax: number;
  idleMs: number;
  sweepMs: number;
  onTrouble(error: unknown): void;
}

export const mcpLimits = {
  sessionsMax: 5_000,
  sessionsPerCallerMax: 1_000,
  idleMs: 30 * 60_000,
  sweepMs: 60_000,
};

/** Handlers of idle callers of 2026 are dropped beyond this; they are cheap to create again. */
const callersMax = 500;

/** Called with a function to run when the response has ended; a response can be a long stream. */
type OnEnd = (ended: () => void) => void;

interface Activity {
  caller: McpCaller;
  /** Requests whose response has not ended. */
  open: number;
  lastSeenAt: number;
}

interface McpSession extends Activity {
  transport: WebStandardStreamableHTTPServerTransport;
  server: McpServer;
  agents: AgentSessions;
}

interface ModernCaller extends Activity {
  handler: McpHttpHandler;
  over: AbortController;
}

export class McpHttp {
  private readonly sessions = new Map<string, McpSession>();
  private readonly modern = new Map<string, ModernCaller>();
  private readonly sweeping: NodeJS.Timeout;
  private isClosed = false;

  constructor(private readonly options: McpHttpOptions) {
    this.sweeping = setInterval(() => void this.sweep(), options.sweepMs);
    this.sweeping.unref();
  }

  async handle(request: Request, caller: McpCaller, onEnd: OnEnd): Promise<Response> {
    if (this.isClosed) throw new DibsError("STORE_CLOSED", "The server is stopping.");
    const { bodyBytesMax: maxRequestBodySize } = this.options;
    const isLegacy = await isLegacyRequest(request, undefined, { maxRequestBodySize });
    return isLegacy ? this.handleLegacy(request, caller, onEnd) : this.handleModern(request, caller, onEnd);
  }

  private handleModern(request: Request, caller: McpCaller, onEnd: OnEnd): Promise<Response> {
    const modern = this.modern.get(caller.key) ?? this.modernFor(caller);
    this.use(modern, onEnd);
    return modern.handler.fetch(request);
  }

  private modernFor(caller: McpCaller): ModernCaller {
    const { version, bodyBytesMax, onTrouble } = this.options;
    const over = new AbortController();
    const agents = () =>
      new AgentSessions({ open: async () => caller.dibs, mayAnswer: caller.mayAnswer, onTrouble });
    const handler = createMcpHandler(() => createServer(agents(), { version, era: "modern" }), {
      legacy: "reject",
      bus: new ResourceUpdateBus(caller.dibs, over.signal, onTrouble),
      maxRequestBodySize: bodyBytesMax,
      onerror: () => undefined,
    });
    const modern: ModernCaller = { caller, handler, over, open: 0, lastSeenAt: performance.now() };
    const unused = [...this.modern].find(([, { open }]) => open === 0);
    if (unused && this.modern.size >= callersMax) void this.endModern(...unused);
    this.modern.set(caller.key, modern);
    return modern;
  }

  private async handleLegacy(request: Request, caller: McpCaller, onEnd: OnEnd): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return this.openSession(request, caller, onEnd);
    const session = this.sessions.get(id);
    // A session of another caller is reported as not found.
    if (!session || session.caller.key !== caller.key) return noSuchSession();
    this.use(session, onEnd);
    return session.transport.handleRequest(request);
  }

  private async openSession(request: Request, caller: McpCaller, onEnd: OnEnd): Promise<Response> {
    this.refuseTooMany(caller);
    const { version, bodyBytesMax, onTrouble } = this.options;
    const agents = new AgentSessions({
      open: async () => caller.dibs,
      mayAnswer: caller.mayAnswer,
      onTrouble,
    });
    const server = createServer(agents, { version, era: "legacy" });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize: bodyBytesMax,
      onsessioninitialized: (id) => void this.sessions.set(id, session),
      // The client ended its session: its agents' tasks return to the queue, as with a process that ends.
      onsessionclosed: (id) => this.end(id, { release: true }),
    });
    const session: McpSession = { caller, transport, server, agents, open: 0, lastSeenAt: performance.now() };
    const tell = (uri: string) => void server.server.sendResourceUpdated({ uri }).catch(() => undefined);
    new Subscriptions(server, agents, tell, onTrouble);
    await server.connect(transport);
    const response = await transport.handleRequest(request);
    if (transport.sessionId !== undefined && this.sessions.has(transport.sessionId)) this.use(session, onEnd);
    else await server.close();
    return response;
  }

  private refuseTooMany({ key }: McpCaller): void {
    const { sessionsMax, sessionsPerCallerMax } = this.options;
    const own = [...this.sessions.values()].filter(({ caller }) => caller.key === key).length;
    if (this.sessions.size < sessionsMax && own < sessionsPerCallerMax) return;
    throw new DibsError("RATE_LIMITED", "Too many MCP sessions.", {
      hint: "End unused sessions with DELETE, or wait until they time out.",
    });
  }

  private use(activity: Activity, onEnd: OnEnd): void {
    activity.open += 1;
    onEnd(() => {
      activity.open -= 1;
      activity.lastSeenAt = performance.now();
    });
  }

  /** Ends idle sessions, and those whose token expired or was revoked. */
  async sweep(): Promise<void> {
    const longAgo = performance.now() - this.options.idleMs;
    const isIdle = ({ open, lastSeenAt }: Activity) => open === 0 && lastSeenAt < longAgo;
    const isOver = async (activity: Activity) =>
      isIdle(activity) || !(await activity.caller.isLive().catch(() => true));
    for (const [id, session] of [...this.sessions]) if (await isOver(session)) await this.end(id);
    for (const [key, modern] of [...this.modern]) if (await isOver(modern)) await this.endModern(key, modern);
  }

  private async end(id: string, { release = false } = {}): Promise<void> {
    const session = this.sessions.get(id);
    if (!session) return;
    this.sessions.delete(id);
    const others = [...this.sessions.values()].filter(({ caller }) => caller.key === session.caller.key);
    const isElsewhere = (agentId: string) => others.some(({ agents }) => agents.knows(agentId));
    await session.agents.close({ endSessions: release, isElsewhere });
    await session.server.close();
  }

  private async endModern(key: string, { handler, over }: ModernCaller): Promise<void> {
    this.modern.delete(key);
    over.abort();
    await handler.close();
  }

  get count(): number {
    return this.sessions.size;
  }

  /** The server stops: agents keep their claims and can reconnect. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.sweeping);
    const sessions = [...this.sessions.keys()].map((id) => this.end(id));
    const modern = [...this.modern].map(([key, each]) => this.endModern(key, each));
    await Promise.allSettled([...sessions, ...modern]);
  }
}

function noSuchSession(): Response {
  const error = { code: -32001, message: "Session not found" };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 404 });
}

/** Follows events while it has listeners. */
class ResourceUpdateBus implements ServerEventBus {
  private readonly inner = new InMemoryServerEventBus();
  private watching: Ending | null = null;

  constructor(
    private readonly dibs: Dibs,
    private readonly signal: AbortSignal,
    private readonly onTrouble: (error: unknown) => void,
  ) {}

  publish(event: ServerEvent): void {
    this.inner.publish(event);
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    const leave = this.inner.subscribe(listener);
    if (!this.watching) this.watch();
    return () => {
      leave();
      if (this.inner.listenerCount > 0) return;
      this.watching?.end();
      this.watching = null;
    };
  }

  private watch(): void {
    this.watching = new Ending([this.signal]);
    const source = { dibs: async () => this.dibs, reconnect: () => undefined };
    const tell = (uri: string) => this.publish({ kind: "resource_updated", uri });
    void new ResourceUpdates(source, this.watching.signal, { tell, onTrouble: this.onTrouble }).begin();
  }
}
