// What every answer says to a browser, success or refusal, page or API: never a word of CORS.

import type { IncomingHttpHeaders } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  allRoutes,
  isPage,
  type Route,
  type Sending,
  type Stage,
  sendTo,
  setTheStage,
  takesBody,
} from "./security-support.js";
import { openWorld, type World } from "./support.js";

let world: World;
let stage: Stage;
let viewer: string;

beforeAll(async () => {
  world = await openWorld("sqlite", { limits: { bodyMs: 2_000 } });
  stage = await setTheStage(world);
  viewer = await world.tokenFor("viewer");
});

afterAll(() => world.close());

const always: Record<string, string> = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

function problems(name: string, status: number, headers: IncomingHttpHeaders, isOfPage: boolean): string[] {
  const wrong = Object.entries(always)
    .filter(([header, value]) => headers[header] !== value)
    .map(([header]) => `${header}: ${headers[header]}`);
  const policy = String(headers["content-security-policy"]);
  if (!policy.includes("default-src 'none'") || !policy.includes("frame-ancestors 'none'"))
    wrong.push(policy);
  if (/unsafe|\*|https?:/.test(policy)) wrong.push(policy);
  if (isOfPage && !/script-src 'self';.*base-uri 'none'; form-action 'none'/.test(policy)) wrong.push(policy);
  const caching = String(headers["cache-control"]);
  if (!(isOfPage ? /^no-cache$/ : /^no-store\b/).test(caching)) wrong.push(`cache-control: ${caching}`);
  if (!/^[0-9a-f-]{36}$/.test(String(headers["dibs-request-id"]))) wrong.push("no request id");
  const shared = Object.keys(headers).filter((header) => /^access-control-|^timing-allow/.test(header));
  const told = Object.keys(headers).filter((header) => /^(server|x-powered-by|vary)$/.test(header));
  // Pages are sent packed to who can unpack them.
  if (isOfPage && headers.vary === "accept-encoding") told.splice(told.indexOf("vary"), 1);
  return [...wrong, ...shared, ...told].map((each) => `${name} ${status}: ${each}`);
}

async function look(routes: Route[], sending: Partial<Sending>, isStatus: (status: number) => boolean) {
  const wrong: string[] = [];
  for (const route of routes) {
    const { status, headers } = await sendTo(world, route, sending);
    if (!isStatus(status)) wrong.push(`${route.name} answered ${status}`);
    wrong.push(...problems(route.name, status, headers, isPage(route) && status < 300));
  }
  expect(wrong).toEqual([]);
}

test("every answer of every route carries them", async () => {
  const reads = allRoutes(stage).filter(({ method }) => method === "GET");
  await look(reads, {}, (status) => status === 200);
});

test("also when it is asked for its head only", async () => {
  const reads = allRoutes(stage).filter(({ method }) => method === "GET");
  await look(reads, { method: "HEAD" }, (status) => status === 200);
});

test("every refusal carries them", async () => {
  const everything = allRoutes(stage);
  const restricted = everything.filter(({ role }) => role !== null);
  const bodies = everything.filter(takesBody);
  const writes = restricted.filter(({ role, method }) => method !== "GET" && role !== "viewer");
  await look(restricted, { token: null }, (status) => status === 401);
  await look(writes, { token: viewer }, (status) => status === 403);
  await look(everything, { headers: { host: "evil.example" } }, (status) => status === 403);
  await look(everything, { headers: { origin: "http://evil.example" } }, (status) => status === 403);
  await look(bodies, { headers: { "content-type": "text/plain" } }, (status) => status === 415);
  await look(bodies, { body: "{" }, (status) => status === 400);
  const announced = { "content-type": "application/json", "content-length": "17000000" };
  await look(bodies, { headers: announced, body: "" }, (status) => status === 413);
  const [slow] = bodies;
  const unfinished = { "content-type": "application/json", "content-length": "100" };
  await look([slow!], { headers: unfinished, body: "{" }, (status) => status === 408);
});

test("what is not there carries them", async () => {
  const nowhere = [
    "GET /api",
    "GET /api/nothing",
    "POST /api/tasks/x",
    "PUT /api/tasks",
    "POST /",
    "TRACE /api/tasks",
  ];
  for (const each of nowhere) {
    const [method, path] = each.split(" ") as [string, string];
    const route = { name: each, method, path, role: null, template: path };
    await look([route], {}, (status) => status === 404);
  }
});

test("a browser that asks whether another origin may call is told no, without a word of CORS", async () => {
  const asked = {
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type",
    "access-control-request-private-network": "true",
  };
  const origins = ["http://evil.example", "null", `http://127.0.0.1:${world.server.port + 1}`];
  for (const origin of origins) {
    const sending = { method: "OPTIONS", token: null, body: "", headers: { ...asked, origin } };
    await look(allRoutes(stage), sending, (status) => status === 403);
  }
  // Not even our own page is promised anything: it need not ask.
  const ours = { method: "OPTIONS", token: null, body: "", headers: { ...asked, origin: world.url } };
  await look(allRoutes(stage), ours, (status) => status === 401 || status === 404);
});
