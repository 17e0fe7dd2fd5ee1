// events.follow over connections that come and go: nothing is missed, nothing comes twice.

import type { ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import type { DibsEvent, FollowOptions } from "../../src/index.js";
import { until } from "../support.js";
import {
  type Behaviour,
  drop,
  event,
  FakeServer,
  failure,
  hang,
  page,
  refusal,
  stream,
} from "./fake-server.js";

const ready = (seq: number) => `retry: 1\n: ready ${seq}\n\n`;

/** The numbers of the first events of a stream. */
async function take(count: number, server: FakeServer, options: FollowOptions = {}, connect = {}) {
  const seqs: number[] = [];
  for await (const { seq } of server.connect(connect).events.follow(options)) {
    seqs.push(seq);
    if (seqs.length === count) break;
  }
  return seqs;
}

/** Where each connection began, by its address and by its header. */
const starts = (server: FakeServer) =>
  server.seen.map(({ query, headers }) => [query.get("after"), headers["last-event-id"] ?? null]);

describe("a stream that breaks", () => {
  test("anywhere goes on after the last whole event", async () => {
    const third = Buffer.from(event(3, { title: "Größe 🚀" }));
    const middle = third.indexOf(0xf0) + 2; // Between the bytes of the rocket.
    const server = await FakeServer.start(
      stream([ready(0), event(1), event(2), third.subarray(0, middle)]),
      stream([ready(3), third.subarray(0, 5)]),
      stream([ready(4), third.subarray(0, middle), third.subarray(middle), event(4)]),
    );
    expect(await take(4, server, { after: 0 })).toEqual([1, 2, 3, 4]);
    expect(starts(server)).toEqual([
      ["0", null],
      ["2", "2"],
      ["2", "2"],
    ]);
  });

  test("before it began, is refused for a moment, or is answered by a proxy comes again", async () => {
    const server = await FakeServer.start(
      drop,
      refusal(503, "STORE_BUSY"),
      refusal(429, "RATE_LIMITED", {}, { "retry-after": "0" }),
      refusal(500, "INTERNAL"),
      page(502),
      page(404),
      page(200),
      stream([ready(1), event(1)]),
    );
    expect(await take(1, server, { after: 0 })).toEqual([1]);
    expect(server.seen).toHaveLength(8);
  });

  test("is told of, as is the one after it", async () => {
    const server = await FakeServer.start(
      stream([ready(1), event(1)]),
      refusal(503, "STORE_BUSY"),
      stream([ready(2), event(2)], { stays: true }),
    );
    const told: string[] = [];
    await take(2, server, { after: 0, onConnection: (state) => told.push(state) });
    expect(told).toEqual(["connected", "lost", "lost", "connected"]);
  });

  test("repeats nothing, even if the server does", async () => {
    const server = await FakeServer.start(
      stream([ready(2), event(1), event(2)]),
      stream([ready(3), event(1), event(2), event(3)]),
    );
    expect(await take(3, server, { after: 0 })).toEqual([1, 2, 3]);
  });

  test("is one that is silent for too long", async () => {
    // One event per connection, and then nothing.
    const server = await FakeServer.start((seen, response) => {
      const after = Number(seen.query.get("after"));
      return stream([ready(after + 1), event(after + 1)], { stays: true })(seen, response);
    });
    expect(await take(2, server, { after: 0 }, { silenceMs: 30 })).toEqual([1, 2]);
    expect(server.seen.length).toBeGreaterThan(1);
  });

  test("or does not even begin", async () => {
    const server = await FakeServer.start(hang, stream([ready(1), event(1)]));
    expect(await take(1, server, { after: 0 }, { timeoutMs: 30 })).toEqual([1]);
  });

  test("is not one that breaks its silence", async () => {
    const comments: Behaviour = async (_seen, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(ready(0));
      for (let n = 0; n < 30; n++) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        response.write(":\n\n");
      }
      response.write(event(1));
    };
    const connections: number[] = [];
    while (connections.length < 5 && connections.at(-1) !== 1) {
      const server = await FakeServer.start(comments);
      expect(await take(1, server, { after: 0 }, { silenceMs: 1_000 })).toEqual([1]);
      connections.push(server.seen.length);
    }
    // The best of some: a process that stands still for a second hears nothing meanwhile.
    expect(Math.min(...connections)).toBe(1);
  });
});

describe("where a stream begins", () => {
  test("without a number it is settled by the call, not by the first event asked for", async () => {
    let isClosed = false;
    const server = await FakeServer.start(
      (seen, response) => {
        response.once("close", () => {
          isClosed = true;
        });
        return stream([ready(7)], { stays: true })(seen, response);
      },
      stream([ready(9), event(8), event(9)], { stays: true }),
    );
    const events = server.connect().events.follow();
    // The first connection is let go of, because nobody reads.
    await until("it is closed", () => isClosed);
    const [first] = server.seen;
    expect(first!.query.has("after")).toBe(false);
    expect((await events.next()).value).toMatchObject({ seq: 8 });
    expect((await events.next()).value).toMatchObject({ seq: 9 });
    expect(starts(server)).toEqual([
      [null, null],
      ["7", "7"],
    ]);
    await events.return();
  });

  test("the same connection is used when somebody reads at once", async () => {
    const server = await FakeServer.start(stream([ready(7), event(8)], { stays: true }));
    expect(await take(1, server)).toEqual([8]);
    expect(server.seen).toHaveLength(1);
  });

  test("a break before the first event does not move it", async () => {
    const server = await FakeServer.start(stream([ready(7)]), stream([ready(9), event(8), event(9)]));
    expect(await take(2, server)).toEqual([8, 9]);
    expect(starts(server)[1]).toEqual(["7", "7"]);
  });

  test("a number without an event moves it, so that a filtered stream does not fall behind", async () => {
    const server = await FakeServer.start(stream([ready(0), "id: 50\n\n"]), stream([ready(51), event(51)]));
    expect(await take(1, server, { after: 0 })).toEqual([51]);
    expect(starts(server)[1]).toEqual(["50", "50"]);
  });

  test("filters go along, and the project of the client or the call", async () => {
    const server = await FakeServer.start(stream([ready(0), event(1)]));
    const options: FollowOptions = {
      after: 0,
      project: "*",
      taskId: "a",
      types: ["task:created", "task:failed"],
    };
    await take(1, server, options, { project: "mine", token: "secret" });
    const { query, headers } = server.seen[0]!;
    expect([...query]).toEqual([
      ["after", "0"],
      ["project", "*"],
      ["taskId", "a"],
      ["types", "task:created"],
      ["types", "task:failed"],
    ]);
    expect(headers).toMatchObject({ "dibs-project": "mine", authorization: "Bearer secret" });
  });

  test.each([
    ["below what is kept", 100, 3, [101, 102]],
    ["ahead of the log", 40, 500, [41, 42]],
  ])(
    "a reader that is %s is told to forget, and goes on from there",
    async (_where, from, after, expected) => {
      const data = { firstAvailable: 11, lastSeq: 40 };
      const reset = `id: ${from}\ndata: ${JSON.stringify({ type: "reset", data })}\n\n`;
      const server = await FakeServer.start(
        stream([ready(40), reset, event(from + 1)]),
        stream([ready(42), event(from + 2)]),
      );
      const resets: unknown[] = [];
      expect(await take(2, server, { after, onReset: (ends) => resets.push(ends) })).toEqual(expected);
      expect(resets).toEqual([data]);
      expect(starts(server)[1]?.[0]).toBe(String(from + 1));
    },
  );
});

describe("a stream ends", () => {
  test.each([
    ["UNAUTHENTICATED", refusal(401, "UNAUTHENTICATED")],
    ["FORBIDDEN", refusal(403, "FORBIDDEN")],
    ["PROJECT_NOT_FOUND", refusal(404, "PROJECT_NOT_FOUND")],
    ["VALIDATION_FAILED", refusal(400, "VALIDATION_FAILED")],
    ["UNAUTHENTICATED", page(401)],
  ])("when it is refused: %s", async (code, behaviour) => {
    for (const after of [undefined, 0]) {
      const server = await FakeServer.start(behaviour);
      const events = server.connect().events.follow(after === undefined ? {} : { after });
      expect(await failure(events.next())).toMatchObject({ code });
      expect(await events.next()).toEqual({ done: true, value: undefined });
      expect(server.seen).toHaveLength(1);
    }
  });

  test("also when the token is revoked on the way", async () => {
    const server = await FakeServer.start(stream([ready(1), event(1)]), refusal(401, "UNAUTHENTICATED"));
    expect(await failure(take(2, server, { after: 0 }))).toMatchObject({ code: "UNAUTHENTICATED" });
  });

  /** A stream that stays, and whether its connection is gone. */
  async function lasting() {
    let open: ServerResponse | null = null;
    const closed: Promise<void>[] = [];
    const server = await FakeServer.start((seen, response) => {
      open = response;
      closed.push(new Promise((resolve) => response.once("close", resolve)));
      return stream([ready(0), event(1)], { stays: true })(seen, response);
    });
    return { server, closed, isOpen: () => open !== null };
  }

  test("with a break: the connection is closed at once", async () => {
    const { server, closed } = await lasting();
    await take(1, server, { after: 0 });
    await Promise.all(closed);
  });

  test("with a signal, the client's end, or a return, also while an event is awaited", async () => {
    const stop = new AbortController();
    for (const how of ["signal", "close", "return"]) {
      const { server, closed } = await lasting();
      const dibs = server.connect();
      const events = dibs.events.follow({ after: 0, ...(how === "signal" ? { signal: stop.signal } : {}) });
      expect((await events.next()).value).toMatchObject({ seq: 1 });
      const next = events.next();
      if (how === "signal") stop.abort();
      else if (how === "close") await dibs.close();
      else await events.return();
      expect(await next).toEqual({ done: true, value: undefined });
      await Promise.all(closed);
    }
  });

  test("also when the platform has collected its garbage, the signal of the fetch with it", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const { server, closed } = await lasting();
    const stop = new AbortController();
    const events = server.connect().events.follow({ after: 1, signal: stop.signal });
    const next = events.next();
    await until("it is asked", () => server.seen.length > 0);
    // Garbage goes when the platform wants it to: several chances for what must not happen.
    for (let n = 0; n < 10; n++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      collect();
    }
    stop.abort();
    expect((await next).done).toBe(true);
    await Promise.all(closed);
  });

  test("also if nobody ever asked for an event", async () => {
    const { server, isOpen, closed } = await lasting();
    const events = server.connect().events.follow();
    await until("it is open", isOpen);
    await events.return();
    await Promise.all(closed);
  });

  test("between two connections", async () => {
    const server = await FakeServer.start(drop);
    const stop = new AbortController();
    const dibs = server.connect({ retry: { baseMs: 1_000_000 } });
    const next = dibs.events.follow({ after: 0, signal: stop.signal }).next();
    await until("it is asked", () => server.seen.length > 0);
    stop.abort();
    expect((await next).done).toBe(true);
  });

  test("a closed client follows nothing", async () => {
    const server = await FakeServer.start(stream([ready(0), event(1)]));
    const dibs = server.connect();
    await dibs.close();
    expect(await failure(dibs.events.follow({ after: 0 }).next())).toMatchObject({ code: "STORE_CLOSED" });
    expect(server.seen).toEqual([]);
  });

  test("what onReset throws ends it", async () => {
    const reset = `id: 1\ndata: ${JSON.stringify({ type: "reset", data: { firstAvailable: 2, lastSeq: 2 } })}\n\n`;
    const server = await FakeServer.start(stream([ready(2), reset], { stays: true }));
    const onReset = () => {
      throw new Error("not now");
    };
    expect((await failure(take(1, server, { after: 0, onReset }))).message).toBe("not now");
  });
});

describe("a slow reader", () => {
  test("is not collected for: the server's socket fills up, and nothing is lost when it goes on", async () => {
    const total = 3_000;
    const text = "x".repeat(10_000);
    let written = 0;
    let isFull = false;
    const flood: Behaviour = async (_seen, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(ready(0));
      while (written < total) {
        if (response.write(event(++written, { data: { text } }))) continue;
        isFull = true;
        await new Promise((resolve) => response.once("drain", resolve));
        isFull = false;
      }
    };
    const server = await FakeServer.start(flood);
    const events = server.connect().events.follow({ after: 0 });
    const seqs = [((await events.next()).value as DibsEvent).seq];
    // Until the socket is full and nothing more is taken. A slow machine ends sooner, which fails nothing.
    for (let before = -1; before < written || !isFull; ) {
      before = written;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(written).toBeLessThan(total);
    while (seqs.length < total) seqs.push(((await events.next()).value as DibsEvent).seq);
    expect(seqs).toEqual(Array.from({ length: total }, (_, n) => n + 1));
    await events.return();
  });
});
