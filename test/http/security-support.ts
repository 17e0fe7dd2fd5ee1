// What the security tests share: every route with an input that would be accepted, a client that can send anything, and a dump of
// the store by which "nothing changed" is judged.

import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import type { Role } from "../../src/contract/operation.js";
import { operations } from "../../src/contract/registry.js";
import { type Dibs, exportDibs, openDibs } from "../../src/index.js";
import { expectConforms } from "./conforms.js";
import type { World } from "./support.js";

export const databaseOf = (world: World) => world.server.tokenFile!.replace(/\.token$/, "");

/** A store that has what every operation needs to be accepted: each has a task, session or token of its own to act on. */
export interface Stage {
  worker: string;
  /** The id of the worker's token. */
  workerId: string;
  spareTokenId: string;
  notificationId: string;
}

/** Held by session `holder`, which belongs to the worker's token. */
const held = ["start", "heartbeat", "progress", "ask", "respond", "complete", "fail", "release"];
const queued = ["claim", "next", "cancel", "cancel-many", "retry", "update", "read"];

export async function setTheStage(world: World): Promise<Stage> {
  const made = (await world.post("/api/tokens", { name: "worker", role: "worker" })).body;
  const spare = (await world.post("/api/tokens", { name: "spare", role: "viewer" })).body;
  const asWorker = { token: made.token as string };
  for (const id of ["holder", "leaving", "beating"]) {
    await world.post("/api/sessions", { id, capacity: 100 }, asWorker);
  }
  await world.post(
    "/api/tasks/batch",
    { tasks: [...held, ...queued].map((word) => ({ id: `to-${word}`, prompt: `secret prompt ${word}` })) },
    asWorker,
  );
  for (const word of held) {
    await world.post(`/api/tasks/to-${word}/claim`, { sessionId: "holder" }, asWorker);
  }
  await world.post("/api/tasks/to-respond/ask", { sessionId: "holder", question: "secret?" }, asWorker);
  await world.post("/api/tasks/to-retry/cancel");
  for (const word of ["submit", ...landings]) await setForLanding(world, word, asWorker);
  await world.post("/api/locks", { name: "door", sessionId: "holder" }, asWorker);
  for (const id of ["window-hold", "window-remove"]) await world.ask("PUT", `/api/resources/${id}`, {});
  await world.post("/api/sessions", { id: "tenant", uses: { "window-hold": 1 } }, asWorker);
  const { notifications } = (await world.get("/api/notifications")).body;
  return {
    worker: made.token,
    workerId: made.id,
    spareTokenId: spare.id,
    notificationId: notifications[0].id,
  };
}

/** Each in a project and on a branch of its own: only one landing of a branch is open. */
const landings = [
  "withdraw",
  "approve",
  "reject",
  "lease",
  "release",
  "open",
  "intent",
  "checks",
  "landed",
  "dropped",
  "returned",
  "held",
  "diff",
  "patch",
];
const repository = "a".repeat(40);
const commit = "c".repeat(40);
const landingTasks = (word: string) => [{ taskId: `to-${word}`, submission: 1, commit }];
const lander = (word: string) => ({ repository, target: word });
const landingId = (word: string) => `L${landings.indexOf(word) - landings.indexOf("intent") + 1}`;

async function setForLanding(world: World, word: string, asWorker: { token: string }): Promise<void> {
  const project = `?project=to-${word}`;
  await world.post("/api/projects", { id: `to-${word}`, settings: { land: lander(word) } });
  await world.post(`/api/sessions${project}`, { id: "holder", capacity: 100 }, asWorker);
  await world.post(`/api/tasks${project}`, { id: `to-${word}`, prompt: `secret prompt ${word}` }, asWorker);
  await world.post(`/api/tasks/to-${word}/claim${project}`, { sessionId: "holder" }, asWorker);
  if (word === "submit") return;
  await world.post(`/api/tasks/to-${word}/submit${project}`, { sessionId: "holder", commit }, asWorker);
  if (["withdraw", "approve", "reject", "lease"].includes(word)) return;
  const lease = { ...lander(word), holder: "lander", ttlMs: 600_000 };
  await world.post(`/api/landings/lease${project}`, lease);
  if (word === "release" || word === "open") return;
  const isIntended = word === "landed" || word === "dropped";
  const landing = { ...lander(word), epoch: 1, tasks: landingTasks(word), ...(isIntended ? { commit } : {}) };
  const { status, body } = await world.post(`/api/landings${project}`, landing);
  if (status !== 201 || body.landing.id !== landingId(word)) throw new Error(JSON.stringify(body));
  if (word === "patch") await world.post(`/api/landings/${landingId(word)}/diff${project}`, diffOf(word));
}

const none = { files: [], fileCount: 0, insertions: 0, deletions: 0, reviewPaths: [], patchId: null };
const diffOf = (word: string) => ({
  epoch: 1,
  taskId: `to-${word}`,
  submission: 1,
  diff: { base: commit, ...none },
  patch: { text: "secret patch", omitted: 0 },
});

const inLanding = (word: string, body: object = {}): Sample => ({
  at: { id: landingId(word), taskId: `to-${word}` },
  query: `project=to-${word}`,
  body,
});
const onLanding = (word: string, body: object = {}) => inLanding(word, { epoch: 1, ...body });

interface Sample {
  /** Values of the path's placeholders. */
  at?: Record<string, string>;
  query?: string;
  body?: object;
}

const onTask = (word: string, body: object = {}): Sample => ({ at: { taskId: `to-${word}` }, body });
const byHolder = (word: string, body: object = {}) => onTask(word, { sessionId: "holder", ...body });
const readTask: Sample = { at: { taskId: "to-read" } };

/** One line per operation: who adds an operation says here how it is called. */
export const samples: Record<string, (stage: Stage) => Sample> = {
  "tasks.create": () => ({ body: { prompt: "more" } }),
  "tasks.batch": () => ({ body: { tasks: [{ prompt: "more" }] } }),
  "tasks.bulk": () => ({ body: { action: "cancel", taskIds: ["to-cancel-many"] } }),
  "tasks.get": () => readTask,
  "tasks.list": () => ({ query: "project=*" }),
  "tasks.update": () => onTask("update", { title: "changed" }),
  "tasks.claim": () => byHolder("claim"),
  "tasks.claimNext": () => ({ body: { sessionId: "beating" } }),
  "tasks.start": () => byHolder("start"),
  "tasks.heartbeat": () => byHolder("heartbeat"),
  "tasks.progress": () => byHolder("progress", { note: "half" }),
  "tasks.ask": () => byHolder("ask", { question: "which?" }),
  "tasks.respond": () => onTask("respond", { response: "this" }),
  "tasks.complete": () => byHolder("complete", { result: "done" }),
  "tasks.submit": () => inLanding("submit", { sessionId: "holder", commit }),
  "tasks.submission": () => ({ at: { taskId: "to-checks" }, query: "project=to-checks" }),
  "tasks.withdraw": () => inLanding("withdraw"),
  "tasks.approve": () => inLanding("approve", { submission: 1 }),
  "tasks.requestChanges": () => inLanding("reject", { submission: 1, reason: "more" }),
  "tasks.patch": () => ({ at: { taskId: "to-patch" }, query: "project=to-patch" }),
  "landings.diff": () => inLanding("diff", diffOf("diff")),
  "landings.list": () => ({}),
  "landings.lease": () => inLanding("lease", { ...lander("lease"), holder: "lander" }),
  "landings.release": () => onLanding("release", lander("release")),
  "landings.open": () => onLanding("open", { ...lander("open"), tasks: landingTasks("open") }),
  "landings.intent": () => onLanding("intent", { commit, tasks: landingTasks("intent") }),
  "landings.checks": () => onLanding("checks", { tasks: landingTasks("checks"), checks: [] }),
  "landings.landed": () => onLanding("landed"),
  "landings.dropped": () => onLanding("dropped"),
  "landings.returned": () =>
    onLanding("returned", { taskId: "to-returned", submission: 1, reason: "conflict" }),
  "landings.held": () => onLanding("held", { holds: [] }),
  "tasks.fail": () => byHolder("fail", { error: "broken" }),
  "tasks.release": () => byHolder("release"),
  "tasks.cancel": () => onTask("cancel"),
  "tasks.retry": () => onTask("retry"),
  "tasks.explain": () => readTask,
  "tasks.blockedBy": () => readTask,
  "tasks.claimable": () => ({}),
  "tasks.inFlight": () => ({ query: "project=*" }),
  "tasks.attempts": () => readTask,
  "tasks.events": () => readTask,
  "tasks.graph": () => ({}),
  "tasks.rows": () => ({}),
  "tasks.log": () => readTask,
  "tasks.appendLog": () => byHolder("heartbeat", { epoch: 1, text: "said" }),
  "calls.many": () => ({ body: { calls: [{ operation: "tasks.create", input: { prompt: "more" } }] } }),
  "claims.cleanup": () => ({ body: {} }),
  "claims.stats": () => ({}),
  "sessions.register": () => ({ body: { id: "another" } }),
  "sessions.get": () => ({ at: { sessionId: "holder" } }),
  "sessions.list": () => ({ query: "project=*" }),
  "sessions.summary": () => ({ query: "project=*" }),
  "sessions.heartbeat": () => ({ at: { sessionId: "beating" }, body: { score: 1 } }),
  "sessions.end": () => ({ at: { sessionId: "leaving" } }),
  "sessions.currentTask": () => ({ at: { sessionId: "holder" } }),
  "events.list": () => ({ query: "project=*&after=0" }),
  "notifications.list": () => ({ query: "project=*" }),
  "notifications.read": ({ notificationId }) => ({ at: { id: notificationId }, body: {} }),
  "notifications.inbox": () => ({ query: "project=*" }),
  "projects.create": () => ({ body: { id: "second" } }),
  "projects.get": () => ({ at: { id: "demo" } }),
  "projects.list": () => ({}),
  "projects.update": () => ({ at: { id: "demo" }, body: { settings: { maxRetries: 1 } } }),
  "projects.pause": () => ({ at: { id: "demo" }, body: {} }),
  "projects.resume": () => ({ at: { id: "demo" }, body: {} }),
  "tasks.usage": () => byHolder("heartbeat", { usd: 1 }),
  "tasks.conflicts": () => ({}),
  "resources.set": () => ({ at: { id: "window-set" }, body: { capacity: 2 } }),
  "resources.list": () => ({}),
  "resources.hold": () => ({ at: { id: "window-hold" }, body: { sessionId: "tenant", forMs: 60_000 } }),
  "resources.resume": () => ({ at: { id: "window-hold" }, body: {} }),
  "resources.remove": () => ({ at: { id: "window-remove" } }),
  "locks.acquire": () => ({ body: { name: "window", sessionId: "holder" } }),
  "locks.get": () => ({ at: { name: "door" } }),
  "locks.list": () => ({}),
  "locks.release": () => ({ at: { name: "door" }, query: "sessionId=holder" }),
  "tokens.create": () => ({ body: { name: "more", role: "admin" } }),
  "tokens.list": () => ({}),
  "tokens.revoke": ({ spareTokenId }) => ({ at: { id: spareTokenId } }),
  "stats.get": () => ({ query: "project=*" }),
  "metrics.history": () => ({ query: "project=*" }),
  "ids.next": () => ({ body: {} }),
};

export interface Route {
  name: string;
  method: string;
  /** With ids in it. */
  path: string;
  body?: object;
  /** The least role that may; null: everybody, also without a token. */
  role: Role | null;
  /** The document's path. */
  template: string;
}

export function operationRoutes(stage: Stage): Route[] {
  return operations.map(({ name, role, leaderWithout, http: { method, path } }) => {
    const { at = {}, query, body } = samples[name]?.(stage) ?? {};
    const speaksAsPerson = leaderWithout !== undefined && !(leaderWithout in (body ?? {}));
    const filled = path.replace(/:(\w+)/g, (_, word: string) => at[word] ?? "unknown");
    return {
      name,
      method,
      path: query ? `${filled}?${query}` : filled,
      ...(body ? { body } : {}),
      role: speaksAsPerson ? "leader" : role,
      template: path.replace(/:(\w+)/g, "{$1}"),
    };
  });
}

const extra = (method: string, template: string, role: Role | null, body?: object): Route => ({
  name: `${method} ${template}`,
  method,
  path: template,
  ...(body ? { body } : {}),
  role,
  template,
});

export const otherPrivateRoutes: Route[] = [
  { ...extra("GET", "/api/events/stream", "viewer"), path: "/api/events/stream?project=*&after=0" },
  extra("GET", "/metrics", "viewer"),
  extra("GET", "/api/auth/me", "viewer"),
  extra("POST", "/api/auth/code", "viewer", {}),
  extra("POST", "/api/auth/sign-out", "viewer", {}),
  { ...extra("POST", "/api/locks/{name}", "worker", {}), path: "/api/locks/another" },
];

/** The protocol answers for itself who may what; who gets in at all is judged as everywhere. */
export const mcpRoutes: Route[] = [
  extra("POST", "/mcp", "viewer", { jsonrpc: "2.0", id: 1, method: "tools/list" }),
  extra("GET", "/mcp", "viewer"),
  extra("DELETE", "/mcp", "viewer"),
];

export const publicRoutes: Route[] = [
  ...["/", "/tasks/to-read", "/index.html", "/icon.svg", "/reference", "/reference.css"],
  ...["/openapi.json", "/healthz", "/readyz"],
].map((path) => extra("GET", path, null));

export const exchangeRoute = extra("POST", "/api/auth/exchange", null, { code: "nobody-made-this-one" });

export const privateRoutes = (stage: Stage) => [...operationRoutes(stage), ...otherPrivateRoutes];
export const allRoutes = (stage: Stage) => [...privateRoutes(stage), ...publicRoutes, exchangeRoute];
export const takesBody = ({ method }: Pick<Route, "method">) => ["POST", "PUT", "PATCH"].includes(method);
export const isPage = ({ path, role }: Route) =>
  role === null && /^\/(?!api|metrics|openapi|healthz|readyz)/.test(path);

export interface Sent {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers; their shape is checked against the contract.
  body: any;
}

export interface Sending {
  method: string;
  path: string;
  /** null: none; absent: the admin's. */
  token?: string | null;
  /** Any, also Host; undefined: leave that one away. */
  headers?: Record<string, string | string[] | undefined>;
  body?: object | string | Buffer;
  /** A stream is left when it has said this; absent: anything. */
  enough?: RegExp;
}

/** Past fetch, which has opinions. */
export function send(
  world: World,
  { method, path, token, headers = {}, body, enough = /./ }: Sending,
): Promise<Sent> {
  const bearer = token === undefined ? world.server.token : token;
  const content = typeof body === "string" || Buffer.isBuffer(body) ? body : body && JSON.stringify(body);
  const all: Record<string, string | string[] | undefined> = {
    ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
    ...(content === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(content)) }),
    ...headers,
  };
  for (const [name, value] of Object.entries(all)) if (value === undefined) delete all[name];
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(world.url);
    const options = { hostname, port, path, method, headers: all as Record<string, string>, agent: false };
    const request = httpRequest(options, (answer) => {
      const chunks: Buffer[] = [];
      const done = () => {
        const text = Buffer.concat(chunks).toString();
        const contentType = answer.headers["content-type"] ?? "";
        const parsed = /json/.test(contentType) && text !== "" ? JSON.parse(text) : text;
        const status = answer.statusCode!;
        try {
          if (method !== "HEAD") expectConforms({ method, path, status, contentType, body: parsed });
          resolve({ status, headers: answer.headers, text, body: parsed });
        } catch (error) {
          reject(error);
        }
        request.destroy();
      };
      const isStream = /event-stream/.test(answer.headers["content-type"] ?? "");
      answer.on("data", (chunk) => {
        chunks.push(chunk);
        if (isStream && enough.test(Buffer.concat(chunks).toString())) done();
      });
      answer.on("error", reject);
      answer.on("end", done);
    });
    request.on("error", reject);
    request.end(content);
  });
}

export const sendTo = (world: World, { method, path, body }: Route, more: Partial<Sending> = {}) =>
  send(world, { method, path, ...(body ? { body } : {}), ...more });

/** Exactly these bytes; what comes back until the other side closes. */
export function talk(world: World, ...words: (string | Buffer)[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(world.server.port, "127.0.0.1");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
    for (const word of words) socket.write(word);
  });
}

export const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);

/** The store from beside the server, as another process would see it. */
export class Witness {
  private constructor(
    readonly path: string,
    private readonly org: string,
    private readonly clock: () => number,
    readonly dibs: Dibs,
  ) {}

  static async of(world: World, org = "default"): Promise<Witness> {
    const path = databaseOf(world);
    const clock = () => world.clock.now();
    return new Witness(path, org, clock, await openDibs({ path, org, project: "demo", clock }));
  }

  /** Everything that a refused request might have changed. */
  async dump(): Promise<string[]> {
    const { path, org, clock, dibs } = this;
    const lines: string[] = [];
    for await (const line of exportDibs({ path, org, clock })) lines.push(line);
    const { tokens } = await dibs.tokens.list({});
    const { locks } = await dibs.locks.list({});
    // The server renews its own lock when it thinks fit.
    const others = locks.filter(({ name }) => name !== "dibs.server");
    return [...lines, ...[...tokens, ...others].map((each) => JSON.stringify(each))];
  }

  close(): Promise<void> {
    return this.dibs.close();
  }
}

/** Asks every route and gathers those that did not answer as expected, so that one failure does not hide the others. */
export async function mismatches(
  routes: Route[],
  ask: (route: Route) => Promise<Sent>,
  expected: (route: Route) => { status: number; error?: string },
): Promise<string[]> {
  const wrong: string[] = [];
  for (const route of routes) {
    const { status, body } = await ask(route);
    const want = expected(route);
    const isRight = status === want.status && (want.error === undefined || body.error === want.error);
    if (!isRight) wrong.push(`${route.name}: ${status} ${body?.error ?? ""} instead of ${want.status}`);
  }
  return wrong;
}
