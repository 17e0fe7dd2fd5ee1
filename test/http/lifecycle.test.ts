// The real program: how a server starts, is found, is refused, is killed and stops.

import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findServer, serverFileOf, tokenFileOf } from "../../src/runtime/server-file.js";
import { afterwards, checkStore, tempDir, until } from "../faults/support.js";
import { databaseIn, Program, run, Serving } from "./program.js";

/** How long a stop waits for what is under way. */
const graceMs = 10_000;

function newDatabase(): string {
  return databaseIn(tempDir());
}

async function serving(db = newDatabase(), options?: ConstructorParameters<typeof Serving>[1]) {
  return new Serving(db, options).ready();
}

const modeOf = (path: string) => statSync(path).mode & 0o777;
const logOf = ({ stderr }: Program) => stderr.trimEnd().split("\n");
/** How long the server itself took to stop. */
function stopMs(program: Program): number {
  const lines = logOf(program).map((line) => JSON.parse(line) as { msg: string; time: string });
  const [from, to] = ["stopping", "stopped"].map((msg) => lines.find((line) => line.msg === msg)!.time);
  return Date.parse(to!) - Date.parse(from!);
}

const said = (program: Program, message: string) =>
  until(`the log says ${message}`, () => program.stderr.includes(`"msg":"${message}"`));

test("a server says first where it listens, logs JSON to stderr, and leaves a token and its address beside the file", async () => {
  const db = newDatabase();
  const server = await serving(db);
  expect(server.stdout).toMatch(/^listening on http:\/\/127\.0\.0\.1:[1-9]\d*\n/);
  expect(server.stdout.split("\n")[0]).toBe(`listening on ${server.url}`);
  const created = await server.post("/api/tasks", { prompt: "do it" });
  expect(created.status).toBe(201);
  await said(server, "change");
  for (const line of logOf(server)) {
    expect(JSON.parse(line)).toMatchObject({ level: expect.anything(), time: expect.any(String) });
    expect(line).not.toContain(server.token);
  }
  expect([db, `${db}-wal`, `${db}-shm`].map(modeOf)).toEqual([0o600, 0o600, 0o600]);
  const tokenFile = tokenFileOf(db);
  expect(server.stdout).toContain(`token in ${tokenFile}\n`);
  expect(modeOf(tokenFile)).toBe(0o600);
  const found = JSON.parse(readFileSync(serverFileOf(db), "utf8"));
  expect(found).toMatchObject({ pid: server.pid, url: server.url });
  expect(findServer(db)).toMatchObject({ pid: server.pid, url: server.url });
  expect(modeOf(serverFileOf(db))).toBe(0o600);
  expect(readFileSync(join(db, "../.gitignore"), "utf8")).toMatch(/^\*$/m);
  // What a load balancer asks needs no token; the rest does.
  for (const path of ["/healthz", "/readyz"]) {
    expect(await server.get(path, { authorization: "" })).toMatchObject({ status: 200 });
  }
  expect((await server.get("/api/tasks", { authorization: "" })).status).toBe(401);
  expect((await server.get("/metrics", { authorization: "Bearer dibs~default~x~y" })).status).toBe(401);
});

test("changes are logged at info, other requests at debug", async () => {
  const quiet = await serving();
  const loud = await serving(newDatabase(), { args: ["--log-level", "debug"] });
  for (const server of [quiet, loud]) {
    await server.get("/api/tasks");
    // A preview changes nothing.
    await server.post("/api/tasks/batch", { plan: "p.md", dryRun: true, tasks: [{ title: "One" }] });
    await server.post("/api/sessions", { id: "a" });
    await server.post("/api/tasks/claim-next", { sessionId: "a" });
    await server.post("/api/sessions/a/heartbeat", {});
    await server.post("/api/tasks", { prompt: "do it" });
    const claimed = await server.post("/api/tasks/claim-next", { sessionId: "a" });
    expect(claimed.body.claim).not.toBeNull();
    const answered = () => logOf(server).filter((line) => line.includes("claim-next")).length;
    await until("the claim is in the log", () => answered() === (server === quiet ? 1 : 2));
  }
  const lines = (server: Program, msg: string) =>
    logOf(server)
      .map((line) => JSON.parse(line))
      .filter((line) => line.msg === msg);
  const changes = ["sessions.register", "tasks.create", "tasks.claimNext"];
  for (const server of [quiet, loud])
    expect(lines(server, "change").map(({ operation }) => operation)).toEqual(changes);
  expect(lines(quiet, "request")).toEqual([]);
  expect(lines(loud, "request").map(({ route }) => route)).toEqual([
    "/api/tasks",
    "/api/tasks/batch",
    "/api/tasks/claim-next",
    "/api/sessions/:sessionId/heartbeat",
  ]);
});

test("the token in the file is good for the next server too; one that others could have read is not believed", async () => {
  const db = newDatabase();
  const first = await serving(db);
  await first.stop();
  const second = await serving(db);
  expect(second.token).toBe(first.token);
  expect((await second.get("/api/tasks")).status).toBe(200);
  await second.stop();
  chmodSync(tokenFileOf(db), 0o644);
  const third = await serving(db);
  expect(third.token).not.toBe(first.token);
  expect(modeOf(tokenFileOf(db))).toBe(0o600);
  expect((await third.get("/api/tasks")).status).toBe(200);
});

test("a second server on the same file is refused with words, and disturbs nobody", async () => {
  const db = newDatabase();
  const server = await serving(db);
  const before = readFileSync(serverFileOf(db), "utf8");
  const second = await run(["serve", "--db", db, "--port", "0"]);
  expect(second).toMatchObject({ code: 1, stdout: "" });
  expect(second.stderr).toContain(`A server already runs on ${db} (process ${server.pid}).`);
  expect(second.stderr).toContain("SESSION_BUSY");
  const inJson = await run(["serve", "--db", db, "--port", "0", "--json"]);
  expect(inJson.code).toBe(1);
  expect(JSON.parse(inJson.stdout + inJson.stderr)).toMatchObject({
    success: false,
    error: "SESSION_BUSY",
  });
  expect(readFileSync(serverFileOf(db), "utf8")).toBe(before);
  expect((await server.get("/api/tasks")).status).toBe(200);
});

test("of five that start at once on a new file exactly one serves", async () => {
  const db = newDatabase();
  const all = Array.from({ length: 5 }, () => new Serving(db));
  const isDecided = () =>
    all.filter(({ isOver }) => isOver).length === 4 && all.some(({ stdout }) => stdout !== "");
  await until("one serves and the others have ended", isDecided);
  const [winner, ...others] = [...all].sort((a, b) => Number(a.isOver) - Number(b.isOver));
  for (const other of others) {
    expect(await other.exited).toEqual({ code: 1, signal: null });
    expect(other.stdout).toBe("");
    expect(other.stderr).toContain(`(process ${winner!.pid})`);
  }
  await winner!.ready();
  expect(findServer(db)?.pid).toBe(winner!.pid);
  expect((await winner!.get("/api/tasks")).status).toBe(200);
});

test("after a kill -9 the next server starts at once, knows all that was acknowledged, and leases go on", async () => {
  const db = newDatabase();
  const first = await serving(db);
  const ids = await Promise.all(Array.from({ length: 30 }, () => first.task()));
  await first.post("/api/sessions", { id: "a", capacity: 30 });
  const { body: held } = await first.post("/api/tasks/claim-next", { sessionId: "a", start: true });
  const done = await first.post("/api/tasks/claim-next", { sessionId: "a" });
  const doneId = done.body.claim.taskId;
  await first.post(`/api/tasks/${doneId}/complete`, { sessionId: "a", result: "ok" });
  const key = { "idempotency-key": "once" };
  const once = await first.post("/api/tasks", { prompt: "once" }, key);
  const log = await first.get("/api/events?limit=1000&project=*");
  await first.kill();
  expect(findServer(db)).toBeNull();

  const second = await serving(db);
  expect(findServer(db)?.pid).toBe(second.pid);
  expect(second.token).toBe(first.token);
  const { events } = (await second.get("/api/events?limit=1000&project=*")).body;
  expect(events.slice(0, log.body.events.length)).toEqual(log.body.events);
  const { tasks } = (await second.get("/api/tasks?limit=1000")).body;
  expect(tasks.map(({ id }: { id: string }) => id).sort()).toEqual([...ids, once.body.task.id].sort());
  expect((await second.get(`/api/tasks/${doneId}`)).body.task.state).toBe("completed");
  const { task } = (await second.get(`/api/tasks/${held.claim.taskId}`)).body;
  expect(task).toMatchObject({
    state: "running",
    claim: { expiresAt: held.claim.expiresAt, sessionId: "a" },
  });
  const renewed = await second.post(`/api/tasks/${task.id}/claim/heartbeat`, { sessionId: "a" });
  expect(renewed.status).toBe(200);
  expect((await second.post("/api/tasks", { prompt: "once" }, key)).body.task.id).toBe(once.body.task.id);
  expect(await second.stop()).toEqual({ code: 0, signal: null });
  await checkStore(db);
});

test("SIGTERM ends waits with nothing and streams in order, lets a slow request finish, and takes the server file away", async () => {
  const db = newDatabase();
  const server = await serving(db);
  await server.post("/api/sessions", { id: "waiting" });
  const waiting = server.post("/api/tasks/claim-next", { sessionId: "waiting", waitMs: 60_000 });
  const reader = server.reader();
  await until("the stream is ready", () => reader.comments.length > 0);
  expect(reader.retry).toBeGreaterThan(0);
  const slow = new SlowPost(server, "/api/tasks", JSON.stringify({ prompt: "slowly" }));
  await slow.begun;
  // The wait has begun when a request that came after it was answered.
  await server.get("/api/tasks");
  server.signal("SIGTERM");
  await said(server, "stopping");
  expect(await waiting).toMatchObject({ status: 200, body: { success: true, claim: null } });
  expect(await reader.ended).toBe("complete");
  expect(existsSync(serverFileOf(db))).toBe(false);
  expect(server.isOver).toBe(false);
  const { status, body } = await slow.finish();
  expect(status).toBe(201);
  expect(await server.exited).toEqual({ code: 0, signal: null });
  expect(logOf(server).map((line) => JSON.parse(line).msg)).toContain("stopped");
  const { tasks } = await checkStore(db);
  expect(tasks.map(({ id }) => id)).toEqual([body.task.id]);
  await expect(server.get("/healthz")).rejects.toThrow();
});

test("SIGTERM and SIGINT with nothing under way end a server soon, whoever is connected", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const server = await serving();
    await server.get("/healthz"); // Its connection is kept alive.
    const silent = connect(server.port, "127.0.0.1").on("error", () => undefined);
    const halfway = connect(server.port, "127.0.0.1").on("error", () => undefined);
    afterwards(() => [silent, halfway].map((each) => each.destroy()));
    await until("they are connected", () => !silent.connecting && !halfway.connecting);
    await server.get("/healthz");
    server.signal(signal);
    expect(await server.exited).toEqual({ code: 0, signal: null });
    expect(stopMs(server)).toBeLessThan(graceMs);
  }
});

test("a client that asks again and again over one connection does not hold up a stop", async () => {
  const server = await serving();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  afterwards(() => agent.destroy());
  let answered = 0;
  const asking = (async () => {
    for (;;) {
      const ok = await new Promise<boolean>((resolve) => {
        const options = { agent, headers: { authorization: `Bearer ${server.token}` } };
        const asked = request(`${server.url}/api/tasks`, options, (answer) => {
          answer.resume();
          answer.on("end", () => resolve(true));
        });
        asked.on("error", () => resolve(false));
        asked.end();
      });
      if (!ok) return;
      answered++;
    }
  })();
  await until("it is under way", () => answered > 20);
  expect(await server.stop()).toEqual({ code: 0, signal: null });
  expect(stopMs(server)).toBeLessThan(graceMs);
  await asking;
});

test("a port that is in use is named, and the file is free for another server", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  afterwards(() => new Promise((resolve) => other.close(resolve)));
  await until("the port is taken", () => other.listening);
  const { port } = other.address() as { port: number };
  const db = newDatabase();
  const refused = await run(["serve", "--db", db, "--port", String(port)]);
  expect(refused).toMatchObject({ code: 6, stdout: "" });
  expect(refused.stderr).toContain(`127.0.0.1:${port} is in use`);
  expect(refused.stderr).toContain("--port");
  expect(existsSync(serverFileOf(db))).toBe(false);
  await serving(db);
});

test("a port that another Dibs server has is named with that server's pid and store", async () => {
  const [one, two] = [newDatabase(), newDatabase()];
  const first = await serving(one);
  const refused = await run(["serve", "--db", two, "--port", String(first.port)]);
  expect(refused).toMatchObject({ code: 6, stdout: "" });
  expect(refused.stderr).toContain(
    `127.0.0.1:${first.port} is in use by another Dibs server: dibs serve, pid ${first.pid}, for ${one}.`,
  );
  expect(refused.stderr).toContain(`Run: kill ${first.pid}`);
});

test("a server of a project that does not exist does not start; the first one of a store makes its project", async () => {
  const db = newDatabase();
  const first = await serving(db, { env: { DIBS_PROJECT: "mine" } });
  first.signal("SIGTERM");
  expect(await first.exited).toMatchObject({ code: 0 });
  const refused = await run(["serve", "--db", db, "--port", "0", "--project", "mien"]);
  expect(refused).toMatchObject({
    code: 3,
    stdout: "",
    stderr: expect.stringContaining("Project mien not found"),
  });
  expect(existsSync(serverFileOf(db))).toBe(false);
  await serving(db, { env: { DIBS_PROJECT: "mine" } });
});

test("for which project or org a server was started changes nothing about what commands mean", async () => {
  const db = newDatabase();
  const titles = async () => {
    const { stdout } = await run(["list", "--db", db, "--json"]);
    return JSON.parse(stdout).tasks.map(({ title }: { title: string }) => title);
  };
  await run(["add", "Mine", "--db", db]);
  await run(["project", "create", "second", "--db", db]);
  for (const args of [
    ["--project", "second"],
    ["--org", "other"],
  ]) {
    const server = await serving(db, { args });
    const { body } = await server.get("/api/tasks");
    expect([args, body.tasks]).toEqual([args, []]);
    expect(await titles()).toEqual(["Mine"]);
    await server.stop();
  }
});

test("without tokens a server listens on loopback only", async () => {
  const db = newDatabase();
  for (const host of ["0.0.0.0", "::", "192.0.2.1", ""]) {
    const refused = await run(["serve", "--db", db, "--port", "0", "--no-auth", "--host", host]);
    expect(refused, host).toMatchObject({ code: host === "" ? 2 : 4, stdout: "" });
    expect(refused.stderr).toMatch(host === "" ? /address/ : /loopback/);
  }
  expect(existsSync(db)).toBe(false);
  const open = new Serving(db, { args: ["--no-auth"] });
  await until("it listens", () => open.stdout.includes("listening on "));
  const url = /^listening on (\S+)/.exec(open.stdout)![1]!;
  expect((await fetch(`${url}/api/tasks`)).status).toBe(200);
  const me = await (await fetch(`${url}/api/auth/me`)).json();
  expect(me).toEqual({ success: true, org: "default", role: "admin", signedIn: false });
  expect(open.stdout).not.toContain("token");
  expect(existsSync(tokenFileOf(db))).toBe(false);
});

test("tokens made beside a running server work at once, and stop working soon after they are revoked", async () => {
  const db = newDatabase();
  const server = await serving(db);
  const made = await run(["token", "create", "--role", "worker", "--name", "ci", "--json", "--db", db]);
  expect(made.code).toBe(0);
  const { token, id, role } = JSON.parse(made.stdout);
  expect(role).toBe("worker");
  const bearer = { authorization: `Bearer ${token}` };
  expect((await server.get("/api/tasks", bearer)).status).toBe(200);
  expect((await server.post("/api/tasks", { prompt: "x" }, bearer)).status).toBe(201);
  expect((await server.get("/api/tokens", bearer)).status).toBe(403);
  const plain = await run(["token", "create", "--db", db]);
  expect(plain.stdout).toMatch(/^dibs~default~\S+\n$/);
  const listed = await run(["token", "list", "--db", db]);
  expect(listed.stdout).toContain(id);
  expect(listed.stdout).not.toContain(token);
  const inJson = await run(["token", "list", "--db", db, "--json"]);
  expect(JSON.parse(inJson.stdout).tokens).toHaveLength(3);
  expect(inJson.stdout).not.toContain("hash");
  expect(await run(["token", "revoke", id, "--db", db])).toMatchObject({ code: 0 });
  await until("it is refused", async () => (await server.get("/api/tasks", bearer)).status === 401);
  expect(await run(["token", "revoke", "nothing", "--db", db])).toMatchObject({ code: 3 });
  expect((await run(["token", "list", "--db", db])).stdout).not.toContain(id);
  expect((await server.get("/api/tasks")).status).toBe(200);
});

test("help is given, and what is not understood is refused with code 2", async () => {
  const cwd = tempDir();
  const help = await run(["--help"], { cwd });
  expect(help).toMatchObject({ code: 0, stderr: "" });
  for (const word of ["serve", "token"]) expect(help.stdout).toContain(word);
  const serve = await run(["serve", "--help"], { cwd });
  for (const word of ["--port", "--host", "--no-auth", "3427"]) expect(serve.stdout).toContain(word);
  const token = await run(["token", "--help"], { cwd });
  for (const word of ["create", "list", "revoke"]) expect(token.stdout).toContain(word);
  for (const wrong of [
    ["serve", "--nothing"],
    ["nothing"],
    ["serve", "--port", "x"],
    ["serve", "--port", "70000"],
    ["serve", "--log-level", "loud"],
    ["serve", "--retain-events", "soon"],
    ["serve", "--retain-tasks", "soon"],
    ["token", "create", "--role", "king"],
    ["token", "create", "--expires", "never"],
    ["token", "revoke"],
  ]) {
    const refused = await run(wrong, { cwd });
    expect(refused, wrong.join(" ")).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).not.toBe("");
  }
  expect(readdirSync(cwd)).toEqual([]);
});

test("a server started anywhere in a repository serves the file at its root", async () => {
  const root = tempDir();
  mkdirSync(join(root, ".git"));
  mkdirSync(join(root, "deep/down"), { recursive: true });
  const server = new Program(["serve", "--port", "0"], { cwd: join(root, "deep/down") });
  await until("it listens", () => server.stdout.includes("token in"));
  expect(findServer(databaseIn(root))?.pid).toBe(server.pid);
  expect(existsSync(join(root, "deep/down/.dibs"))).toBe(false);
});

test("an address that is empty is not all addresses", async () => {
  const server = new Serving(newDatabase(), { env: { DIBS_HOST: "" } });
  await until("it listens or has ended", () => server.isOver || server.stdout.includes("\n"));
  if (server.isOver) expect(await server.exited).toEqual({ code: 2, signal: null });
  else expect(server.stdout).toMatch(/^listening on http:\/\/127\.0\.0\.1:/);
});

/** A request whose body comes in two parts. */
class SlowPost {
  readonly begun: Promise<void>;
  private readonly answer: Promise<{ status: number; body: { task: { id: string } } }>;
  private readonly asking: ReturnType<typeof request>;

  constructor(
    server: Serving,
    path: string,
    private readonly body: string,
  ) {
    const headers = {
      authorization: `Bearer ${server.token}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      expect: "100-continue", // So that it is known to have been taken on.
    };
    this.asking = request(`${server.url}${path}`, { method: "POST", headers, agent: false });
    this.begun = new Promise((resolve) => this.asking.once("continue", resolve));
    this.answer = new Promise((resolve, reject) => {
      this.asking.on("error", reject);
      this.asking.on("response", (got) => {
        let text = "";
        got.setEncoding("utf8").on("data", (part) => {
          text += part;
        });
        got.on("end", () => resolve({ status: got.statusCode!, body: JSON.parse(text) }));
      });
    });
    this.asking.flushHeaders();
    void this.begun.then(() => this.asking.write(body.slice(0, 5)));
  }

  finish() {
    this.asking.end(this.body.slice(5));
    return this.answer;
  }
}
