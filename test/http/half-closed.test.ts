// Clients that send FIN behind their request: some have closed their connection, others only their half of it, and read.

import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { until } from "../support.js";
import { statusOf } from "./security-support.js";
import { on, storeNames, type World } from "./support.js";

const times = 40;

interface Asked {
  socket: Socket;
  /** Everything that was answered, once the server has closed its half. */
  answer: Promise<string>;
}

function ask(world: World, method: string, path: string, body?: object): Asked {
  const socket = connect({ port: world.server.port, host: "127.0.0.1", allowHalfOpen: true });
  const text = body === undefined ? "" : JSON.stringify(body);
  let heard = "";
  socket.on("data", (chunk) => {
    heard += chunk;
  });
  const answer = new Promise<string>((resolve) => {
    socket.on("error", () => undefined);
    for (const end of ["end", "close"]) socket.once(end, () => resolve(heard));
  });
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\nAuthorization: Bearer ${world.token}\r\n` +
      "Accept: application/json, text/event-stream\r\n" +
      (body === undefined
        ? "\r\n"
        : `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`),
  );
  return { socket, answer };
}

/** Asks, and sends FIN at once. */
async function askAndEnd(world: World, method: string, path: string, body?: object): Promise<string> {
  const { socket, answer } = ask(world, method, path, body);
  socket.end();
  const heard = await answer;
  socket.destroy();
  return heard;
}

const jsonIn = (answer: string) => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n")));
const claimNext = ["POST", "/api/tasks/claim-next"] as const;

/** A request that has come in is in the log when it is over; before, it holds a place of its token. */
const loggedOf = (world: World, path: string) => world.logged.filter((line) => line.includes(path)).length;

describe.each(storeNames)("a client that closes its half of the connection, on %s", (store) => {
  test("is answered, whatever it asked", () =>
    on(store, async (world) => {
      await world.session("a", { capacity: 1_000 });
      const created = await Promise.all(
        Array.from({ length: times }, () => askAndEnd(world, "POST", "/api/tasks", { prompt: "x" })),
      );
      expect(created.map(statusOf)).toEqual(created.map(() => 201));
      const ids = created.map((answer) => jsonIn(answer).task.id);
      expect((await world.get("/api/tasks?limit=1000")).body.tasks).toHaveLength(new Set(ids).size);
      const claimed = await Promise.all(ids.map(() => askAndEnd(world, ...claimNext, { sessionId: "a" })));
      expect(claimed.map((answer) => jsonIn(answer).claim?.taskId).sort()).toEqual(ids.sort());
      const listed = await Promise.all(ids.map(() => askAndEnd(world, "GET", "/api/tasks")));
      expect(listed.map(statusOf)).toEqual(ids.map(() => 200));
    })());

  test("and waits for work, is told at once that there is none", () =>
    on(store, async (world) => {
      const input = { sessionId: "a", register: true, waitMs: 60_000 };
      for (let at = 0; at < times / 2; at++) {
        expect(jsonIn(await askAndEnd(world, ...claimNext, input)).claim).toBeNull();
      }
      // Also when the wait was under way.
      const waiting = ask(world, ...claimNext, { ...input, sessionId: "b" });
      await until("it is there", async () => (await world.get("/api/sessions/b")).status === 200);
      waiting.socket.end();
      expect(jsonIn(await waiting.answer).claim).toBeNull();
    })());

  test("and waits for work that is there, gets it", () =>
    on(store, async (world) => {
      const id = await world.task();
      const answer = await askAndEnd(world, ...claimNext, { sessionId: "a", register: true, waitMs: 60_000 });
      expect(jsonIn(answer).claim.taskId).toBe(id);
    })());

  test("and follows events, has its stream ended", () =>
    on(store, async (world) => {
      const { socket, answer } = ask(world, "GET", "/api/events/stream");
      await new Promise((resolve) => socket.once("data", resolve));
      socket.end();
      const heard = await answer;
      expect(heard).toContain("text/event-stream");
      expect(heard.endsWith("0\r\n\r\n")).toBe(true);
      expect((await askAndEnd(world, "GET", "/api/events/stream")).endsWith("0\r\n\r\n")).toBe(true);
    })());

  test("and speaks MCP, is answered", () =>
    on(store, async (world) => {
      const clientInfo = { name: "test", version: "1" };
      const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
      const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params };
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => askAndEnd(world, "POST", "/mcp", initialize)),
      );
      for (const answer of answers) expect(answer).toContain('"serverInfo"');
    })());
});

describe.each(storeNames)("a client that goes away, on %s", (store) => {
  test.each(["destroy", "resetAndDestroy"] as const)("takes no task with it: %s", (leave) =>
    on(store, async (world) => {
      const input = { register: true, waitMs: 60_000 };
      const waiting = Array.from({ length: 20 }, (_, at) =>
        ask(world, ...claimNext, { ...input, sessionId: `s${at}` }),
      );
      const sessions = async () => (await world.get("/api/sessions")).body.sessions.length;
      await until("all wait", async () => (await sessions()) === waiting.length);
      // What they try when they begin to wait is committed before what is asked afterwards.
      for (let at = 0; at < 5; at++) await world.post("/api/sessions/s0/heartbeat");
      for (const { socket } of waiting) socket[leave]();
      await until("all waits ended", () => loggedOf(world, "claim-next") === waiting.length);
      const id = await world.task();
      const { body } = await world.post("/api/tasks/claim-next", { sessionId: "next", register: true });
      expect(body.claim?.taskId).toBe(id);
    })(),
  );

  test("leaves no stream behind", () =>
    on(store, async (world) => {
      const streams = Array.from({ length: 10 }, () => ask(world, "GET", "/api/events/stream"));
      const open = async () => /^dibs_sse_clients (\d+)$/m.exec((await world.get("/metrics")).body)?.[1];
      await until("all are open", async () => (await open()) === "10");
      for (const [at, { socket }] of streams.entries()) socket[at % 2 ? "destroy" : "resetAndDestroy"]();
      await until("all are closed", async () => (await open()) === "0");
    })());
});
