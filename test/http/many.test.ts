// Many calls in one request: each is authorised, validated, remembered and refused on its own.

import { expect, test } from "vitest";
import { operations } from "../../src/contract/registry.js";
import { limits } from "../../src/core/limits.js";
import { expectConforms } from "./conforms.js";
import { type Asking, everyStoreName, on, type World } from "./support.js";

interface Part {
  operation: string;
  input?: unknown;
  idempotencyKey?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers; their shape is checked against the contract.
async function many(world: World, calls: Part[], asking?: Asking, query = ""): Promise<any[]> {
  const { status, body } = await world.post(`/api/many${query}`, { calls }, asking);
  expect(status).toBe(200);
  expect(body.answers).toHaveLength(calls.length);
  for (const [index, answer] of body.answers.entries()) expectAsAlone(calls[index]!.operation, answer);
  return body.answers;
}

/** What the operation documents for its own route. */
function expectAsAlone(name: string, answer: { success: boolean; status: number; error?: string }): void {
  const operation = operations.find((each) => each.name === name);
  if (operation?.kind !== "command" || operation.alone) return;
  const { method, path, status: done = 200 } = operation.http;
  const isRefused = answer.success === false;
  const contentType = isRefused ? "application/problem+json" : "application/json";
  const status = isRefused ? answer.status : done;
  expectConforms({ method, path: path.replace(/:\w+/g, "x"), status, contentType, body: answer });
}

const create = (id: string, more: object = {}): Part => ({
  operation: "tasks.create",
  input: { id, prompt: "x", ...more },
});

test.each(everyStoreName)("what succeeds and what is refused stand side by side, in order, on %s", (store) =>
  on(store, async (world) => {
    await world.session("s", { capacity: 5 });
    const answers = await many(world, [
      create("a"),
      create("a"),
      { operation: "tasks.claim", input: { taskId: "a", sessionId: "s" } },
      { operation: "tasks.claim", input: { taskId: "nobody", sessionId: "s" } },
      { operation: "tasks.create", input: {} },
      { operation: "sessions.heartbeat", input: { sessionId: "s" } },
    ]);
    expect(answers.map(({ success, error }) => (success ? "done" : error))).toEqual([
      "done",
      "ID_TAKEN",
      expect.stringMatching(/^done$|^TASK_NOT_FOUND$/),
      "TASK_NOT_FOUND",
      "VALIDATION_FAILED",
      "done",
    ]);
    const alone = await world.post("/api/tasks", { id: "a", prompt: "x" });
    expect(answers[1]).toEqual(alone.body);
    expect((await world.get("/api/tasks/a")).body.task.id).toBe("a");
  })(),
);

test("calls of one request share a commit", () =>
  on("sqlite", async (world) => {
    const commits = async () => {
      const { body } = await world.get("/metrics");
      return Number(/^dibs_store_seconds_count\{operation="commit"\} (\d+)$/m.exec(body)?.[1] ?? 0);
    };
    await commits();
    const before = await commits();
    await many(
      world,
      Array.from({ length: 100 }, (_, n) => create(`t-${n}`)),
    );
    // The server keeps house in commits of its own.
    expect((await commits()) - before).toBeLessThan(20);
  })());

test("each call has its own idempotency key, interchangeable with the header", () =>
  on("sqlite", async (world) => {
    const keyed = (idempotencyKey: string, prompt = "x") => ({
      operation: "tasks.create",
      input: { prompt },
      idempotencyKey,
    });
    const [first, second, same] = await many(world, [keyed("k1"), keyed("k2"), keyed("k1")]);
    expect(second.task.id).not.toBe(first.task.id);
    expect(same).toEqual(first);
    const [again, other] = await many(world, [keyed("k1"), keyed("k2", "y")]);
    expect(again).toEqual(first);
    expect(other).toMatchObject({ error: "IDEMPOTENCY_MISMATCH", status: 422 });
    const alone = await world.post("/api/tasks", { prompt: "x" }, { headers: { "idempotency-key": "k2" } });
    expect(alone.body).toEqual(second);
  })());

test("a repeated request with a key of its own is not run again", () =>
  on("sqlite", async (world) => {
    const send = () =>
      world.post(
        "/api/many",
        { calls: [{ operation: "tasks.create", input: { prompt: "x" } }] },
        { headers: { "idempotency-key": "all" } },
      );
    const first = await send();
    expect((await send()).body).toEqual(first.body);
    expect((await world.get("/api/tasks")).body.tasks).toHaveLength(1);
  })());

test("each call needs the role of its operation, and its force", () =>
  on("sqlite", async (world) => {
    await world.session("s");
    await world.task({ id: "a" });
    await world.post("/api/tasks/a/claim", { sessionId: "s" });
    const calls = [
      create("b"),
      { operation: "tasks.cancel", input: { taskId: "a" } },
      { operation: "tasks.release", input: { taskId: "a", sessionId: "s", force: true } },
      { operation: "tokens.create", input: { name: "more", role: "admin" } },
      // As on its own route: the input of who may not do it is not judged.
      { operation: "projects.create", input: 7 },
    ];
    const asked = async (role: "worker" | "leader") =>
      (await many(world, calls, { token: await world.tokenFor(role) })).map(({ error }) => error ?? "done");
    const viewer = await world.post("/api/many", { calls }, { token: await world.tokenFor("viewer") });
    expect([viewer.status, viewer.body.error]).toEqual([403, "FORBIDDEN"]);
    expect(await asked("worker")).toEqual(["done", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN", "FORBIDDEN"]);
    expect((await asked("leader")).slice(3)).toEqual(["FORBIDDEN", "FORBIDDEN"]);
    const unknown = await world.post("/api/many", { calls }, { token: null });
    expect([unknown.status, unknown.body.error]).toEqual([401, "UNAUTHENTICATED"]);
    const stranger = await many(world, [{ operation: "sessions.end", input: { sessionId: "s" } }], {
      token: await world.tokenFor("worker", "other"),
    });
    expect(stranger[0]).toMatchObject({ success: false, status: 403 });
  })());

test("each call names its project; the request's is for those that name none", () =>
  on("sqlite", async (world) => {
    await world.post("/api/projects", { id: "second" });
    const calls = [
      { operation: "tasks.create", input: { prompt: "x" } },
      { operation: "tasks.create", input: { prompt: "x", project: "demo" } },
      { operation: "tasks.create", input: { prompt: "x", project: "nowhere" } },
    ];
    const where = (answers: { task?: { project: string }; error?: string }[]) =>
      answers.map(({ task, error }) => task?.project ?? error);
    expect(where(await many(world, calls))).toEqual(["demo", "demo", "PROJECT_NOT_FOUND"]);
    expect(where(await many(world, calls, {}, "?project=second"))).toEqual([
      "second",
      "demo",
      "PROJECT_NOT_FOUND",
    ]);
    const byHeader = { headers: { "dibs-project": "second" } };
    expect(where(await many(world, calls, byHeader))[0]).toBe("second");
  })());

test("queries, what is many by itself, many itself, waits and unknown operations are refused", () =>
  on("sqlite", async (world) => {
    await world.session("s");
    const answers = await many(world, [
      { operation: "tasks.list" },
      { operation: "tasks.batch", input: { tasks: [{ prompt: "x" }] } },
      { operation: "tasks.bulk", input: { action: "cancel", taskIds: ["a"] } },
      { operation: "calls.many", input: { calls: [create("nested")] } },
      { operation: "tasks.claimNext", input: { sessionId: "s", waitMs: 1_000 } },
      { operation: "tasks.nothing", input: {} },
      { operation: "toString", input: {} },
      { operation: "tasks.create", input: "text" },
      { operation: "tasks.claimNext", input: { sessionId: "s", waitMs: 0 } },
    ]);
    const last = answers.pop();
    expect(answers.map(({ error, status }) => [error, status])).toEqual(
      answers.map(() => ["VALIDATION_FAILED", 400]),
    );
    expect(answers[0].hint).toContain("GET /api/tasks");
    expect(answers[4].message).toContain("waitMs");
    expect(last).toMatchObject({ success: true, claim: null });
    expect((await world.get("/api/tasks")).body.tasks).toEqual([]);
  })());

test("a request is bounded: 1 to 200 calls, and the size of its body", () =>
  on("sqlite", async (world) => {
    const calls = (count: number) => Array.from({ length: count }, (_, n) => create(`t-${n}`));
    for (const body of [{}, { calls: [] }, { calls: calls(limits.manyMax + 1) }, { calls: [7] }]) {
      const { status, body: refused } = await world.post("/api/many", body);
      expect([status, refused.error]).toEqual([400, "VALIDATION_FAILED"]);
    }
    const large = await world.post("/api/many", {
      calls: Array.from({ length: 10 }, () => create("l", { prompt: "x".repeat(250_000) })),
    });
    expect([large.status, large.body.error]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
    expect((await world.get("/api/tasks")).body.tasks).toEqual([]);
    expect(await many(world, calls(limits.manyMax))).toHaveLength(limits.manyMax);
  })());

test("changes are logged by their operations, and stale writes are counted", () =>
  on("sqlite", async (world) => {
    await world.session("s");
    await world.task({ id: "a" });
    await world.post("/api/tasks/a/claim", { sessionId: "s" });
    await many(world, [
      create("b"),
      { operation: "tasks.complete", input: { taskId: "a", sessionId: "s", epoch: 0, result: "late" } },
      { operation: "sessions.heartbeat", input: { sessionId: "s" } },
    ]);
    const line = world.logged.map((each) => JSON.parse(each)).find(({ route }) => route === "/api/many");
    expect(line).toMatchObject({ msg: "change", operation: "tasks.create", error: "STALE_EPOCH" });
    const { body } = await world.get("/metrics");
    expect(body).toMatch(/^dibs_stale_writes_refused_total 1$/m);
  })());
