// What must not lie around: tokens, and what people and agents wrote, in the log; secrets in files.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, test } from "vitest";
import { digest } from "../../src/runtime/ids.js";
import { until } from "../support.js";
import { databaseOf, type Sending, send } from "./security-support.js";
import { on, type World } from "./support.js";

const secretOf = (token: string) => token.split("~")[3]!;

/** Every text field there is, each with a word of its own. */
const words = {
  prompt: "zebra-prompt",
  title: "zebra-title",
  label: "zebra-label",
  file: "zebra/file.ts",
  metadata: "zebra-metadata",
  note: "zebra-note",
  question: "zebra-question",
  answer: "zebra-answer",
  result: "zebra-result",
  error: "zebra-error",
  reason: "zebra-reason",
  log: "zebra-log",
  key: "zebra-key",
  query: "zebra-query",
};

async function tellAStory(world: World, token: string): Promise<string[]> {
  const ids: string[] = [];
  const ask = async (method: string, path: string, body?: object, more: Partial<Sending> = {}) => {
    const answer = await send(world, { method, path, token, ...(body ? { body } : {}), ...more });
    ids.push(String(answer.headers["dibs-request-id"]));
    return answer;
  };
  const { prompt, title, label, file, metadata, note, question, answer, result, error, reason } = words;
  await ask("POST", "/api/sessions", { id: "zebra-session", name: "zebra-name", capacity: 5 });
  const task = { prompt, title, labels: [label], files: [file], metadata: { metadata } };
  await ask("POST", "/api/tasks", { id: "zebra-1", ...task }, { headers: { "idempotency-key": words.key } });
  await ask("POST", "/api/tasks", { id: "zebra-2", ...task });
  const by = { sessionId: "zebra-session" };
  for (const id of ["zebra-1", "zebra-2"])
    await ask("POST", `/api/tasks/${id}/claim`, { ...by, start: true });
  await ask("POST", "/api/tasks/zebra-1/progress", { ...by, note });
  await ask("POST", "/api/tasks/zebra-1/log", { ...by, text: words.log });
  await ask("POST", "/api/tasks/zebra-1/ask", { ...by, question, options: [answer], default: answer });
  await ask("POST", "/api/tasks/zebra-1/respond", { response: answer });
  await ask("POST", "/api/tasks/zebra-1/complete", { ...by, result });
  await ask("POST", "/api/tasks/zebra-2/fail", { ...by, error, retryable: false });
  await ask("POST", "/api/tasks/zebra-2/cancel", { reason });
  // Refusals, defects of the caller, and places that do not exist.
  await ask("POST", "/api/tasks", { prompt, priority: "zebra-priority", [words.query]: 1 });
  await ask("POST", "/api/tasks", undefined, {
    body: `{"prompt": "${prompt}`,
    headers: { "content-type": "application/json" },
  });
  await ask("POST", "/api/tasks", { prompt }, { headers: { "idempotency-key": words.key } });
  await ask("POST", "/api/tasks", { prompt }, { headers: { "content-type": "text/zebra" } });
  await ask("GET", `/api/tasks?q=${words.query}&token=${token}`);
  await ask("GET", `/api/${words.query}`);
  await ask("GET", `/${words.query}?token=${token}`);
  await ask("GET", `/api/tasks/${words.query}`, undefined, { headers: { "dibs-project": "zebra-project" } });
  await ask("GET", "/api/tasks", undefined, { token: `${token.slice(0, -1)}~` });
  await ask("GET", "/api/tasks", undefined, {
    token: null,
    headers: { cookie: `dibs_${world.server.port}=${token}` },
  });
  await ask("GET", "/api/tasks", undefined, { headers: { origin: `http://${words.query}.example` } });
  await ask("GET", "/api/events/stream?after=0");
  return ids;
}

const linesOf = (world: World) => world.logged.map((line) => JSON.parse(line) as Record<string, unknown>);

test(
  "the log has every request by its id and route, and no token, no address and nothing that anybody wrote",
  on(
    "sqlite",
    async (world) => {
      const code = new URL(world.server.link()).hash.slice("#code=".length);
      const exchanged = { method: "POST", path: "/api/auth/exchange", token: null, body: { code } };
      const cookie = String((await send(world, exchanged)).headers["set-cookie"]);
      const made = { method: "POST", path: "/api/tokens", body: { name: "zebra-token", role: "admin" } };
      const { token } = (await send(world, made)).body;
      const ids = await tellAStory(world, token);
      expect(new Set(ids).size).toBe(ids.length);
      const logged = () => linesOf(world).flatMap(({ requestId }) => (requestId ? [requestId] : []));
      await until("all are logged", () => ids.every((id) => logged().includes(id)));
      expect(new Set(logged()).size).toBe(logged().length);
      const log = world.logged.join("");
      const secrets = [world.token, token, /=([^;]+)/.exec(cookie)![1]!].map(secretOf);
      for (const secret of [...secrets, code]) expect(log).not.toContain(secret);
      expect(log).not.toMatch(/zebra/i);
      const routes = linesOf(world).flatMap(({ route }) => (route ? [String(route)] : []));
      expect(routes.filter((route) => !/^\/|^unknown$/.test(route) || /[?]/.test(route))).toEqual([]);
    },
    { logLevel: "trace" },
  ),
);

test(
  "a refusal in the log has the id that its caller was given, its code and who it was",
  on("sqlite", async (world) => {
    const { token, id } = (await world.post("/api/tokens", { name: "one", role: "viewer" })).body;
    const refused = await send(world, { method: "POST", path: "/api/tasks", token, body: { prompt: "x" } });
    const requestId = refused.headers["dibs-request-id"];
    const line = () => linesOf(world).find((each) => each.requestId === requestId);
    await until("it is logged", () => line() !== undefined);
    const expected = {
      method: "POST",
      route: "/api/tasks",
      status: 403,
      org: "default",
      token: id,
      error: "FORBIDDEN",
    };
    expect(line()).toMatchObject(expected);
  }),
);

test(
  "tokens are hashed at rest: no file beside the database has a secret but the token file, which is its owner's alone",
  on("sqlite", async (world) => {
    const code = new URL(world.server.link()).hash.slice("#code=".length);
    const exchanged = { method: "POST", path: "/api/auth/exchange", token: null, body: { code } };
    const cookie = /=([^;]+)/.exec(String((await send(world, exchanged)).headers["set-cookie"]))![1]!;
    const once = { headers: { "idempotency-key": "once" } };
    const { token: made } = (await world.post("/api/tokens", { role: "worker" }, once)).body;
    const again = await world.post("/api/tokens", { role: "worker" }, once);
    expect(again.body.token).toBeNull();
    const database = databaseOf(world);
    const files = readdirSync(dirname(database)).filter((name) => name.startsWith(basename(database)));
    expect(files).toContain("dibs.db-wal");
    const bytesOf = (name: string) => readFileSync(join(dirname(database), name)).toString("latin1");
    const stored = files.map(bytesOf).join("");
    for (const token of [world.token, made, cookie]) {
      const holders = files.filter((name) => bytesOf(name).includes(secretOf(token)));
      expect(holders).toEqual(token === world.token ? ["dibs.db.token"] : []);
      expect(stored, "the look into the files sees the hash").toContain(digest(secretOf(token)));
    }
    expect(stored).not.toContain(code);
    expect(statSync(world.server.tokenFile!).mode & 0o777).toBe(0o600);
    expect(readFileSync(world.server.tokenFile!, "utf8").trim()).toBe(world.token);
  }),
);

test(
  "no answer shows a token or its hash again",
  on("sqlite", async (world) => {
    const { token } = (await world.post("/api/tokens", { name: "shown once", role: "worker" })).body;
    await world.post("/api/sessions", { id: "mine" }, { token });
    for (const path of [
      "/api/tokens",
      "/api/sessions/mine",
      "/api/events?project=*",
      "/metrics",
      "/openapi.json",
    ]) {
      const { text } = await send(world, { method: "GET", path });
      for (const each of [token, world.token]) {
        expect(text).not.toContain(secretOf(each));
        expect(text).not.toContain(digest(secretOf(each)));
      }
    }
  }),
);
