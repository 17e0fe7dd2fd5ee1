// /mcp: the protocol's SDK speaks requests and responses of the web.

import type { ServerResponse } from "node:http";
import { DibsError } from "../../contract/error.js";
import type { Caller } from "../../operations/environment.js";
import type { Authentication } from "./authentication.js";
import { type BodyLimits, readBytes } from "./body.js";
import type { Http } from "./context.js";
import { disconnectSignal, onDisconnect } from "./disconnects.js";
import { apiHeaders } from "./guard.js";

/** `onEnd` calls back when the answer has gone out, or nobody waits for it any more. */
export type McpHandler = (
  request: Request,
  caller: Caller,
  onEnd: (ended: () => void) => void,
) => Promise<Response>;

export interface McpParts {
  mcp: McpHandler;
  limits: { bodyBytesMax: number; bodyMs: number };
}

/** The protocol answers for itself; who calls, from where and how often is judged as everywhere. */
export async function serveMcp(
  http: Http,
  { mcp, limits }: McpParts,
  authentication: Authentication,
): Promise<void> {
  const { call, outgoing } = http;
  call.route = "/mcp";
  const caller = call.caller!;
  const project = http.queried("project") || http.header("dibs-project");
  const onEnd = (ended: () => void) => {
    if (outgoing.closed) ended();
    else outgoing.once("close", ended);
  };
  if (http.method === "GET") {
    onEnd(authentication.enter(caller, "streams"));
    onDisconnect(http, () => outgoing.destroy());
  }
  const request = await requestOf(http, { bytesMax: limits.bodyBytesMax, ms: limits.bodyMs });
  const answer = request
    ? await mcp(request, project ? { ...caller, project } : caller, onEnd)
    : messageTooLarge(limits.bodyBytesMax);
  await write(http, answer);
}

/** Null: the body is too large. The SDK would read it chunk by chunk, and keep it all twice. */
async function requestOf(http: Http, limits: BodyLimits): Promise<Request | null> {
  const { incoming, method } = http;
  const headers = new Headers();
  for (let at = 0; at < incoming.rawHeaders.length; at += 2)
    headers.append(incoming.rawHeaders[at]!, incoming.rawHeaders[at + 1]!);
  const { signal } = disconnectSignal(http);
  const url = `http://${incoming.headers.host}${http.path}`;
  if (method !== "POST") return new Request(url, { method, headers, signal });
  try {
    return new Request(url, { method, headers, signal, body: await readBytes(incoming, limits) });
  } catch (error) {
    if (error instanceof DibsError && error.code === "PAYLOAD_TOO_LARGE") return null;
    throw error;
  }
}

async function write(http: Http, { status, headers, body }: Response): Promise<void> {
  const { outgoing } = http;
  const all = { ...Object.fromEntries(headers), ...apiHeaders };
  // The rest of the message is not read: nobody must send another one behind it.
  if (status === 413) outgoing.shouldKeepAlive = false;
  if (!body || !headers.get("content-type")?.startsWith("text/event-stream"))
    return http.send(status, all, body && new Uint8Array(await new Response(body).arrayBuffer()));
  outgoing.writeHead(status, { ...all, "dibs-request-id": http.call.id });
  outgoing.flushHeaders();
  await stream(body, outgoing).catch(() => outgoing.destroy());
}

/** A client that leaves ends the stream; one that does not read is not written for. */
async function stream(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = body.getReader();
  const left = new Promise<void>((resolve) => outgoing.once("close", resolve));
  void left.then(() => reader.cancel()).catch(() => undefined);
  for (;;) {
    const { done, value } = await reader.read();
    if (done || outgoing.destroyed) break;
    if (outgoing.write(value)) continue;
    await Promise.race([left, new Promise<void>((resolve) => outgoing.once("drain", resolve))]);
  }
  outgoing.end();
}

function messageTooLarge(bytesMax: number): Response {
  const error = { code: -32000, message: `The message has more than ${bytesMax} bytes.` };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 413 });
}
