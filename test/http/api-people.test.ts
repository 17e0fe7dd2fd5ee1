// Sessions, notifications, projects, ids, figures, events, locks and tokens over HTTP.

import { describe, expect, test } from "vitest";
import { type Desk, desks, minutes, must, type Told } from "./desk.js";
import { storeNames } from "./support.js";

describe.each(storeNames)("on %s", (store) => {
  const desk = desks(store);

  describe("sessions", () => {
    test("I register one with all that it says about itself", async () => {
      const here = await desk();
      const input = {
        id: "session-1",
        name: "Alice's agent",
        agentType: "autonomous",
        host: "elsewhere",
        pid: 4711,
        capabilities: ["docker", "gpu"],
        capacity: 3,
        heartbeats: true,
      };
      const { status, body } = await here.post("/api/sessions", input);
      expect(status).toBe(201);
      expect(body).toMatchObject({
        success: true,
        session: {
          ...input,
          project: here.project,
          startedAt: here.at(),
          lastSeenAt: here.at(),
          endedAt: null,
          currentTaskId: null,
          claimHistory: [],
        },
      });
      expect(must(await here.get("/api/sessions/session-1")).session).toEqual(body.session);
      expect(must(await here.get("/api/sessions")).sessions).toEqual([body.session]);
    });

    test("without an id it is given one", async () => {
      const here = await desk();
      const ids = [must(await here.post("/api/sessions")), must(await here.post("/api/sessions"))];
      expect(ids[0].session.id).not.toBe(ids[1].session.id);
    });

    test("registering it again refreshes it and keeps what it holds", async () => {
      const here = await desk();
      const id = await here.running("worker");
      here.clock.advance(minutes(1));
      const { session } = must(await here.post("/api/sessions", { id: "worker", name: "renamed" }));
      expect(session).toMatchObject({ name: "renamed", currentTaskId: id, lastSeenAt: here.at() });
    });

    test("another process under the same id takes over, and what the old one held is free", async () => {
      const here = await desk();
      await here.session("worker", { pid: 1, host: "far-away", processStartedAt: "one" });
      const id = await here.task();
      await here.claim(id, "worker", { start: true });
      await here.session("worker", { pid: 2, host: "far-away", processStartedAt: "two" });
      expect(await here.shown(id)).toMatchObject({ state: "queued", lostCount: 1 });
    });

    test("a heartbeat tells how full its context is and how well it does", async () => {
      const here = await desk();
      await here.session("worker");
      here.clock.advance(minutes(1));
      const { status, body } = await here.post("/api/sessions/worker/heartbeat", {
        contextPercent: 67,
        score: 92,
      });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        success: true,
        session: { contextPercent: 67, score: 92, lastSeenAt: here.at() },
      });
      const later = must(await here.post("/api/sessions/worker/heartbeat"));
      expect(later.session).toMatchObject({ contextPercent: 67, score: 92 });
    });

    test("the summary is what session cards show: current task, phase, done of all, and totals", async () => {
      const here = await desk();
      await here.session("busy", { agentType: "cli" });
      await here.session("idle", { agentType: "autonomous" });
      const done = await here.task();
      await here.claim(done, "busy");
      must(await here.post(`/api/tasks/${done}/complete`, { sessionId: "busy" }));
      const id = await here.task({ title: "implement-dashboard-api", phase: "implementation" });
      await here.claim(id, "busy", { start: true });
      await here.task();
      const { sessions, totals } = must(await here.get("/api/sessions/summary"));
      const [busy, idle] = ["busy", "idle"].map((name) =>
        sessions.find((each: { id: string }) => each.id === name),
      );
      expect(busy).toMatchObject({
        agentType: "cli",
        currentTaskId: id,
        currentTask: {
          taskId: id,
          title: "implement-dashboard-api",
          phase: "implementation",
          state: "running",
          claim: { healthStatus: "healthy" },
        },
        tasksDone: 1,
        tasksTotal: 3,
      });
      expect(idle).toMatchObject({ currentTask: null, tasksDone: 0, tasksTotal: 3 });
      expect(totals).toMatchObject({
        sessions: 2,
        working: 1,
        idle: 1,
        tasks: { queued: 1, running: 1, completed: 1 },
      });
    });

    test("of all projects the summary counts each session's own; if not all fit, those that need somebody are there", async () => {
      const here = await desk();
      for (const name of ["a", "b", "c", "d"]) await here.session(name);
      const [running, asking] = [await here.task(), await here.task()];
      await here.claim(running, "c", { start: true });
      await here.claim(asking, "d", { start: true });
      must(await here.post(`/api/tasks/${asking}/ask`, { sessionId: "d", question: "Which?" }));
      const seen = async (query: string) => must(await here.get(`/api/sessions/summary?${query}`));
      const { sessions } = await seen("project=*");
      const own = sessions.filter(({ project }: { project: string }) => project === here.project);
      expect(own.map((each: { tasksTotal: number }) => each.tasksTotal)).toEqual([2, 2, 2, 2]);
      expect((await seen("limit=1")).sessions).toMatchObject([{ id: "d" }]);
      const two = await seen("limit=2");
      expect(two.sessions).toMatchObject([{ id: "c" }, { id: "d" }]);
      expect(two.totals).toMatchObject({ sessions: 4, working: 2, idle: 2 });
    });

    test("I end one: it is gone from the list, and kept among all", async () => {
      const here = await desk();
      await here.session("worker");
      const { status, body } = await here.delete("/api/sessions/worker");
      expect([status, body]).toEqual([200, { success: true, released: [] }]);
      expect(must(await here.get("/api/sessions")).sessions).toEqual([]);
      expect(must(await here.get("/api/sessions?all=true")).sessions).toMatchObject([
        { id: "worker", endedAt: here.at() },
      ]);
      const again = await here.delete("/api/sessions/worker");
      expect([again.status, again.body.error]).toEqual([404, "SESSION_NOT_FOUND"]);
      const claim = await here.post("/api/tasks/claim-next", { sessionId: "worker" });
      expect([claim.status, claim.body.error]).toEqual([404, "SESSION_NOT_FOUND"]);
    });

    test("one that was silent for a day is not listed any more", async () => {
      const here = await desk();
      await here.session("old");
      here.clock.advance(minutes(24 * 60) + 1);
      await here.session("new");
      const names = (path: string) =>
        here.get(path).then((answer) => must(answer).sessions.map(({ id }: { id: string }) => id));
      expect(await names("/api/sessions")).toEqual(["new"]);
      expect(await names("/api/sessions/summary")).toEqual(["new"]);
      expect(await names("/api/sessions?all=true")).toEqual(["new", "old"]);
    });
  });

  describe("notifications", () => {
    /** A question and a failure. */
    async function two(): Promise<Desk> {
      const here = await desk();
      const failing = await here.running("worker-1");
      must(
        await here.post(`/api/tasks/${failing}/fail`, {
          sessionId: "worker-1",
          error: "red",
          retryable: false,
        }),
      );
      const asking = await here.running("worker-2");
      must(await here.post(`/api/tasks/${asking}/ask`, { sessionId: "worker-2", question: "which?" }));
      return here;
    }

    test("are listed newest first, with how many are unread, and I can mark one as read", async () => {
      const here = await two();
      const list = must(await here.get("/api/notifications"));
      expect(list.notifications.map(({ type }: { type: string }) => type)).toEqual([
        "TASK_AWAITING_RESPONSE",
        "TASK_ERROR",
      ]);
      expect(list.unread).toBe(2);
      const [, error] = list.notifications;
      const { status, body } = await here.post(`/api/notifications/${error.id}/read`);
      expect(status).toBe(200);
      expect(body).toMatchObject({ success: true, notification: { id: error.id, readAt: here.at() } });
      const after = must(await here.get("/api/notifications?unread=true"));
      expect([after.notifications.length, after.unread]).toEqual([1, 1]);
      expect(must(await here.get("/api/notifications")).notifications).toHaveLength(2);
      // Once more is no change.
      here.clock.advance(1_000);
      expect(must(await here.post(`/api/notifications/${error.id}/read`)).notification.readAt).toBe(
        body.notification.readAt,
      );
    });

    test("that do not exist are NOT_FOUND", async () => {
      const here = await desk();
      const { status, body } = await here.post("/api/notifications/n999999/read");
      expect([status, body.error]).toEqual([404, "NOT_FOUND"]);
    });

    test("the inbox has the open questions with all that is needed to answer them", async () => {
      const here = await two();
      const { questions, notifications, unread } = must(await here.get("/api/inbox"));
      expect(questions).toMatchObject([
        {
          state: "awaiting_response",
          question: { text: "which?", askedAt: here.at() },
          claim: { sessionId: "worker-2" },
        },
      ]);
      expect([notifications.length, unread]).toEqual([2, 2]);
    });
  });

  describe("projects", () => {
    test("I create one with settings, and the others are the defaults", async () => {
      const { world, project } = await desk();
      const id = `${project}-new`;
      const { status, body } = await world.post("/api/projects", { id, settings: { maxRetries: 1 } });
      expect(status).toBe(201);
      expect(body).toMatchObject({
        success: true,
        project: {
          id,
          paused: false,
          isDefault: false,
          settings: {
            maxRetries: 1,
            maxLost: 3,
            order: "priority",
            retry: { delayMs: 30_000, backoff: "exponential", maxDelayMs: 3_600_000, jitter: 0.1 },
            ageing: { enabled: true, stepMs: 300_000, boost: 20, boostMax: 40 },
            claim: { startTimeoutMs: 300_000, staleAfterMs: 300_000 },
          },
        },
      });
      const again = await world.post("/api/projects", { id });
      expect([again.status, again.body.error]).toEqual([409, "ID_TAKEN"]);
      const { projects } = must(await world.get("/api/projects?limit=1000"));
      expect(projects.find((each: { id: string }) => each.id === id)).toEqual(body.project);
      expect(projects.filter((each: { isDefault: boolean }) => each.isDefault)).toMatchObject([
        { id: "demo" },
      ]);
    });

    test("I change settings one by one, deep inside, and nothing else changes", async () => {
      const { world, project } = await desk();
      const path = `/api/projects/${project}`;
      const before = must(await world.get(path)).project.settings;
      const patch = { settings: { claim: { defaultTtlMs: 120_000 }, retry: { backoff: "fixed" } } };
      const { status, body } = await world.patch(path, patch);
      expect(status).toBe(200);
      expect(body.success).toBe(true);
      expect(body.project.settings).toEqual({
        ...before,
        claim: { ...before.claim, defaultTtlMs: 120_000 },
        retry: { ...before.retry, backoff: "fixed" },
      });
      expect(must(await world.get(path)).project).toEqual(body.project);
    });

    test("settings that nobody knows, or that contradict each other, are refused", async () => {
      const { world, project } = await desk();
      for (const settings of [
        { claim: { minTtlMs: 5_000, maxTtlMs: 1_000 } },
        { claim: { defaultTTL: 1 } },
        { colour: "red" },
        { ageing: { boost: 101 } },
      ]) {
        const { status, body } = await world.patch(`/api/projects/${project}`, { settings });
        expect([status, body.error]).toEqual([400, "VALIDATION_FAILED"]);
        expect(body.issues.length).toBeGreaterThan(0);
      }
    });

    test("the retry settings are what a failed attempt goes by", async () => {
      const here = await desk();
      await here.settings({
        maxRetries: 5,
        retry: { delayMs: 1_000, backoff: "exponential", maxDelayMs: 3_000, jitter: 0 },
      });
      const id = await here.running("worker");
      const delays: number[] = [];
      for (let attempt = 1; attempt <= 3; attempt++) {
        const { retryAt } = must(
          await here.post(`/api/tasks/${id}/fail`, { sessionId: "worker", error: "x" }),
        );
        const delayMs = Date.parse(retryAt) - here.clock.now();
        delays.push(delayMs);
        here.clock.advance(delayMs);
        await here.claim(id, "worker");
      }
      expect(delays).toEqual([1_000, 2_000, 3_000]);
    });

    test("I pause and resume one, by its own routes and by PATCH", async () => {
      const { world, project } = await desk();
      const path = `/api/projects/${project}`;
      expect(must(await world.post(`${path}/pause`))).toMatchObject({
        success: true,
        project: { paused: true },
      });
      expect(must(await world.post(`${path}/resume`)).project.paused).toBe(false);
      expect(must(await world.patch(path, { paused: true })).project.paused).toBe(true);
      expect(must(await world.get(path)).project.paused).toBe(true);
    });
  });

  describe("ids", () => {
    test("I reserve the next id, and no task gets it by itself", async () => {
      const here = await desk();
      const { status, body } = await here.post("/api/ids/next");
      expect([status, body]).toEqual([200, { id: "0001" }]);
      expect(await here.task()).toBe("0002");
      expect(must(await here.post("/api/ids/next", { parentId: "0002" }))).toEqual({ id: "0002_t1" });
      expect(await here.task({ parentId: "0002" })).toBe("0002_t2");
      const refused = await here.post("/api/ids/next", { parentId: "nope" });
      expect([refused.status, refused.body.error]).toEqual([404, "TASK_NOT_FOUND"]);
    });

    test("many at the same time are all different", async () => {
      const here = await desk();
      const answers = await Promise.all(Array.from({ length: 30 }, () => here.post("/api/ids/next")));
      expect(new Set(answers.map((answer) => must(answer).id)).size).toBe(30);
    });
  });

  describe("stats and history", () => {
    /** One of each, half an hour of it. */
    async function busy(): Promise<Desk> {
      const here = await desk();
      const done = await here.running("worker-1");
      here.clock.advance(minutes(2));
      must(await here.post(`/api/tasks/${done}/complete`, { sessionId: "worker-1" }));
      const failed = await here.running("worker-2");
      must(
        await here.post(`/api/tasks/${failed}/fail`, { sessionId: "worker-2", error: "x", retryable: false }),
      );
      await here.running("worker-3");
      const asking = await here.running("worker-4");
      must(await here.post(`/api/tasks/${asking}/ask`, { sessionId: "worker-4", question: "?" }));
      await here.session("worker-5");
      await here.claim(await here.task(), "worker-5");
      must(await here.post(`/api/tasks/${await here.task()}/cancel`));
      await here.task();
      await here.task();
      return here;
    }

    test("stats are seed 3's numbers", async () => {
      const here = await busy();
      const stats = must(await here.get("/api/stats"));
      expect(stats).toMatchObject({
        queue_size: 8,
        by_status: { available: 2, claimed: 1, in_progress: 2, done: 1, failed: 1, cancelled: 1 },
        throughput: { tasks_per_minute: expect.any(Number), avg_completion_time_seconds: 120 },
        agents: { active: 3, idle: 2 },
      });
      expect(stats.throughput.tasks_per_minute).toBeGreaterThan(0);
    });

    test("history shows minute by minute what happened", async () => {
      const here = await busy();
      const from = encodeURIComponent(here.at(-minutes(10)));
      const to = encodeURIComponent(here.at(minutes(1)));
      const history = must(await here.get(`/api/metrics/history?step=minute&from=${from}&to=${to}`));
      expect(history.step).toBe("minute");
      const sum = (field: string) =>
        history.points.reduce((total: number, point: Record<string, number>) => total + point[field]!, 0);
      expect(["created", "claimed", "completed", "failed", "lost"].map(sum)).toEqual([8, 5, 1, 1, 0]);
      const times = history.points.map(({ at }: { at: string }) => Date.parse(at));
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(times.every((time: number) => time % 60_000 === 0)).toBe(true);
      expect(must(await here.get("/api/metrics/history?step=hour")).step).toBe("hour");
    });
  });

  describe("events", () => {
    test("are pages of the log, in order, of one project or all, without gap or repetition", async () => {
      const here = await desk();
      const { world } = here;
      for (let n = 0; n < 6; n++) await here.task();
      const all: Told[] = [];
      for (let after = 0; ; ) {
        const page = must(await world.get(`/api/events?project=*&limit=7&after=${after}`));
        all.push(...page.events);
        if (page.events.length < 7) break;
        expect(page.nextAfter).toBe(page.events.at(-1).seq);
        after = page.nextAfter;
      }
      expect(all.map(({ seq }) => seq)).toEqual(all.map((_, at) => at + 1));
      const ours: Told[] = must(await here.get("/api/events?limit=1000")).events;
      expect(ours).toEqual(all.filter(({ project }) => project === here.project));
      expect(ours.filter(({ type }) => type === "task:created")).toHaveLength(6);
    });

    test("a reader that is at the end is told where to go on", async () => {
      const here = await desk();
      await here.task();
      const { nextAfter } = must(await here.get("/api/events?limit=1000"));
      expect(must(await here.get(`/api/events?after=${nextAfter}`)).events).toEqual([]);
      const id = await here.task();
      const { events } = must(await here.get(`/api/events?after=${nextAfter}`));
      expect(events.map(({ type, taskId }: Told) => [type, taskId])).toEqual([
        ["task:created", id],
        ["task:queued", id],
      ]);
    });

    test("can be filtered by task and by type", async () => {
      const here = await desk();
      const id = await here.running("worker");
      await here.task();
      const types = (query: string) =>
        here.get(`/api/events?${query}`).then((answer) => must(answer).events.map(({ type }: Told) => type));
      expect(await types(`taskId=${id}`)).toEqual([
        "task:created",
        "task:queued",
        "task:claimed",
        "task:started",
      ]);
      expect(await types("types=task:created")).toEqual(["task:created", "task:created"]);
      expect(await types("types=task:claimed,task:started")).toEqual(["task:claimed", "task:started"]);
    });

    test("tell who did what, when, to which task, as which attempt", async () => {
      const here = await desk();
      const id = await here.running("worker");
      for (const event of await here.timeline(id)) {
        expect(event).toMatchObject({
          seq: expect.any(Number),
          type: expect.stringMatching(/^task:/),
          at: here.at(),
          org: "default",
          project: here.project,
          taskId: id,
          actor: expect.stringMatching(/^(user:.+|agent:worker|system)$/),
          data: { taskId: id },
        });
      }
    });
  });

  describe("locks", () => {
    test("one holds a lock, another is refused and told by whom, and it is free again", async () => {
      const here = await desk();
      const name = `deploy-${here.project}`;
      await here.session("one");
      await here.session("two");
      const { status, body } = await here.post("/api/locks", {
        name,
        sessionId: "one",
        ttlMs: 60_000,
        metadata: { why: "x" },
      });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        success: true,
        lock: {
          name,
          sessionId: "one",
          acquiredAt: here.at(),
          expiresAt: here.at(60_000),
          holderAlive: true,
          metadata: { why: "x" },
        },
      });
      const busy = await here.post("/api/locks", { name, sessionId: "two" });
      expect([busy.status, busy.body.error, busy.body.lock.sessionId]).toEqual([409, "SESSION_BUSY", "one"]);
      expect(must(await here.get(`/api/locks/${name}`)).lock).toMatchObject({ sessionId: "one" });
      const listed = must(await here.get("/api/locks?limit=1000")).locks;
      expect(listed.map((each: { name: string }) => each.name)).toContain(name);
      expect((await here.delete(`/api/locks/${name}?sessionId=two`)).status).toBe(409);
      expect(must(await here.delete(`/api/locks/${name}?sessionId=one`))).toEqual({
        success: true,
        released: true,
      });
      expect(must(await here.delete(`/api/locks/${name}?sessionId=one`)).released).toBe(false);
      expect(must(await here.get(`/api/locks/${name}`)).lock).toBeNull();
      must(await here.post("/api/locks", { name, sessionId: "two" }));
    });

    test("a lock that is not renewed is free when its time is over", async () => {
      const here = await desk();
      const name = `lease-${here.project}`;
      must(await here.post("/api/locks", { name, sessionId: "one", ttlMs: 60_000 }));
      here.clock.advance(30_000);
      must(await here.post("/api/locks", { name, sessionId: "one" }));
      here.clock.advance(59_999);
      expect((await here.post("/api/locks", { name, sessionId: "two" })).status).toBe(409);
      here.clock.advance(1);
      expect(must(await here.post("/api/locks", { name, sessionId: "two" })).lock.sessionId).toBe("two");
    });

    test("a leader can free it by force, a worker cannot", async () => {
      const here = await desk();
      const name = `force-${here.project}`;
      must(await here.post("/api/locks", { name, sessionId: "one" }));
      const token = await here.world.tokenFor("worker");
      expect((await here.delete(`/api/locks/${name}?force=true`, { token })).body.error).toBe("FORBIDDEN");
      expect(must(await here.delete(`/api/locks/${name}?force=true`)).released).toBe(true);
    });
  });

  describe("tokens", () => {
    test("I make one, it works with its role, is listed without its text, and is refused once revoked", async () => {
      const { world } = await desk();
      const { status, body } = await world.post("/api/tokens", { name: "ci", role: "viewer" });
      expect(status).toBe(201);
      expect(body).toMatchObject({
        success: true,
        id: expect.any(String),
        name: "ci",
        role: "viewer",
        expiresAt: null,
      });
      const { token, id } = body;
      expect((await world.get("/api/tasks", { token })).status).toBe(200);
      expect((await world.post("/api/tasks", { prompt: "x" }, { token })).status).toBe(403);
      const { tokens } = must(await world.get("/api/tokens?limit=1000"));
      expect(tokens.find((each: { id: string }) => each.id === id)).toMatchObject({
        name: "ci",
        role: "viewer",
      });
      expect(JSON.stringify(tokens)).not.toContain(token);
      expect(must(await world.delete(`/api/tokens/${id}`))).toEqual({ success: true });
      expect((await world.get("/api/tasks", { token })).status).toBe(401);
      expect((await world.delete(`/api/tokens/${id}`)).body.error).toBe("NOT_FOUND");
    });

    test("one that expires is refused from then on", async () => {
      const { world } = await desk();
      const { token } = must(await world.post("/api/tokens", { name: "short", expiresInMs: 60_000 }));
      world.clock.advance(59_999);
      expect((await world.get("/api/tasks", { token })).status).toBe(200);
      world.clock.advance(1);
      expect((await world.get("/api/tasks", { token })).status).toBe(401);
    });

    test.each([
      ["viewer", ["read"]],
      ["worker", ["read", "work"]],
      ["leader", ["read", "work", "lead"]],
      ["admin", ["read", "work", "lead", "rule"]],
    ] as const)("a %s may %j", async (role, may) => {
      const here = await desk();
      const token = await here.world.tokenFor(role);
      const id = await here.task();
      const answers = {
        read: await here.get("/api/tasks", { token }),
        work: await here.post("/api/tasks", { prompt: "x" }, { token }),
        lead: await here.patch(`/api/tasks/${id}`, { title: "x" }, { token }),
        rule: await here.patch(`/api/projects/${here.project}`, { settings: { maxLost: 4 } }, { token }),
      };
      const allowed = Object.entries(answers).filter(([, { status }]) => status < 300);
      expect(allowed.map(([what]) => what)).toEqual(may);
      for (const { status, body } of Object.values(answers)) {
        if (status >= 300) expect([status, body.error]).toEqual([403, "FORBIDDEN"]);
      }
    });
  });
});
