import { describe, expect } from "vitest";
import { type Driver, minute, project, teller, type World } from "./harness.js";

const threshold = 10 * minute;
const process = { pid: 100, host: "host-1", processStartedAt: "t0" };

async function ended(world: World, sessionId: string, incarnation?: number) {
  return world.ok({ type: "end-session", sessionId, reason: "session_ended", incarnation });
}

export function sessions(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: sessions come and go`, () => {
    it("registering keeps what the session says of itself", async (world) => {
      await world.session("a", {
        name: "Ann",
        agentType: "autonomous",
        capabilities: ["gpu"],
        capacity: 3,
        heartbeats: true,
        ...process,
      });
      expect(await world.sessionOf("a")).toEqual({
        project,
        id: "a",
        name: "Ann",
        agentType: "autonomous",
        capabilities: ["gpu"],
        uses: null,
        capacity: 3,
        heartbeats: true,
        ...process,
        contextPercent: null,
        score: null,
        startedAt: world.clock.now(),
        lastSeenAt: world.clock.now(),
        endedAt: null,
        owner: null,
        incarnation: 1,
        avoid: [],
      });
      expect((await world.events()).map((event) => [event.type, event.sessionId])).toEqual([
        ["session:registered", "a"],
      ]);
    });

    it("registering again from the same process refreshes it and keeps its claims", async (world) => {
      await world.session("a", { ...process, name: "Ann", capabilities: ["gpu"] });
      const hold = await world.hold("a");
      const { startedAt } = await world.sessionOf("a");
      world.clock.advance(1000);
      await world.session("a", { ...process, capacity: 2 });
      expect(await world.sessionOf("a")).toMatchObject({
        name: "Ann",
        capabilities: ["gpu"],
        capacity: 2,
        startedAt,
        lastSeenAt: world.clock.now(),
        incarnation: 1,
      });
      await world.complete(hold);
      expect((await world.events()).filter((event) => event.type === "session:registered")).toHaveLength(1);
    });

    for (const [what, other] of Object.entries({
      pid: { ...process, pid: 101 },
      host: { ...process, host: "host-2" },
      "start time": { ...process, processStartedAt: "t1" },
    })) {
      it(`another ${what} is a new incarnation, and what the old one held is lost`, async (world) => {
        await world.session("a", process);
        const hold = await world.hold("a", {}, { start: true });
        await world.session("a", other);
        expect(await world.sessionOf("a")).toMatchObject({ ...other, incarnation: 2, endedAt: null });
        expect(await world.look(hold.taskId)).toMatchObject({ now: "queued", lostCount: 1 });
        expect((await world.eventTypes(hold.taskId)).at(-1)).toBe("task:claim-orphaned");
        await world.refused("CLAIM_EXPIRED", { type: "heartbeat", ...hold });
      });
    }

    it("a session without pid just continues", async (world) => {
      await world.session("a");
      const hold = await world.hold("a");
      await world.session("a");
      expect((await world.sessionOf("a")).incarnation).toBe(1);
      await world.complete(hold);
    });

    it("ending a session gives back all it holds at once", async (world) => {
      const holds = [await world.hold("a"), await world.hold("a", {}, { start: true })];
      const { released } = await ended(world, "a");
      expect(released.map((each) => each.taskId).sort()).toEqual(holds.map((hold) => hold.taskId).sort());
      for (const { taskId } of holds)
        expect(await world.look(taskId)).toMatchObject({ now: "queued", lostCount: 1 });
      expect(await world.sessionOf("a")).toMatchObject({ endedAt: world.clock.now() });
      expect((await world.events()).at(-1)).toMatchObject({ type: "session:ended", sessionId: "a" });
    });

    it("a session that is over can do nothing until it registers again", async (world) => {
      const hold = await world.hold("a");
      await ended(world, "a");
      await world.refused("SESSION_NOT_FOUND", { type: "heartbeat", ...hold });
      await world.refused("SESSION_NOT_FOUND", { type: "session-heartbeat", sessionId: "a" });
      await world.refused("SESSION_NOT_FOUND", {
        type: "end-session",
        sessionId: "a",
        reason: "session_ended",
      });
      await world.refused("SESSION_NOT_FOUND", { type: "claim", taskId: hold.taskId, sessionId: "a" });
      await world.session("a");
      expect(await world.sessionOf("a")).toMatchObject({ endedAt: null, incarnation: 2 });
      expect(await world.claim(hold.taskId, "a")).toBe(2);
    });

    it("an unknown session is refused, or registered by its first claim", async (world) => {
      const id = await world.task();
      await world.refused("SESSION_NOT_FOUND", { type: "session-heartbeat", sessionId: "nobody" });
      await world.refused("SESSION_NOT_FOUND", { type: "claim", taskId: id, sessionId: "nobody" });
      await world.ok({ type: "claim", taskId: id, sessionId: "somebody", register: { agentType: "cli" } });
      expect(await world.sessionOf("somebody")).toMatchObject({ agentType: "cli", endedAt: null });
    });

    it("a claim registers nobody under a name that is no session id", async (world) => {
      const taskId = await world.task();
      for (const sessionId of ["summary", "a/b", "../x"]) {
        await world.refused("VALIDATION_FAILED", { type: "claim", taskId, sessionId, register: {} });
        await world.refused("VALIDATION_FAILED", { type: "claim-next", sessionId, register: {} });
      }
    });

    it("the end of an earlier incarnation leaves the present one alone", async (world) => {
      await world.session("a", process);
      await world.session("a", { ...process, pid: 101 });
      await world.refused("SESSION_NOT_FOUND", {
        type: "end-session",
        sessionId: "a",
        reason: "process_gone",
        incarnation: 1,
      });
      await ended(world, "a", 2);
    });

    it("a heartbeat keeps what the agent reports about itself", async (world) => {
      await world.session("a");
      world.clock.advance(1000);
      await world.ok({ type: "session-heartbeat", sessionId: "a", contextPercent: 40, score: 0.7 });
      await world.ok({ type: "session-heartbeat", sessionId: "a", contextPercent: 45 });
      expect(await world.sessionOf("a")).toMatchObject({
        contextPercent: 45,
        score: 0.7,
        lastSeenAt: world.clock.now(),
      });
    });

    it("its record tells the last ten claims, newest first, and how many it completed", async (world) => {
      const taken: string[] = [];
      for (let n = 0; n < 12; n++) {
        const hold = await world.hold("a");
        taken.unshift(hold.taskId);
        world.clock.advance(1000);
        if (n % 2 === 0) await world.complete(hold);
        else await world.ok({ type: "release", ...hold, reason: "lunch", spread: 0 });
      }
      const record = await world.read((view) => view.record(project, "a"));
      expect(record?.completed).toBe(6);
      expect(record?.history.map((past) => past.taskId)).toEqual(taken.slice(0, 10));
      expect(record?.history[0]).toEqual({
        taskId: taken[0],
        claimedAt: world.clock.now() - 1000,
        releasedAt: world.clock.now(),
        releaseReason: "lunch",
      });
      expect(await world.read((view) => view.record(project, "b"))).toBeUndefined();
    });

    it("a new incarnation forgets what the old one gave back a moment ago", async (world) => {
      await world.session("a", process);
      const hold = await world.hold("a");
      await world.ok({ type: "release", ...hold, spread: 0 });
      expect((await world.sessionOf("a")).avoid).toEqual([
        { taskId: hold.taskId, until: world.clock.now() + minute },
      ]);
      await world.session("a", { ...process, pid: 101 });
      expect(await world.next("a")).toBe(hold.taskId);
    });
  });

  describe(`${driver.name}: silence`, () => {
    it("a session that promised heartbeats is dead at the threshold, not before", async (world) => {
      await world.session("a", { heartbeats: true });
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(threshold - 1);
      expect(await world.sweep()).toEqual([]);
      world.clock.advance(1);
      expect(await world.sweep()).toMatchObject([{ taskId: hold.taskId, reason: "session_silent" }]);
      expect((await world.eventTypes(hold.taskId)).at(-1)).toBe("task:claim-orphaned");
      expect((await world.attemptOf(hold)).end).toBe("orphan");
    });

    it("a plain session never dies by silence; its claims only expire", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(2 * threshold);
      expect(await world.sweep()).toEqual([]);
      await world.complete(hold);
    });

    it("the threshold is the project's own", async (world) => {
      await world.settings({ claim: { orphanThresholdMs: 1000 } });
      await world.session("a", { heartbeats: true });
      await world.hold("a", {}, { start: true });
      world.clock.advance(1000);
      expect(await world.sweep()).toMatchObject([{ reason: "session_silent" }]);
    });

    for (const how of ["session-heartbeat", "heartbeat", "progress", "start"] as const) {
      it(`${how} keeps it alive, for exactly the threshold`, async (world) => {
        await world.session("a", { heartbeats: true });
        const hold = await world.hold("a", {}, { start: true });
        const other = await world.hold("a", {}, { start: true });
        // Soon after the claim, and much later.
        for (const waited of [3000, threshold - 1]) {
          world.clock.advance(waited);
          await world.ok(
            how === "session-heartbeat" ? { type: how, sessionId: "a" } : { type: how, ...hold },
          );
        }
        world.clock.advance(3000);
        await world.ok(how === "session-heartbeat" ? { type: how, sessionId: "a" } : { type: how, ...hold });
        world.clock.advance(threshold - 1);
        expect(await world.sweep()).toEqual([]);
        world.clock.advance(1);
        expect((await world.sweep()).map((swept) => swept.taskId).sort()).toEqual(
          [hold.taskId, other.taskId].sort(),
        );
      });
    }

    it("a claim counts as a word of the session", async (world) => {
      await world.session("a", { heartbeats: true });
      world.clock.advance(3000);
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(threshold - 1);
      expect(await world.sweep()).toEqual([]);
      await world.complete(hold);
    });

    for (const swept of [false, true]) {
      for (const how of ["session-heartbeat", "register-session"] as const) {
        it(`${how} after the threshold does not bring a lost lease back, ${swept ? "" : "not "}swept`, async (world) => {
          await world.session("a", { heartbeats: true });
          const hold = await world.hold("a", {}, { start: true });
          world.clock.advance(threshold);
          if (swept) await world.sweep();
          await world.ok(
            how === "session-heartbeat"
              ? { type: how, sessionId: "a" }
              : { type: how, session: { id: "a", heartbeats: true } },
          );
          await world.refused("CLAIM_EXPIRED", { type: "heartbeat", ...hold });
          expect(await world.look(hold.taskId)).toMatchObject({ now: "queued", lostCount: 1 });
        });
      }
    }

    it("a session that was silent can go on with other work", async (world) => {
      await world.session("a", { heartbeats: true });
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(threshold);
      expect(await world.claim(hold.taskId, "a")).toBe(2);
    });
  });
}
