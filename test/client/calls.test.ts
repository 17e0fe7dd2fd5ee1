// Calls over HTTP: what is sent, what is sent again, and how it ends when nothing helps.

import { describe, expect, test } from "vitest";
import { operations } from "../../src/contract/registry.js";
import { connectDibs, DibsError, openDibs } from "../../src/index.js";
import { until } from "../support.js";
import { answer, cut, drop, FakeServer, failure, hang, page, refusal } from "./fake-server.js";

const ok = answer({ success: true });
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a call is sent as the contract says", () => {
  test("fields of the path, then a query or a body, the token and the project", async () => {
    const server = await FakeServer.start(ok);
    const dibs = server.connect({ token: "secret", project: "demo" });
    await dibs.tasks.list({ state: ["queued", "running"], limit: 5, label: undefined as never, parent: "" });
    await dibs.tasks.update({ taskId: "a.b", notBefore: new Date(0), assignee: null, project: "other" });
    await dibs.sessions.end({ sessionId: "s", project: "other" });
    const [list, update, end] = server.seen;
    expect(list).toMatchObject({ method: "GET", path: "/api/tasks", body: undefined });
    expect([...list!.query]).toEqual([
      ["state", "queued"],
      ["state", "running"],
      ["limit", "5"],
      ["parent", ""],
    ]);
    expect(list!.headers).toMatchObject({ authorization: "Bearer secret", "dibs-project": "demo" });
    expect(update).toMatchObject({ method: "PATCH", path: "/api/tasks/a.b" });
    expect(update!.body).toEqual({ notBefore: "1970-01-01T00:00:00.000Z", assignee: null, project: "other" });
    expect(end).toMatchObject({ method: "DELETE", path: "/api/sessions/s" });
    expect([...end!.query]).toEqual([["project", "other"]]);
  });

  test("what changes something carries a fresh key, or the caller's; what only looks, or can be said twice, none", async () => {
    const server = await FakeServer.start(ok);
    const dibs = server.connect();
    await dibs.tasks.create({ prompt: "a" });
    await dibs.tasks.create({ prompt: "a" });
    await dibs.tasks.create({ prompt: "a" }, { idempotencyKey: "mine" });
    await dibs.tasks.list({}, { idempotencyKey: "mine" });
    await dibs.tasks.heartbeat({ taskId: "a", sessionId: "s" });
    const [first, second, third, fourth, fifth] = server.keys;
    expect(first).toMatch(/^auto-[0-9a-f]{32}$/);
    expect(second).not.toBe(first);
    expect([third, fourth, fifth]).toEqual(["mine", undefined, undefined]);
    const bad = await failure(dibs.tasks.create({ prompt: "a" }, { idempotencyKey: "schlüssel" }));
    expect(bad).toMatchObject({ code: "VALIDATION_FAILED" });
    expect(server.seen).toHaveLength(5);
  });

  test("a server below a path, whatever the slashes", async () => {
    const server = await FakeServer.start(ok);
    await server.connect({ url: `${server.url}/team/dibs/?x=1` }).tasks.list();
    expect(server.seen[0]?.path).toBe("/team/dibs/api/tasks");
  });

  test("projects are named by the client's own, or the server's default", async () => {
    const list = answer({
      projects: [
        { id: "a", isDefault: false },
        { id: "b", isDefault: true },
      ],
      nextCursor: null,
    });
    const server = await FakeServer.start(list, ok);
    const dibs = server.connect();
    await dibs.projects.get();
    await dibs.projects.pause({});
    await server.connect({ project: "mine" }).projects.update({ paused: true });
    expect(server.seen.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /api/projects",
      "GET /api/projects/b",
      "POST /api/projects/b/pause",
      "PATCH /api/projects/mine",
    ]);
    expect(server.seen.at(-1)?.body).toEqual({ paused: true });
  });

  test("only a project may be left out of a path", () => {
    const optional = operations.filter(({ http, input }) =>
      [...http.path.matchAll(/:(\w+)/g)].some(([, field]) => {
        const { shape } = input as unknown as {
          shape: Record<string, { safeParse(v: unknown): { success: boolean } }>;
        };
        return shape[field!]!.safeParse(undefined).success;
      }),
    );
    expect(optional.every(({ http }) => http.path.startsWith("/api/projects/:id"))).toBe(true);
  });
});

describe("what would be lost on its way is refused here, in the words of the library in process", () => {
  // biome-ignore lint/suspicious/noExplicitAny: wrong on purpose.
  const wrong = (value: unknown): any => value;
  test.each([
    ["no id", (dibs) => dibs.tasks.get(wrong({}))],
    ["an id that would be another path", (dibs) => dibs.tasks.start({ taskId: "..", sessionId: "s" })],
    ["an empty id", (dibs) => dibs.tasks.get({ taskId: "" })],
    ["an id that is none", (dibs) => dibs.sessions.end(wrong({ sessionId: 5 }))],
    ["null in a query", (dibs) => dibs.tasks.list({ q: wrong(null) })],
    ["a text", (dibs) => dibs.tasks.create(wrong("x"))],
    ["a list", (dibs) => dibs.tasks.create(wrong([]))],
    ["no number", (dibs) => dibs.tasks.update({ taskId: "a", timeoutMs: Number.NaN })],
    ["no date", (dibs) => dibs.tasks.update({ taskId: "a", notBefore: new Date("never") })],
    ["a bigint", (dibs) => dibs.tasks.create({ prompt: "x", metadata: wrong({ n: 1n }) })],
  ] satisfies [string, (dibs: ReturnType<typeof connectDibs>) => Promise<unknown>][])(
    "%s",
    async (_what, call) => {
      const server = await FakeServer.start(ok);
      const inProcess = await openDibs({ memory: true });
      const expected = await failure(call(inProcess));
      expect(await failure(call(server.connect()))).toMatchObject({ code: "VALIDATION_FAILED" });
      expect(expected).toMatchObject({ code: "VALIDATION_FAILED" });
      expect(server.seen).toEqual([]);
      await inProcess.close();
    },
  );

  test("the same words and details", async () => {
    const server = await FakeServer.start(ok);
    const inProcess = await openDibs({ memory: true });
    const [here, there] = await Promise.all(
      [server.connect(), inProcess].map((dibs) => failure(dibs.tasks.get({ taskId: "../x" }))),
    );
    expect(JSON.parse(JSON.stringify(here))).toEqual(JSON.parse(JSON.stringify(there)));
    await inProcess.close();
  });

  test("a circle", async () => {
    const server = await FakeServer.start(ok);
    const metadata: Record<string, never> = {};
    metadata.self = metadata as never;
    const error = await failure(server.connect().tasks.create({ prompt: "x", metadata }));
    expect(error).toMatchObject({ code: "VALIDATION_FAILED" });
  });
});

describe("what the network spoilt is sent again, and acts once", () => {
  test.each([
    ["the answer was dropped", drop],
    ["the answer was cut", cut],
    ["a proxy found nobody", page(502)],
    ["the store was busy", refusal(503, "STORE_BUSY")],
    ["the server is stopping", refusal(503, "STORE_CLOSED", { retryable: false })],
    ["a gateway lost patience", page(504)],
    ["too many at once", refusal(429, "RATE_LIMITED", {}, { "retry-after": "0" })],
  ])("%s", async (_what, trouble) => {
    const server = await FakeServer.start(trouble, trouble, answer({ success: true, task: { id: "0001" } }));
    const { task } = await server.connect().tasks.create({ prompt: "once" });
    expect(task.id).toBe("0001");
    expect(server.seen.map(({ body }) => body)).toEqual(Array(3).fill({ prompt: "once" }));
    expect(new Set(server.keys).size).toBe(1);
  });

  test("also what only looks", async () => {
    const server = await FakeServer.start(drop, answer({ tasks: [], nextCursor: null }));
    expect(await server.connect().tasks.list()).toEqual({ tasks: [], nextCursor: null });
  });

  test("but so many times only, and then it says where and what to do", async () => {
    const server = await FakeServer.start(drop);
    const error = await failure(server.connect({ retry: { tries: 3, baseMs: 1 } }).tasks.list());
    expect(error).toMatchObject({
      code: "STORE_UNAVAILABLE",
      retryable: true,
      hint: expect.stringContaining("serve"),
    });
    expect(error.message).toContain(server.url);
    expect(server.seen).toHaveLength(3);
  });

  test("and not when the server asks for more patience than there is", async () => {
    const server = await FakeServer.start(
      refusal(429, "RATE_LIMITED", { max: 7 }, { "retry-after": "3600" }),
    );
    expect(await failure(server.connect().tasks.list())).toMatchObject({
      code: "RATE_LIMITED",
      details: { max: 7 },
    });
    expect(server.seen).toHaveLength(1);
  });

  test.each([
    ["VALIDATION_FAILED", refusal(400, "VALIDATION_FAILED")],
    ["TASK_ALREADY_CLAIMED", refusal(409, "TASK_ALREADY_CLAIMED", { retryable: true })],
    ["IDEMPOTENCY_MISMATCH", refusal(422, "IDEMPOTENCY_MISMATCH")],
    ["RATE_LIMITED", refusal(429, "RATE_LIMITED")],
    ["INTERNAL", refusal(500, "INTERNAL")],
    ["STORE_CORRUPT", refusal(503, "STORE_CORRUPT", { retryable: false })],
    ["STORE_FULL", refusal(507, "STORE_FULL")],
    ["UNAUTHENTICATED", refusal(401, "UNAUTHENTICATED")],
    ["UNAUTHENTICATED", page(401)],
    ["FORBIDDEN", page(403)],
    ["STORE_UNAVAILABLE", page(404)],
    ["STORE_UNAVAILABLE", page(200)],
    ["INVALID_STATE", refusal(409, "SOMETHING_NEW")],
    ["STORE_UNAVAILABLE", answer({}, 302, { location: "/elsewhere" })],
  ])("a refusal is thrown at once as %s", async (code, behaviour) => {
    const server = await FakeServer.start(behaviour);
    const error = await failure(server.connect({ retry: { tries: 1 } }).tasks.create({ prompt: "x" }));
    expect(error).toBeInstanceOf(DibsError);
    expect(error).toMatchObject({ code });
    expect(server.seen.map(({ path }) => path)).toEqual(["/api/tasks"]);
    if (code !== "STORE_UNAVAILABLE") {
      const patient = server.connect();
      expect(await failure(patient.tasks.create({ prompt: "x" }))).toMatchObject({ code });
      expect(server.seen).toHaveLength(2);
    }
  });

  test("a refusal over the wire is the one that was sent", async () => {
    const sent = new DibsError("TASK_ALREADY_CLAIMED", "Session b holds it.", {
      hint: "Wait.",
      details: { claim: { sessionId: "b", remainingMs: 5 } },
    });
    const server = await FakeServer.start(answer(sent, 409, { "content-type": "application/problem+json" }));
    const got = await failure(server.connect().tasks.claim({ taskId: "a", sessionId: "s" }));
    expect(got).toMatchObject({ hint: sent.hint, details: sent.details, retryable: true });
    expect(JSON.stringify(got)).toBe(JSON.stringify(sent));
  });

  test("nobody listens there", async () => {
    const server = await FakeServer.start(ok);
    await server.stop();
    const dibs = connectDibs({ url: "http://127.0.0.1:1", retry: { tries: 2, baseMs: 1 } });
    const error = await failure(dibs.tasks.list());
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(error.message).toContain("http://127.0.0.1:1");
    await dibs.close();
  });
});

describe("nothing waits for ever", () => {
  test("a server that does not answer", async () => {
    const server = await FakeServer.start(hang);
    const dibs = server.connect({ timeoutMs: 2_000, retry: { tries: 2, baseMs: 1 } });
    const error = await failure(dibs.tasks.list());
    expect(error).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("within 2 s"),
    });
    expect(server.seen).toHaveLength(2);
  });

  test("a signal ends a call at once, also between two tries", async () => {
    const server = await FakeServer.start(hang);
    const stop = new AbortController();
    const call = failure(server.connect().tasks.list({}, { signal: stop.signal }));
    stop.abort(new Error("enough"));
    expect((await call).message).toBe("enough");

    const dropping = await FakeServer.start(drop);
    const later = new AbortController();
    const between = failure(
      dropping.connect({ retry: { baseMs: 1_000_000 } }).tasks.list({}, { signal: later.signal }),
    );
    dropping.behaviours = [drop];
    later.abort(new Error("enough"));
    expect((await between).message).toBe("enough");
  });

  test("a signal that is over already sends nothing", async () => {
    const server = await FakeServer.start(ok);
    await failure(server.connect().tasks.list({}, { signal: AbortSignal.abort() }));
    expect(server.seen).toEqual([]);
  });

  test("a signal that many calls share gets one listener", async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on("warning", note);
    const server = await FakeServer.start(ok);
    const dibs = server.connect();
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 40 }, () => dibs.tasks.list({}, { signal })));
    await turn();
    process.off("warning", note);
    expect(warnings).toEqual([]);
  });

  test("a closed client answers what is under way and takes nothing more", async () => {
    let respond = () => {};
    const server = await FakeServer.start((_seen, response) => {
      respond = () => response.end("{}");
    });
    const dibs = server.connect();
    const call = dibs.tasks.list();
    await until("it is asked", () => server.seen.length > 0);
    const closed = dibs.close();
    await turn();
    expect(await failure(dibs.tasks.list())).toMatchObject({ code: "STORE_CLOSED" });
    respond();
    expect(await call).toEqual({});
    await closed;
  });

  test("a closed client does not try again", async () => {
    const server = await FakeServer.start(drop);
    const dibs = server.connect({ retry: { baseMs: 1_000_000 } });
    const call = failure(dibs.tasks.list());
    await until("it is asked", () => server.seen.length > 0);
    await dibs.close();
    expect(await call).toMatchObject({ code: "STORE_UNAVAILABLE" });
  });

  test("the client's own signal closes it", async () => {
    const server = await FakeServer.start(ok);
    const stop = new AbortController();
    const dibs = server.connect({ signal: stop.signal });
    await dibs.tasks.list();
    stop.abort();
    await turn();
    expect(await failure(dibs.tasks.list())).toMatchObject({ code: "STORE_CLOSED" });
    expect(await failure(server.connect({ signal: stop.signal }).tasks.list())).toMatchObject({
      code: "STORE_CLOSED",
    });
  });
});

describe("connectDibs refuses", () => {
  test.each([
    ["no url", {}],
    ["what is no url", { url: "here" }],
    ["another protocol", { url: "postgres://localhost/dibs" }],
    ["a password in the url", { url: "http://me:secret@localhost" }],
    ["a token of several lines", { url: "http://localhost", token: "a\nb" }],
    ["a project that is none", { url: "http://localhost", project: "a/b" }],
  ])("%s", (_what, options) => {
    const connect = () => connectDibs(options as never);
    expect(connect).toThrow(DibsError);
    expect(connect).toThrow(/^connectDibs: /);
    expect(connect).not.toThrow(/secret/);
  });
});
