// Many tasks at once, the logs of attempts, and what becomes of old events and tasks, over HTTP.

import { describe, expect, test, vi } from "vitest";
import { eventually } from "../eventually.js";
import { until } from "../support.js";
import { type Desk, desks, Following, minutes, must } from "./desk.js";
import { on, storeNames } from "./support.js";

const bulk = async ({ post }: Desk, body: object) => must(await post("/api/tasks/bulk", body));

describe.each(storeNames)("many tasks at once, on %s:", (store) => {
  const desk = desks(store);

  /** Three queued red ones, a running red one, a failed red one and a queued blue one. */
  async function scene(): Promise<Desk> {
    const here = await desk();
    for (const id of ["r1", "r2", "r3"]) await here.task({ id, labels: ["red"] });
    await here.running("worker", { id: "r4", labels: ["red"] });
    await here.running("unlucky", { id: "r5", labels: ["red"] });
    must(await here.post("/api/tasks/r5/fail", { sessionId: "unlucky", error: "x", retryable: false }));
    await here.task({ id: "b1", labels: ["blue"] });
    return here;
  }
  const states = async (here: Desk) =>
    Object.fromEntries(
      must(await here.get("/api/tasks")).tasks.map(({ id, state }: { id: string; state: string }) => [
        id,
        state,
      ]),
    );

  test("I first look at what would happen, and nothing happens", async () => {
    const here = await scene();
    const before = await states(here);
    const { status, body } = await here.post("/api/tasks/bulk", {
      action: "cancel",
      filter: { label: "red" },
      dryRun: true,
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      success: true,
      action: "cancel",
      dryRun: true,
      matched: 4,
      done: 0,
      more: false,
    });
    expect(body.taskIds.sort()).toEqual(["r1", "r2", "r3", "r4"]);
    expect(await states(here)).toEqual(before);
  });

  test("I cancel by a filter what can be cancelled", async () => {
    const here = await scene();
    const done = await bulk(here, { action: "cancel", filter: { label: "red" }, reason: "new plan" });
    expect(done).toMatchObject({ dryRun: false, matched: 4, done: 4, refusedCount: 0, refused: [] });
    expect(await states(here)).toEqual({
      r1: "cancelled",
      r2: "cancelled",
      r3: "cancelled",
      r4: "cancelled",
      r5: "failed",
      b1: "queued",
    });
    expect((await here.timeline("r1")).at(-1)).toMatchObject({
      type: "task:cancelled",
      data: { reason: "new plan" },
    });
  });

  test("I retry all that failed", async () => {
    const here = await scene();
    expect(await bulk(here, { action: "retry", filter: { state: "failed" } })).toMatchObject({
      done: 1,
      taskIds: ["r5"],
    });
    expect((await states(here)).r5).toBe("queued");
  });

  test("I release all that one session holds", async () => {
    const here = await scene();
    expect(
      await bulk(here, { action: "release", filter: { sessionId: "worker" }, reason: "stuck" }),
    ).toMatchObject({
      done: 1,
      taskIds: ["r4"],
    });
    expect((await here.timeline("r4")).at(-1)).toMatchObject({
      type: "task:released",
      data: { reason: "stuck" },
    });
    expect((await states(here)).r4).toBe("queued");
  });

  test("I change many, and each has its event", async () => {
    const here = await scene();
    const changes = { priority: "critical", labels: ["now"] };
    const done = await bulk(here, { action: "update", filter: { label: "red", state: "queued" }, changes });
    expect(done.taskIds.sort()).toEqual(["r1", "r2", "r3"]);
    for (const id of done.taskIds) {
      expect(await here.shown(id)).toMatchObject({ priority: 100, labels: ["now"] });
      expect(await here.told(id)).toContain("task:updated");
    }
  });

  test("by ids, each is refused for its own reason and the others are done", async () => {
    const here = await scene();
    const request = { action: "cancel", taskIds: ["r1", "r5", "nope", "b1"] };
    const seen = await bulk(here, { ...request, dryRun: true });
    const done = await bulk(here, request);
    expect([done.matched, done.done, done.refusedCount]).toEqual([4, 2, 2]);
    for (const { refused } of [seen, done]) {
      expect(refused.map((each: { taskId: string; error: string }) => [each.taskId, each.error])).toEqual([
        ["r5", "TASK_NOT_CANCELLABLE"],
        ["nope", "TASK_NOT_FOUND"],
      ]);
    }
  });

  test(
    "a thousand per call, and then it says how to go on",
    on(store, async (world) => {
      // A server that has changed single tasks of a young store has its plans for that.
      for (let n = 0; n < 10; n++) must(await world.post(`/api/tasks/${await world.task()}/cancel`));
      const tasks = Array.from({ length: 1003 }, () => ({ prompt: "x" }));
      must(await world.post("/api/tasks/batch", { tasks }));
      const request = { action: "cancel", filter: {}, all: true };
      const first = must(await world.post("/api/tasks/bulk", request));
      expect([first.done, first.more]).toEqual([1000, true]);
      const second = must(await world.post("/api/tasks/bulk", { ...request, cursor: first.nextCursor }));
      expect([second.done, second.more, second.nextCursor]).toEqual([3, false, null]);
      expect(must(await world.get("/api/tasks?state=queued")).tasks).toEqual([]);
    }),
  );

  test("everything is meant only if I say so, and nonsense is refused", async () => {
    const here = await desk();
    for (const body of [
      { action: "cancel", filter: {} },
      { action: "cancel" },
      { action: "explode", filter: { label: "x" } },
      { action: "update", filter: { label: "x" } },
      { action: "cancel", filter: { label: "x" }, changes: { priority: 1 } },
      { action: "cancel", filter: { label: "x" }, taskIds: ["a"] },
      { action: "cancel", filter: { lable: "x" } },
    ]) {
      const { status, body: said } = await here.post("/api/tasks/bulk", body);
      expect([status, said.error]).toEqual([400, "VALIDATION_FAILED"]);
      expect(said.issues.length).toBeGreaterThan(0);
    }
  });

  test("it is for leaders, and a key makes it happen once", async () => {
    const here = await scene();
    const token = await here.world.tokenFor("worker");
    const refused = await here.post(
      "/api/tasks/bulk",
      { action: "retry", filter: { label: "red" } },
      { token },
    );
    expect([refused.status, refused.body.error]).toEqual([403, "FORBIDDEN"]);
    const key = { headers: { "idempotency-key": `bulk-${here.project}` } };
    const request = { action: "cancel", filter: { label: "red" } };
    const first = must(await here.post("/api/tasks/bulk", request, key));
    must(await here.post("/api/tasks/r1/retry"));
    expect(must(await here.post("/api/tasks/bulk", request, key))).toEqual(first);
    expect((await states(here)).r1).toBe("queued");
  });

  test("with the same key at the same time it happens once, and all get that answer", async () => {
    const here = await scene();
    const key = { headers: { "idempotency-key": `bulk-race-${here.project}` } };
    const request = { action: "cancel", filter: { label: "red" } };
    const answers = await Promise.all([1, 2, 3].map(() => here.post("/api/tasks/bulk", request, key)));
    for (const answer of answers)
      expect(must(answer)).toMatchObject({ matched: 4, done: 4, refusedCount: 0 });
  });

  test("across all projects with *", async () => {
    const one = await scene();
    const two = await scene();
    const label = `both-${one.project}`;
    for (const here of [one, two]) await here.task({ id: "both", labels: [label] });
    const done = await bulk(one, { project: "*", action: "cancel", filter: { label } });
    expect(done).toMatchObject({ done: 2, taskIds: ["both", "both"] });
    expect((await states(two)).both).toBe("cancelled");
  });
});

describe.each(storeNames)("the log of an attempt, on %s,", (store) => {
  const desk = desks(store);
  const log = async ({ get }: Desk, id: string, query = "") =>
    must(await get(`/api/tasks/${id}/log${query}`));

  test("is what its program printed, piece by piece, kept per attempt", async () => {
    const here = await desk();
    const id = await here.running("worker");
    expect(await log(here, id)).toMatchObject({ taskId: id, epoch: null, text: "", truncatedBytes: 0 });
    const append = (text: string, epoch: number) =>
      here.post(`/api/tasks/${id}/log`, { sessionId: "worker", epoch, text });
    expect(must(await append("one\n", 1))).toMatchObject({ success: true, taskId: id, epoch: 1 });
    must(await append("two\n", 1));
    expect(await log(here, id)).toMatchObject({ epoch: 1, text: "one\ntwo\n", updatedAt: here.at() });
    must(await here.post(`/api/tasks/${id}/release`, { sessionId: "worker" }));
    await here.claim(id, "worker");
    must(await append("again\n", 2));
    expect(await log(here, id)).toMatchObject({ epoch: 2, text: "again\n" });
    expect(await log(here, id, "?epoch=1")).toMatchObject({ epoch: 1, text: "one\ntwo\n" });
  });

  test("only its holder writes it, and it renews no lease", async () => {
    const here = await desk();
    const id = await here.running("worker");
    await here.session("other");
    const refused = await here.post(`/api/tasks/${id}/log`, { sessionId: "other", text: "x" });
    expect([refused.status, refused.body.error]).toEqual([403, "NOT_CLAIM_OWNER"]);
    const { expiresAt } = (await here.shown(id)).claim;
    here.clock.advance(minutes(1));
    must(await here.post(`/api/tasks/${id}/log`, { sessionId: "worker", text: "x" }));
    expect((await here.shown(id)).claim.expiresAt).toBe(expiresAt);
  });

  test("keeps its end when it is long, cut between characters", async () => {
    const here = await desk();
    const id = await here.running("worker");
    const piece = "ä".repeat(30 * 1024); // 60 KiB
    for (let n = 0; n < 5; n++)
      must(await here.post(`/api/tasks/${id}/log`, { sessionId: "worker", text: piece }));
    const { text, truncatedBytes } = await log(here, id);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(256 * 1024);
    expect(Buffer.byteLength(text) + truncatedBytes).toBe(5 * 60 * 1024);
    expect(text).toMatch(/^ä+$/);
    const tooLong = { sessionId: "worker", text: "x".repeat(64 * 1024 + 1) };
    const refused = await here.post(`/api/tasks/${id}/log`, tooLong);
    expect([refused.status, refused.body.error]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
  });

  test("of a task that does not exist is TASK_NOT_FOUND", async () => {
    const { get } = await desk();
    const { status, body } = await get("/api/tasks/nope/log");
    expect([status, body.error]).toEqual([404, "TASK_NOT_FOUND"]);
  });
});

describe.each(storeNames)("old events, on %s,", (store) => {
  test(
    "are archived after the time that the server was told, and readers learn of it",
    on(
      store,
      async (world) => {
        await world.task();
        world.clock.advance(minutes(2));
        const kept = await world.task();
        // A server tidies up once a minute: for it, some minutes pass at once.
        const now = performance.now.bind(performance);
        let late = 0;
        const spy = vi.spyOn(performance, "now").mockImplementation(() => now() + late);
        await eventually(async () => {
          late += 61_000;
          return must(await world.get("/api/events?project=*")).firstAvailable;
        }).toBeGreaterThan(1);
        spy.mockRestore();
        const { events, firstAvailable } = must(await world.get("/api/events?project=*"));
        expect(events[0].seq).toBe(firstAvailable);
        expect(events.map(({ taskId }: { taskId: string }) => taskId)).toContain(kept);
        const following = await Following.open(world, "/api/events/stream?after=0");
        expect((await following.next()).event).toMatchObject({ type: "reset" });
        expect((await following.next()).event.seq).toBe(firstAvailable);
        following.close();
      },
      { retainEventsMs: 60_000 },
    ),
  );
});

describe.each(storeNames)("old tasks, on %s,", (store) => {
  test(
    "are archived after the time that the server was told, and whoever asks for one learns when",
    on(
      store,
      async (world) => {
        const done = async () => {
          const id = await world.task();
          must(await world.post(`/api/tasks/${id}/claim`, { sessionId: "worker", register: true }));
          must(await world.post(`/api/tasks/${id}/complete`, { sessionId: "worker" }));
          return id;
        };
        const old = await done();
        world.clock.advance(minutes(2));
        const young = await done();
        await world.restart(); // Which looks for old tasks soon.
        await until(
          "the old task is gone",
          async () => (await world.get(`/api/tasks/${old}`)).status === 404,
        );
        const { body } = await world.get(`/api/tasks/${old}`);
        expect(body).toMatchObject({ error: "TASK_NOT_FOUND", hint: expect.stringContaining("archived") });
        const { tasks } = must(await world.get("/api/tasks"));
        expect(tasks.map(({ id }: { id: string }) => id)).toEqual([young]);
        expect(must(await world.get("/api/stats")).by_status).toMatchObject({ done: 1 });
      },
      { retainTasksMs: 60_000 },
    ),
  );
});
