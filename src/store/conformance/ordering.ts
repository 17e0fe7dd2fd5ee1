import { describe, expect } from "vitest";
import type { NewTask } from "../../core/command.js";
import type { Task } from "../../core/task.js";
import type { View } from "../../core/view.js";
import { type Driver, minute, org, project, teller, type World } from "./harness.js";

let takers = 0;

/** Takes everything that is claimable, each task by a session of its own, and tells the order. */
async function takeAll(world: World, more: object = {}): Promise<string[]> {
  const order: string[] = [];
  for (;;) {
    const id = await world.next(`taker-${++takers}`, { start: true, ...more });
    if (id === null) return order;
    order.push(id);
  }
}

async function many(world: World, tasks: Partial<NewTask>[]): Promise<string[]> {
  const { ids } = await world.ok({
    type: "create",
    correlationId: "corr-test",
    tasks: tasks.map((task) => ({ prompt: "do it", ...task })),
  });
  return ids;
}

export function ordering(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: the order of the queue`, () => {
    it("higher priority first, then creation order", async (world) => {
      const [low, first, high, second, top] = await many(world, [
        { priority: 0 },
        {},
        { priority: 80 },
        {},
        { priority: 100 },
      ]);
      expect(await takeAll(world)).toEqual([top, high, first, second, low]);
    });

    it("hundreds are handed out in order and whole, many in one commit, while others come and go", async (world) => {
      const ids = await many(
        world,
        Array.from({ length: 300 }, (_, n) => ({ prompt: `task ${n}`, priority: n % 3 === 0 ? 60 : 50 })),
      );
      const wanted = [...ids.filter((_, n) => n % 3 === 0), ...ids.filter((_, n) => n % 3 !== 0)];
      await world.session("many", { capacity: 1000 });
      const given: string[] = [];
      while (given.length < 300) {
        // In every group one task is edited that is still far behind in the queue: what is handed out is as it is now.
        const later = wanted.at(-1 - Math.floor(given.length / 16))!;
        const claim = { type: "claim-next", sessionId: "many" } as const;
        const edit = { type: "update", taskId: later, patch: { phase: `after ${given.length}` } } as const;
        for (const outcome of await world.together([...Array(15).fill(claim), edit])) {
          const taskId = outcome.ok ? (outcome.value as { taskId?: string | null }).taskId : null;
          if (taskId) given.push(taskId);
        }
      }
      expect(given).toEqual(wanted);
      const seen = await world.read((view) => given.map((id) => view.text("demo", id)?.prompt));
      expect(seen).toEqual(given.map((id) => `task ${ids.indexOf(id)}`));
    });

    it("many at once are handed out as they were written, whatever they carry and have been through", async (world) => {
      const odd = '"quoted" back\\slash \u0001\u001f\u2028 \u{1f9d1}‍🚀 </script> {"json":[1]}';
      const group = await world.task({ type: "group" });
      const kinds: Partial<NewTask>[] = [
        {},
        { prompt: odd, title: odd },
        { description: odd },
        { metadata: { odd, deep: { list: [1, null, odd] } } },
        { parentId: group },
        { notBefore: world.clock.now() - minute, timeoutMs: minute, maxRetries: 7, phase: odd },
        { files: [odd], description: "", metadata: {} },
        { prompt: "long ".repeat(2000) },
      ];
      const both = [undefined, "Ann"];
      const ids = await many(
        world,
        Array.from({ length: 96 }, (_, n) => ({
          ...kinds[n % kinds.length],
          assignee: both[Math.floor(n / 48)],
        })),
      );
      await world.session("ann", { name: "Ann", capacity: 1000 });
      for (const taskId of [ids[0]!, ids[33]!, ids[50]!]) {
        await world.claim(taskId, "ann", { start: true });
        await world.ok({ type: "release", taskId, sessionId: "ann", spread: 0 });
      }
      await world.claim(ids[34]!, "ann");
      world.clock.advance(60 * minute);
      await world.sweep();
      const seen = (view: View) => ids.map((id) => [view.task(project, id), view.text(project, id)]);
      const stored = await world.read(seen);
      await world.reopen();
      await world.together(Array(96).fill({ type: "claim-next", sessionId: "ann" }));
      const [known] = await world.store.commit(org, [({ view }) => seen(view)]);
      expect(known).toEqual({ ok: true, value: stored });
      expect(await world.read((view) => view.claimsOf(project, "ann").length)).toBe(96);
      const lost = stored.filter(([task]) => (task as Task).lostCount > 0);
      expect(lost.map(([task]) => (task as Task).id)).toEqual([ids[34]]);
    });

    it("of equal priority, what has been claimable for longer first", async (world) => {
      const gate = await world.task({ priority: 90 });
      const waiting = await world.task({ dependsOn: [gate] });
      world.clock.advance(1000);
      const free = await world.task();
      world.clock.advance(1000);
      await world.finish(gate);
      expect((await world.look(waiting)).readyAt).toBe(world.clock.now());
      expect(await takeAll(world)).toEqual([free, waiting]);
    });

    it("waiting raises a task by 20 for every full five minutes", async (world) => {
      const old = await world.task({ priority: 50 });
      world.clock.advance(5 * minute - 1);
      const fresh = await world.task({ priority: 70 });
      expect(await world.next("a")).toBe(fresh);
      await world.ok({ type: "release", taskId: fresh, sessionId: "a", spread: 0 });
      world.clock.advance(1);
      // Equal now: the older one is first.
      expect(await world.next("b")).toBe(old);
    });

    it("waiting raises a task by 40 at most", async (world) => {
      const old = await world.task({ priority: 50 });
      world.clock.advance(100 * minute);
      const fresh = await world.task({ priority: 91 });
      expect(await takeAll(world)).toEqual([fresh, old]);
      const older = await world.task({ priority: 50 });
      world.clock.advance(10 * minute);
      const same = await world.task({ priority: 90 });
      expect(await takeAll(world)).toEqual([older, same]);
    });

    it("no priority is above 100, so the older of two at the top is first", async (world) => {
      const old = await world.task({ priority: 70 });
      world.clock.advance(10 * minute);
      const fresh = await world.task({ priority: 100 });
      expect(await takeAll(world)).toEqual([old, fresh]);
    });

    it("ageing can be off", async (world) => {
      await world.settings({ ageing: { enabled: false } });
      const old = await world.task({ priority: 50 });
      world.clock.advance(100 * minute);
      const fresh = await world.task({ priority: 51 });
      expect(await takeAll(world)).toEqual([fresh, old]);
    });

    it("ageing follows the project's own steps", async (world) => {
      await world.settings({ ageing: { stepMs: 1000, boost: 1, boostMax: 3 } });
      const old = await world.task({ priority: 50 });
      world.clock.advance(2000);
      const [higher, lower] = await many(world, [{ priority: 53 }, { priority: 51 }]);
      expect(await takeAll(world)).toEqual([higher, old, lower]);
    });

    it("release, expiry and the death of a session keep the place in the queue", async (world) => {
      const [released, expired, orphaned] = await many(world, [{}, {}, {}]);
      const readyAt = world.clock.now();
      world.clock.advance(1000);
      await world.task();
      await world.claim(released!, "a", { start: true });
      await world.claim(expired!, "b", { start: true, ttlMs: minute });
      await world.claim(orphaned!, "c", { start: true });
      world.clock.advance(minute);
      await world.ok({ type: "release", taskId: released!, sessionId: "a", spread: 0 });
      await world.ok({ type: "end-session", sessionId: "c", reason: "session_ended" });
      await world.sweep();
      for (const id of [released!, expired!, orphaned!]) expect((await world.look(id)).readyAt).toBe(readyAt);
      expect((await takeAll(world)).slice(0, 3)).toEqual([released, expired, orphaned]);
    });

    it("a retry takes a new place in the queue, when its time has come", async (world) => {
      const hold = await world.hold("a");
      const { retryAt } = await world.ok({ type: "fail", ...hold, error: "x", spread: 0 });
      expect((await world.look(hold.taskId)).readyAt).toBe(retryAt);
    });

    it("what is scheduled waits for its time, to the millisecond", async (world) => {
      const later = await world.task({ notBefore: world.clock.now() + minute, priority: 100 });
      const now = await world.task();
      expect(await takeAll(world)).toEqual([now]);
      await world.session("a");
      world.clock.advance(minute - 1);
      expect(await world.next("a")).toBeNull();
      const refusal = await world.refused("TASK_NOT_CLAIMABLE", {
        type: "claim",
        taskId: later,
        sessionId: "a",
      });
      expect(refusal.details?.reasons).toMatchObject([{ code: "SCHEDULED", until: world.clock.now() + 1 }]);
      world.clock.advance(1);
      expect(await world.next("a")).toBe(later);
    });

    it("an edit moves a task in the queue", async (world) => {
      const [first, second, third] = await many(world, [{}, {}, {}]);
      await world.ok({ type: "update", taskId: third!, patch: { priority: 90 } });
      await world.ok({ type: "update", taskId: first!, patch: { notBefore: world.clock.now() + minute } });
      expect(await takeAll(world)).toEqual([third, second]);
      world.clock.advance(minute);
      expect(await takeAll(world)).toEqual([first]);
    });

    it("an edit of a scheduled task to now makes it claimable", async (world) => {
      const id = await world.task({ notBefore: world.clock.now() + minute });
      await world.ok({ type: "update", taskId: id, patch: { notBefore: null } });
      expect(await world.next("a")).toBe(id);
    });

    it("hundreds of tasks come in order, also when all are taken in one commit", async (world) => {
      const ids = await many(
        world,
        Array.from({ length: 300 }, (_, index) => ({ priority: 10 * (index % 3) })),
      );
      const expected = [2, 1, 0].flatMap((rest) => ids.filter((_, index) => index % 3 === rest));
      const taken = await world.together(
        ids.map((_, index) => ({ type: "claim-next", sessionId: `s${index}`, register: {} })),
      );
      expect(taken.map((outcome) => outcome.ok && (outcome.value as { taskId: string }).taskId)).toEqual(
        expected,
      );
      expect(await world.next("late")).toBeNull();
    });

    it("a released task is not handed to the same session for a minute, but to others", async (world) => {
      const hold = await world.hold("a");
      await world.ok({ type: "release", ...hold, spread: 0 });
      expect(await world.ok({ type: "claim-next", sessionId: "a" })).toEqual({
        taskId: null,
        retryAt: world.clock.now() + minute,
        scheduledAt: world.clock.now() + minute,
      });
      const other = await world.task({ priority: 1 });
      expect(await world.next("a")).toBe(other);
      await world.complete({ taskId: other, sessionId: "a", epoch: 1 });
      world.clock.advance(minute - 1);
      expect(await world.next("a")).toBeNull();
      world.clock.advance(1);
      expect(await world.next("a")).toBe(hold.taskId);
      await world.ok({ type: "release", taskId: hold.taskId, sessionId: "a", spread: 0 });
      expect(await world.next("b")).toBe(hold.taskId);
    });

    it("the same session can claim by id what it just released", async (world) => {
      const hold = await world.hold("a");
      await world.ok({ type: "release", ...hold, spread: 0 });
      expect(await world.claim(hold.taskId, "a")).toBe(2);
    });
  });

  describe(`${driver.name}: who may take what`, () => {
    it("labels: any of those asked for", async (world) => {
      const [ui, api, both] = await many(world, [
        { labels: ["ui"] },
        { labels: ["api"] },
        { labels: ["ui", "api"] },
      ]);
      const plain = await world.task({ priority: 100 });
      expect(await takeAll(world, { labels: ["docs"] })).toEqual([]);
      expect(await takeAll(world, { labels: ["ui"] })).toEqual([ui, both]);
      expect(await takeAll(world, { labels: ["docs", "api"] })).toEqual([api]);
      expect(await takeAll(world)).toEqual([plain]);
    });

    it("a label that an edit adds or removes counts at once", async (world) => {
      const id = await world.task({ labels: ["ui"] });
      await world.ok({ type: "update", taskId: id, patch: { labels: ["api"] } });
      expect(await world.next("a", { labels: ["ui"] })).toBeNull();
      expect(await world.next("a", { labels: ["api"] })).toBe(id);
    });

    it("an assigned task goes to the session of that id or name only", async (world) => {
      const [byId, byName] = await many(world, [{ assignee: "a" }, { assignee: "Ann" }]);
      await world.session("a", { name: "Ann", capacity: 2 });
      await world.session("b", { name: "Bob" });
      expect(await world.next("b")).toBeNull();
      expect(await world.whyNot(byId!, "b")).toEqual(["ASSIGNED_TO_OTHER"]);
      await world.refused("TASK_NOT_CLAIMABLE", { type: "claim", taskId: byId!, sessionId: "b" });
      expect(await world.next("a")).toBe(byId);
      expect(await world.next("a")).toBe(byName);
    });

    it("a task for an agent type goes to agents of that type, also named by the claim", async (world) => {
      const [first, second] = await many(world, [{ agentType: "reviewer" }, { agentType: "reviewer" }]);
      await world.session("a", { agentType: "reviewer" });
      await world.session("b", { agentType: "coder" });
      expect(await world.next("b")).toBeNull();
      expect(await world.whyNot(first!, "b")).toEqual(["WRONG_AGENT_TYPE"]);
      expect(await world.next("a")).toBe(first);
      expect(await world.next("b", { agentType: "reviewer" })).toBe(second);
      expect((await world.claimOf(second!)).agentType).toBe("reviewer");
    });

    it("a task needs all its capabilities in one session", async (world) => {
      const id = await world.task({ requires: ["gpu", "docker"] });
      await world.session("a", { capabilities: ["docker", "gpu", "net"] });
      await world.session("b", { capabilities: ["gpu"] });
      expect(await world.next("b")).toBeNull();
      expect(await world.whyNot(id, "b")).toEqual(["MISSING_CAPABILITY"]);
      expect(await world.next("a")).toBe(id);
    });

    it("the best task wins across everything that fits the session", async (world) => {
      const tasks = [{ assignee: "a" }, { agentType: "cli" }, { requires: ["gpu"] }, {}];
      const ids = await many(
        world,
        tasks.map((task, index) => ({ ...task, priority: 50 + index })),
      );
      const mine = await world.task({ assignee: "a", agentType: "cli", requires: ["gpu"], priority: 60 });
      await world.session("a", { agentType: "cli", capabilities: ["gpu"], capacity: 9 });
      const order = [];
      for (let id = await world.next("a"); id !== null; id = await world.next("a")) order.push(id);
      expect(order).toEqual([mine, ...ids.reverse()]);
    });

    it("an edit of who may take it counts at once", async (world) => {
      const id = await world.task({ assignee: "b", agentType: "coder", requires: ["gpu"] });
      await world.session("a");
      expect(await world.whyNot(id, "a")).toEqual([
        "ASSIGNED_TO_OTHER",
        "WRONG_AGENT_TYPE",
        "MISSING_CAPABILITY",
      ]);
      await world.ok({
        type: "update",
        taskId: id,
        patch: { assignee: null, agentType: null, requires: [] },
      });
      expect(await world.next("a")).toBe(id);
    });

    it("nothing is handed out while the project is paused", async (world) => {
      const id = await world.task();
      const held = await world.hold("b", {}, { start: true });
      await world.ok({ type: "update-project", paused: true });
      expect(await world.next("a")).toBeNull();
      await world.refused("TASK_NOT_CLAIMABLE", { type: "claim", taskId: id, sessionId: "a" });
      expect(await world.whyNot(id)).toEqual(["PROJECT_PAUSED"]);
      await world.complete(held);
      await world.ok({ type: "update-project", paused: false });
      expect(await world.next("a")).toBe(id);
    });
  });

  describe(`${driver.name}: depth first`, () => {
    it("the deepest first, then the highest number, leaves only", async (world) => {
      await world.settings({ order: "depth-first" });
      const [one, two] = await many(world, [{ priority: 100 }, {}]);
      const [child, sibling] = await many(world, [{ parentId: one }, { parentId: one }]);
      const leaf = await world.task({ parentId: child });
      expect(await takeAll(world)).toEqual([leaf, sibling, two]);
      await world.complete({ taskId: leaf, sessionId: (await world.claimOf(leaf)).sessionId, epoch: 1 });
      expect(await takeAll(world)).toEqual([child]);
    });

    it("what is scheduled does not stand in the way", async (world) => {
      await world.settings({ order: "depth-first" });
      const [first, second] = await many(world, [{}, { notBefore: world.clock.now() + minute }]);
      expect(await takeAll(world)).toEqual([first]);
      world.clock.advance(minute);
      expect(await takeAll(world)).toEqual([second]);
    });

    it("changing the order of a project counts for what is queued already", async (world) => {
      const [one, two, three] = await many(world, [{ priority: 100 }, {}, {}]);
      const child = await world.task({ parentId: two, priority: 1 });
      await world.settings({ order: "depth-first" });
      expect(await world.next("a")).toBe(child);
      expect(await world.next("b")).toBe(three);
      await world.settings({ order: "priority" });
      await world.ok({ type: "release", taskId: three!, sessionId: "b", spread: 0 });
      expect(await takeAll(world)).toEqual([one, three]);
    });

    it("creating, changing the order and claiming work in one commit", async (world) => {
      const old = await world.task({ priority: 100 });
      const tasks = [
        { prompt: "x", id: "parent" },
        { prompt: "y", id: "child", parentId: "parent" },
      ];
      const outcomes = await world.together([
        { type: "create", correlationId: "c", tasks },
        { type: "update-project", settings: { order: "depth-first" } },
        { type: "claim-next", sessionId: "a", register: {} },
        { type: "update-project", settings: { order: "priority" } },
        { type: "claim-next", sessionId: "b", register: {} },
      ]);
      const taken = outcomes.map(
        (outcome) => outcome.ok && (outcome.value as { taskId?: string } | null)?.taskId,
      );
      expect([taken[2], taken[4]]).toEqual(["child", old]);
    });
  });
}
