import { describe, expect } from "vitest";
import { noChanges } from "../../core/changes.js";
import { resourceOf, spentOf } from "../../core/resource.js";
import {
  type Driver,
  type Hold,
  minute,
  project,
  resultOf,
  type Told,
  teller,
  type World,
} from "./harness.js";

const hour = 60 * minute;

async function resource(world: World, id: string, more: object = {}): Promise<string> {
  await world.ok({ type: "set-resource", id, ...more });
  return id;
}

const hold = (id: string, more: object = {}): Told => ({
  type: "hold-resource",
  id,
  source: "manual",
  ...more,
});
const release = (held: Hold): Told => ({ type: "release", ...held, spread: 0 });

async function claimed(world: World, sessionId: string, more: object = {}): Promise<Hold> {
  const taskId = await world.next(sessionId, more);
  if (taskId === null) throw new Error(`${sessionId} got nothing`);
  return { taskId, sessionId, epoch: (await world.claimOf(taskId)).epoch };
}

/** All units of a resource are in use. */
async function crowded(world: World): Promise<Hold[]> {
  await resource(world, "gpu", { capacity: 4 });
  const held: Hold[] = [];
  for (let n = 0; n < 4; n++) held.push(await world.hold(`s${n}`, { uses: { gpu: 1 } }, { start: true }));
  return held;
}

const unitsOf = (world: World, id: string) =>
  world.read((view) => {
    const claims = view.openClaims({ project: null, limit: 1000 });
    return claims.reduce((sum, { uses }) => sum + (uses?.[id] ?? 0), 0);
  });

const told = async (world: World, type: string) =>
  (await world.notifications()).filter((each) => each.type === type);

async function expectRetryAt(world: World, sessionId: string, at: number): Promise<void> {
  const outcome = await world.ok({ type: "claim-next", sessionId, register: {} });
  expect(outcome).toMatchObject({ taskId: null, retryAt: at });
}

const ends: Record<string, (world: World, held: Hold) => Promise<unknown>> = {
  completed: (world, held) => world.complete(held),
  failed: (world, held) => world.ok({ type: "fail", ...held, error: "it broke", spread: 0 }),
  released: (world, held) => world.ok(release(held)),
  "released by force": (world, { taskId }) => world.ok({ type: "release", taskId, force: true, spread: 0 }),
  cancelled: (world, { taskId }) => world.ok({ type: "cancel", taskId }),
  expired: async (world) => {
    world.clock.advance(24 * hour);
    await world.sweep();
  },
  orphaned: (world, { sessionId }) => world.ok({ type: "end-session", sessionId, reason: "process_gone" }),
  abandoned: async (world, held) => {
    await world.ok({ type: "ask", ...held, question: "Which?" });
    await world.ok(release(held));
  },
  submitted: async (world, held) => {
    await world.settings({ land: { target: "main" } });
    await world.ok({ type: "submit", ...held, commit: "c1", result: resultOf("done") });
  },
};

export function resources(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: units of resources`, () => {
    it("no more claims than a resource has units, and the next task that can be claimed is", async (world) => {
      await resource(world, "db", { capacity: 2 });
      for (let n = 0; n < 3; n++) await world.task({ uses: { db: 1 }, priority: 80 });
      const free = await world.task();
      const [a, b] = [await claimed(world, "a"), await claimed(world, "b")];
      expect((await world.claimOf(a.taskId)).uses).toEqual({ db: 1 });
      expect(await world.next("c")).toBe(free);
      expect(await world.next("d")).toBeNull();
      await world.complete(b);
      expect(await world.next("d")).not.toBeNull();
      expect(await unitsOf(world, "db")).toBe(2);
    });

    it("a claim uses what task, session and project use together", async (world) => {
      for (const id of ["db", "key", "gpu"]) await resource(world, id, { capacity: 4 });
      await world.settings({ uses: { db: 1 } });
      await world.session("a", { uses: { key: 1, db: 1 } });
      const taskId = await world.task({ uses: { db: 2, gpu: 3 } });
      await world.claim(taskId, "a");
      expect((await world.claimOf(taskId)).uses).toEqual({ db: 4, gpu: 3, key: 1 });
      expect(await world.whyNot(await world.task(), "b")).toEqual(["RESOURCE_BUSY"]);
    });

    it("what a session uses keeps its own claims back, and no others", async (world) => {
      await resource(world, "key", { capacity: 1 });
      for (const id of ["a", "b"]) await world.session(id, { uses: { key: 1 } });
      for (let n = 0; n < 3; n++) await world.task();
      await claimed(world, "a");
      expect(await world.next("b")).toBeNull();
      expect(await world.next("c")).not.toBeNull();
    });

    for (const [how, end] of Object.entries(ends)) {
      it(`units come back when a task is ${how}`, async (world) => {
        await resource(world, "db", { capacity: 1 });
        const held = await world.hold("a", { uses: { db: 1 }, maxRetries: 0 });
        const other = await world.task({ uses: { db: 1 } });
        expect(await world.whyNot(other)).toEqual(["RESOURCE_BUSY"]);
        await end(world, held);
        expect(await world.whyNot(other)).toEqual([]);
        expect(await world.claim(other, "b")).toBe(1);
      });
    }

    it("what comes back is what was taken, whatever was edited since", async (world) => {
      for (const id of ["db", "gpu"]) await resource(world, id, { capacity: 3 });
      await world.session("a", { uses: { gpu: 1 } });
      const held = await world.hold("a", { uses: { db: 2 } });
      await world.ok({ type: "update", taskId: held.taskId, patch: { uses: { gpu: 3 } } });
      await world.session("a", { uses: { db: 1 } });
      expect((await world.claimOf(held.taskId)).uses).toEqual({ db: 2, gpu: 1 });
      await world.complete(held);
      for (const id of ["db", "gpu"]) expect(await unitsOf(world, id)).toBe(0);
    });

    it("renewing and resuming take no units", async (world) => {
      await resource(world, "db", { capacity: 1 });
      const held = await world.hold("a", { uses: { db: 1 } });
      expect(await world.next("a")).toBe(held.taskId);
      await world.ok({ type: "claim", taskId: held.taskId, sessionId: "a" });
      expect(await unitsOf(world, "db")).toBe(1);
    });

    it("a task that waits for an answer keeps its units, and explain names it", async (world) => {
      await resource(world, "db", { capacity: 1 });
      const held = await world.hold("a", { uses: { db: 1 } });
      const other = await world.task({ uses: { db: 1 } });
      await world.ok({ type: "ask", ...held, question: "Which?" });
      expect(await world.explain(other)).toMatchObject([
        { code: "RESOURCE_BUSY", resource: "db", taskIds: [held.taskId], fix: `dibs show ${held.taskId}` },
      ]);
      const [reason] = await world.explain(other);
      expect(reason?.message).toMatch(/held by a \(.*keeps its units while it waits for an answer/);
    });

    it("a capacity below what is in use takes nothing away, and grants nothing until it fits", async (world) => {
      await resource(world, "db", { capacity: 3 });
      const held = [await world.hold("a", { uses: { db: 1 } }), await world.hold("b", { uses: { db: 1 } })];
      const next = await world.task({ uses: { db: 1 } });
      await resource(world, "db", { capacity: 1 });
      expect(await unitsOf(world, "db")).toBe(2);
      await world.complete(held[0]!);
      expect(await world.next("c")).toBeNull();
      await world.complete(held[1]!);
      expect(await world.next("c")).toBe(next);
    });

    it("a task that needs more than there is says so", async (world) => {
      await resource(world, "db", { capacity: 2 });
      await world.refused("VALIDATION_FAILED", {
        type: "create",
        correlationId: "c",
        tasks: [{ prompt: "x", uses: { db: 3 } }],
      });
      const taskId = await world.task({ uses: { db: 2 } });
      await resource(world, "db", { capacity: 1 });
      expect(await world.explain(taskId)).toMatchObject([
        { code: "RESOURCE_TOO_SMALL", resource: "db", fix: "dibs resource set db --capacity 2" },
      ]);
      await world.refused("TASK_NOT_CLAIMABLE", { type: "claim", taskId, sessionId: "a", register: {} });
      await resource(world, "db", { capacity: null });
      expect(await world.next("a")).toBe(taskId);
    });

    it("a resource that does not exist is refused wherever it is named", async (world) => {
      await world.refused("RESOURCE_NOT_FOUND", {
        type: "create",
        correlationId: "c",
        tasks: [{ prompt: "x", uses: { nope: 1 } }],
      });
      await world.refused("RESOURCE_NOT_FOUND", {
        type: "register-session",
        session: { id: "a", uses: { nope: 1 } },
      });
      await world.refused("RESOURCE_NOT_FOUND", {
        type: "claim-next",
        sessionId: "a",
        register: { uses: { nope: 1 } },
      });
      await world.refused("RESOURCE_NOT_FOUND", { type: "update-project", settings: { uses: { nope: 1 } } });
      const taskId = await world.task();
      await world.refused("RESOURCE_NOT_FOUND", { type: "update", taskId, patch: { uses: { nope: 1 } } });
      await world.refused("RESOURCE_NOT_FOUND", hold("nope"));
      await world.refused("RESOURCE_NOT_FOUND", { type: "resume-resource", id: "nope" });
      await world.refused("RESOURCE_NOT_FOUND", { type: "remove-resource", id: "nope", sessions: [] });
    });

    it("a claim uses at most 8 resources", async (world) => {
      const uses: Record<string, number> = {};
      for (let n = 0; n < 9; n++) uses[await resource(world, `r${n}`)] = 1;
      await world.refused("VALIDATION_FAILED", {
        type: "create",
        correlationId: "c",
        tasks: [{ prompt: "x", uses }],
      });
      const { r8, ...eight } = uses;
      const taskId = await world.task({ uses: eight });
      await world.session("a", { uses: { r8: 1 } });
      expect(await world.whyNot(taskId, "a")).toEqual(["RESOURCE_TOO_SMALL"]);
      expect(await world.next("a")).toBeNull();
      expect(await world.next("b")).toBe(taskId);
    });

    it("a resource that is in use is not removed", async (world) => {
      await resource(world, "db", { capacity: 2 });
      const remove = (sessions: string[] = []): Told => ({ type: "remove-resource", id: "db", sessions });
      const taskId = await world.task({ uses: { db: 1 } });
      await world.refused("RESOURCE_IN_USE", remove());
      const held = { taskId, sessionId: "a", epoch: await world.claim(taskId, "a") };
      await world.ok({ type: "update", taskId, patch: { uses: {} } });
      await world.refused("RESOURCE_IN_USE", remove());
      await world.complete(held);
      await world.settings({ uses: { db: 1 } });
      await world.refused("RESOURCE_IN_USE", remove());
      await world.settings({ uses: {} });
      await world.refused("RESOURCE_IN_USE", remove(["b"]));
      await world.ok(remove());
      await world.refused("RESOURCE_NOT_FOUND", remove());
    });

    it("a cancelled task is not retried once its resource is gone", async (world) => {
      await resource(world, "db");
      const taskId = await world.task({ uses: { db: 1 } });
      await world.ok({ type: "cancel", taskId });
      await world.ok({ type: "remove-resource", id: "db", sessions: [] });
      await world.refused("RESOURCE_NOT_FOUND", { type: "retry", taskId });
      await world.ok({ type: "update", taskId, patch: { uses: {} } });
      await world.ok({ type: "retry", taskId });
    });

    it("units are there after the store was closed and opened again", async (world) => {
      await resource(world, "db", { capacity: 1, budgets: [{ amount: 5, unit: "usd", period: "day" }] });
      await world.session("a", { uses: { db: 1 } });
      const held = await world.hold("a");
      await world.ok({ type: "report-usage", ...held, usd: 1.5, model: "m" });
      await world.reopen();
      const other = await world.task({ uses: { db: 1 } });
      if ((await world.read((view) => view.task(project, held.taskId))) === undefined) return;
      expect((await world.claimOf(held.taskId)).usage).toMatchObject({ usd: 1.5, model: "m" });
      expect((await world.sessionOf("a")).uses).toEqual({ db: 1 });
      expect(await world.whyNot(other)).toEqual(["RESOURCE_BUSY"]);
      await world.complete(held);
      expect(await world.next("b")).toBe(other);
    });

    it("an exclusive path is a resource of its own", async (world) => {
      const [one, two] = [await world.task(), await world.task()];
      await world.store.commit("default", [
        ({ view, apply }) => {
          const tasks = [one, two].map((id) => ({ ...view.task(project, id)!, scopes: ["**/lock.json"] }));
          const byKey = new Map(tasks.map((task) => [`${project}/${task.id}`, task]));
          apply({ ...noChanges(), tasks: byKey });
        },
      ]);
      const held = await claimed(world, "a");
      expect(await world.next("b")).toBeNull();
      expect(await world.explain(two)).toMatchObject([
        { code: "RESOURCE_BUSY", resource: "**/lock.json", taskIds: [one] },
      ]);
      await world.complete(held);
      expect(await world.next("b")).toBe(two);
    });
  });

  describe(`${driver.name}: many units at once`, () => {
    it("after 10 minutes freed units are kept for a task that needs many", async (world) => {
      const held = await crowded(world);
      const big = await world.task({ uses: { gpu: 4 } });
      for (let n = 0; n < 5; n++) await world.task({ uses: { gpu: 1 }, priority: 90 });
      await world.complete(held.shift()!);
      held.push(await claimed(world, "s0", { start: true }));
      world.clock.advance(11 * minute);
      expect(await world.next("w")).toBeNull();
      for (const each of held) {
        expect(await world.next("w")).toBeNull();
        await world.complete(each);
      }
      expect(await world.next("w")).toBe(big);
      expect(await world.next("v")).toBeNull();
      await world.complete(await current(world, big, "w"));
      expect(await world.next("v")).not.toBeNull();
    });

    it("by depth, a newer task of the same kind does not hide the one that has waited", async (world) => {
      await world.settings({ order: "depth-first" });
      const held = await crowded(world);
      const big = await world.task({ uses: { gpu: 2 } });
      world.clock.advance(11 * minute);
      await world.task({ uses: { gpu: 2 } });
      expect(await world.next("z")).toBeNull();
      await world.task({ uses: { gpu: 1 } });
      await world.complete(held[0]!);
      expect(await world.next("z")).toBeNull();
      await world.complete(held[1]!);
      expect(await world.next("z")).toBe(big);
    });

    it("explain says for whom units are reserved", async (world) => {
      const [first] = await crowded(world);
      const big = await world.task({ uses: { gpu: 2 } });
      world.clock.advance(10 * minute);
      const small = await world.task({ uses: { gpu: 1 } });
      await world.next("w");
      await world.complete(first!);
      expect((await world.explain(small))[0]).toMatchObject({
        code: "RESOURCE_BUSY",
        fix: `dibs show ${big}`,
      });
      expect((await world.explain(small))[0]?.message).toContain(`reserved for task ${big}`);
    });

    it("units beyond those that are reserved are granted", async (world) => {
      const held = await crowded(world);
      await world.task({ uses: { gpu: 2 } });
      const small = await world.task({ uses: { gpu: 1 }, priority: 10 });
      await world.task({ uses: { gpu: 1 }, priority: 10 });
      world.clock.advance(10 * minute);
      expect(await world.next("w")).toBeNull();
      await world.complete(held[0]!);
      expect(await world.next("w")).toBeNull();
      await world.complete(held[1]!);
      await world.complete(held[2]!);
      const got = [await world.next("w"), await world.next("v"), await world.next("u")];
      expect(got.slice(1)).toEqual([small, null]);
    });

    it("a reservation ends with its task, or when no session that fits it asks any more", async (world) => {
      const held = await crowded(world);
      const big = await world.task({ uses: { gpu: 4 }, requires: ["tall"] });
      const small = [await world.task({ uses: { gpu: 1 } }), await world.task({ uses: { gpu: 1 } })];
      world.clock.advance(10 * minute);
      await world.session("w", { capabilities: ["tall"] });
      expect(await world.next("w")).toBeNull();
      await world.complete(held[0]!);
      expect(await world.next("v")).toBeNull();
      world.clock.advance(2 * minute);
      expect(await world.next("v")).toBe(small[0]);
      expect(await world.next("w")).toBeNull();
      await world.complete(held[1]!);
      expect(await world.next("u")).toBeNull();
      await world.ok({ type: "cancel", taskId: big });
      expect(await world.next("u")).toBe(small[1]);
    });

    it("a task that needs several resources gets all of them or none", async (world) => {
      for (const id of ["a", "b"]) await resource(world, id, { capacity: 1 });
      const one = await world.hold("s0", { uses: { a: 1 } }, { start: true });
      const two = await world.hold("s1", { uses: { b: 1 } }, { start: true });
      const both = [await world.task({ uses: { a: 1, b: 1 } }), await world.task({ uses: { a: 1, b: 1 } })];
      await world.task({ uses: { a: 1 } });
      await world.task({ uses: { b: 1 } });
      world.clock.advance(10 * minute);
      expect(await world.next("w")).toBeNull();
      await world.complete(one);
      expect(await world.next("w")).toBeNull();
      await world.complete(two);
      expect(await world.next("w")).toBe(both[0]);
    });
  });

  describe(`${driver.name}: held resources`, () => {
    it("nothing is granted with a held resource, what runs goes on, and the next candidate is tried", async (world) => {
      await resource(world, "llm");
      const running = await world.hold("a", { uses: { llm: 1 } });
      const waiting = await world.task({ uses: { llm: 1 }, priority: 90 });
      const free = await world.task();
      await world.ok(hold("llm", { reason: "maintenance" }));
      expect(await world.next("b")).toBe(free);
      expect(await world.next("c")).toBeNull();
      expect(await world.explain(waiting)).toMatchObject([
        { code: "RESOURCE_HELD", resource: "llm", until: null, fix: "dibs resource resume llm" },
      ]);
      expect((await world.explain(waiting))[0]?.message).toContain("maintenance");
      await world.complete(running);
      await world.ok({ type: "resume-resource", id: "llm" });
      expect(await world.next("c")).toBe(waiting);
    });

    it("each source ends only its own hold, and all must have ended", async (world) => {
      await resource(world, "llm");
      const taskId = await world.task({ uses: { llm: 1 } });
      await world.ok(hold("llm"));
      await world.ok(hold("llm", { source: "quota", forMs: minute }));
      await world.ok({ type: "resume-resource", id: "llm", source: "manual" });
      expect(await world.whyNot(taskId)).toEqual(["RESOURCE_HELD"]);
      await world.ok({ type: "resume-resource", id: "llm", source: "quota" });
      expect(await world.whyNot(taskId)).toEqual([]);
    });

    it("a resume ends whatever holds it", async (world) => {
      await resource(world, "llm");
      const taskId = await world.task({ uses: { llm: 1 } });
      await world.ok(hold("llm"));
      await world.ok(hold("llm", { source: "quota", forMs: minute }));
      await world.ok({ type: "resume-resource", id: "llm" });
      expect(await world.next("a")).toBe(taskId);
    });

    it("a claim that gets nothing learns when the hold ends", async (world) => {
      await resource(world, "llm");
      await world.task({ uses: { llm: 1 } });
      const until = world.clock.now() + 5 * minute;
      await world.ok(hold("llm", { until }));
      await expectRetryAt(world, "a", until);
    });

    it("a claim learns when the hold ends that keeps it from every task, also as the time of the next task", async (world) => {
      for (const id of ["llm", "db"]) await resource(world, id);
      await world.task({ uses: { llm: 1 } });
      await world.task({ uses: { db: 1 } });
      const until = world.clock.now() + 5 * minute;
      await world.ok(hold("llm", { until: until + minute }));
      await world.ok(hold("db", { until }));
      const claimNext: Told = { type: "claim-next", sessionId: "a", register: {} };
      expect(await world.ok(claimNext)).toMatchObject({ taskId: null, scheduledAt: until });
      await world.ok(hold("db"));
      expect(await world.ok(claimNext)).toMatchObject({ scheduledAt: until + minute });
      await world.ok(hold("llm"));
      expect(await world.ok(claimNext)).not.toHaveProperty("scheduledAt");
    });

    it("a hold ends by itself, half open: one claim first, the others after its progress", async (world) => {
      await resource(world, "llm");
      for (let n = 0; n < 3; n++) await world.task({ uses: { llm: 1 } });
      await world.ok(hold("llm", { source: "quota", forMs: minute }));
      world.clock.advance(minute);
      const probe = await claimed(world, "a");
      expect(await world.next("b")).toBeNull();
      await world.ok({ type: "heartbeat", ...probe });
      await expectRetryAt(world, "b", world.clock.now() + minute);
      await world.ok({ type: "progress", ...probe, note: "it answers" });
      expect(await world.next("b")).not.toBeNull();
      expect(await world.next("c")).not.toBeNull();
    });

    it("after a minute the others follow, whatever the first one does", async (world) => {
      await resource(world, "llm");
      for (let n = 0; n < 2; n++) await world.task({ uses: { llm: 1 } });
      await world.ok(hold("llm", { forMs: minute }));
      world.clock.advance(minute);
      await claimed(world, "a");
      world.clock.advance(minute - 1);
      expect(await world.next("b")).toBeNull();
      world.clock.advance(1);
      expect(await world.next("b")).not.toBeNull();
    });

    it("a first claim that fails leaves its turn to the next one", async (world) => {
      await resource(world, "llm");
      for (let n = 0; n < 3; n++) await world.task({ uses: { llm: 1 } });
      await world.ok(hold("llm", { forMs: minute }));
      world.clock.advance(minute);
      const probe = await claimed(world, "a");
      await world.ok(release(probe));
      await claimed(world, "b");
      expect(await world.next("c")).toBeNull();
    });

    it("a window that is still closed: the first claim holds it again", async (world) => {
      await resource(world, "llm");
      for (let n = 0; n < 3; n++) await world.task({ uses: { llm: 1 } });
      await world.session("a");
      await world.ok(hold("llm", { source: "quota", forMs: minute }));
      world.clock.advance(minute);
      const probe = await claimed(world, "a");
      const again = { source: "quota", forMs: hour, sessionId: "a" };
      await world.ok(hold("llm", again));
      await world.ok(release(probe));
      expect(await world.next("b")).toBeNull();
      world.clock.advance(hour);
      await claimed(world, "b");
      expect(await world.next("c")).toBeNull();
    });

    it("200 workers meet a closed window: each fails once at most, no retry is lost, and the first claims at the reset", async (world) => {
      await resource(world, "llm");
      const names = Array.from({ length: 200 }, (_, n) => `w${n}`);
      for (const name of names) {
        await world.session(name, { uses: { llm: 1 } });
        await world.task();
      }
      // All have claimed before the first one learns it.
      const held: Hold[] = [];
      for (const name of names) held.push(await claimed(world, name));
      const until = world.clock.now() + hour;
      for (const each of held) {
        await world.ok(hold("llm", { source: "quota", until, sessionId: each.sessionId }));
        await world.ok(release(each));
        expect(await world.next(each.sessionId)).toBeNull();
      }
      await expectRetryAt(world, "w7", until);
      world.clock.advance(hour - 1);
      expect(await world.next("w7")).toBeNull();
      world.clock.advance(1);
      const probe = await claimed(world, "w7");
      expect(await world.next("w8")).toBeNull();
      await world.ok({ type: "progress", ...probe, note: "it answers" });
      await world.complete(probe);
      for (const name of names.filter((each) => each !== "w7")) {
        await world.complete(await claimed(world, name));
      }
      const attempts = await world.read((view) =>
        held.flatMap(({ taskId }) => view.attempts(project, taskId, 10)),
      );
      const failedBy = attempts.filter(({ end }) => end === "release").map(({ sessionId }) => sessionId);
      expect(new Set(failedBy).size).toBe(failedBy.length);
      const tasks = await world.read((view) => held.map(({ taskId }) => view.task(project, taskId)));
      expect(tasks.filter((task) => task?.state === "completed")).toHaveLength(200);
      expect(tasks.filter((task) => task!.retryCount + task!.lostCount > 0)).toEqual([]);
    });

    it("a worker holds only what it uses, and for at most 6 hours", async (world) => {
      for (const id of ["llm", "db"]) await resource(world, id);
      await world.session("a", { uses: { llm: 1 } });
      const by = { source: "quota", sessionId: "a" };
      await world.refused("FORBIDDEN", hold("db", { ...by, forMs: minute }));
      await world.refused("VALIDATION_FAILED", hold("llm", { ...by, forMs: 7 * hour }));
      await world.refused("SESSION_NOT_FOUND", hold("llm", { ...by, sessionId: "x", forMs: minute }));
      await world.ok(hold("llm", { ...by, forMs: 6 * hour }));
      await world.hold("a2", { uses: { db: 1 } });
      await world.ok(hold("db", { source: "quota", sessionId: "a2", forMs: minute }));
    });

    it("a limit without a time: pauses grow until the resource works again, one for all workers", async (world) => {
      await resource(world, "llm");
      for (const id of ["a", "b"]) await world.session(id, { uses: { llm: 1 } });
      for (let n = 0; n < 9; n++) await world.task();
      const until = async () => (await world.read((view) => resourceOf(view, "llm")))!.holds[0]?.until;
      const limit = (sessionId: string) => world.ok(hold("llm", { source: "quota", sessionId }));
      await limit("a");
      await limit("b");
      expect(await until()).toBe(world.clock.now() + minute);
      world.clock.advance(minute);
      const probe = await claimed(world, "a");
      await limit("a");
      expect(await until()).toBe(world.clock.now() + 2 * minute);
      await world.ok(release(probe));
      world.clock.advance(2 * minute);
      const worked = await claimed(world, "a");
      await world.ok({ type: "progress", ...worked, note: "it answers" });
      await limit("a");
      expect(await until()).toBe(world.clock.now() + minute);
    });

    it("a worker does not shorten what another worker has found", async (world) => {
      await resource(world, "llm");
      for (const id of ["a", "b"]) await world.session(id, { uses: { llm: 1 } });
      const taskId = await world.task({ uses: { llm: 1 } });
      await world.ok(hold("llm", { source: "quota", sessionId: "a", forMs: hour }));
      await world.ok(hold("llm", { source: "quota", sessionId: "b", forMs: minute }));
      expect((await world.explain(taskId))[0]).toMatchObject({ until: world.clock.now() + hour });
    });

    it("a hold in the past is refused", async (world) => {
      await resource(world, "llm");
      await world.refused("VALIDATION_FAILED", hold("llm", { until: world.clock.now() }));
    });
  });

  describe(`${driver.name}: usage and budgets`, () => {
    const report = (held: Hold, more: object): Told => ({ type: "report-usage", ...held, ...more });

    it("usage is cumulative: the largest wins, and a repeated report adds nothing", async (world) => {
      const held = await world.hold("a");
      await world.ok(report(held, { usd: 0.1, inputTokens: 10, model: "opus" }));
      await world.ok(report(held, { usd: 0.3, inputTokens: 10, outputTokens: 5 }));
      await world.unchanged(() => world.ok(report(held, { usd: 0.2, outputTokens: 5 })));
      const usage = { usd: 0.3, inputTokens: 10, outputTokens: 5 };
      expect((await world.claimOf(held.taskId)).usage).toEqual({ ...usage, model: "opus" });
      expect((await world.look(held.taskId)).usage).toEqual(usage);
      await world.complete(held);
      expect((await world.attemptOf(held)).usage).toEqual({ ...usage, model: "opus" });
    });

    it("a task has cost what its attempts have cost", async (world) => {
      const held = await world.hold("a");
      await world.ok(report(held, { usd: 0.1 }));
      await world.ok(release(held));
      const again = { ...held, sessionId: "b", epoch: await world.claim(held.taskId, "b") };
      await world.ok(report(again, { usd: 0.2 }));
      await world.ok(report(held, { usd: 0.15, outputTokens: 7 }));
      expect((await world.look(held.taskId)).usage).toEqual({
        usd: 0.35,
        inputTokens: null,
        outputTokens: 7,
      });
    });

    it("usage is accepted for 24 hours after the end, from the holder only", async (world) => {
      const held = await world.hold("a");
      await world.complete(held);
      await world.ok({ type: "end-session", sessionId: "a", reason: "session_ended" });
      await world.refused("NOT_CLAIM_OWNER", report({ ...held, sessionId: "b" }, { usd: 1 }));
      world.clock.advance(24 * hour);
      await world.ok(report(held, { usd: 1 }));
      world.clock.advance(1);
      await world.refused("CLAIM_EXPIRED", report(held, { usd: 2 }));
      const never = await world.task();
      await world.refused("TASK_NOT_CLAIMED", report({ ...held, taskId: never, epoch: 1 }, { usd: 1 }));
    });

    it("another worker with the id of an ended session reports nothing on its attempts", async (world) => {
      const held = await world.hold("a");
      await world.ok({ type: "end-session", sessionId: "a", reason: "session_ended" });
      await world.ok(report(held, { usd: 1 }));
      world.clock.advance(1);
      await world.session("a");
      const { epoch, ...last } = held;
      await world.refused("NOT_CLAIM_OWNER", report(held, { usd: 2 }));
      await world.refused("NOT_CLAIM_OWNER", { type: "report-usage", ...last, usd: 2 });
      const again = { ...held, epoch: await world.claim(held.taskId, "a") };
      await world.refused("NOT_CLAIM_OWNER", report(held, { usd: 2 }));
      await world.ok(report(again, { usd: 0.5 }));
      expect((await world.look(held.taskId)).usage?.usd).toBe(1.5);
    });

    it("usage of an attempt that does not exist is refused by its number", async (world) => {
      const held = await world.hold("a");
      const wrong = await world.refused("STALE_EPOCH", report({ ...held, epoch: 7 }, { usd: 1 }));
      expect(wrong.message).toBe(`Task ${held.taskId} has no epoch 7; session a claimed it as epoch 1.`);
      await world.refused("NOT_CLAIM_OWNER", report({ ...held, sessionId: "b", epoch: 7 }, { usd: 1 }));
      await world.complete(held);
      const ended = await world.refused("STALE_EPOCH", report({ ...held, epoch: 7 }, { usd: 1 }));
      expect(ended.message).toBe(`Task ${held.taskId} has no attempt 7; the last one is 1.`);
      const other = await world.refused("NOT_CLAIM_OWNER", report({ ...held, sessionId: "b" }, { usd: 1 }));
      expect(other.message).toBe(`Attempt 1 of task ${held.taskId} was by session a, not by b.`);
    });

    it("a spent budget holds the resource until the period ends, and one inbox item says so", async (world) => {
      await resource(world, "llm", { budgets: [{ amount: 1, unit: "usd", period: "day" }] });
      const held = await world.hold("a", { uses: { llm: 1 } });
      const other = await world.hold("b", { uses: { llm: 1 } });
      const next = await world.task({ uses: { llm: 1 } });
      await world.ok(report(held, { usd: 0.6 }));
      expect(await world.whyNot(next)).toEqual([]);
      await world.ok(report(other, { usd: 0.4 }));
      const tomorrow = Date.UTC(2026, 0, 2);
      expect(await world.explain(next)).toMatchObject([{ code: "RESOURCE_HELD", until: tomorrow }]);
      expect((await world.explain(next))[0]?.message).not.toMatch(/\d/);
      await world.ok(report(held, { usd: 0.9 }));
      expect(await told(world, "BUDGET_SPENT")).toHaveLength(1);
      await world.complete(held);
      await world.complete(other);
      await expectRetryAt(world, "c", tomorrow);
      world.clock.set(tomorrow);
      expect(await world.next("c")).toBe(next);
      await world.ok(report(await current(world, next, "c"), { usd: 1 }));
      expect(await told(world, "BUDGET_SPENT")).toHaveLength(2);
    });

    it("a raised budget ends its hold, and a resumed one holds no more in this period", async (world) => {
      const budget = (amount: number) => ({ budgets: [{ amount, unit: "tokens", period: "hour" }] });
      await resource(world, "llm", budget(100));
      const held = await world.hold("a", { uses: { llm: 1 } });
      const next = await world.task({ uses: { llm: 1 } });
      await world.ok(report(held, { inputTokens: 60, outputTokens: 60 }));
      expect(await world.whyNot(next)).toEqual(["RESOURCE_HELD"]);
      await resource(world, "llm", budget(200));
      expect(await world.whyNot(next)).toEqual([]);
      await world.ok(report(held, { inputTokens: 160 }));
      expect(await world.whyNot(next)).toEqual(["RESOURCE_HELD"]);
      await world.ok({ type: "resume-resource", id: "llm" });
      await world.ok(report(held, { inputTokens: 260 }));
      expect(await world.whyNot(next)).toEqual([]);
      await resource(world, "llm", { budgets: [] });
      expect(await world.whyNot(next)).toEqual([]);
    });

    it("a budget that was resumed counts again once its amount is changed", async (world) => {
      const budget = (amount: number) => ({ budgets: [{ amount, unit: "usd", period: "total" }] });
      await resource(world, "llm", budget(1));
      const spend = async (usd: number) => {
        const held = await world.hold("a", { uses: { llm: 1 } });
        await world.ok({ type: "report-usage", ...held, usd });
        await world.complete(held);
      };
      await spend(2);
      await world.ok({ type: "resume-resource", id: "llm" });
      await resource(world, "llm", budget(10));
      await spend(9);
      await world.task({ uses: { llm: 1 } });
      expect(await world.next("a")).toBeNull();
      expect(await told(world, "BUDGET_SPENT")).toHaveLength(2);
    });

    it("what the inbox says about a spent budget keeps the others, and is enough", async (world) => {
      const day = { amount: 1, unit: "usd", period: "day" };
      const month = { amount: 50, unit: "usd", period: "month" };
      await resource(world, "llm", { budgets: [day, month] });
      const held = await world.hold("a", { uses: { llm: 1 } });
      await world.ok({ type: "report-usage", ...held, usd: 9 });
      const [notice] = await told(world, "BUDGET_SPENT");
      expect(notice!.message).toContain("dibs resource set llm --budget 18usd/day --budget 50usd/month.");
      // Another amount below what is spent is no news.
      await resource(world, "llm", { budgets: [{ ...day, amount: 2 }, month] });
      expect(await told(world, "BUDGET_SPENT")).toHaveLength(1);
    });

    it("a total budget holds until it is raised", async (world) => {
      await resource(world, "llm", { budgets: [{ amount: 1, unit: "usd", period: "total" }] });
      const held = await world.hold("a", { uses: { llm: 1 } });
      const next = await world.task({ uses: { llm: 1 } });
      await world.ok(report(held, { usd: 5 }));
      expect(await world.explain(next)).toMatchObject([{ code: "RESOURCE_HELD", until: null }]);
    });

    it("minutes are counted when a claim ends", async (world) => {
      await resource(world, "desk", { budgets: [{ amount: 5, unit: "minutes", period: "day" }] });
      const held = await world.hold("a", { uses: { desk: 1 } });
      const next = await world.task({ uses: { desk: 1 } });
      await world.ok({ type: "start", ...held });
      world.clock.advance(6 * minute);
      await world.complete(held);
      expect(await world.whyNot(next)).toEqual(["RESOURCE_HELD"]);
      const spent = await world.read((view) => spentOf(view, "desk"));
      expect(spent).toMatchObject({ minutes: 6, budgets: [{ spent: 6 }] });
    });

    it("a first claim whose minutes spend a budget leaves no turn behind", async (world) => {
      await resource(world, "llm", { budgets: [{ amount: 1, unit: "minutes", period: "hour" }] });
      await world.ok(hold("llm", { source: "quota", forMs: minute }));
      world.clock.advance(minute);
      const first = await world.hold("a", { uses: { llm: 1 } }, { start: true });
      world.clock.advance(2 * minute);
      await world.complete(first);
      const found = await world.read((view) => resourceOf(view, "llm"));
      expect(found).toMatchObject({ probe: null, holds: [{ source: "budget" }] });
    });

    it("usage is charged to what the claim used, not to what was edited since", async (world) => {
      const budgets = [{ amount: 1, unit: "usd", period: "day" }];
      for (const id of ["one", "two"]) await resource(world, id, { budgets });
      const held = await world.hold("a", { uses: { one: 1 } });
      await world.ok({ type: "update", taskId: held.taskId, patch: { uses: { two: 1 } } });
      await world.complete(held);
      await world.ok(report(held, { usd: 3 }));
      const holds = await world.read((view) =>
        ["one", "two"].map((id) => resourceOf(view, id)?.holds.length),
      );
      expect(holds).toEqual([1, 0]);
    });

    it("attempts of unknown cost: people are told once that a budget cannot be enforced", async (world) => {
      await resource(world, "llm", { budgets: [{ amount: 1, unit: "usd", period: "day" }] });
      const known = await world.hold("a", { uses: { llm: 1 } });
      await world.complete(known);
      await world.ok(report(known, { usd: 0.1 }));
      await world.complete(await world.hold("a", { uses: { llm: 1 } }));
      expect(await told(world, "BUDGET_UNKNOWN")).toHaveLength(0);
      for (let n = 0; n < 3; n++) await world.complete(await world.hold("a", { uses: { llm: 1 } }));
      expect(await told(world, "BUDGET_UNKNOWN")).toHaveLength(1);
    });

    it("a late report of an attempt that no budget counted takes no other attempt's place", async (world) => {
      await resource(world, "llm");
      const before = await world.hold("a", { uses: { llm: 1 } });
      await world.complete(before);
      await resource(world, "llm", { budgets: [{ amount: 9, unit: "usd", period: "day" }] });
      const after = await world.hold("a", { uses: { llm: 1 } });
      await world.complete(after);
      const unknown = async () => (await world.read((view) => spentOf(view, "llm"))).unknown;
      await world.ok(report(before, { usd: 0.1 }));
      expect(await unknown()).toBe(1);
      await resource(world, "llm", { budgets: [] });
      await world.ok(report(after, { inputTokens: 5 }));
      expect(await unknown()).toBe(0);
      await world.ok(report(after, { usd: 0.1 }));
      expect(await unknown()).toBe(0);
    });
  });
}

async function current(world: World, taskId: string, sessionId: string): Promise<Hold> {
  return { taskId, sessionId, epoch: (await world.claimOf(taskId)).epoch };
}
