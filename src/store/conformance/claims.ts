import { describe, expect } from "vitest";
import { healthStatus } from "../../core/claim.js";
import { type Driver, minute, project, resultOf, teller, type World } from "./harness.js";

const lease = 30 * minute;

async function healthOf(world: World, taskId: string) {
  return world.read((view, now) =>
    healthStatus(view.claim(project, taskId)!, view.project(project)!.settings.claim, now),
  );
}

export function claims(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: claims and leases`, () => {
    it("exactly one of two sessions gets a task", async (world) => {
      const id = await world.task();
      await world.session("a");
      await world.session("b");
      await world.ok({ type: "claim", taskId: id, sessionId: "a" });
      const refusal = await world.refused("TASK_ALREADY_CLAIMED", {
        type: "claim",
        taskId: id,
        sessionId: "b",
      });
      expect(refusal.details?.claim).toMatchObject({ sessionId: "a", remainingMs: lease, holderAlive: true });
    });

    it("exactly one of many sessions in one commit gets a task", async (world) => {
      const taskId = await world.task();
      const sessions = Array.from({ length: 20 }, (_, index) => `s${index}`);
      const outcomes = await world.together(
        sessions.map((sessionId) => ({ type: "claim", taskId, sessionId, register: {} })),
      );
      expect(outcomes.map((outcome) => outcome.ok)).toEqual(sessions.map((_, index) => index === 0));
    });

    it("a late completion is refused after the lease is over, and kept for a human to see", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(lease);
      await world.refused("CLAIM_EXPIRED", { type: "complete", ...hold, result: resultOf("too late") });
      expect(await world.stateOf(hold.taskId)).toBe("queued");
      expect((await world.attemptOf(hold)).lateResult?.result?.output).toBe("too late");
    });

    it("what a worker brings whose session is over is kept for a human to see, too", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      await world.ok({ type: "end-session", sessionId: "a", reason: "process_gone" });
      await world.refused("SESSION_NOT_FOUND", { type: "complete", ...hold, result: resultOf("too late") });
      expect(await world.stateOf(hold.taskId)).toBe("queued");
      expect((await world.attemptOf(hold)).lateResult?.result?.output).toBe("too late");
    });

    it("a late result, a late error and a reason that are cut are still valid Unicode", async (world) => {
      const long = `a${"\u{1f600}".repeat(20_000)}`;
      const late = await world.hold("a", {}, { start: true });
      const broken = await world.hold("b", {}, { start: true });
      const given = await world.hold("c", {}, { start: true });
      await world.ok({ type: "release", ...given, reason: long.slice(0, 801), spread: 0 });
      world.clock.advance(lease);
      await world.refused("CLAIM_EXPIRED", { type: "complete", ...late, result: resultOf(long) });
      await world.refused("CLAIM_EXPIRED", { type: "fail", ...broken, error: long, spread: 0 });
      const texts = [
        (await world.attemptOf(late)).lateResult?.result?.output,
        (await world.attemptOf(broken)).lateResult?.error,
        await world.read((view) => view.record(project, "c")?.history[0]?.releaseReason),
      ];
      expect(texts.map((text) => text?.isWellFormed())).toEqual([true, true, true]);
    });

    it("a lease is as long as asked for, within the bounds", async (world) => {
      for (const ttlMs of [minute, 120 * minute]) {
        const { taskId } = await world.hold("a", {}, { ttlMs });
        expect((await world.claimOf(taskId)).expiresAt).toBe(world.clock.now() + ttlMs);
      }
    });

    it("a lease out of bounds is refused, and the bounds are named", async (world) => {
      const taskId = await world.task();
      await world.session("a");
      for (const ttlMs of [0, minute - 1, 120 * minute + 1]) {
        const refusal = await world.refused("VALIDATION_FAILED", {
          type: "claim",
          taskId,
          sessionId: "a",
          ttlMs,
        });
        expect(refusal.message).toContain("60000");
        expect(refusal.message).toContain("7200000");
        expect(refusal.details).toMatchObject({ minTtlMs: minute, maxTtlMs: 120 * minute });
        await world.refused("VALIDATION_FAILED", { type: "claim-next", sessionId: "a", ttlMs });
      }
      const hold = { taskId, sessionId: "a", epoch: await world.claim(taskId, "a") };
      await world.refused("VALIDATION_FAILED", { type: "heartbeat", ...hold, extendMs: minute - 1 });
      await world.refused("VALIDATION_FAILED", { type: "heartbeat", ...hold, extendMs: 120 * minute + 1 });
    });

    it("the bounds and the default are the project's own", async (world) => {
      await world.settings({
        claim: { minTtlMs: 10, maxTtlMs: 3000, defaultTtlMs: 2000, startTimeoutMs: 100 },
      });
      const { taskId } = await world.hold("a");
      expect((await world.claimOf(taskId)).ttlMs).toBe(2000);
      await world.refused("VALIDATION_FAILED", { type: "claim", taskId, sessionId: "a", ttlMs: 3001 });
      world.clock.advance(100);
      expect(await world.sweep()).toMatchObject([{ taskId, reason: "start_timeout" }]);
    });

    it("a smallest lease above the largest is refused", async (world) => {
      for (const claim of [{ minTtlMs: 8_000_000 }, { maxTtlMs: minute - 1 }]) {
        await world.refused("VALIDATION_FAILED", { type: "update-project", settings: { claim } });
        await world.refused("VALIDATION_FAILED", {
          type: "create-project",
          id: "other",
          settings: { claim },
        });
      }
    });

    it("a lease holds until its last millisecond, and is over at that instant", async (world) => {
      const early = await world.hold("a", {}, { start: true });
      const late = await world.hold("b", {}, { start: true });
      world.clock.advance(lease - 1);
      await world.complete(early);
      world.clock.advance(1);
      await world.refused("CLAIM_EXPIRED", { type: "complete", ...late, result: resultOf("x") });
    });

    it("another session can take it at the very instant the lease is over, without a sweep", async (world) => {
      const { taskId } = await world.hold("a", {}, { start: true });
      await world.session("b");
      world.clock.advance(lease - 1);
      await world.refused("TASK_ALREADY_CLAIMED", { type: "claim", taskId, sessionId: "b" });
      world.clock.advance(1);
      expect(await world.next("b")).toBe(taskId);
      expect((await world.claimOf(taskId)).epoch).toBe(2);
    });

    it("what is claimed but not started is over after the start timeout", async (world) => {
      const { taskId } = await world.hold("a");
      world.clock.advance(5 * minute - 1);
      expect(await world.sweep()).toEqual([]);
      world.clock.advance(1);
      expect(await world.sweep()).toMatchObject([{ taskId, reason: "start_timeout" }]);
      expect((await world.look(taskId)).lostCount).toBe(1);
    });

    for (const type of ["start", "heartbeat", "progress"] as const) {
      it(`${type} ends the start timeout`, async (world) => {
        const hold = await world.hold("a");
        world.clock.advance(minute);
        await world.ok({ type, ...hold });
        world.clock.advance(20 * minute);
        expect(await world.sweep()).toEqual([]);
        await world.complete(hold);
      });
    }

    it("a heartbeat never shortens the lease", async (world) => {
      const hold = await world.hold("a", {}, { ttlMs: 60 * minute });
      const { expiresAt } = await world.claimOf(hold.taskId);
      await world.ok({ type: "heartbeat", ...hold, extendMs: minute });
      expect(await world.claimOf(hold.taskId)).toMatchObject({ expiresAt, heartbeatCount: 1 });
      world.clock.advance(59.5 * minute);
      await world.ok({ type: "heartbeat", ...hold, extendMs: minute });
      expect(await world.claimOf(hold.taskId)).toMatchObject({
        expiresAt: world.clock.now() + minute,
        ttlMs: 60 * minute,
        heartbeatCount: 2,
      });
    });

    it("a heartbeat renews by the claim's own length", async (world) => {
      const hold = await world.hold("a", {}, { ttlMs: 2 * minute });
      world.clock.advance(minute);
      await world.ok({ type: "heartbeat", ...hold });
      expect((await world.claimOf(hold.taskId)).expiresAt).toBe(world.clock.now() + 2 * minute);
    });

    it("a task's own timeout ends the attempt whatever the heartbeats", async (world) => {
      const hold = await world.hold("a", { timeoutMs: 10 * minute }, { start: true });
      for (let i = 0; i < 9; i++) {
        world.clock.advance(minute);
        await world.ok({ type: "heartbeat", ...hold });
      }
      world.clock.advance(minute - 1);
      expect(await world.sweep()).toEqual([]);
      world.clock.advance(1);
      expect(await world.sweep()).toMatchObject([{ taskId: hold.taskId, reason: "timeout" }]);
      await world.refused("CLAIM_EXPIRED", { type: "heartbeat", ...hold });
    });

    it("an attempt that timed out has failed: retried with the same backoff, and no worker was lost", async (world) => {
      await world.settings({ retry: { jitter: 0 } });
      const id = await world.task({ timeoutMs: 15 * minute, maxRetries: 2 });
      for (const delayMs of [30_000, 60_000]) {
        await world.claim(id, "a", { start: true });
        world.clock.advance(15 * minute);
        await world.sweep();
        const retryAt = world.clock.now() + delayMs;
        expect(await world.look(id)).toMatchObject({ now: "queued", notBefore: retryAt, lostCount: 0 });
        world.clock.set(retryAt);
      }
      const epoch = await world.claim(id, "a", { start: true });
      world.clock.advance(15 * minute);
      await world.sweep();
      const error = "timed out after 15m";
      expect(await world.look(id)).toMatchObject({ now: "failed", retryCount: 2, lostCount: 0, error });
      expect(await world.attemptOf({ taskId: id, epoch })).toMatchObject({ releaseReason: "timeout", error });
      expect(await world.notifications()).toMatchObject([{ type: "TASK_ERROR", taskId: id, message: error }]);
      expect((await world.eventTypes(id)).filter((type) => type.startsWith("task:claim-"))).toEqual([]);
    });

    it("timed out attempts of several tasks are not retried all at the same instant", async (world) => {
      const holds = [];
      for (const name of ["a", "b", "c"]) {
        holds.push(await world.hold(name, { timeoutMs: 10 * minute }, { start: true }));
      }
      world.clock.advance(10 * minute);
      await world.sweep();
      const times = await Promise.all(holds.map(async ({ taskId }) => (await world.look(taskId)).notBefore!));
      expect(new Set(times).size).toBe(3);
      for (const at of times) expect(Math.abs(at - world.clock.now() - 30_000)).toBeLessThanOrEqual(3_000);
    });

    for (const swept of [true, false]) {
      const when = swept ? "after" : "before";
      it(`a failure reported late ${when} a sweep has found the timeout is kept with the attempt`, async (world) => {
        const hold = await world.hold("a", { timeoutMs: 10 * minute }, { start: true });
        world.clock.advance(10 * minute);
        if (swept) await world.sweep();
        const { willRetry, retryAt } = await world.ok({ type: "fail", ...hold, error: "killed", spread: 0 });
        expect(willRetry).toBe(true);
        expect(await world.look(hold.taskId)).toMatchObject({ notBefore: retryAt, retryCount: 1 });
        expect((await world.look(hold.taskId)).error).toBe("timed out after 10m");
        expect((await world.attemptOf(hold)).lateResult).toMatchObject({ error: "killed" });
        await world.refused("CLAIM_EXPIRED", { type: "complete", ...hold, result: resultOf("done") });
      });
    }

    it("the timeout stands still while a question is open", async (world) => {
      const hold = await world.hold("a", { timeoutMs: 10 * minute }, { start: true });
      world.clock.advance(minute);
      await world.ok({ type: "ask", ...hold, question: "Which?" });
      world.clock.advance(100 * minute);
      await world.ok({ type: "respond", taskId: hold.taskId, response: "x" });
      world.clock.advance(9 * minute - 1);
      expect(await world.sweep()).toEqual([]);
      world.clock.advance(1);
      expect(await world.sweep()).toMatchObject([{ reason: "timeout" }]);
    });

    it("a timeout that is changed counts for the attempt under way", async (world) => {
      const timeouts = { longer: [10, 20], shorter: [20, 10], given: [null, 10], taken: [5, null] } as const;
      const ms = (minutes: number | null) => (minutes === null ? null : minutes * minute);
      for (const [name, [before]] of Object.entries(timeouts)) {
        const task = before === null ? { id: name } : { id: name, timeoutMs: before * minute };
        await world.hold(name, task, { start: true });
      }
      world.clock.advance(4 * minute);
      for (const [taskId, [, after]] of Object.entries(timeouts)) {
        await world.ok({ type: "update", taskId, patch: { timeoutMs: ms(after) } });
      }
      const over: [string, number][] = [];
      for (let minutes = 5; minutes <= 25; minutes++) {
        world.clock.advance(minute);
        for (const { taskId } of await world.sweep()) over.push([taskId, minutes]);
      }
      expect(over).toEqual([
        ["shorter", 10],
        ["given", 14],
        ["longer", 20],
      ]);
    });

    it("claiming again what one holds renews it and keeps the epoch", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(10 * minute);
      expect(await world.ok({ type: "claim", taskId: hold.taskId, sessionId: "a" })).toEqual({
        taskId: hold.taskId,
        resumed: false,
      });
      expect(await world.claimOf(hold.taskId)).toMatchObject({
        epoch: 1,
        state: "running",
        expiresAt: world.clock.now() + lease,
      });
      expect((await world.eventTypes(hold.taskId)).filter((type) => type === "task:claimed")).toHaveLength(1);
      await world.complete(hold);
    });

    it("claiming again what one has not started gives a fresh start timeout", async (world) => {
      const hold = await world.hold("a");
      world.clock.advance(4 * minute);
      await world.claim(hold.taskId, "a");
      world.clock.advance(4 * minute);
      expect(await world.sweep()).toEqual([]);
      expect((await world.claimOf(hold.taskId)).epoch).toBe(1);
    });

    it("claiming again after the lease is over is a new attempt", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(lease);
      expect(await world.claim(hold.taskId, "a")).toBe(2);
      expect((await world.attemptOf(hold)).end).toBe("expire");
    });

    it("many leases end in the order in which they are over", async (world) => {
      const slow = await world.hold("a", {}, { start: true, ttlMs: 3 * minute });
      const quick = await world.hold("b", {}, { start: true, ttlMs: minute });
      const middle = await world.hold("c", {}, { start: true, ttlMs: 2 * minute });
      world.clock.advance(5 * minute);
      expect((await world.sweep()).map((swept) => swept.taskId)).toEqual(
        [quick, middle, slow].map((hold) => hold.taskId),
      );
    });
  });

  describe(`${driver.name}: the health of a claim`, () => {
    it("a claim in a project that does not exist is refused, also while a lease has expired", async (world) => {
      await world.hold("a");
      world.clock.advance(lease);
      const nowhere = { type: "claim", project: "nowhere", taskId: "0001", sessionId: "a" } as const;
      await world.refused("PROJECT_NOT_FOUND", nowhere);
    });

    it("healthy, warning and expiring by the time that is left", async (world) => {
      await world.settings({ claim: { staleAfterMs: 3_600_000 } });
      const { taskId } = await world.hold("a", {}, { start: true });
      const at = async (remainingMs: number) => {
        world.clock.set((await world.claimOf(taskId)).expiresAt - remainingMs);
        return healthOf(world, taskId);
      };
      expect(await at(5 * minute + 1)).toBe("healthy");
      expect(await at(5 * minute)).toBe("warning");
      expect(await at(minute + 1)).toBe("warning");
      expect(await at(minute)).toBe("expiring");
      expect(await at(1)).toBe("expiring");
      expect(await at(0)).toBe("expired");
    });

    it("stale without a heartbeat for too long, before warning and after expiring", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(5 * minute - 1);
      expect(await healthOf(world, hold.taskId)).toBe("healthy");
      world.clock.advance(1);
      expect(await healthOf(world, hold.taskId)).toBe("stale");
      world.clock.advance(21 * minute);
      expect(await healthOf(world, hold.taskId)).toBe("stale");
      world.clock.advance(3 * minute);
      expect(await healthOf(world, hold.taskId)).toBe("expiring");
      await world.ok({ type: "heartbeat", ...hold });
      expect(await healthOf(world, hold.taskId)).toBe("healthy");
    });

    it("paused while a question is open", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      await world.ok({ type: "ask", ...hold, question: "Which?" });
      world.clock.advance(100 * minute);
      expect(await healthOf(world, hold.taskId)).toBe("paused");
    });
  });
}
