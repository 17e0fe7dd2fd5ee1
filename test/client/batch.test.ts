// Commands of one turn of the event loop in one request: connectDibs({ batch: true }), and dibs.work.

import { expect, test } from "vitest";
import { connectDibs, type Dibs } from "../../src/index.js";
import type { ServeOptions } from "../../src/serve.js";
import { on, type World } from "../http/support.js";
import { answer, type Behaviour, drop, FakeServer, failure, refusal } from "./fake-server.js";

interface Sent {
  dibs: Dibs;
  /** Paths of the commands that were sent, in order. */
  paths: string[];
}

function over(story: (sent: Sent, world: World) => Promise<void>, options = {}, serving: ServeOptions = {}) {
  return on(
    "sqlite",
    async (world) => {
      const paths: string[] = [];
      const dibs = connectDibs({
        url: world.url,
        token: world.token,
        batch: true,
        fetch: (address, init) => {
          if (init?.method !== "GET") paths.push(new URL(String(address)).pathname);
          return fetch(address, init);
        },
        ...options,
      });
      try {
        await story({ dibs, paths }, world);
      } finally {
        await dibs.close();
      }
    },
    serving,
  );
}

const settled = async (calls: Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map((each) =>
    each.status === "fulfilled" ? "done" : (each.reason as { code?: string }).code,
  );

test("calls of one turn share a request, and each gets its own answer or refusal", () =>
  over(async ({ dibs, paths }) => {
    await dibs.sessions.register({ id: "s" });
    const outcomes = await settled([
      dibs.tasks.create({ id: "a", prompt: "x" }),
      dibs.tasks.create({ id: "a", prompt: "y" }),
      dibs.tasks.create({ prompt: "z", project: "nowhere" }),
      dibs.tasks.cancel({ taskId: "nobody" }),
      dibs.tasks.cancel({} as never),
      dibs.sessions.heartbeat({ sessionId: "s", score: 1 }),
    ]);
    expect(outcomes).toEqual([
      "done",
      "ID_TAKEN",
      "PROJECT_NOT_FOUND",
      "TASK_NOT_FOUND",
      "VALIDATION_FAILED",
      "done",
    ]);
    expect(paths).toEqual(["/api/sessions", "/api/many"]);
  })());

test("queries, waits, large calls and what is many by itself have a request of their own", () =>
  over(async ({ dibs, paths }) => {
    await dibs.sessions.register({ id: "s" });
    await Promise.all([
      dibs.tasks.create({ id: "a", prompt: "x" }),
      dibs.tasks.create({ id: "b", prompt: "x".repeat(100_000) }),
      dibs.tasks.batch({ tasks: [{ prompt: "x" }] }),
      dibs.tasks.list(),
      dibs.sessions.heartbeat({ sessionId: "s" }),
      dibs.tasks.claimNext({ sessionId: "s", waitMs: 1_000 }),
    ]);
    expect(paths.sort()).toEqual([
      "/api/many",
      "/api/sessions",
      "/api/tasks",
      "/api/tasks/batch",
      "/api/tasks/claim-next",
    ]);
  })());

test("more calls than a request takes are sent in several", () =>
  over(async ({ dibs, paths }) => {
    await Promise.all(Array.from({ length: 450 }, (_, n) => dibs.tasks.create({ prompt: `task ${n}` })));
    expect(paths).toEqual(["/api/many", "/api/many", "/api/many"]);
    expect((await dibs.tasks.list({ limit: 1000 })).tasks).toHaveLength(450);
  })());

test("the client's project and a caller's keys go along", () =>
  over(async ({ dibs }, world) => {
    await dibs.projects.create({ id: "second" });
    const second = connectDibs({ url: world.url, token: world.token, project: "second", batch: true });
    const once = () => second.tasks.create({ prompt: "once" }, { idempotencyKey: "mine" });
    const [first, again, other] = await Promise.all([
      once(),
      once(),
      failure(second.tasks.create({ prompt: "other" }, { idempotencyKey: "mine" })),
    ]);
    expect(first.task.project).toBe("second");
    expect(again).toEqual(first);
    expect(other.code).toBe("IDEMPOTENCY_MISMATCH");
    // It spoils the whole request, and only its own call is refused.
    const [bad, good] = await Promise.all([
      failure(second.tasks.create({ prompt: "x" }, { idempotencyKey: "k".repeat(300) })),
      second.tasks.create({ prompt: "x" }),
    ]);
    expect(bad.code).toBe("VALIDATION_FAILED");
    expect(good.success).toBe(true);
    await second.close();
  })());

test("a call that is aborted is not waited for, and the others of its request are", () =>
  over(async ({ dibs }) => {
    const stop = new AbortController();
    const calls = [
      dibs.tasks.create({ prompt: "x" }, { signal: stop.signal }),
      dibs.tasks.create({ id: "b", prompt: "x" }),
      dibs.tasks.create({ id: "c", prompt: "x" }),
    ];
    stop.abort(new Error("enough"));
    expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual([
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
  })());

test("dibs.work reports and claims in one request, and works through everything", () =>
  over(
    async ({ dibs, paths }) => {
      const tasks = Array.from({ length: 40 }, (_, n) => ({ id: `t-${n}`, prompt: `task ${n}` }));
      await dibs.tasks.batch({ tasks });
      await dibs.work(({ task }) => `did ${task.prompt}`, { concurrency: 8, untilEmpty: true }).done;
      const { tasks: done } = await dibs.tasks.list({ limit: 100 });
      expect(done.map(({ state, epoch, result }) => [state, epoch, result?.output])).toEqual(
        tasks.map(({ prompt }) => ["completed", 1, `did ${prompt}`]),
      );
      expect(paths.filter((path) => path.endsWith("/complete"))).toEqual([]);
      expect(paths.length).toBeLessThan(40);
    },
    { batch: false },
    { clock: { now: Date.now } },
  )());

const inMany =
  (answers: object[]): Behaviour =>
  (seen, response) =>
    answer({ success: true, answers })(seen, response);
const problem = (error: string, status: number) => ({
  success: false,
  error,
  message: error,
  status,
  retryable: true,
});

test("a lost answer is asked for again under the same keys", async () => {
  const server = await FakeServer.start(drop, inMany([{ success: true }, { success: true }]));
  const dibs = server.connect({ batch: true });
  await Promise.all([dibs.tasks.create({ prompt: "x" }), dibs.tasks.create({ prompt: "y" })]);
  const keysOf = (at: number) =>
    server.seen[at]!.body.calls.map((each: { idempotencyKey: string }) => each.idempotencyKey).sort();
  expect(server.seen.map(({ path }) => path)).toEqual(["/api/many", "/api/many"]);
  expect(keysOf(1)).toEqual(keysOf(0));
});

test("a call that is refused for now is sent again, without those that were answered", async () => {
  const server = await FakeServer.start(
    inMany([{ success: true }, problem("STORE_BUSY", 503)]),
    answer({ success: true }),
  );
  const dibs = server.connect({ batch: true });
  await Promise.all([dibs.tasks.create({ prompt: "x" }), dibs.tasks.cancel({ taskId: "a" })]);
  expect(server.seen.map(({ path }) => path)).toEqual(["/api/many", "/api/tasks/a/cancel"]);
});

test("a server without the route gets every call by itself", async () => {
  const server = await FakeServer.start(refusal(404, "NOT_FOUND"), answer({ success: true }));
  const dibs = server.connect({ batch: true });
  const two = () => Promise.all([dibs.tasks.create({ prompt: "x" }), dibs.tasks.create({ prompt: "y" })]);
  await two();
  await two();
  expect(server.seen.map(({ path }) => path)).toEqual(["/api/many", ...Array(4).fill("/api/tasks")]);
});

test("a refusal of the whole request, or an answer that is none, is that of each call", async () => {
  const server = await FakeServer.start(refusal(403, "FORBIDDEN"), inMany([]));
  const dibs = server.connect({ batch: true, retry: { tries: 1 } });
  const two = () => settled([dibs.tasks.create({ prompt: "x" }), dibs.tasks.create({ prompt: "y" })]);
  expect(await two()).toEqual(["FORBIDDEN", "FORBIDDEN"]);
  expect(await two()).toEqual(["STORE_UNAVAILABLE", "STORE_UNAVAILABLE"]);
});
