// Requests that no honest program sends. None gets anywhere, none is answered as a defect of ours, and none leaves a trace.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Sending, type Stage, send, setTheStage, statusOf, talk, Witness } from "./security-support.js";
import { on, openWorld, storeNames, type World } from "./support.js";

let world: World;
let stage: Stage;
let witness: Witness;
let before: string[];

beforeAll(async () => {
  world = await openWorld("sqlite");
  stage = await setTheStage(world);
  witness = await Witness.of(world);
  before = await witness.dump();
});

afterAll(async () => {
  expect(await witness.dump(), "nothing of all this has changed anything").toEqual(before);
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  await witness.close();
  await world.close();
});

const get = (path: string, more: Partial<Sending> = {}) => send(world, { method: "GET", path, ...more });
const post = (path: string, body: object | string, more: Partial<Sending> = {}) =>
  send(world, {
    method: "POST",
    path,
    body,
    ...more,
    headers: { "content-type": "application/json", ...more.headers },
  });

/** A whole request by hand; the connection is closed after it. */
function raw(target: string, { method = "GET", version = "1.1", host = own(), head = "", body = "" } = {}) {
  const hosts = host === "" ? "" : `Host: ${host}\r\n`;
  const lines = `${hosts}Authorization: Bearer ${world.token}\r\nConnection: close\r\n${head}`;
  return talk(world, `${method} ${target} HTTP/${version}\r\n${lines}\r\n${body}`);
}
const own = () => `127.0.0.1:${world.server.port}`;

describe("no spelling of a path gets past the gate:", () => {
  const spellings = [
    ...[
      "/%61pi/tasks",
      "/api/%74asks",
      "/api/./tasks",
      "/x/../api/tasks",
      "/x/%2e%2e/api/tasks",
      "/%6detrics",
    ],
    ...[
      "/api/auth/exchange/../../tasks",
      "/api/auth/exchange/%2e%2e/%2e%2e/tasks",
      "/api/tasks/",
      "/api//tasks",
    ],
    ...[
      "/api/tasks/%00",
      "/api/tasks/%ff",
      "/api/tasks/%zz",
      "/api/tasks;a=b",
      "/api/tasks?",
      "/api/tasks%3f",
    ],
    ...["/api/events/stream%00", "/api/auth/exchange%2f..%2f..%2ftasks", "/api/auth/exchange/"],
  ];
  const elsewhere = [
    "//api/tasks",
    "/API/tasks",
    "/api%2ftasks",
    "/%2fapi/tasks",
    "/metrics/",
    "/Metrics",
    "/..%2fapi",
  ];

  test.each(spellings)("%s needs a token", async (path) => {
    expect((await get(path, { token: null })).status).toBe(401);
  });

  test.each(elsewhere)("%s is a page, with or without a token", async (path) => {
    for (const token of [null, world.token]) {
      const { status, headers, text } = await get(path, { token });
      expect(status).toBe(200);
      expect(headers["content-type"]).toMatch(/^text\/html/);
      expect(text).not.toContain("secret");
    }
  });

  test("an id is never a path", async () => {
    const ids = [
      "..%2ftokens",
      "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
      "a%2fb",
      "%00",
      "a%0d%0aSet-Cookie:x=y",
      "%F0%9F%92%A9",
    ];
    const odd = ["a%E2%80%AEb", "%ff", "%zz", "__proto__", ".hidden", "a..b", "*", "a%20b", "x".repeat(129)];
    for (const id of [...ids, ...odd]) {
      for (const place of ["tasks", "sessions", "locks", "projects"]) {
        const { status, body, headers } = await get(`/api/${place}/${id}`);
        expect(`${status} ${body.error}`, `${place}/${id}`).toBe("400 VALIDATION_FAILED");
        expect(headers["set-cookie"]).toBeUndefined();
      }
    }
    for (const id of ["constructor", "toString", "hasOwnProperty"]) {
      expect((await get(`/api/tasks/${id}`)).status).toBe(404);
    }
  });
});

describe("whatever a request calls this server must be its name:", () => {
  test("one Host, and not two", async () => {
    expect(statusOf(await raw("/healthz", { head: "Host: evil.example\r\n" }))).toBe(403);
    expect(statusOf(await raw("/healthz", { host: "evil.example", head: `Host: ${own()}\r\n` }))).toBe(403);
    expect(statusOf(await raw("/healthz", { head: `Host: ${own()}\r\n` }))).toBe(200);
  });

  test("none is too few, also for HTTP/1.0", async () => {
    expect(statusOf(await raw("/api/tasks", { host: "" }))).toBe(400);
    expect(statusOf(await raw("/api/tasks", { host: "", version: "1.0" }))).toBe(400);
    expect(statusOf(await raw("/api/tasks", { version: "1.0" }))).toBe(200);
  });

  test("also in a target with a name of its own", async () => {
    expect(statusOf(await raw(`http://${own()}/api/tasks`))).toBe(200);
    expect(statusOf(await raw("http://evil.example/api/tasks"))).toBe(403);
    expect(statusOf(await raw(`http://${own()}@evil.example/api/tasks`))).toBe(403);
    expect(statusOf(await raw(`http://${own()}/api/tasks`, { host: "evil.example" }))).toBe(403);
  });

  test("and none that only begins or ends like it", async () => {
    const [, port] = own().split(":");
    const hosts = [`localhost.evil.example:${port}`, `evil-localhost:${port}`, `evil.localhost:${port}`];
    for (const host of hosts) expect(statusOf(await raw("/api/tasks", { host })), host).toBe(403);
  });

  test("and nothing that is hardly a name", async () => {
    for (const host of [
      `a@${own()}`,
      `${own()}/x`,
      `${own()} evil`,
      `${own()}?`,
      `${own()}#`,
      "[::1",
      "\x7f",
    ]) {
      expect(statusOf(await raw("/api/tasks", { host })), host).toBe(400);
    }
    for (const target of ["*", "api/tasks", "ftp://x/api/tasks", "/api\\tasks"]) {
      expect(statusOf(await raw(target)), target).toBe(400);
    }
  });
});

describe("the protocol is not bent:", () => {
  test("no tunnel, no echo, no upgrade, no other method by a header", async () => {
    expect(await raw(own(), { method: "CONNECT" })).toBe("");
    const traced = await raw("/api/tasks", { method: "TRACE", head: "X-Echo: zebra\r\n" });
    expect(statusOf(traced)).toBe(404);
    expect(traced).not.toContain("zebra");
    const upgrade = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n";
    expect(statusOf(await raw("/api/nothing", { head: upgrade }))).toBe(404);
    const override = { headers: { "x-http-method-override": "DELETE", "x-http-method": "DELETE" } };
    expect((await post("/api/sessions/leaving", {}, override)).status).toBe(404);
    expect((await get("/api/sessions/leaving?_method=DELETE", override)).status).toBe(200);
  });

  test("a request does not hide in another", async () => {
    const head = "Content-Type: application/json\r\n";
    const both = `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n`;
    const hidden = `0\r\n\r\nDELETE /api/sessions/leaving HTTP/1.1\r\nHost: ${own()}\r\nAuthorization: Bearer ${world.token}\r\n\r\n`;
    expect(statusOf(await raw("/api/tasks/x/start", { method: "POST", head: both, body: hidden }))).toBe(400);
    const two = `${head}Content-Length: 2\r\nContent-Length: 3\r\n`;
    expect(statusOf(await raw("/api/tasks/x/start", { method: "POST", head: two, body: "{} " }))).toBe(400);
    const odd = `${head}Transfer-Encoding: xchunked\r\n`;
    expect(statusOf(await raw("/api/tasks/x/start", { method: "POST", head: odd, body: hidden }))).toBe(400);
    const spaced = `${head}Content-Length : 2\r\n`;
    expect(statusOf(await raw("/api/tasks/x/start", { method: "POST", head: spaced, body: "{}" }))).toBe(400);
  });

  test("a header does not become two, and not too many or too long ones are read", async () => {
    for (const value of ["a\rX-Evil: 1", "a\nX-Evil: 1", "a\0b"]) {
      expect(statusOf(await raw("/api/tasks", { head: `Dibs-Project: ${value}\r\n` }))).toBe(400);
    }
    expect(statusOf(await raw("/api/tasks", { head: `X-Long: ${"x".repeat(20_000)}\r\n` }))).toBe(431);
    expect(statusOf(await raw(`/api/tasks?q=${"x".repeat(20_000)}`))).toBe(431);
  });
});

describe("a project is one that exists:", () => {
  const odd = [
    "*",
    "..",
    "a/b",
    "demo,demo",
    "demo, demo",
    "%00",
    "__proto__",
    "ä",
    "' OR 1=1 --",
    "nowhere",
  ];

  test("by the header, by the address and in the body", async () => {
    for (const project of odd) {
      const sent = Buffer.from(project).toString("latin1");
      const byHeader = await post("/api/tasks", { prompt: "x" }, { headers: { "dibs-project": sent } });
      const byQuery = await post(`/api/tasks?project=${encodeURIComponent(project)}`, { prompt: "x" });
      const byBody = await post("/api/tasks", { prompt: "x", project });
      for (const { status, body } of [byHeader, byQuery, byBody]) {
        expect(["VALIDATION_FAILED", "PROJECT_NOT_FOUND"], project).toContain(body.error);
        expect([400, 404]).toContain(status);
      }
    }
  });

  test("all of them is for looking: no single task, session or lock is written in all projects", async () => {
    const writes = [
      "tasks/to-start/start",
      "tasks/claim-next",
      "tasks/to-cancel/cancel",
      "tasks/batch",
      "sessions",
      "ids/next",
    ];
    for (const path of writes) {
      const body = { sessionId: "holder", tasks: [{ prompt: "x" }] };
      expect((await post(`/api/${path}?project=*`, body)).body.error, path).toBe("VALIDATION_FAILED");
    }
    expect((await send(world, { method: "DELETE", path: "/api/sessions/leaving?project=*" })).status).toBe(
      400,
    );
  });
});

describe("JSON is data:", () => {
  test("keys that are more than names in JavaScript change nothing", async () => {
    const polluting = ['"__proto__":{"polluted":1}', '"constructor":{"prototype":{"polluted":1}}'];
    for (const each of polluting) {
      expect((await post("/api/tasks", `{"prompt":"x",${each}}`)).status).toBe(400);
      const settings = `{"settings":{${each}}}`;
      expect(
        (await send(world, { method: "PATCH", path: "/api/projects/demo", body: settings })).status,
      ).toBe(400);
      expect((await post("/api/tasks/to-start/start", `{${each}}`)).status).toBe(400);
      expect((await post("/api/auth/exchange", `{${each}}`, { token: null })).status).toBe(401);
    }
    const query = "__proto__=x&constructor=x&state=__proto__";
    expect((await get(`/api/tasks?${query}`)).status).toBe(400);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test("what is no object, no JSON, or nested without end is refused", async () => {
    const deep = (count: number) =>
      `{"prompt":"x","metadata":${'{"a":'.repeat(count)}1${"}".repeat(count + 1)}`;
    const bodies = [
      "[]",
      "null",
      "1",
      '"x"',
      "{",
      "{}}",
      "{'prompt':1}",
      "NaN",
      "[".repeat(100_000),
      deep(5_000),
    ];
    for (const body of bodies) expect((await post("/api/tasks", body)).status, body.slice(0, 40)).toBe(400);
  });

  test("bytes that are no UTF-8 are refused, not replaced", async () => {
    const body = Buffer.concat([Buffer.from('{"prompt":"caf'), Buffer.from([0xe9]), Buffer.from('"}')]);
    const { status, body: said } = await post("/api/tasks", body);
    expect([status, said.error, said.message]).toEqual([400, "VALIDATION_FAILED", "The body is not UTF-8."]);
  });

  test("texts that no store can hold, and numbers that are none, are refused", async () => {
    for (const text of ["a\\u0000b", "a\\ud800b", "\\udc00"]) {
      expect((await post("/api/tasks", `{"prompt":"${text}"}`)).status, text).toBe(400);
      expect((await post("/api/tasks", `{"prompt":"x","metadata":{"${text}":1}}`)).status, text).toBe(400);
      expect((await post("/api/tasks", `{"prompt":"x","labels":["${text}"]}`)).status, text).toBe(400);
    }
    for (const number of ["1e309", "-1", "101", "0.5", '"1"', "null", "[]", "{}"]) {
      expect((await post("/api/tasks", `{"prompt":"x","priority":${number}}`)).status, number).toBe(400);
    }
    expect((await get("/api/tasks?q=%00")).status).toBe(400);
  });

  test("an idempotency key is short and not empty", async () => {
    for (const key of ["", "k".repeat(256)]) {
      const keyed = { headers: { "idempotency-key": key } };
      expect((await post("/api/tasks", { prompt: "x" }, keyed)).status).toBe(400);
    }
  });
});

test("a worker cannot make itself more than it is", async () => {
  const asWorker = { token: stage.worker, headers: { "dibs-role": "admin", "x-forwarded-for": "127.0.0.1" } };
  expect((await post("/api/tokens", { role: "admin" }, asWorker)).status).toBe(403);
  const role = await post("/api/sessions/beating/heartbeat", { role: "admin", score: "x" }, asWorker);
  expect(role.status).toBe(400);
  expect((await get("/api/tokens?role=admin", asWorker)).status).toBe(403);
});

describe.each(storeNames)("cursors and numbers that nobody was given, on %s,", (store) => {
  test(
    "are refused or show less, and are never a defect of ours",
    on(store, async (other) => {
      await other.task();
      const lists = [
        "tasks",
        "task-rows",
        "graph",
        "sessions",
        "projects",
        "notifications",
        "tokens",
        "locks",
      ];
      const cursors = ["__proto__", "'; DROP TABLE task; --", "9".repeat(199), "x".repeat(201), "-1", "1.5"];
      const more = ["%00", "eyJhIjoxfQ==", "demo/../x", "%F0%9F%92%A9", "%ff", "*", "//"];
      const ends: string[] = [];
      for (const list of lists) {
        for (const cursor of [...cursors, ...more]) {
          const sent = cursor.includes("%") ? cursor : encodeURIComponent(cursor);
          const { status } = await send(other, { method: "GET", path: `/api/${list}?cursor=${sent}` });
          if (status !== 200 && status !== 400) ends.push(`${list} ${cursor}: ${status}`);
        }
      }
      for (const number of ["-1", "1e999", "9007199254740993", "%00", "NaN", "1,2"]) {
        for (const path of [
          "tasks?limit=",
          "events?after=",
          "events/stream?after=",
          "tasks/0001/events?after=",
        ]) {
          const { status } = await send(other, { method: "GET", path: `/api/${path}${number}` });
          if (status !== 400) ends.push(`${path}${number}: ${status}`);
        }
      }
      expect(ends).toEqual([]);
    }),
  );
});
