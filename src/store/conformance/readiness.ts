import { describe, expect } from "vitest";
import { Availability } from "../../core/availability.js";
import { listReady, whoIs } from "../../core/ready.js";
import { type Driver, minute, project, teller, type World } from "./harness.js";

/** What is claimable now, as lists show it. */
async function listed(
  world: World,
  { sessionId, limit = 1000 }: { sessionId?: string; limit?: number } = {},
) {
  return world.read((view, now) => {
    const { settings } = view.project(project)!;
    const session = sessionId === undefined ? undefined : view.session(project, sessionId);
    const who = session ? whoIs(session) : null;
    const resources = new Availability(view, now);
    return listReady(view, { project, settings, who, now, limit, resources }).map((entry) => entry.id);
  });
}

async function handedOut(world: World, count: number, session: object = {}): Promise<(string | null)[]> {
  const order: (string | null)[] = [];
  for (let n = 0; n < count; n++) {
    await world.session(`taker-${n}`, { ...session });
    order.push(await world.next(`taker-${n}`, { start: true }));
  }
  return order;
}

/** The queue, the list of what is claimable and the reasons why not must tell one story. */
export function readiness(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: what is claimable`, () => {
    for (const order of ["priority", "depth-first"] as const) {
      it(`is listed in the order in which it is handed out, ${order}`, async (world) => {
        await world.settings({ order });
        let previous: string | undefined;
        for (let n = 0; n < 12; n++) {
          const parentId = n % 4 === 3 ? previous : undefined;
          const wants = n % 5 === 0 ? { requires: ["gpu"] } : n % 3 === 0 ? { agentType: "coder" } : {};
          previous = await world.task({ priority: (n * 37) % 90, labels: ["x"], parentId, ...wants });
          world.clock.advance(2 * minute);
        }
        await world.session("a", { agentType: "coder", capabilities: ["gpu"] });
        const list = await listed(world, { sessionId: "a" });
        expect(list.length).toBeGreaterThan(8);
        expect(await listed(world)).toEqual(list);
        expect(await listed(world, { sessionId: "a", limit: 3 })).toEqual(list.slice(0, 3));
        const taken = await handedOut(world, list.length + 1, { agentType: "coder", capabilities: ["gpu"] });
        expect(taken).toEqual([...list, null]);
      });

      it(`is found behind many that are scheduled for later, ${order}`, async (world) => {
        await world.settings({ order });
        const due = await world.task();
        const tasks = Array.from({ length: 100 }, () => ({
          prompt: "x",
          notBefore: world.clock.now() + minute,
        }));
        await world.ok({ type: "create", correlationId: "c", tasks });
        expect(await listed(world)).toEqual([due]);
        expect(await listed(world, { limit: 2 })).toEqual([due]);
        expect(await world.next("a")).toBe(due);
        expect(await world.next("b")).toBeNull();
      });
    }

    it("does not list for a session what it may not take", async (world) => {
      const free = await world.task();
      const theirs = await world.task({ assignee: "b" });
      await world.session("a");
      expect(await listed(world, { sessionId: "a" })).toEqual([free]);
      expect(await listed(world)).toEqual([free, theirs]);
    });

    it("hundreds that are taken one by one come in order, with others joining and returning", async (world) => {
      const tasks = Array.from({ length: 280 }, () => ({ prompt: "x" }));
      const { ids } = await world.ok({ type: "create", correlationId: "c", tasks });
      const taken: (string | null)[] = [];
      for (let n = 0; n < 20; n++) taken.push(await world.next(`s${n}`, { start: true }));
      expect(taken).toEqual(ids.slice(0, 20));
      await world.ok({ type: "release", taskId: ids[5]!, sessionId: "s5", spread: 0 });
      world.clock.advance(1000);
      const last = await world.task();
      const urgent = await world.task({ priority: 51 });
      expect(await world.next("t1")).toBe(urgent);
      expect(await world.next("t2")).toBe(ids[5]);
      const rest = await world.together(
        Array.from({ length: 262 }, (_, n) => ({ type: "claim-next", sessionId: `u${n}`, register: {} })),
      );
      const order = rest.map((outcome) => outcome.ok && (outcome.value as { taskId: string | null }).taskId);
      expect(order).toEqual([...ids.slice(20), last, null]);
    });

    it("an edit of a held task counts when it comes back", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const other = await world.task();
      const notBefore = world.clock.now() + 5 * minute;
      await world.ok({
        type: "update",
        taskId: hold.taskId,
        patch: { priority: 90, labels: ["x"], notBefore },
      });
      await world.ok({ type: "release", ...hold, spread: 0 });
      expect(await world.whyNot(hold.taskId)).toEqual(["SCHEDULED"]);
      expect(await listed(world)).toEqual([other]);
      world.clock.set(notBefore);
      expect(await listed(world)).toEqual([hold.taskId, other]);
      expect(await world.next("b", { labels: ["x"] })).toBe(hold.taskId);
    });

    it("a failed task whose parts end before its retry waits for its time", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const part = await world.task({ parentId: hold.taskId });
      const { retryAt } = await world.ok({ type: "fail", ...hold, error: "x", spread: 0 });
      expect((await world.finish(part)).unblocked).toEqual([]);
      expect(await world.whyNot(hold.taskId)).toEqual(["SCHEDULED"]);
      expect(await listed(world)).toEqual([]);
      world.clock.set(retryAt!);
      expect(await world.next("b")).toBe(hold.taskId);
    });

    it("a failed task whose parts end after its retry is due is free with the last of them", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const part = await world.task({ parentId: hold.taskId });
      const { retryAt } = await world.ok({ type: "fail", ...hold, error: "x", spread: 0 });
      world.clock.set(retryAt! + 1000);
      expect((await world.finish(part)).unblocked).toEqual([hold.taskId]);
      expect((await world.look(hold.taskId)).readyAt).toBe(world.clock.now());
    });

    it("a child takes its parent out of the queue, and a cancelled one gives it back", async (world) => {
      const parent = await world.task();
      const child = await world.task({ parentId: parent, notBefore: world.clock.now() + minute });
      expect(await listed(world)).toEqual([]);
      await world.ok({ type: "cancel", taskId: child });
      expect(await listed(world)).toEqual([parent]);
      await world.ok({ type: "retry", taskId: child });
      expect(await listed(world)).toEqual([child]);
    });

    it("a cancelled part that is retried keeps its held parent from completing", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const part = await world.task({ parentId: hold.taskId });
      await world.ok({ type: "cancel", taskId: part });
      await world.ok({ type: "retry", taskId: part });
      const result = { output: "", filesCreated: [], filesModified: [] };
      await world.refused("CHILDREN_OPEN", { type: "complete", ...hold, result });
      await world.finish(part, "b");
      await world.complete(hold);
    });

    it("a retried group takes new children and completes with them", async (world) => {
      const group = await world.task({ type: "group" });
      await world.ok({ type: "cancel", taskId: await world.task({ parentId: group }) });
      await world.ok({ type: "retry", taskId: group });
      expect(await world.stateOf(group)).toBe("queued");
      await world.finish(await world.task({ parentId: group }));
      expect(await world.stateOf(group)).toBe("completed");
    });

    it("a retry cannot close a cycle that an edit prepared", async (world) => {
      const parent = await world.task();
      const other = await world.task();
      const child = await world.task({ parentId: parent, dependsOn: [other] });
      await world.ok({ type: "cancel", taskId: child });
      await world.refused("DEPENDENCY_CYCLE", {
        type: "update",
        taskId: other,
        patch: { dependsOn: [parent] },
      });
    });

    it("a sweep ends as many as it may, the earliest first", async (world) => {
      const first = await world.hold("a", {}, { start: true, ttlMs: minute });
      const second = await world.hold("b", {}, { start: true, ttlMs: 2 * minute });
      world.clock.advance(5 * minute);
      const swept = async () => (await world.ok({ type: "sweep", limit: 1 })).map((each) => each.taskId);
      expect([await swept(), await swept(), await swept()]).toEqual([[first.taskId], [second.taskId], []]);
    });

    it("silence ends all a session holds, and keeps its open question", async (world) => {
      await world.session("a", { heartbeats: true });
      const asking = await world.hold("a", {}, { start: true });
      await world.ok({ type: "ask", ...asking, question: "Which?" });
      const working = await world.hold("a", {}, { start: true });
      world.clock.advance(10 * minute);
      expect(await world.sweep()).toHaveLength(2);
      expect(await world.stateOf(asking.taskId)).toBe("awaiting_response");
      expect(await world.stateOf(working.taskId)).toBe("queued");
    });

    it("a session may take its promise of heartbeats back, or make it later", async (world) => {
      await world.session("a", { heartbeats: true });
      await world.session("b");
      const quiet = await world.hold("a", {}, { start: true });
      const loud = await world.hold("b", {}, { start: true });
      world.clock.advance(minute);
      await world.session("a", { heartbeats: false });
      await world.session("b", { heartbeats: true });
      world.clock.advance(10 * minute);
      expect((await world.sweep()).map((swept) => swept.taskId)).toEqual([loud.taskId]);
      await world.complete(quiet);
    });
  });
}
