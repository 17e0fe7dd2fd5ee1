// A claim that waits, over a network that fails: it ends as in process, and no claim is granted to nobody.

import { describe, expect, test } from "vitest";
import { until } from "../support.js";
import { answer, type Behaviour, cut, drop, FakeServer, failure, hang, refusal } from "./fake-server.js";

const nothing = { success: true, claim: null, task: null, resumed: false };
const granted = { success: true, claim: { taskId: "0001", epoch: 1 }, task: { id: "0001" }, resumed: false };
const wait = { sessionId: "s", waitMs: 60_000 };

/** A wait that is under way, and what ends it. */
async function waiting(server: FakeServer, options: { idempotencyKey?: string } = {}, connect = {}) {
  const stop = new AbortController();
  const claimed = server.connect(connect).tasks.claimNext(wait, { ...options, signal: stop.signal });
  await until("it is asked", () => server.seen.length > 0);
  return { claimed, stop: () => stop.abort() };
}

const paths = (server: FakeServer) => server.seen.map(({ path }) => path);
const claimNext = "/api/tasks/claim-next";
const heartbeat = "/api/sessions/s/heartbeat";

describe("a wait that its caller ends", () => {
  test("answers nothing, and has used up its key, so that nothing is granted afterwards", async () => {
    const server = await FakeServer.start(hang, answer({ success: true }));
    const { claimed, stop } = await waiting(server);
    stop();
    expect(await claimed).toEqual(nothing);
    expect(paths(server)).toEqual([claimNext, heartbeat]);
    expect(new Set(server.keys).size).toBe(1);
  });

  test("answers the claim that was granted at that moment", async () => {
    const server = await FakeServer.start(hang, refusal(422, "IDEMPOTENCY_MISMATCH"), answer(granted));
    const { claimed, stop } = await waiting(server);
    stop();
    expect(await claimed).toEqual(granted);
    expect(paths(server)).toEqual([claimNext, heartbeat, claimNext]);
    expect(server.seen[2]!.body).toEqual(wait);
    expect(new Set(server.keys).size).toBe(1);
  });

  test("keeps a key of the caller's good for another try", async () => {
    const server = await FakeServer.start(hang, answer(nothing));
    const { claimed, stop } = await waiting(server, { idempotencyKey: "mine" });
    stop();
    expect(await claimed).toEqual(nothing);
    expect(server.seen[1]).toMatchObject({ path: claimNext, body: { ...wait, waitMs: 0 } });
    expect(server.keys).toEqual(["mine", "mine"]);
  });

  test("and finds under it what was granted at that moment", async () => {
    const server = await FakeServer.start(hang, answer(granted));
    const { claimed, stop } = await waiting(server, { idempotencyKey: "mine" });
    stop();
    expect(await claimed).toEqual(granted);
    expect(server.seen.map(({ body }) => body.waitMs)).toEqual([60_000, 0]);
    expect(server.keys).toEqual(["mine", "mine"]);
  });

  test("of a session that is unknown by now holds nothing", async () => {
    const server = await FakeServer.start(hang, refusal(404, "SESSION_NOT_FOUND"));
    const { claimed, stop } = await waiting(server);
    stop();
    expect(await claimed).toEqual(nothing);
  });

  test("says that it does not know when nobody can be asked", async () => {
    const server = await FakeServer.start(hang, drop);
    const { claimed, stop } = await waiting(server, {}, { retry: { tries: 2, baseMs: 1 } });
    stop();
    expect(await failure(claimed)).toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  test("before it began looks once, as in process", async () => {
    const server = await FakeServer.start(answer(granted));
    const dibs = server.connect();
    expect(await dibs.tasks.claimNext(wait, { signal: AbortSignal.abort() })).toEqual(granted);
    expect(server.seen.map(({ body }) => body)).toEqual([{ ...wait, waitMs: 0 }]);
  });

  test("by closing the client ends the same way", async () => {
    const server = await FakeServer.start(hang, answer({ success: true }));
    const dibs = server.connect();
    const claimed = dibs.tasks.claimNext(wait);
    await until("it is asked", () => server.seen.length > 0);
    await dibs.close();
    expect(await claimed).toEqual(nothing);
    expect(paths(server)).toEqual([claimNext, heartbeat]);
  });
});

describe("a wait", () => {
  test("lasts longer than other calls may", async () => {
    const later: Behaviour = (_seen, response) => {
      setTimeout(() => response.end(JSON.stringify(granted)), 50);
    };
    const server = await FakeServer.start(later);
    expect(await server.connect({ timeoutMs: 5 }).tasks.claimNext(wait)).toEqual(granted);
    expect(server.seen).toHaveLength(1);
  });

  test.each([
    ["dropped", drop],
    ["cut", cut],
    ["refused for a moment", refusal(503, "STORE_BUSY")],
  ])("whose answer was %s is asked for again as it was, and acts once", async (_how, trouble) => {
    const server = await FakeServer.start(trouble, trouble, answer(granted));
    expect(await server.connect().tasks.claimNext(wait)).toEqual(granted);
    expect(server.seen.map(({ body }) => body)).toEqual([wait, wait, wait]);
    expect(new Set(server.keys).size).toBe(1);
  });

  test("is refused as any call is", async () => {
    const server = await FakeServer.start(refusal(404, "SESSION_NOT_FOUND"));
    expect(await failure(server.connect().tasks.claimNext(wait))).toMatchObject({
      code: "SESSION_NOT_FOUND",
    });
    expect(server.seen).toHaveLength(1);
  });
});
