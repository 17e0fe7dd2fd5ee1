// A browser signs in with a code that works once, and is known by a cookie that no script can read.

import { expect, test } from "vitest";
import { serveDibs } from "../../src/serve.js";
import { operationRoutes, privateRoutes, type Sent, send, sendTo } from "./security-support.js";
import { on, type World } from "./support.js";

const codeIn = (link: string) => new URLSearchParams(new URL(link).hash.slice(1)).get("code")!;

function exchange(world: World, code: unknown, headers: Record<string, string> = {}): Promise<Sent> {
  return send(world, { method: "POST", path: "/api/auth/exchange", token: null, headers, body: { code } });
}

interface Cookie {
  name: string;
  value: string;
  flags: string[];
  /** As a browser sends it back. */
  sent: { cookie: string };
}

function cookieIn({ headers }: Sent): Cookie {
  const [header, ...others] = headers["set-cookie"] ?? [];
  expect(others).toEqual([]);
  const [pair = "", ...flags] = header!.split("; ");
  const at = pair.indexOf("=");
  return { name: pair.slice(0, at), value: pair.slice(at + 1), flags, sent: { cookie: pair } };
}

async function signedIn(world: World): Promise<Cookie> {
  return cookieIn(await exchange(world, codeIn(world.server.link())));
}

const withCookie = (
  world: World,
  path: string,
  headers: Record<string, string>,
  method = "GET",
  body?: object,
) => send(world, { method, path, token: null, headers, ...(body ? { body } : {}) });

test(
  "the code of a link is in its fragment, works once, and gives a cookie that scripts and other sites do not get",
  on("sqlite", async (world) => {
    const link = world.server.link();
    expect(new URL(link).search).toBe("");
    expect(link).not.toContain(world.token);
    const first = await exchange(world, codeIn(link));
    expect(first).toMatchObject({ status: 200, body: { success: true, org: "default", role: "admin" } });
    const { name, value, flags } = cookieIn(first);
    expect(name).toBe(`dibs_${world.server.port}`);
    expect(value).not.toBe(world.token);
    expect(first.text).not.toContain(value);
    expect(flags).toContain("HttpOnly");
    expect(flags).toContain("SameSite=Strict");
    expect(flags).toContain("Path=/");
    expect(flags.filter((flag) => /^(Domain|Secure)/.test(flag))).toEqual([]);
    const second = await exchange(world, codeIn(link));
    expect(second).toMatchObject({ status: 401, body: { error: "UNAUTHENTICATED" } });
    expect(second.headers["set-cookie"]).toBeUndefined();
  }),
);

test(
  "behind a proxy that speaks HTTPS the cookie is for HTTPS only",
  on("sqlite", async (world) => {
    const answer = await exchange(world, codeIn(world.server.link()), { "x-forwarded-proto": "https" });
    expect(cookieIn(answer).flags).toContain("Secure");
  }),
);

test(
  "what was never a code signs nobody in",
  on("sqlite", async (world) => {
    world.server.link();
    for (const code of ["", "wrong", null, 1, true, ["x"], { toString: "x" }, "__proto__", world.token]) {
      expect((await exchange(world, code)).status).toBe(401);
    }
    const nothing = { method: "POST", path: "/api/auth/exchange", token: null };
    expect((await send(world, nothing)).status).toBe(401);
  }),
);

test(
  "a code is good for ten minutes, and of two that race with one code one wins",
  on("sqlite", async (world) => {
    const [early, late] = [codeIn(world.server.link()), codeIn(world.server.link())];
    world.clock.advance(10 * 60_000 - 1);
    const raced = await Promise.all([exchange(world, early), exchange(world, early), exchange(world, early)]);
    expect(raced.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
    world.clock.advance(1);
    expect((await exchange(world, late)).status).toBe(401);
  }),
);

test(
  "the cookie reads, follows and writes from our own page, and from no other",
  on("sqlite", async (world) => {
    const { sent } = await signedIn(world);
    const ours = { ...sent, origin: world.url, "sec-fetch-site": "same-origin" };
    const task = { prompt: "by cookie" };
    expect((await withCookie(world, "/api/tasks", ours)).status).toBe(200);
    expect((await withCookie(world, "/api/events/stream", ours)).headers["content-type"]).toMatch(
      /event-stream/,
    );
    expect((await withCookie(world, "/api/tasks", ours, "POST", task)).status).toBe(201);
    const { port } = world.server;
    for (const origin of ["http://evil.example", "null", `http://127.0.0.1:${port + 1}`]) {
      const foreign = { ...sent, origin };
      expect((await withCookie(world, "/api/tasks", foreign)).status).toBe(403);
      expect((await withCookie(world, "/api/events/stream", foreign)).status).toBe(403);
      expect((await withCookie(world, "/api/tasks", foreign, "POST", task)).status).toBe(403);
    }
    const nextDoor = { ...sent, "sec-fetch-site": "same-site" };
    expect((await withCookie(world, "/api/tasks", nextDoor)).status).toBe(403);
    expect((await world.get("/api/tasks")).body.tasks).toHaveLength(1);
  }),
);

test(
  "a token in the header wins over the cookie, also when it is wrong",
  on("sqlite", async (world) => {
    const { sent } = await signedIn(world);
    const headers = { ...sent, authorization: "Bearer wrong" };
    expect((await withCookie(world, "/api/tasks", headers)).status).toBe(401);
    const viewer = await world.tokenFor("viewer");
    const asViewer = { ...sent, authorization: `Bearer ${viewer}` };
    expect((await withCookie(world, "/api/tasks", asViewer, "POST", { prompt: "x" })).status).toBe(403);
  }),
);

test(
  "signing out revokes the cookie's token and clears the cookie; a token in the header stays good",
  on("sqlite", async (world) => {
    const { name, value, sent } = await signedIn(world);
    const out = await withCookie(world, "/api/auth/sign-out", sent, "POST", {});
    expect(out).toMatchObject({ status: 200, body: { success: true } });
    const cleared = cookieIn(out);
    expect(cleared).toMatchObject({ name, value: "" });
    expect(cleared.flags).toContain("Max-Age=0");
    expect((await withCookie(world, "/api/tasks", sent)).status).toBe(401);
    expect((await world.get("/api/tasks", { token: value })).status).toBe(401);
    expect((await world.post("/api/auth/sign-out")).status).toBe(200);
    expect((await world.get("/api/tasks")).status).toBe(200);
  }),
);

test(
  "nobody is signed out by who only knows a cookie's name",
  on("sqlite", async (world) => {
    const { value, sent } = await signedIn(world);
    const [prefix, org, id, secret] = value.split("~");
    const forged = {
      cookie: `dibs_${world.server.port}=${[prefix, org, id, "A".repeat(secret!.length)].join("~")}`,
    };
    expect((await withCookie(world, "/api/auth/sign-out", forged, "POST", {})).status).toBe(401);
    const viewer = await world.tokenFor("viewer");
    const mixed = { ...forged, authorization: `Bearer ${viewer}` };
    expect((await withCookie(world, "/api/auth/sign-out", mixed, "POST", {})).status).toBe(200);
    expect((await withCookie(world, "/api/tasks", sent)).status).toBe(200);
  }),
);

test(
  "a code carries the role of who asked for it, and is worth nothing once that token is gone",
  on("sqlite", async (world) => {
    const { token, id } = (await world.post("/api/tokens", { name: "guest", role: "viewer" })).body;
    const codeFor = async () => (await world.post("/api/auth/code", {}, { token })).body.code as string;
    const kept = await codeFor();
    const answer = await exchange(world, await codeFor());
    expect(answer.body.role).toBe("viewer");
    const { sent } = cookieIn(answer);
    expect((await withCookie(world, "/api/tasks", sent)).status).toBe(200);
    expect((await withCookie(world, "/api/tasks", sent, "POST", { prompt: "x" })).status).toBe(403);
    await world.delete(`/api/tokens/${id}`);
    expect((await exchange(world, kept)).status).toBe(401);
  }),
);

test(
  "nobody pushes out the codes of others by asking for many",
  on("sqlite", async (world) => {
    const link = world.server.link();
    const token = await world.tokenFor("viewer");
    for (let at = 0; at < 150; at++) await world.post("/api/auth/code", {}, { token });
    expect((await exchange(world, codeIn(link))).status).toBe(200);
  }),
);

test(
  "without auth everybody on this machine is the admin, the link needs no code, and signing in and out does nothing",
  on(
    "sqlite",
    async (world) => {
      const { server } = world;
      expect([server.token, server.tokenFile]).toEqual([null, null]);
      expect(server.link()).toBe(`${world.url}/`);
      const answer = await exchange(world, "anything");
      expect(answer).toMatchObject({ status: 200, body: { success: true, role: "admin" } });
      expect(answer.headers["set-cookie"]).toBeUndefined();
      expect((await world.post("/api/auth/sign-out")).status).toBe(200);
      const made = await send(world, {
        method: "POST",
        path: "/api/tokens",
        token: "garbage",
        body: { role: "viewer" },
      });
      expect(made.status).toBe(201);
      expect((await world.get("/api/tasks", { token: null })).status).toBe(200);
    },
    { auth: false },
  ),
);

test(
  "without auth, where it matters most, other names and other origins are refused all the same",
  on(
    "sqlite",
    async (world) => {
      const stage = { worker: "", workerId: "", spareTokenId: "none", notificationId: "none" };
      const { port } = world.server;
      const foreign = [
        { host: `evil.example:${port}` },
        { origin: "http://evil.example" },
        { origin: "null" },
        { origin: `http://127.0.0.1:${port + 1}` },
        { "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors" },
        { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
      ];
      for (const headers of foreign) {
        for (const route of privateRoutes(stage)) {
          expect((await sendTo(world, route, { headers })).status, route.name).toBe(403);
        }
      }
      for (const route of operationRoutes(stage).filter(({ method }) => method !== "GET")) {
        const headers = { "content-type": "text/plain" };
        expect((await sendTo(world, route, { headers, body: route.body ?? {} })).status, route.name).toBe(
          415,
        );
      }
      expect((await world.get("/api/events?project=*")).body.events).toEqual([]);
    },
    { auth: false },
  ),
);

test("a server without auth listens on loopback only", async () => {
  for (const host of ["0.0.0.0", "::", "192.0.2.1"]) {
    await expect(serveDibs({ memory: true, host, port: 0, auth: false })).rejects.toMatchObject({
      code: "FORBIDDEN",
    });
  }
});
