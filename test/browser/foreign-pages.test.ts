// A page of somebody else, in the browser of somebody who is signed in, or whose server asks for no token at all. It can neither
// write nor read, from next door, from across the web, or by a name that was made to point here.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exportDibs } from "../../src/index.js";
import type { ServeOptions } from "../../src/serve.js";
import { databaseOf } from "../http/security-support.js";
import { openWorld, type World } from "../http/support.js";
import { launchBrowser } from "./chromium.js";

/** What an attacker's page can do; each attempt ends with what it learned. */
const attacks = `
const body = JSON.stringify({ prompt: "planted" });
const json = { "content-type": "application/json" };
const cors = (path, init) => fetch(target + path, { mode: "cors", credentials: "include", ...init })
  .then(async (answer) => "read " + answer.status + " " + await answer.text(), () => "refused");
const blind = (path, init) => fetch(target + path, { mode: "no-cors", credentials: "include", ...init })
  .then((answer) => answer.type + " " + answer.status, () => "refused");
const loads = (name, set) => new Promise((resolve) => {
  const element = document.createElement(name);
  element.onload = () => resolve("loaded");
  element.onerror = () => resolve("refused");
  set(element);
  document.body.append(element);
});
const lookInto = (frame) => {
  try { return "read " + frame.contentDocument.body.innerHTML; } catch { return "refused"; }
};
/** A frame, once what \`fill\` brings into it has come. */
const frameWith = (fill) => new Promise((resolve) => {
  const frame = document.createElement("iframe");
  frame.name = "f" + Math.random();
  document.body.append(frame);
  frame.onload = () => resolve(lookInto(frame));
  fill(frame);
});
const submit = (enctype, fields, path = "/api/tasks") => frameWith(({ name }) => {
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", action: target + path, enctype, target: name });
  for (const [field, value] of Object.entries(fields)) {
    const input = document.createElement("input");
    Object.assign(input, { type: "hidden", name: field, value });
    form.append(input);
  }
  document.body.append(form);
  form.submit();
});
const xhr = (method, path, text) => new Promise((resolve) => {
  const request = new XMLHttpRequest();
  request.open(method, target + path);
  request.withCredentials = true;
  request.onload = () => resolve("read " + request.status + " " + request.responseText);
  request.onerror = () => resolve("refused");
  request.send(text);
});
const stream = () => new Promise((resolve) => {
  const source = new EventSource(target + "/api/events/stream?project=*&after=0", { withCredentials: true });
  source.onmessage = ({ data }) => resolve("read " + data);
  source.onerror = () => { source.close(); resolve("refused"); };
});
const socket = () => new Promise((resolve) => {
  const made = new WebSocket(target.replace("http", "ws") + "/api/events/stream");
  made.onopen = () => resolve("open");
  made.onerror = () => resolve("refused");
});
window.writing = () => ({
  "JSON": cors("/api/tasks", { method: "POST", headers: json, body }),
  "JSON without asking": blind("/api/tasks", { method: "POST", headers: json, body }),
  "text": cors("/api/tasks", { method: "POST", body }),
  "text without reading": blind("/api/tasks", { method: "POST", body }),
  "DELETE": cors("/api/sessions/victim", { method: "DELETE" }),
  "PATCH": cors("/api/tasks/0001", { method: "PATCH", headers: json, body: '{"title":"planted"}' }),
  "XHR": xhr("POST", "/api/tasks", body),
  "a form of text": submit("text/plain", { '{"prompt":"planted","metadata":{"a':'"}}' }),
  "a form": submit("application/x-www-form-urlencoded", { prompt: "planted" }),
  "a form with files": submit("multipart/form-data", { prompt: "planted" }),
  "a form without fields": submit("text/plain", {}, "/api/projects/demo/pause"),
  "a beacon": Promise.resolve(navigator.sendBeacon(target + "/api/tasks", body) && "sent"),
  "a beacon of JSON": Promise.resolve(navigator.sendBeacon(target + "/api/tasks", new Blob([body], { type: "application/json" })) && "sent"),
  "a beacon of nothing": Promise.resolve(navigator.sendBeacon(target + "/api/projects/demo/pause") && "sent"),
});
window.reading = () => ({
  "fetch": cors("/api/tasks"),
  "fetch without asking": blind("/api/tasks"),
  "metrics": cors("/metrics"),
  "the document": cors("/openapi.json"),
  "the page": cors("/"),
  "XHR": xhr("GET", "/api/tasks"),
  "a stream": stream(),
  "a socket": socket(),
  "a script": loads("script", (script) => { script.src = target + "/api/tasks"; }),
  "our script": loads("script", (script) => { script.type = "module"; script.src = target + "/start.js"; }),
  "an image": loads("img", (image) => { image.src = target + "/api/tasks"; }),
  "a style sheet": loads("link", (link) => { Object.assign(link, { rel: "stylesheet", href: target + "/start.css" }); }),
  "a frame of the page": frameWith((frame) => { frame.src = target + "/"; }),
  "a frame of the API": frameWith((frame) => { frame.src = target + "/api/tasks"; }),
});
window.run = async (all) => Object.fromEntries(await Promise.all(
  Object.entries(all()).map(async ([name, learned]) => [name, await learned])));
`;

const page = (target: string) =>
  `<!doctype html><title>Free kittens</title><body><script>const target = ${JSON.stringify(target)};${attacks}</script>`;

let browser: Browser;
let elsewhere: Server;
const rebound = "evil.example";

beforeAll(async () => {
  browser = await launchBrowser([`--host-resolver-rules=MAP ${rebound} 127.0.0.1`]);
  elsewhere = await serve((url) => page(url.searchParams.get("target")!));
});

afterAll(async () => {
  await browser?.close();
  await stop(elsewhere);
});

async function serve(pageAt: (url: URL) => string, port = 0): Promise<Server> {
  const server = createServer((request, answer) => {
    answer.setHeader("content-type", "text/html").end(pageAt(new URL(request.url!, "http://localhost")));
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return server;
}

function stop(server: Server): Promise<unknown> {
  const stopped = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  return stopped;
}

interface Victim {
  world: World;
  context: BrowserContext;
  /** Their own page, signed in where there is something to sign in to. */
  own: Page;
}

async function withVictim(options: ServeOptions, story: (victim: Victim) => Promise<void>): Promise<void> {
  const world = await openWorld("sqlite", options);
  const context = await browser.newContext();
  try {
    await world.session("victim");
    await world.task({ prompt: "secret prompt" });
    const own = await context.newPage();
    await own.goto(world.server.link());
    await own.locator(".live[data-state=live]").waitFor();
    await story({ world, context, own });
  } finally {
    await context.close();
    await world.close();
  }
}

async function dumpOf(world: World): Promise<string[]> {
  const lines: string[] = [];
  const path = world.server.tokenFile === null ? pathInLog(world) : databaseOf(world);
  for await (const line of exportDibs({ path, clock: () => world.clock.now() })) lines.push(line);
  return lines;
}

const pathInLog = (world: World) => (JSON.parse(world.logged[0]!) as { store: string }).store;

const refusals = (world: World, status: number) =>
  world.logged.filter((line) => (JSON.parse(line) as { status?: number }).status === status).length;

/** Runs what the page can do and returns what it learned, by attempt. */
const learned = (attacker: Page, what: "writing" | "reading") =>
  attacker.evaluate(`run(${what})`) as Promise<Record<string, string>>;

const servers: [string, ServeOptions][] = [
  ["a server that knows its visitors", {}],
  ["a server without auth", { auth: false }],
];

describe.each(servers)("%s", (_, options) => {
  const origins: [string, (port: number) => string][] = [
    ["another port of this machine", (port) => `http://127.0.0.1:${port}`],
    ["another name of this machine", (port) => `http://localhost:${port}`],
    ["another site", (port) => `http://${rebound}:${port}`],
  ];

  test.each(origins)("is neither written nor read by a page of %s", async (__, originOf) => {
    await withVictim(options, async ({ world, context, own }) => {
      const before = await dumpOf(world);
      const attacker = await context.newPage();
      const { port } = elsewhere.address() as AddressInfo;
      await attacker.goto(`${originOf(port)}/?target=${encodeURIComponent(world.url)}`);

      const written = await learned(attacker, "writing");
      const read = await learned(attacker, "reading");
      for (const [how, outcome] of [...Object.entries(written), ...Object.entries(read)]) {
        expect(["refused", "sent", "opaque 0"], `${how}: ${outcome}`).toContain(outcome);
      }
      expect(Object.values(read).filter((outcome) => outcome !== "refused")).toEqual([]);
      // All of it did arrive at the server.
      expect(refusals(world, 403)).toBeGreaterThan(12);
      expect(await dumpOf(world)).toEqual(before);

      // And the visitor's own page goes on.
      const body = JSON.stringify({ prompt: "my own" });
      const post = `fetch("/api/tasks", { method: "POST", headers: { "content-type": "application/json" }, body: ${JSON.stringify(body)} })`;
      expect(await own.evaluate(`${post}.then(({ status }) => status)`)).toBe(201);
    });
  });

  test("is not reached by a name that was made to point here", async () => {
    await withVictim(options, async ({ world, context }) => {
      const before = await dumpOf(world);
      const disguise = `http://${rebound}:${world.server.port}`;
      const attacker = await context.newPage();
      const { status, body } = await attacker.goto(`${disguise}/`).then(async (answer) => ({
        status: answer!.status(),
        body: await answer!.text(),
      }));
      expect(status).toBe(403);
      expect(body).not.toContain("secret");
      // The name points to the attacker's own server while the page is loaded, and here from then on: one origin for the browser.
      await world.server.close();
      const trap = await serve(() => page(disguise), world.server.port);
      await attacker.goto(`${disguise}/`);
      await stop(trap);
      await world.start();
      for (const what of ["writing", "reading"] as const) {
        for (const [how, outcome] of Object.entries(await learned(attacker, what))) {
          expect(outcome, how).not.toContain("secret");
          expect(outcome, how).not.toMatch(/read 2|open|loaded/);
        }
      }
      expect(await attacker.evaluate(`cors("/api/tasks")`)).toMatch(/^read 403/);
      expect(await dumpOf(world)).toEqual(before);
    });
  });

  test("is opened by a link on another page, which learns nothing of what opens", async () => {
    await withVictim(options, async ({ world, context }) => {
      const attacker = await context.newPage();
      const { port } = elsewhere.address() as AddressInfo;
      await attacker.goto(`http://localhost:${port}/?target=${encodeURIComponent(world.url)}`);
      const opening = context.waitForEvent("page");
      await attacker.evaluate(`void (window.opened = window.open(${JSON.stringify(`${world.url}/`)}))`);
      const opened = await opening;
      await opened.locator(".live[data-state=live]").waitFor();
      expect(await opened.evaluate("window.opener === null")).toBe(true);
      const peek = `(() => { try { return opened.document.body.innerText; } catch { return "refused"; } })()`;
      expect(await attacker.evaluate(`opened.closed ? "refused" : ${peek}`)).toBe("refused");
    });
  });
});
