// `dibs mcp`: one client, over standard input and output. Nothing but the protocol is written there.

import { type JSONRPCMessage, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { AgentSessions, type AgentSessionsOptions } from "./agent-sessions.js";
import { LongLines } from "./long-lines.js";
import { ResourceUpdates } from "./resource-updates.js";
import { createServer } from "./server.js";
import { Subscriptions } from "./subscriptions.js";

export interface StdioOptions extends AgentSessionsOptions {
  version: string;
  /** Ends it, as the end of standard input does. */
  stopping: AbortSignal;
}

/** A result may have 1 MiB, and JSON may need six characters for one. */
const messageBytesMax = 16 * 1024 * 1024;

/** Settled when the client is gone and what its agents held is given back. Answers whether the client sent a message. */
export async function serveOverStdio({ version, stopping, ...options }: StdioOptions): Promise<boolean> {
  const agents = new AgentSessions(options);
  const trouble = (error: unknown) => {
    if (!agents.signal.aborted) options.onTrouble?.(error);
  };
  const send = (message: object) => void transport.send(message as JSONRPCMessage).catch(trouble);
  const lines = new LongLines(
    messageBytesMax,
    (id) => send(tooLong(id)),
    () => send(notJson),
  );
  const transport = new StdioServerTransport(process.stdin.pipe(lines), process.stdout, {
    maxBufferSize: messageBytesMax * 2,
  });
  let tell = (_uri: string): void => undefined;
  // The SDK knows what clients of 2026 listen to, and drops the rest.
  const watching = new ResourceUpdates(agents, agents.signal, {
    tell: (uri) => tell(uri),
    onTrouble: trouble,
  });
  const serve = (era: "legacy" | "modern") => {
    const server = createServer(agents, { version, era });
    const tellClient = (uri: string) => void server.server.sendResourceUpdated({ uri }).catch(trouble);
    if (era === "legacy") new Subscriptions(server, agents, tellClient, trouble);
    else tell = tellClient;
    return server;
  };
  const connection = serveStdio(({ era }) => serve(era), { transport, onerror: trouble });
  beforeListening(transport, () => watching.begin());
  let hasClient = false;
  const { onmessage } = transport;
  transport.onmessage = (message) => {
    hasClient = true;
    onmessage?.(message);
  };
  await clientGone(transport, stopping);
  await agents.close();
  await connection.close().catch(() => undefined);
  process.stdin.destroy();
  return hasClient;
}

/** Which request it was is unknown, which JSON-RPC writes as null; the SDK's type does not know that. */
const notJson = {
  jsonrpc: "2.0",
  id: null,
  error: {
    code: ProtocolErrorCode.ParseError,
    message: "The line is not JSON. Write each message as one line of JSON.",
  },
};

function tooLong(id: string | number) {
  const message = `The message has more than ${messageBytesMax} bytes. Write long output to a file and name the file.`;
  return { jsonrpc: "2.0" as const, id, error: { code: ProtocolErrorCode.InvalidRequest, message } };
}

/** Until then nobody wants to hear of changes, and following them costs something. */
function beforeListening(transport: StdioServerTransport, begin: () => Promise<void>): void {
  const { onmessage } = transport;
  transport.onmessage = (message) => {
    const isListening = "method" in message && message.method === "subscriptions/listen";
    if (isListening) void begin().then(() => onmessage?.(message));
    else onmessage?.(message);
  };
}

function clientGone(transport: StdioServerTransport, stopping: AbortSignal): Promise<void> {
  const { onclose } = transport;
  return new Promise((resolve) => {
    const gone = () => resolve();
    // Whatever made it fall deaf.
    transport.onclose = () => {
      onclose?.();
      gone();
    };
    process.stdin.once("end", gone);
    process.stdin.once("close", gone);
    // Whoever cannot be answered is gone, too.
    process.stdout.once("error", gone);
    process.stdout.once("close", gone);
    stopping.addEventListener("abort", gone, { once: true });
    if (stopping.aborted || process.stdin.readableEnded) gone();
  });
}
