// Bodies of the wrong kind, too large or too slow, heads that never end, and more at once than one token may have.

import { connect, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { until } from "../support.js";
import {
  exchangeRoute,
  isPage,
  mismatches,
  privateRoutes,
  publicRoutes,
  type Route,
  type Stage,
  send,
  sendTo,
  setTheStage,
  statusOf,
  takesBody,
  talk,
  Witness,
} from "./security-support.js";
import { on, type World } from "./support.js";

const withBody = (stage: Stage) => [...privateRoutes(stage), exchangeRoute].filter(takesBody);

/** Runs a story and checks that the store is afterwards what it was before. */
const changingNothing = (
  story: (world: World, stage: Stage) => Promise<void>,
  limits: Record<string, number> = {},
) =>
  on(
    "sqlite",
    async (world) => {
      const stage = await setTheStage(world);
      const witness = await Witness.of(world);
      try {
        const before = await witness.dump();
        await story(world, stage);
        expect(await witness.dump()).toEqual(before);
      } finally {
        await witness.close();
      }
    },
    { limits },
  );

test(
  "only JSON is read: what a page can send without being asked first, and what is packed, is refused",
  changingNothing(async (world, stage) => {
    const unsupported = { status: 415, error: "UNSUPPORTED_MEDIA_TYPE" };
    const types = ["text/plain", "text/plain; charset=utf-8", "application/x-www-form-urlencoded"];
    const more = [
      "multipart/form-data; boundary=x",
      "text/json",
      "application/jsonx",
      "application/javascript",
    ];
    const lists = ["text/plain; application/json", "application/json, text/plain", "", undefined];
    const writes = [...privateRoutes(stage), exchangeRoute].filter(({ method }) => method !== "GET");
    for (const type of [...types, ...more, ...lists]) {
      const ask = (route: Route) =>
        sendTo(world, route, { headers: { "content-type": type }, body: route.body ?? {} });
      expect(await mismatches(writes, ask, () => unsupported), `${type}`).toEqual([]);
    }
    const packed = (route: Route) =>
      sendTo(world, route, { headers: { "content-encoding": "gzip" }, body: route.body ?? {} });
    expect(await mismatches(writes, packed, () => unsupported)).toEqual([]);
  }),
);

test(
  "JSON by its other names is JSON",
  on("sqlite", async (world) => {
    for (const type of [
      "application/json; charset=utf-8",
      "Application/JSON",
      "application/merge-patch+json",
    ]) {
      const made = { method: "POST", path: "/api/tasks", body: { prompt: "x" } };
      expect((await send(world, { ...made, headers: { "content-type": type } })).status).toBe(201);
    }
  }),
);

describe("what is too large is refused, and its sender hears so:", () => {
  const limits = { bodyBytesMax: 10_000, batchBytesMax: 40_000 };
  const tooLarge = { status: 413, error: "PAYLOAD_TOO_LARGE" };
  const large = Buffer.from(JSON.stringify({ padding: "x".repeat(40_001) }));

  test(
    "announced, and not sent at all",
    changingNothing(async (world, stage) => {
      const ask = (route: Route) => {
        const headers = { "content-type": "application/json", "content-length": String(large.length) };
        const { body: _, ...announced } = route;
        return sendTo(world, announced, { headers });
      };
      expect(await mismatches(withBody(stage), ask, () => tooLarge)).toEqual([]);
    }, limits),
  );

  test(
    "announced and sent, in pieces of unknown number, or all at once to who reads late",
    changingNothing(async (world, stage) => {
      const whole = (route: Route) => sendTo(world, route, { body: large });
      expect(await mismatches(withBody(stage), whole, () => tooLarge)).toEqual([]);
      const headers = { "content-length": undefined, "transfer-encoding": "chunked" };
      const chunked = (route: Route) => sendTo(world, route, { body: large, headers });
      expect(await mismatches(withBody(stage), chunked, () => tooLarge)).toEqual([]);
    }, limits),
  );

  test(
    "the connection is good for the next request",
    changingNothing(async (world) => {
      const head = `Host: 127.0.0.1:${world.server.port}\r\nAuthorization: Bearer ${world.token}\r\n`;
      const answer = await talk(
        world,
        `POST /api/tasks HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${large.length}\r\n\r\n`,
        large,
        `GET /healthz HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
      );
      expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(["413", "200"]);
    }, limits),
  );

  test(
    "who goes on for ever is cut off",
    changingNothing(async (world) => {
      const socket = connect(world.server.port, "127.0.0.1");
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.on("error", () => undefined).resume();
      socket.write(
        `POST /api/tasks HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\nAuthorization: Bearer ${world.token}\r\n` +
          "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
      );
      const piece = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(65_536, "x"), Buffer.from("\r\n")]);
      const goOn = () => {
        while (!socket.destroyed && socket.write(piece));
      };
      socket.on("drain", goOn);
      goOn();
      await closed;
    }, limits),
  );

  test(
    "two MiB, and sixteen for a batch",
    on("sqlite", async (world) => {
      const announce = (path: string, bytes: number) =>
        send(world, {
          method: "POST",
          path,
          headers: { "content-type": "application/json", "content-length": String(bytes) },
        });
      const mib = 1024 * 1024;
      expect((await announce("/api/tasks", 2 * mib + 1)).status).toBe(413);
      expect((await announce("/api/tasks/batch", 16 * mib + 1)).status).toBe(413);
      const fill = (bytes: number, body: string) => body + " ".repeat(bytes - body.length);
      const one = { method: "POST", path: "/api/tasks", body: fill(2 * mib, `{"prompt":"x"}`) };
      expect((await send(world, one)).status).toBe(201);
      const path = "/api/tasks/batch";
      const many = { method: "POST", path, body: fill(16 * mib, `{"tasks":[{"prompt":"x"}]}`) };
      expect((await send(world, many)).status).toBe(201);
    }),
  );
});

test(
  "a body that drips is not waited for",
  changingNothing(
    async (world, stage) => {
      const statuses = await Promise.all(withBody(stage).map((route) => drip(world, route)));
      expect(new Set(statuses)).toEqual(new Set([408]));
    },
    { bodyMs: 2_000 },
  ),
);

/** A byte now and then, for as long as anybody listens. */
async function drip(world: World, { method, path }: Route): Promise<number> {
  const socket = connect(world.server.port, "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.on("error", () => undefined);
  const closed = new Promise((resolve) => socket.once("close", resolve));
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\nAuthorization: Bearer ${world.token}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"',
  );
  const dripping = setInterval(() => socket.write("x"), 10);
  await closed;
  clearInterval(dripping);
  return statusOf(answer);
}

test(
  "a head that does not end, and a connection that says nothing, are closed",
  changingNothing(
    async (world) => {
      const head = `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\nX-Slow: `;
      expect(statusOf(await talk(world, head))).toBe(408);
      expect(statusOf(await talk(world, "GET"))).toBe(408);
      await talk(world);
    },
    { headersMs: 2_000, requestMs: 3_000 },
  ),
);

test(
  "what never becomes a request is refused in the words of any other",
  changingNothing(
    async (world) => {
      const rest = ` HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\n`;
      const many = "a".repeat(200_000);
      for (const head of [
        `GET /api/tasks?q=${many}${rest}\r\n`,
        `GET /healthz${rest}X-Long: ${many}\r\n\r\n`,
      ]) {
        expect(problemIn(await talk(world, head))).toMatchObject({
          status: 431,
          body: { success: false, error: "PAYLOAD_TOO_LARGE", retryable: false },
        });
      }
      const refused = { status: 400, body: { success: false, error: "VALIDATION_FAILED" } };
      expect(problemIn(await talk(world, "what is this?\r\n\r\n"))).toMatchObject(refused);
      const chunked = `POST /api/tasks${rest}Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n`;
      expect(statusOf(await talk(world, `${chunked}no length\r\n`))).toBeGreaterThanOrEqual(400);
      expect(problemIn(await talk(world, `GET /healthz${rest}`))).toMatchObject({
        status: 408,
        body: { success: false, error: "REQUEST_TIMEOUT", retryable: true },
      });
      await breakingOff(world, "what is this?\r\n\r\n");
      expect(await healthy(world)).toBe(200);
    },
    { headersMs: 2_000, requestMs: 3_000 },
  ),
);

test(
  "garbage behind a stream's request ends the stream and is not answered in its middle",
  on("sqlite", async (world) => {
    const head = `Host: 127.0.0.1:${world.server.port}\r\nAuthorization: Bearer ${world.token}\r\n\r\n`;
    const socket = connect(world.server.port, "127.0.0.1");
    let heard = "";
    const closed = new Promise((resolve) => socket.on("error", () => undefined).once("close", resolve));
    socket.write(`GET /api/events/stream HTTP/1.1\r\n${head}`);
    socket.on("data", (chunk) => {
      heard += chunk;
    });
    await until("the stream begins", () => heard.includes("text/event-stream"));
    socket.write("what is this?\r\n\r\n");
    await closed;
    expect(heard.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(await healthy(world)).toBe(200);
  }),
);

/** A refusal as it came over the wire, its body as long as it was said to be. */
function problemIn(answer: string): { status: number; body: unknown } {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  expect(head).toContain("content-type: application/problem+json");
  expect(head).toContain("x-content-type-options: nosniff");
  expect(head).toContain(`content-length: ${body.length}`);
  expect(head).toContain("connection: close");
  return { status: statusOf(answer), body: JSON.parse(body) };
}

test(
  "there are never more connections than allowed, and room again when one goes",
  on(
    "sqlite",
    async (world) => {
      const opened: Socket[] = [];
      for (let at = 0; at < 3; at++) opened.push(await greeted(world));
      expect(await talk(world, "GET /healthz HTTP/1.1\r\n")).toBe("");
      for (const socket of opened) socket.destroy();
      await until("there is room", async () => (await healthy(world)) === 200);
    },
    { limits: { connectionsMax: 3 } },
  ),
);

/** A connection that has been answered once and stays. */
async function greeted(world: World): Promise<Socket> {
  const socket = connect(world.server.port, "127.0.0.1");
  socket.write(`GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\n\r\n`);
  await new Promise((resolve) => socket.once("data", resolve));
  return socket;
}

async function healthy(world: World): Promise<number> {
  const head = `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\nConnection: close\r\n\r\n`;
  return statusOf(await talk(world, head));
}

test(
  "a token has a bounded number of requests under way; others are not touched, and who goes away makes room",
  on(
    "sqlite",
    async (world) => {
      const token = await world.tokenFor("worker");
      await world.post("/api/sessions", { id: "patient", capacity: 2 }, { token });
      const body = JSON.stringify({ sessionId: "patient", waitMs: 60_000 });
      const waiting = [1, 2].map(() => {
        const socket = connect(world.server.port, "127.0.0.1");
        socket.write(
          `POST /api/tasks/claim-next HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\nAuthorization: Bearer ${token}\r\n` +
            `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
        return socket;
      });
      const look = () => send(world, { method: "GET", path: "/api/tasks", token });
      await until("it is refused", async () => (await look()).status === 429);
      const refused = await look();
      expect(refused.body).toMatchObject({ error: "RATE_LIMITED", retryable: true });
      expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
      expect((await send(world, { method: "GET", path: "/api/tasks" })).status).toBe(200);
      for (const route of publicRoutes.filter(isPage)) {
        expect((await sendTo(world, route, { token })).status).toBe(200);
      }
      for (const socket of waiting) socket.destroy();
      await until("there is room", async () => (await look()).status === 200);
    },
    { limits: { requestsMax: 2 } },
  ),
);

test(
  "a token has a bounded number of streams; it still may ask",
  on(
    "sqlite",
    async (world) => {
      const head = `Host: 127.0.0.1:${world.server.port}\r\nAuthorization: Bearer ${world.token}\r\n\r\n`;
      const open = connect(world.server.port, "127.0.0.1");
      open.write(`GET /api/events/stream HTTP/1.1\r\n${head}`);
      await new Promise((resolve) => open.once("data", resolve));
      const refused = await send(world, { method: "GET", path: "/api/events/stream" });
      expect(refused).toMatchObject({ status: 429, body: { error: "RATE_LIMITED" } });
      expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
      expect((await send(world, { method: "GET", path: "/api/tasks" })).status).toBe(200);
      open.destroy();
      await until(
        "there is room",
        async () => (await send(world, { method: "GET", path: "/api/events/stream" })).status === 200,
      );
    },
    { limits: { streamsMax: 1 } },
  ),
);

test(
  "those who break off while their token is still looked up are not counted for ever",
  on(
    "postgres",
    async (world) => {
      const head = (token: string) =>
        `GET /api/tasks HTTP/1.1\r\nHost: 127.0.0.1:${world.server.port}\r\nAuthorization: Bearer ${token}\r\n\r\n`;
      for (let round = 0; round < 10; round++) {
        const token = await world.tokenFor("viewer");
        const gone = [1, 2, 3, 4, 5].map(() => breakingOff(world, head(token)));
        await Promise.all(gone);
        await until(
          "there is room",
          async () => (await send(world, { method: "GET", path: "/api/tasks", token })).status === 200,
        );
      }
    },
    { limits: { requestsMax: 2 } },
  ),
);

/** Asks and is gone. */
function breakingOff(world: World, request: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(world.server.port, "127.0.0.1", () =>
      socket.write(request, () => socket.resetAndDestroy()),
    );
    socket.on("error", () => undefined).once("close", () => resolve());
  });
}
