// What the client needs of `fetch` for one call over plain HTTP, with Node's own HTTP: its `fetch` takes longer to load than a
// process to start. Everything else (TLS, streams of events) is left to it.

import { type IncomingMessage, request } from "node:http";
import { ByteBuffer } from "./byte-buffer.js";

export const plainFetch: typeof globalThis.fetch = (address, init) => {
  const url = new URL(String(address));
  const { accept } = { ...(init?.headers as Record<string, string> | undefined) };
  if (url.protocol !== "http:" || accept === "text/event-stream") return fetch(address, init);
  return exchange(url, init ?? {});
};

/** Sends what was refused for its token again with another one, and stays with that. */
export function withSpareToken(send: typeof globalThis.fetch, spare: string | undefined): typeof send {
  if (spare === undefined) return send;
  let isNeeded = false;
  const withSpare = (init: RequestInit = {}): RequestInit => ({
    ...init,
    headers: { ...(init.headers as Record<string, string>), authorization: `Bearer ${spare}` },
  });
  return async (address, init) => {
    if (isNeeded) return send(address, withSpare(init));
    const answer = await send(address, init);
    if (answer.status !== 401) return answer;
    isNeeded = true;
    await answer.body?.cancel();
    return send(address, withSpare(init));
  };
}

function exchange(url: URL, { method, headers, body, signal }: RequestInit): Promise<Response> {
  return new Promise((resolve, reject) => {
    const fail = (cause: Error) => reject(signal?.aborted ? signal.reason : failure(cause));
    const sent = request(url, {
      method: method ?? "GET",
      headers: { ...(headers as Record<string, string>), ...lengthOf(body) },
      ...(signal && { signal }),
    });
    sent.on("error", fail);
    sent.on("response", (answer) => {
      const body = new ByteBuffer();
      answer.on("data", (chunk: Buffer) => body.add(chunk));
      answer.on("error", fail);
      answer.on("end", () => {
        if (isRedirect(answer)) fail(new Error("unexpected redirect"));
        else resolve(responseOf(answer, body.take()));
      });
    });
    sent.end(body ?? undefined);
  });
}

const failure = (cause: Error) => new TypeError("fetch failed", { cause });

function lengthOf(body: RequestInit["body"]): Record<string, string> {
  return typeof body === "string" ? { "content-length": String(Buffer.byteLength(body)) } : {};
}

function isRedirect({ statusCode = 0, headers }: IncomingMessage): boolean {
  return statusCode >= 300 && statusCode < 400 && headers.location !== undefined;
}

/** A real one would be Node's `fetch` again. */
function responseOf({ statusCode = 0, headers }: IncomingMessage, bytes: Buffer): Response {
  return {
    ok: statusCode >= 200 && statusCode < 300,
    status: statusCode,
    headers: { get: (name: string) => headers[name]?.toString() ?? null },
    text: async () => new TextDecoder().decode(bytes),
  } as unknown as Response;
}
