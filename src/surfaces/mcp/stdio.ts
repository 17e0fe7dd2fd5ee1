// `dibs mcp`: one client, over standard input and output. Nothing but the protocol is written there.

import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { Ending } from "../../client/ending.js";
import { Desk, type DeskOptions } from "./desk.js";
import { keepWatching } from "./resources.js";
import { createServer } from "./server.js";
import { Subscriptions } from "./subscriptions.js";

export interface StdioOptions extends DeskOptions {
  version: string;
  /** Ends it, as the end of standard input does. */
  stopping: AbortSignal;
}

/** A result may have 1 MiB, and JSON may need six characters for one. */
const messageBytesMax = 16 * 1024 * 1024;

/** Settled when the client is gone and what its agents held is given back. */
export async function serveOverStdio({ version, stopping, ...options }: StdioOptions): Promise<void> {
  const desk = new Desk(options);
  const transport = new StdioServerTransport(process.stdin, process.stdout, {
    maxBufferSize: messageBytesMax,
  });
  const trouble = (error: unknown) => {
    if (!desk.signal.aborted) options.onTrouble?.(error);
  };
  const serve = (era: "legacy" | "modern") => {
    const server = createServer(desk, { version, era });
    const over = new Ending([desk.signal]);
    server.server.onclose = () => over.end();
    const tell = (uri: string) => void server.server.sendResourceUpdated({ uri }).catch(trouble);
    if (era === "legacy") new Subscriptions(server, desk, tell, trouble);
    // Here the SDK knows who subscribed to what, and drops the rest.
    else void listened.then(() => keepWatching(desk, over.signal, tell, trouble));
    return server;
  };
  const connection = serveStdio(({ era }) => serve(era), { transport, onerror: trouble });
  const listened = firstSubscription(transport);
  await clientGone(stopping);
  await desk.close();
  await connection.close().catch(() => undefined);
}

/** Until then nobody wants to hear of changes, and following them costs something. */
function firstSubscription(transport: StdioServerTransport): Promise<void> {
  const { onmessage } = transport;
  return new Promise((resolve) => {
    transport.onmessage = (message) => {
      if ("method" in message && message.method === "subscriptions/listen") resolve();
      onmessage?.(message);
    };
  });
}

function clientGone(stopping: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const gone = () => resolve();
    process.stdin.once("end", gone);
    process.stdin.once("close", gone);
    // Whoever cannot be answered is gone, too.
    process.stdout.once("error", gone);
    process.stdout.once("close", gone);
    stopping.addEventListener("abort", gone, { once: true });
    if (stopping.aborted || process.stdin.readableEnded) gone();
  });
}
