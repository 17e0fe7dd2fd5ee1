// A body in chunks of one byte: six bytes on the wire, and one `data` event, for each.

import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { tempDir } from "../support.js";
import { databaseIn, Serving } from "./program.js";

const mib = 1024 * 1024;
const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
};

const bodies: [path: string, body: object, status: number][] = [
  ["/api/tasks", { prompt: "x" }, 201],
  ["/api/tasks/batch", { tasks: [{ prompt: "x" }] }, 201],
  ["/mcp", initialize, 200],
];

test.runIf(process.platform === "linux")(
  "a body sent in chunks of one byte costs the server little memory, on every route that reads one",
  async () => {
    const server = await new Serving(databaseIn(tempDir())).ready();
    for (const [path, body, status] of bodies) {
      await server.post(path, body, { accept: "application/json, text/event-stream" });
      const before = rssOf(server.pid);
      const sending = sendByteByByte(server, path, JSON.stringify(body).padEnd(mib / 2));
      const peak = await peakUntil(sending, () => rssOf(server.pid));
      expect(await sending).toContain(`HTTP/1.1 ${status}`);
      // As a list of chunks it takes 210 and more.
      expect((peak - before) / mib, path).toBeLessThan(150);
    }
    await server.stop();
  },
);

/** The head of the answer. */
function sendByteByByte({ port, token }: Serving, path: string, body: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    let at = 0;
    socket.on("data", (chunk) => {
      answer += chunk;
      if (answer.includes("\r\n\r\n")) socket.destroy();
    });
    socket.on("error", () => undefined).on("close", () => resolve(answer));
    const goOn = () => {
      while (at <= body.length && socket.writable) {
        const isEnd = at === body.length;
        const piece = body.slice(at, at + 10_000).replace(/./g, "1\r\n$&\r\n");
        at = isEnd ? at + 1 : Math.min(body.length, at + 10_000);
        if (!socket.write(isEnd ? "0\r\n\r\n" : piece)) return;
      }
    };
    socket.on("drain", goOn);
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n` +
        "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    goOn();
  });
}

function rssOf(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kib) * 1024;
}

async function peakUntil(end: Promise<unknown>, measure: () => number): Promise<number> {
  let isOver = false;
  void end.finally(() => {
    isOver = true;
  });
  let peak = measure();
  for (; !isOver; await sleep(20)) peak = Math.max(peak, measure());
  return peak;
}
