// Every route against everybody who has no business there: who has no token, the wrong role or another org, and pages of other sites.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Role, roles } from "../../src/contract/operation.js";
import { operations } from "../../src/contract/registry.js";
import { openDibs } from "../../src/index.js";
import { openApiDocument } from "../../src/surfaces/http/openapi.js";
import {
  allRoutes,
  databaseOf,
  exchangeRoute,
  isPage,
  mcpRoutes,
  mismatches,
  operationRoutes,
  otherPrivateRoutes,
  privateRoutes,
  publicRoutes,
  type Route,
  type Sending,
  type Stage,
  samples,
  sendTo,
  setTheStage,
  Witness,
} from "./security-support.js";
import { on, openWorld, type World } from "./support.js";

const forbidden = { status: 403, error: "FORBIDDEN" };
const unauthenticated = { status: 401, error: "UNAUTHENTICATED" };

test("the matrix has every operation and every documented route", () => {
  expect(Object.keys(samples).sort()).toEqual(operations.map(({ name }) => name).sort());
  const stage: Stage = { worker: "", workerId: "", spareTokenId: "a", notificationId: "a" };
  const known = new Set(
    [...allRoutes(stage), ...mcpRoutes].map(({ method, template }) => `${method} ${template}`),
  );
  const documented = Object.entries(openApiDocument({ version: "" }).paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(documented.filter((route) => !known.has(route))).toEqual([]);
});

test(
  "every operation is accepted from the least role that may, with the inputs of this matrix",
  on("sqlite", async (world) => {
    const stage = await setTheStage(world);
    const tokens: Record<string, string> = { worker: stage.worker };
    for (const role of roles) tokens[role] ??= await world.tokenFor(role);
    const refused: string[] = [];
    for (const route of privateRoutes(stage)) {
      const { status, text } = await sendTo(world, route, { token: tokens[route.role!]! });
      if (status >= 300) refused.push(`${route.name}: ${status} ${text}`);
    }
    expect(refused).toEqual([]);
  }),
);

describe("nothing changes and nothing is shown to", () => {
  let world: World;
  let stage: Stage;
  let witness: Witness;
  let before: string[];

  beforeAll(async () => {
    world = await openWorld("sqlite");
    stage = await setTheStage(world);
    witness = await Witness.of(world);
  });

  afterAll(async () => {
    await witness.close();
    await world.close();
  });

  async function refuses(
    routes: Route[],
    sending: Partial<Sending> | ((route: Route) => Partial<Sending>),
    expected: { status: number; error?: string } = forbidden,
  ): Promise<void> {
    before = await witness.dump();
    const asked = (route: Route) =>
      sendTo(world, route, typeof sending === "function" ? sending(route) : sending);
    expect(await mismatches(routes, asked, () => expected)).toEqual([]);
    expect(await witness.dump()).toEqual(before);
  }

  const tokenWith = async (more: object): Promise<{ token: string; id: string }> =>
    (await world.post("/api/tokens", { role: "admin", ...more })).body;

  test("who has no token", async () => {
    await refuses([...privateRoutes(stage), ...mcpRoutes], { token: null }, unauthenticated);
  });

  test("who made a token up", async () => {
    const [, , id, secret] = world.token.split("~");
    const other = `${secret!.slice(0, -1)}${secret!.endsWith("A") ? "B" : "A"}`;
    for (const token of [
      "garbage",
      `dibs~default~t-nobody~${secret}`,
      `dibs~default~${id}~${other}`,
      `dibs~nowhere~${id}~${secret}`,
    ]) {
      await refuses(privateRoutes(stage), { token }, unauthenticated);
    }
  });

  test("who comes with another kind of authorization, or with the token elsewhere", async () => {
    const basic = `Basic ${Buffer.from(`dibs:${world.token}`).toString("base64")}`;
    for (const authorization of [basic, world.token, `Token ${world.token}`, "Bearer", ""]) {
      await refuses(privateRoutes(stage), { headers: { authorization } }, unauthenticated);
    }
    const inQuery = ({ path }: Route) => ({
      token: null,
      path: `${path}${path.includes("?") ? "&" : "?"}token=${world.token}&access_token=${world.token}`,
    });
    await refuses(privateRoutes(stage), inQuery, unauthenticated);
  });

  test("whose token was revoked, at once", async () => {
    const { token, id } = await tokenWith({ name: "revoked" });
    expect((await world.get("/api/tasks", { token })).status).toBe(200);
    await world.delete(`/api/tokens/${id}`);
    await refuses(privateRoutes(stage), { token }, unauthenticated);
  });

  test("whose token has expired", async () => {
    const { token } = await tokenWith({ name: "short", expiresInMs: 1_000 });
    world.clock.advance(1_000);
    await refuses(privateRoutes(stage), { token }, unauthenticated);
  });

  test.each(["viewer", "worker", "leader"] as const)("a %s who wants more", async (role) => {
    const token = await world.tokenFor(role);
    const needed = roles[roles.indexOf(role) + 1];
    const routes = operationRoutes(stage).filter((route) => route.role === needed);
    expect(routes.length).toBeGreaterThan(0);
    await refuses(routes, { token });
  });

  test("a viewer who calls anything that writes", async () => {
    const token = await world.tokenFor("viewer");
    const writes = operationRoutes(stage).filter(({ method }) => method !== "GET");
    await refuses(writes, { token });
  });

  test("a worker who says force", async () => {
    const token = await world.tokenFor("worker");
    const forced: Route[] = [
      forcing("POST", "/api/tasks/to-release/release", { force: true }),
      forcing("DELETE", "/api/locks/door?force=true"),
      forcing("DELETE", "/api/locks/door?force=1"),
    ];
    await refuses(forced, { token });
  });

  test("who reaches the server under another name", async () => {
    const { port } = world.server;
    const names = ["evil.example", `evil.example:${port}`, "127.0.0.1", `127.0.0.1:${port + 1}`];
    for (const host of [...names, `localhost.:${port}`, `127.0.0.1.nip.io:${port}`, `127.1:${port}`]) {
      await refuses(allRoutes(stage), { headers: { host } });
    }
  });

  test("a page of another origin", async () => {
    const { port } = world.server;
    const elsewhere = ["http://evil.example", "https://evil.example", `http://evil.example:${port}`, "null"];
    const nearby = [`http://127.0.0.1:${port + 1}`, "http://localhost", `http://localhost.:${port}`];
    const odd = [`http://127.0.0.1:${port}@evil.example`, `http://127.0.0.1:${port}/`, "file://", ""];
    for (const origin of [...elsewhere, ...nearby, ...odd]) {
      await refuses(allRoutes(stage), { headers: { origin } });
    }
  });

  test.each(["cross-site", "same-site", "nonsense"])("a %s page that hides its origin", async (site) => {
    for (const mode of ["no-cors", "cors", "navigate", undefined]) {
      const headers = { "sec-fetch-site": site, "sec-fetch-mode": mode };
      const routes =
        mode === "navigate"
          ? [...privateRoutes(stage), ...mcpRoutes, exchangeRoute]
          : [...allRoutes(stage), ...mcpRoutes];
      await refuses(routes, { headers });
    }
  });

  test("but a link from anywhere opens the pages", async () => {
    const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    await refuses(publicRoutes.filter(isPage), { headers, token: null }, { status: 200 });
  });

  test("but public routes need no token, and this server's own pages may call it under each of its names", async () => {
    await refuses(publicRoutes, { token: null }, { status: 200 });
    const reads = [...privateRoutes(stage), ...publicRoutes].filter(({ method }) => method === "GET");
    for (const host of [`127.0.0.1:${world.server.port}`, `LOCALHOST:${world.server.port}`]) {
      const headers = { host, origin: `http://${host}`, "sec-fetch-site": "same-origin" };
      await refuses(reads, { headers }, { status: 200 });
    }
  });

  const forcing = (method: string, path: string, body?: object): Route => ({
    name: `${method} ${path}`,
    method,
    path,
    ...(body ? { body } : {}),
    role: "leader",
    template: path,
  });
});

/** What another org gets where it is not NOT_FOUND: many at once say for each what became of it; leases have no id. */
const notThere: Record<string, RegExp> = {
  "tasks.bulk": /TASK_NOT_FOUND/,
  "landings.open": /STALE_EPOCH/,
  "landings.release": /STALE_EPOCH/,
};

test(
  "a token of another org sees and changes nothing of this one, whatever its role",
  on("sqlite", async (world) => {
    const stage = await setTheStage(world);
    const witness = await Witness.of(world);
    const other = await openDibs({
      path: databaseOf(world),
      org: "other",
      project: "demo",
      clock: () => world.clock.now(),
    });
    try {
      const { token } = await other.tokens.create({ name: "neighbour", role: "admin" });
      await other.tasks.create({ prompt: "of the neighbour" });
      const before = await witness.dump();
      const routes = [...operationRoutes(stage), ...otherPrivateRoutes];
      const isRead = ({ method }: Route) => method === "GET";
      const ofThisOrg = /secret|holder|leaving|beating|"door"|spare|"default"/;
      const enough = /^data:/m;
      const shown: string[] = [];
      const leaked: string[] = [];
      for (const route of routes.filter(isRead)) {
        if (ofThisOrg.test((await sendTo(world, route, { enough })).text)) shown.push(route.name);
        const { status, body, text } = await sendTo(world, route, { token: token!, enough });
        // What it asked for by name may be named in the refusal.
        const told =
          status >= 400
            ? JSON.stringify({ ...body, message: "", detail: "", hint: "", sessionId: "" })
            : text;
        if (ofThisOrg.test(told)) leaked.push(`${route.name}: ${told}`);
      }
      for (const route of routes.filter((each) => !isRead(each))) {
        const { status, text } = await sendTo(world, route, { token: token! });
        const isOfThisOrg = /to-|beating|notifications\/.|tokens\/.|sessions\/./.test(
          route.path + JSON.stringify(route.body ?? {}),
        );
        const expected = notThere[route.name] ?? /NOT_FOUND"/;
        if (isOfThisOrg && !expected.test(text)) leaked.push(`${route.name}: ${status} ${text}`);
      }
      expect(shown.length, "the look for leaks sees something to leak").toBeGreaterThan(12);
      expect(leaked).toEqual([]);
      expect(await witness.dump()).toEqual(before);
    } finally {
      await other.close();
      await witness.close();
    }
  }),
);

test(
  "no worker speaks for the session of another token; a leader may",
  on("sqlite", async (world) => {
    const stage = await setTheStage(world);
    const witness = await Witness.of(world);
    try {
      const routes = spokenFor(stage);
      expect(routes.length).toBeGreaterThan(12);
      const tokens: Partial<Record<Role, string>> = {};
      for (const role of ["worker", "leader"] as const)
        tokens[role] = await world.tokenFor(role, "second" as Role);
      const before = await witness.dump();
      const asSecond = (route: Route) => sendTo(world, route, { token: tokens.worker! });
      expect(await mismatches(routes, asSecond, () => forbidden)).toEqual([]);
      expect(await witness.dump()).toEqual(before);
      const refused: string[] = [];
      for (const route of routes) {
        // A lock belongs to its token too, and is taken from it by force only.
        const path = route.name === "locks.release" ? `${route.path}&force=true` : route.path;
        const { status, text } = await sendTo(world, { ...route, path }, { token: tokens.leader! });
        if (status >= 300) refused.push(`${route.name}: ${text}`);
      }
      expect(refused).toEqual([]);
    } finally {
      await witness.close();
    }
  }),
);

/** Every operation that acts in the name of a session. */
function spokenFor(stage: Stage): Route[] {
  const writes = operationRoutes(stage).filter(({ method }) => method !== "GET");
  const registering = writes.find(({ name }) => name === "sessions.register")!;
  return [
    ...writes.filter(({ path, body }) => /holder|leaving|beating/.test(path + JSON.stringify(body ?? {}))),
    { ...registering, body: { id: "beating", capacity: 1 } },
  ];
}
