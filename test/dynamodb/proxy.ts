// Stands between processes and DynamoDB Local: sees each call, and passes it, answers it, or leaves it without an answer.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterwards } from "../support.js";

export interface ProxiedCall {
  /** Such as `PutItem`. */
  name: string;
  // biome-ignore lint/suspicious/noExplicitAny: each call has a shape of its own.
  input: any;
}

interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** `pass` carries the call out. Null: the connection breaks. */
type Around = (call: ProxiedCall, pass: () => Promise<Reply>) => Promise<Reply | null>;

/** The address of the store by way of the proxy. */
export async function proxied(address: string, around: Around): Promise<string> {
  const endpoint = new URL(address).searchParams.get("endpoint")!;
  const server = createServer((request, response) => {
    answer(request, response, { endpoint, around }).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterwards(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return address.replace(endpoint, `http://127.0.0.1:${port}`);
}

export function errorReply(name: string): Reply {
  const body = Buffer.from(
    JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: name }),
  );
  return { status: 400, headers: { "content-type": "application/x-amz-json-1.0" }, body };
}

export const emptyReply: Reply = {
  status: 200,
  headers: { "content-type": "application/x-amz-json-1.0" },
  body: Buffer.from("{}"),
};

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { endpoint, around }: { endpoint: string; around: Around },
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const name = String(request.headers["x-amz-target"]).split(".")[1]!;
  const { host, connection, "content-length": length, ...headers } = request.headers;
  const pass = async (): Promise<Reply> => {
    const init = { method: "POST", headers: headers as Record<string, string>, body };
    const from = await fetch(endpoint, init);
    const kept = ["content-type", "date", "x-amz-crc32", "x-amzn-requestid"];
    const found = kept.flatMap((each) => (from.headers.has(each) ? [[each, from.headers.get(each)!]] : []));
    const bytes = Buffer.from(await from.arrayBuffer());
    return { status: from.status, headers: Object.fromEntries(found), body: bytes };
  };
  const reply = await around({ name, input: JSON.parse(body.toString()) }, pass);
  if (reply === null) {
    request.socket.destroy();
    return;
  }
  response.writeHead(reply.status, reply.headers);
  response.end(reply.body);
}
