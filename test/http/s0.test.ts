// Seed 0, "Session-Task Claiming": its seven endpoints, request and answer as they are printed there.

import { describe, expect, test } from "vitest";
import { type Desk, desks, minutes, must, seconds } from "./desk.js";
import { storeNames } from "./support.js";

const taskId = "hierarchy-phase4-metrics";
const title = "Phase 4: Delegation Metrics";
const abc = "session-abc-123";
const xyz = "session-xyz-789";

/** The task and the two sessions that seed 0 talks about. */
async function scene(desk: Desk): Promise<Desk> {
  await desk.task({ id: taskId, title, phase: "implementation", priority: "medium" });
  await desk.session(abc);
  await desk.session(xyz);
  return desk;
}

describe.each(storeNames)("seed 0's endpoints on %s", (store) => {
  const desk = desks(store);
  const open = async () => scene(await desk());

  describe("POST /api/tasks/:taskId/claim", () => {
    test("I claim a task and am told until when it is mine", async () => {
      const { post, at, get } = await open();
      const request = { sessionId: abc, ttlMs: 1_800_000, agentType: "autonomous" };
      const { status, headers, body } = await post(`/api/tasks/${taskId}/claim`, request);
      expect(status).toBe(200);
      expect(headers.get("content-type")).toMatch(/^application\/json/);
      expect(body).toMatchObject({
        success: true,
        claim: { taskId, sessionId: abc, claimedAt: at(), expiresAt: at(1_800_000) },
      });
      // S0's task object carries the claim.
      expect((await get(`/api/tasks/${taskId}`)).body.task.claim).toMatchObject({
        sessionId: abc,
        claimedAt: at(),
        expiresAt: at(1_800_000),
        lastHeartbeat: at(),
        agentType: "autonomous",
      });
    });

    test("without a length the lease is half an hour, and my session's type is the claim's", async () => {
      const { post, at, session } = await open();
      await session("s", { agentType: "autonomous" });
      const { body } = await post(`/api/tasks/${taskId}/claim`, { sessionId: "s" });
      expect(body.claim).toMatchObject({ expiresAt: at(minutes(30)), agentType: "autonomous" });
    });

    test("what somebody else holds is 409, with who holds it and for how long", async () => {
      const { post, claim, at, clock } = await open();
      await claim(taskId, xyz, { ttlMs: 1_800_000 });
      const claimedAt = at();
      must(await post(`/api/tasks/${taskId}/claim/heartbeat`, { sessionId: xyz }));
      clock.advance(minutes(15));
      const { status, body, headers } = await post(`/api/tasks/${taskId}/claim`, {
        sessionId: abc,
        ttlMs: 1_800_000,
        agentType: "autonomous",
      });
      expect(status).toBe(409);
      expect(headers.get("content-type")).toBe("application/problem+json");
      expect(body).toMatchObject({
        success: false,
        error: "TASK_ALREADY_CLAIMED",
        claim: { sessionId: xyz, claimedAt, remainingMs: 900_000, holderAlive: true },
      });
    });

    test("claiming again what I hold renews it, and it stays the same claim", async () => {
      const { claim, at, clock } = await open();
      const first = await claim(taskId, abc);
      clock.advance(minutes(4));
      const again = await claim(taskId, abc);
      expect(again).toMatchObject({ claimedAt: first.claimedAt, epoch: first.epoch });
      expect(again.expiresAt).toBe(at(minutes(30)));
    });

    test("of twelve sessions that want it at the same time exactly one gets it", async () => {
      const { post, session } = await open();
      const ids = Array.from({ length: 12 }, (_, n) => `racer-${n}`);
      for (const id of ids) await session(id);
      const answers = await Promise.all(
        ids.map((sessionId) => post(`/api/tasks/${taskId}/claim`, { sessionId })),
      );
      const won = answers.filter(({ status }) => status === 200);
      const lost = answers.filter(({ status }) => status === 409);
      expect([won.length, lost.length]).toEqual([1, 11]);
      const winner = won[0]!.body.claim.sessionId;
      for (const { body } of lost) expect(body.claim.sessionId).toBe(winner);
    });

    test("a length outside the bounds is refused, and the bounds are named", async () => {
      const { post } = await open();
      for (const ttlMs of [59_999, 7_200_001, 0, -1, 90_000.5]) {
        const { status, body } = await post(`/api/tasks/${taskId}/claim`, { sessionId: abc, ttlMs });
        expect([status, body.error]).toEqual([400, "VALIDATION_FAILED"]);
        expect(body.message).toMatch(/60000.*7200000/);
        expect(body.issues[0].path).toBe("ttlMs");
      }
    });

    test.each([60_000, 7_200_000])("a length of %i ms is within the bounds", async (ttlMs) => {
      const { claim, at } = await open();
      expect((await claim(taskId, abc, { ttlMs })).expiresAt).toBe(at(ttlMs));
    });
  });

  describe("POST /api/tasks/:taskId/release", () => {
    test("I release a task as completed after half an hour", async () => {
      const { post, claim, clock, shown } = await open();
      await claim(taskId, abc, { ttlMs: 3_600_000, start: true });
      clock.advance(1_800_000);
      const { status, body } = await post(`/api/tasks/${taskId}/release`, {
        sessionId: abc,
        reason: "completed",
      });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        success: true,
        released: { taskId, reason: "completed", claimDuration: 1_800_000 },
      });
      expect(await shown(taskId)).toMatchObject({ state: "completed", claim: null });
    });

    test("a release that is repeated answers the same and changes nothing", async () => {
      const { post, claim, clock, told } = await open();
      await claim(taskId, abc);
      clock.advance(seconds(10));
      const request = { sessionId: abc, reason: "completed" };
      const first = must(await post(`/api/tasks/${taskId}/release`, request));
      const events = await told(taskId);
      clock.advance(seconds(10));
      const again = await post(`/api/tasks/${taskId}/release`, request);
      expect(again.status).toBe(200);
      expect(again.body.released).toEqual(first.released);
      expect(await told(taskId)).toEqual(events);
    });

    test("what somebody else holds I cannot release", async () => {
      const { post, claim, shown } = await open();
      await claim(taskId, xyz);
      const { status, body } = await post(`/api/tasks/${taskId}/release`, { sessionId: abc, reason: "mine" });
      expect([status, body.error, body.success]).toEqual([403, "NOT_CLAIM_OWNER", false]);
      expect((await shown(taskId)).claim.sessionId).toBe(xyz);
    });
  });

  describe("POST /api/tasks/:taskId/claim/heartbeat", () => {
    test("each heartbeat moves the end of my lease and is counted", async () => {
      const { post, claim, clock, at } = await open();
      await claim(taskId, abc);
      for (let count = 1; count <= 3; count++) {
        clock.advance(minutes(1));
        const request = { sessionId: abc, extendMs: 1_800_000 };
        const { status, body } = await post(`/api/tasks/${taskId}/claim/heartbeat`, request);
        expect(status).toBe(200);
        expect(body).toMatchObject({
          success: true,
          claim: { expiresAt: at(1_800_000), heartbeatCount: count },
        });
      }
    });

    test("without a length it extends by the claim's own, and it never shortens the lease", async () => {
      const { post, claim, clock, at } = await open();
      await claim(taskId, abc, { ttlMs: minutes(20) });
      clock.advance(minutes(1));
      const own = must(await post(`/api/tasks/${taskId}/claim/heartbeat`, { sessionId: abc }));
      expect(own.claim.expiresAt).toBe(at(minutes(20)));
      const short = { sessionId: abc, extendMs: minutes(1) };
      const shorter = must(await post(`/api/tasks/${taskId}/claim/heartbeat`, short));
      expect(shorter.claim.expiresAt).toBe(at(minutes(20)));
    });

    test("an extension outside the bounds is refused", async () => {
      const { post, claim } = await open();
      await claim(taskId, abc);
      const request = { sessionId: abc, extendMs: 7_200_001 };
      const { status, body } = await post(`/api/tasks/${taskId}/claim/heartbeat`, request);
      expect([status, body.error, body.issues[0].path]).toEqual([400, "VALIDATION_FAILED", "extendMs"]);
    });
  });

  describe("GET /api/tasks/in-flight", () => {
    async function three(): Promise<Desk> {
      const here = await open();
      await here.session(abc, { capacity: 5 });
      await here.claim(taskId, abc, { agentType: "autonomous" });
      await here.claim(await here.task({ id: "second" }), abc);
      await here.claim(await here.task({ id: "third" }), xyz);
      return here;
    }

    test("I see who works on what, and how many each holds", async () => {
      const { get, at } = await three();
      const { status, body } = await get("/api/tasks/in-flight");
      expect(status).toBe(200);
      expect(body.inFlight.map((each: { taskId: string }) => each.taskId).sort()).toEqual(
        [taskId, "second", "third"].sort(),
      );
      expect(body.inFlight.find((each: { taskId: string }) => each.taskId === taskId)).toMatchObject({
        taskId,
        task: { title, phase: "implementation", priority: "medium" },
        claim: {
          sessionId: abc,
          claimedAt: at(),
          expiresAt: at(minutes(30)),
          agentType: "autonomous",
          healthStatus: "healthy",
        },
      });
      expect(body.summary).toEqual({ total: 3, bySession: { [abc]: 2, [xyz]: 1 } });
    });

    test("I can ask for one session's", async () => {
      const { get } = await three();
      const { body } = await get(`/api/tasks/in-flight?sessionId=${xyz}`);
      expect(body.inFlight.map((each: { taskId: string }) => each.taskId)).toEqual(["third"]);
      expect(body.summary).toEqual({ total: 1, bySession: { [xyz]: 1 } });
    });

    test("expired claims are left out unless I ask for them", async () => {
      const { get, clock, post } = await three();
      must(await post("/api/tasks/third/claim/heartbeat", { sessionId: xyz }));
      clock.advance(minutes(6)); // abc's two were never started
      const live = (await get("/api/tasks/in-flight")).body;
      expect(live.summary).toEqual({ total: 1, bySession: { [xyz]: 1 } });
      const all = (await get("/api/tasks/in-flight?includeExpired=true")).body;
      expect(all.summary).toEqual({ total: 3, bySession: { [abc]: 2, [xyz]: 1 } });
      const health = Object.fromEntries(
        all.inFlight.map((each: { taskId: string; claim: { healthStatus: string } }) => [
          each.taskId,
          each.claim.healthStatus,
        ]),
      );
      expect(health).toMatchObject({ [taskId]: "expired", second: "expired" });
      expect(health.third).not.toBe("expired");
      const none = (await get("/api/tasks/in-flight?includeExpired=false")).body;
      expect(none.summary.total).toBe(1);
    });

    test("nothing claimed is an empty list", async () => {
      const { get } = await open();
      expect((await get("/api/tasks/in-flight")).body).toEqual({
        inFlight: [],
        summary: { total: 0, bySession: {} },
      });
    });
  });

  describe("GET /api/sessions/:sessionId/current-task", () => {
    test("I see what a session works on and how long its lease lasts", async () => {
      const { get, claim, clock, at } = await open();
      await claim(taskId, abc, { ttlMs: minutes(5), start: true });
      const claimedAt = at();
      clock.advance(minutes(1));
      const { status, body } = await get(`/api/sessions/${abc}/current-task`);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        sessionId: abc,
        currentTask: { taskId, title, claim: { claimedAt, remainingMs: 240_000 } },
      });
    });

    test("a session that holds nothing, or whose lease is over, has none", async () => {
      const { get, claim, clock } = await open();
      expect((await get(`/api/sessions/${abc}/current-task`)).body).toEqual({
        sessionId: abc,
        currentTask: null,
      });
      await claim(taskId, abc, { start: true });
      clock.advance(minutes(30));
      expect((await get(`/api/sessions/${abc}/current-task`)).body.currentTask).toBeNull();
    });

    test("two sessions see two different current tasks", async () => {
      const { get, claim, task } = await open();
      await claim(taskId, abc);
      await claim(await task({ id: "other" }), xyz);
      expect((await get(`/api/sessions/${abc}/current-task`)).body.currentTask.taskId).toBe(taskId);
      expect((await get(`/api/sessions/${xyz}/current-task`)).body.currentTask.taskId).toBe("other");
    });

    test("a session that claims a part of its task works on the part, and then on the whole again", async () => {
      const { get, post, claim, task, clock } = await open();
      await claim(taskId, abc, { start: true });
      clock.advance(1);
      const part = await task({ parentId: taskId });
      await claim(part, abc, { start: true });
      const current = async () => [
        (await get(`/api/sessions/${abc}/current-task`)).body.currentTask.taskId,
        (await get(`/api/sessions/${abc}`)).body.session.currentTaskId,
      ];
      expect(await current()).toEqual([part, part]);
      must(await post(`/api/tasks/${part}/complete`, { sessionId: abc }));
      expect(await current()).toEqual([taskId, taskId]);
    });
  });

  describe("POST /api/tasks/claims/cleanup", () => {
    test("a claim whose time is up is cleaned, and the task is free", async () => {
      const { post, claim, clock, task, shown, project } = await open();
      let cleaned: object[] = [];
      // The server also sweeps by itself, every second: now and then it is first.
      for (let n = 1; cleaned.length === 0 && n <= 5; n++) {
        const id = await task({ id: `late-${n}` });
        await claim(id, abc, { start: true });
        clock.advance(minutes(30) - 1);
        expect(ours(await post("/api/tasks/claims/cleanup"), project)).toEqual([]);
        clock.advance(1);
        const answer = await post("/api/tasks/claims/cleanup");
        expect([answer.status, answer.body.success]).toEqual([200, true]);
        cleaned = ours(answer, project);
        if (cleaned.length > 0)
          expect(cleaned).toEqual([{ project, taskId: id, sessionId: abc, reason: "ttl" }]);
        expect(await shown(id)).toMatchObject({ state: "queued", claim: null });
      }
      expect(cleaned).toHaveLength(1);
    });

    test("nothing to clean is an empty list", async () => {
      const { post, project } = await open();
      const answer = await post("/api/tasks/claims/cleanup");
      expect(answer.body.success).toBe(true);
      expect(ours(answer, project)).toEqual([]);
    });
  });

  describe("GET /api/tasks/claims/stats", () => {
    test("claims are counted by type, session and health", async () => {
      const { get, claim, task, clock, at } = await open();
      await claim(taskId, abc, { agentType: "autonomous", start: true });
      const first = at();
      clock.advance(minutes(2));
      await claim(await task({ id: "second" }), xyz, { agentType: "cli" });
      const { status, body } = await get("/api/tasks/claims/stats");
      expect(status).toBe(200);
      expect(body).toMatchObject({
        active: 2,
        byAgentType: { autonomous: 1, cli: 1 },
        bySession: { [abc]: 1, [xyz]: 1 },
        byHealth: { healthy: 2 },
        expired: 0,
        orphaned: 0,
        averageDurationMs: minutes(1),
        oldest: { taskId, sessionId: abc, claimedAt: first },
      });
    });

    test("without claims all counts are zero", async () => {
      const { get } = await open();
      expect((await get("/api/tasks/claims/stats")).body).toEqual({
        active: 0,
        byAgentType: {},
        bySession: {},
        byHealth: {},
        expired: 0,
        orphaned: 0,
        averageDurationMs: 0,
        oldest: null,
      });
    });
  });

  describe("the session object", () => {
    test("shows the current task and, afterwards, the history of its claims", async () => {
      const { get, post, claim, at, clock } = await open();
      await claim(taskId, abc, { ttlMs: 7_200_000, start: true });
      const claimedAt = at();
      expect((await get(`/api/sessions/${abc}`)).body.session).toMatchObject({
        currentTaskId: taskId,
        currentTaskClaimedAt: claimedAt,
      });
      clock.advance(6_300_000);
      must(await post(`/api/tasks/${taskId}/release`, { sessionId: abc, reason: "completed" }));
      const { session } = (await get(`/api/sessions/${abc}`)).body;
      expect(session).toMatchObject({ currentTaskId: null, currentTaskClaimedAt: null });
      expect(session.claimHistory).toEqual([
        { taskId, claimedAt, releasedAt: at(), releaseReason: "completed", duration: 6_300_000 },
      ]);
    });

    test("the history keeps the last ten, newest first", async () => {
      const { get, post, claim, task } = await open();
      for (let n = 1; n <= 12; n++) {
        await claim(await task({ id: `job-${n}` }), abc);
        must(await post(`/api/tasks/job-${n}/release`, { sessionId: abc, reason: "completed" }));
      }
      const { claimHistory } = (await get(`/api/sessions/${abc}`)).body.session;
      expect(claimHistory.map((each: { taskId: string }) => each.taskId)).toEqual(
        [12, 11, 10, 9, 8, 7, 6, 5, 4, 3].map((n) => `job-${n}`),
      );
    });
  });
});

/** Only what was cleaned in this test's project. */
function ours({ body }: { body: { cleaned: { project: string }[] } }, project: string) {
  return body.cleaned.filter((each) => each.project === project);
}
