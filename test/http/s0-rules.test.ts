// Seed 0's error codes, its rules about health and orphans, its settings and its live events.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { type Desk, desks, Following, minutes, must, seconds, type Told } from "./desk.js";
import { type Answer, storeNames } from "./support.js";

const abc = "session-abc-123";
const xyz = "session-xyz-789";

async function sessions(desk: Desk): Promise<Desk> {
  await desk.session(abc);
  await desk.session(xyz);
  return desk;
}

function expectRefused({ status, headers, body }: Answer, [code, http]: [string, number]): void {
  expect([body.error, status]).toEqual([code, http]);
  expect(headers.get("content-type")).toBe("application/problem+json");
  expect(body).toMatchObject({ success: false, message: expect.any(String) });
}

/** What only a holder may do, as seed 0's clients say it. */
const holderCalls = [
  ["release", (id: string) => `/api/tasks/${id}/release`, { reason: "completed" }],
  ["heartbeat", (id: string) => `/api/tasks/${id}/claim/heartbeat`, { extendMs: 1_800_000 }],
] as const;

describe.each(storeNames)("seed 0's rules on %s", (store) => {
  const desk = desks(store);
  const open = async () => sessions(await desk());

  describe("its error codes", () => {
    test("a task that does not exist: TASK_NOT_FOUND", async () => {
      const { post } = await open();
      expectRefused(await post("/api/tasks/nope/claim", { sessionId: abc }), ["TASK_NOT_FOUND", 404]);
      for (const [, path, more] of holderCalls) {
        expectRefused(await post(path("nope"), { sessionId: abc, ...more }), ["TASK_NOT_FOUND", 404]);
      }
    });

    test("a session that does not exist: SESSION_NOT_FOUND", async () => {
      const { post, get, task } = await open();
      const id = await task();
      const refused: [string, number] = ["SESSION_NOT_FOUND", 404];
      expectRefused(await post(`/api/tasks/${id}/claim`, { sessionId: "ghost" }), refused);
      expectRefused(await get("/api/sessions/ghost/current-task"), refused);
      for (const [, path, more] of holderCalls) {
        expectRefused(await post(path(id), { sessionId: "ghost", ...more }), refused);
      }
      // Nothing was registered by asking.
      expectRefused(await get("/api/sessions/ghost"), refused);
    });

    test("a session that does not exist can be registered by its claim", async () => {
      const { claim, get, task } = await open();
      await claim(await task(), "ghost", { register: true, agentType: "autonomous" });
      expect((await get("/api/sessions/ghost")).body.session.agentType).toBe("autonomous");
    });

    test("a task that nobody holds: TASK_NOT_CLAIMED", async () => {
      const { post, task } = await open();
      const id = await task();
      for (const [, path, more] of holderCalls) {
        expectRefused(await post(path(id), { sessionId: abc, ...more }), ["TASK_NOT_CLAIMED", 404]);
      }
    });

    test("a task that another session holds: NOT_CLAIM_OWNER", async () => {
      const { post, claim, task, shown } = await open();
      const id = await task();
      await claim(id, xyz);
      for (const [, path, more] of holderCalls) {
        expectRefused(await post(path(id), { sessionId: abc, ...more }), ["NOT_CLAIM_OWNER", 403]);
      }
      expect((await shown(id)).claim).toMatchObject({ sessionId: xyz, heartbeatCount: 0 });
    });

    test("a lease that is over: CLAIM_EXPIRED, until somebody else claims", async () => {
      const { post, claim, task, clock } = await open();
      const id = await task();
      await claim(id, abc, { start: true });
      clock.advance(minutes(30));
      for (const [, path, more] of holderCalls) {
        expectRefused(await post(path(id), { sessionId: abc, ...more }), ["CLAIM_EXPIRED", 410]);
      }
      await claim(id, xyz);
      for (const [, path, more] of holderCalls) {
        expectRefused(await post(path(id), { sessionId: abc, ...more }), ["NOT_CLAIM_OWNER", 403]);
      }
    });

    test("a task that waits for another: TASK_NOT_CLAIMABLE, and it says for which", async () => {
      const { post, task } = await open();
      const first = await task();
      const second = await task({ dependsOn: [first] });
      const refused = await post(`/api/tasks/${second}/claim`, { sessionId: abc });
      expectRefused(refused, ["TASK_NOT_CLAIMABLE", 400]);
      expect(refused.body.reasons).toMatchObject([{ code: "WAITING_ON_DEPENDENCIES", taskIds: [first] }]);
    });

    test("a task that is completed: TASK_NOT_CLAIMABLE", async () => {
      const { post, claim, task } = await open();
      const id = await task();
      await claim(id, abc);
      must(await post(`/api/tasks/${id}/release`, { sessionId: abc, reason: "completed" }));
      const refused = await post(`/api/tasks/${id}/claim`, { sessionId: xyz });
      expectRefused(refused, ["TASK_NOT_CLAIMABLE", 400]);
      expect(refused.body.reasons).toMatchObject([{ code: "TERMINAL" }]);
    });
  });

  describe("health", () => {
    const health = async ({ get }: Desk) =>
      (await get("/api/tasks/in-flight")).body.inFlight[0]?.claim.healthStatus;

    test("a lease that nears its end is first a warning, then expiring, then gone", async () => {
      const here = await open();
      const { clock } = here;
      await here.claim(await here.task(), abc, { ttlMs: minutes(6), start: true });
      expect(await health(here)).toBe("healthy");
      clock.advance(minutes(1) - 1);
      expect(await health(here)).toBe("healthy");
      clock.advance(1);
      expect(await health(here)).toBe("warning");
      clock.advance(minutes(4) - 1);
      expect(await health(here)).toBe("warning");
      clock.advance(1);
      expect(await health(here)).toBe("expiring");
      clock.advance(minutes(1));
      expect(await health(here)).toBeUndefined();
    });

    test("five minutes without a heartbeat are stale, and a heartbeat heals it", async () => {
      const here = await open();
      const { clock, post } = here;
      const id = await here.task();
      await here.claim(id, abc, { start: true });
      clock.advance(minutes(5) - 1);
      expect(await health(here)).toBe("healthy");
      clock.advance(1);
      expect(await health(here)).toBe("stale");
      expect((await here.get("/api/tasks/claims/stats")).body.byHealth).toEqual({ stale: 1 });
      must(await post(`/api/tasks/${id}/claim/heartbeat`, { sessionId: abc }));
      expect(await health(here)).toBe("healthy");
    });

    test("while a question is open the claim is paused and does not run out", async () => {
      const here = await open();
      const id = await here.task();
      await here.claim(id, abc, { start: true });
      must(await here.post(`/api/tasks/${id}/ask`, { sessionId: abc, question: "which?" }));
      here.clock.advance(minutes(60));
      expect(await health(here)).toBe("paused");
    });
  });

  describe("orphans", () => {
    test("a session that is deregistered gives back what it holds at once", async () => {
      const here = await open();
      const id = await here.task();
      await here.claim(id, abc, { start: true });
      const ended = must(await here.delete(`/api/sessions/${abc}`));
      expect(ended).toMatchObject({ success: true, released: [{ taskId: id, sessionId: abc }] });
      expect(await here.shown(id)).toMatchObject({ state: "queued", claim: null, lostCount: 1 });
      expect(await here.told(id)).toContain("task:claim-orphaned");
      await here.claim(id, xyz);
    });

    test("a session that promised heartbeats and is silent for ten minutes is dead", async () => {
      const here = await open();
      const { clock, post } = here;
      await here.session("auto", { agentType: "autonomous", heartbeats: true });
      const id = await here.task();
      await here.claim(id, "auto", { start: true });
      clock.advance(minutes(10) - 1);
      expect((await here.shown(id)).state).toBe("running");
      clock.advance(1);
      must(await post("/api/tasks/claims/cleanup"));
      expect(await here.shown(id)).toMatchObject({ state: "queued", lostCount: 1 });
      expect((await here.timeline(id)).at(-1)).toMatchObject({
        type: "task:claim-orphaned",
        data: { taskId: id, reason: expect.stringMatching(/session/) },
      });
    });

    test("any call of that session is a sign of life", async () => {
      const here = await open();
      const { clock, post } = here;
      await here.session("auto", { heartbeats: true });
      const id = await here.task();
      await here.claim(id, "auto", { start: true });
      clock.advance(minutes(9));
      must(await post("/api/sessions/auto/heartbeat", {}));
      clock.advance(minutes(9));
      must(await post(`/api/tasks/${id}/claim/heartbeat`, { sessionId: "auto" }));
      clock.advance(minutes(9));
      expect((await here.shown(id)).state).toBe("running");
    });

    test("a session that promised nothing is not dead after ten minutes; its claim only expires", async () => {
      const here = await open();
      const id = await here.task();
      await here.claim(id, abc, { start: true });
      here.clock.advance(minutes(29));
      must(await here.post("/api/tasks/claims/cleanup"));
      expect((await here.shown(id)).state).toBe("running");
      here.clock.advance(minutes(1));
      must(await here.post("/api/tasks/claims/cleanup"));
      expect(await here.told(id)).toContain("task:claim-expired");
      expect(await here.told(id)).not.toContain("task:claim-orphaned");
    });

    test("a process of this host that is gone is noticed, and its task is free", async () => {
      const here = await open();
      const child = spawn("sleep", ["600"], { stdio: "ignore" });
      await once(child, "spawn");
      await here.session("crashed", { pid: child.pid! });
      const id = await here.task();
      await here.claim(id, "crashed", { start: true });
      must(await here.post("/api/tasks/claims/cleanup"));
      expect((await here.shown(id)).state).toBe("running");
      child.kill("SIGKILL");
      await once(child, "exit");
      must(await here.post("/api/tasks/claims/cleanup"));
      expect(await here.shown(id)).toMatchObject({ state: "queued", lostCount: 1 });
      expect((await here.timeline(id)).at(-1)).toMatchObject({
        type: "task:claim-orphaned",
        data: { taskId: id, reason: expect.any(String) },
      });
    });
  });

  describe("its settings", () => {
    test("are the defaults of a project", async () => {
      const { get, project } = await desk();
      expect((await get(`/api/projects/${project}`)).body.project.settings.claim).toMatchObject({
        defaultTtlMs: 1_800_000,
        maxTtlMs: 7_200_000,
        minTtlMs: 60_000,
        heartbeatIntervalMs: 60_000,
        cleanupIntervalMs: 300_000,
        orphanThresholdMs: 600_000,
        warningThresholdMs: 300_000,
        expiringThresholdMs: 60_000,
      });
    });

    test("can be changed, and the next claim follows them, bounds included", async () => {
      const here = await open();
      const { settings, claim, post, task, at } = here;
      await settings({ claim: { defaultTtlMs: 2_000, minTtlMs: 500, maxTtlMs: 3_000 } });
      expect((await claim(await task(), abc)).expiresAt).toBe(at(2_000));
      expect((await claim(await task(), xyz, { ttlMs: 500 })).expiresAt).toBe(at(500));
      const { status, body } = await post(`/api/tasks/${await task()}/claim`, {
        sessionId: abc,
        ttlMs: 3_001,
      });
      expect([status, body.error]).toEqual([400, "VALIDATION_FAILED"]);
      expect(body.message).toMatch(/500.*3000/);
    });

    test("thresholds of health and silence follow them, too", async () => {
      const here = await open();
      await here.settings({
        claim: { warningThresholdMs: 5_000, expiringThresholdMs: 2_000, orphanThresholdMs: 20_000 },
      });
      await here.session("auto", { heartbeats: true });
      const id = await here.task();
      await here.claim(id, "auto", { ttlMs: minutes(1), start: true });
      const health = async () => (await here.shown(id)).claim?.healthStatus;
      for (const _ of [1, 2, 3]) {
        here.clock.advance(seconds(15));
        must(await here.post("/api/sessions/auto/heartbeat", {}));
      }
      here.clock.advance(seconds(10));
      expect(await health()).toBe("warning");
      here.clock.advance(seconds(3));
      expect(await health()).toBe("expiring");
      must(await here.post(`/api/tasks/${id}/claim/heartbeat`, { sessionId: "auto" }));
      here.clock.advance(seconds(20));
      expect(await here.told(id)).toContain("task:claim-orphaned");
    });

    test("the server itself ends what is due: nobody needs to call cleanup", async () => {
      const here = await open();
      const id = await here.task();
      await here.claim(id, abc, { start: true });
      const following = await Following.open(here.world, `/api/events/stream?project=${here.project}`);
      here.clock.advance(minutes(30));
      const seen = await following.until("task:claim-expired");
      following.close();
      expect(seen.at(-1)).toMatchObject({ taskId: id, data: { taskId: id, sessionId: abc, reason: "ttl" } });
    });
  });

  describe("its live events", () => {
    /** Type and data, as seed 0's pages read them. */
    async function watch(here: Desk, last: string, act: () => Promise<unknown>): Promise<Told[]> {
      const following = await Following.open(here.world, "/api/events/stream", {
        "dibs-project": here.project,
      });
      expect(following.answer.headers.get("content-type")).toMatch(/^text\/event-stream/);
      await act();
      const seen = await following.until(last);
      following.close();
      return seen;
    }
    const only = (seen: Told[], type: string) => seen.find((each) => each.type === type);

    test("task:claimed with the task and the session, and task:released with the reason", async () => {
      const here = await open();
      const id = await here.task();
      const seen = await watch(here, "task:completed", async () => {
        await here.claim(id, abc);
        await here.post(`/api/tasks/${id}/release`, { sessionId: abc, reason: "completed" });
      });
      expect(only(seen, "task:claimed")).toMatchObject({ data: { taskId: id, sessionId: abc } });
      expect(only(seen, "task:released")).toMatchObject({ data: { taskId: id, reason: "completed" } });
    });

    test("task:claim-expired with the task and the session", async () => {
      const here = await open();
      const id = await here.task();
      await here.claim(id, abc, { start: true });
      const seen = await watch(here, "task:claim-expired", async () => {
        here.clock.advance(minutes(30));
        must(await here.post("/api/tasks/claims/cleanup"));
      });
      expect(seen.at(-1)).toMatchObject({ data: { taskId: id, sessionId: abc } });
    });

    test("task:claim-orphaned with the task and a reason", async () => {
      const here = await open();
      const id = await here.task();
      await here.claim(id, abc);
      const seen = await watch(here, "task:claim-orphaned", () => here.delete(`/api/sessions/${abc}`));
      expect(seen.at(-1)).toMatchObject({ data: { taskId: id, sessionId: abc, reason: expect.any(String) } });
    });

    test("each message is one event: its number as id, no name, and JSON with type and data", async () => {
      const here = await open();
      const following = await Following.open(here.world, `/api/events/stream?project=${here.project}`);
      const id = await here.task();
      const first = await following.next();
      const second = await following.next();
      following.close();
      expect(first.text).not.toMatch(/^event:/m);
      expect(first.event).toMatchObject({ type: "task:created", data: { taskId: id } });
      expect(second.event).toMatchObject({ type: "task:queued", data: { taskId: id } });
      expect([first.id, second.id]).toEqual([String(first.event.seq), String(second.event.seq)]);
    });

    test("a page that comes back goes on where it was, and sees nothing twice", async () => {
      const here = await open();
      const path = `/api/events/stream?project=${here.project}`;
      const before = await Following.open(here.world, path);
      await here.task();
      const { id } = await before.next();
      before.close();
      const missed = await here.task();
      const after = await Following.open(here.world, path, { "last-event-id": id });
      const seen = [await after.next(), await after.next(), await after.next()].map(({ event }) => event);
      after.close();
      expect(seen.map(({ type }) => type)).toEqual(["task:queued", "task:created", "task:queued"]);
      expect(seen[1]!.taskId).toBe(missed);
    });
  });
});
