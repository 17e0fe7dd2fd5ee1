import { join, resolve } from "node:path";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { InMemoryTransport, type McpServer } from "@modelcontextprotocol/server";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { type Dibs, openDibs } from "../../src/index.js";
import type { TestClock } from "../../src/store/conformance/index.js";
import { AgentSessions, type AgentSessionsOptions } from "../../src/surfaces/mcp/agent-sessions.js";
import { createServer } from "../../src/surfaces/mcp/server.js";
import { tempDir } from "../support.js";

export { until } from "../support.js";

export const bin = resolve(import.meta.dirname, "../../dist/bin.js");

export const tokens = (text: string) => encode(text).length;

export interface Said {
  text: string;
  isError: boolean;
}

type Ending = () => unknown;

/** A store in a directory of its own, seen by the library, and clients on it. */
export class McpWorld {
  readonly directory = tempDir();
  readonly path = join(this.directory, "dibs.db");
  readonly endings: Ending[] = [];
  dibs!: Dibs;

  async open(): Promise<this> {
    this.dibs = await openDibs({ path: this.path, project: "demo", detached: true });
    return this;
  }

  async agent(options: AgentOptions = {}): Promise<Agent> {
    const agent = await connectAgent(["--db", this.path], options);
    this.endings.push(() => agent.close());
    return agent;
  }

  async close(): Promise<void> {
    for (const end of this.endings.reverse()) await end();
    await this.dibs.close();
  }
}

export interface AgentOptions {
  env?: Record<string, string>;
  cwd?: string;
  client?: ClientOptions;
  /** Before it connects. */
  prepare?: (client: Client) => void;
}

export class Agent {
  constructor(
    readonly client: Client,
    readonly transport: StdioClientTransport | null,
    readonly errors: () => string = () => "",
  ) {}

  get pid(): number {
    return this.transport!.pid!;
  }

  async call(name: string, input: Record<string, unknown> = {}): Promise<Said> {
    const result = await this.client.callTool({ name, arguments: input }, { timeout: 150_000 });
    const content = result.content as { type: string; text: string }[];
    return { text: content.map(({ text }) => text).join("\n"), isError: result.isError === true };
  }

  /** The text of a call that must succeed. */
  async do(name: string, input: Record<string, unknown> = {}): Promise<string> {
    const { text, isError } = await this.call(name, input);
    if (isError) throw new Error(text);
    return text;
  }

  async close(): Promise<void> {
    await this.client.close();
  }
}

export async function connectAgent(flags: string[], options: AgentOptions = {}): Promise<Agent> {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(CLAUDE|DIBS|NODE|VITEST)_/.test(name)),
  ) as Record<string, string>;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bin, "mcp", ...flags],
    env: { ...env, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    stderr: "pipe",
  });
  let errors = "";
  transport.stderr?.on("data", (chunk) => {
    errors += String(chunk);
  });
  const client = new Client({ name: "test", version: "1" }, options.client);
  options.prepare?.(client);
  await client.connect(transport);
  return new Agent(client, transport, () => errors);
}

/** A client and a server in this process. */
export async function connectInMemory(server: McpServer, options: AgentOptions = {}): Promise<Agent> {
  const [mine, its] = InMemoryTransport.createLinkedPair();
  await server.connect(its);
  const client = new Client({ name: "test", version: "1" }, options.client);
  options.prepare?.(client);
  await client.connect(mine);
  return new Agent(client, null);
}

export interface Room {
  dibs: Dibs;
  agents: AgentSessions;
  agent: Agent;
}

/** A store, a server and its client `me` in this process. */
export function inProcess(
  story: (room: Room) => Promise<void>,
  {
    client,
    prepare,
    clock,
    ...options
  }: Partial<AgentSessionsOptions> & AgentOptions & { clock?: TestClock } = {},
) {
  return async () => {
    const dibs = await openDibs({ memory: true, ...(clock ? { clock } : {}) });
    const now = clock ? { now: () => clock.now() } : {};
    const agents = new AgentSessions({ open: async () => dibs, defaultAgent: "me", ...now, ...options });
    const server = createServer(agents, { version: "1", era: "legacy" });
    const agent = await connectInMemory(server, {
      ...(client ? { client } : {}),
      ...(prepare ? { prepare } : {}),
    });
    try {
      await story({ dibs, agents, agent });
    } finally {
      await agent.close();
      await agents.close();
      await dibs.close();
    }
  };
}

export function inWorld(story: (world: McpWorld) => Promise<void>) {
  return async () => {
    const world = await new McpWorld().open();
    try {
      await story(world);
    } finally {
      await world.close();
    }
  };
}
