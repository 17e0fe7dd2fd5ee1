import { describe, expect } from "vitest";
import { type Driver, minute, project, resultOf, teller } from "./harness.js";
import { inState } from "./states.js";

const born = ["task:created", "task:queued"];

export function lifecycle(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: lifecycle, move by move`, () => {
    it("a created task is queued", async (world) => {
      const id = await world.task({
        prompt: "Fix the login\nIt is broken.",
        labels: ["auth"],
        files: ["a.ts"],
      });
      expect(await world.look(id)).toMatchObject({
        now: "queued",
        type: "task",
        title: "Fix the login",
        priority: 50,
        maxRetries: 3,
        retryCount: 0,
        lostCount: 0,
        epoch: 0,
        labels: ["auth"],
        files: ["a.ts"],
        dependsOn: [],
        readyAt: world.clock.now(),
        createdAt: world.clock.now(),
        createdBy: "user:test",
      });
      expect(await world.eventTypes(id)).toEqual(born);
    });

    it("a claim takes it, with the next epoch", async (world) => {
      const hold = await world.hold("a", {}, { ttlMs: 5 * minute, metadata: { branch: "x" } });
      expect(hold.epoch).toBe(1);
      expect(await world.claimOf(hold.taskId)).toMatchObject({
        sessionId: "a",
        state: "claimed",
        claimedAt: world.clock.now(),
        startedAt: null,
        ttlMs: 5 * minute,
        expiresAt: world.clock.now() + 5 * minute,
        heartbeatCount: 0,
        metadata: { branch: "x" },
      });
      expect(await world.eventTypes(hold.taskId)).toEqual([...born, "task:claimed"]);
    });

    it("claim-next does the same", async (world) => {
      const id = await world.task();
      expect(await world.ok({ type: "claim-next", sessionId: "a", register: {} })).toEqual({
        taskId: id,
        resumed: false,
      });
      expect(await world.stateOf(id)).toBe("claimed");
      expect(await world.eventTypes(id)).toEqual([...born, "task:claimed"]);
    });

    it("start sets it running, and starting again says the same and does nothing", async (world) => {
      const hold = await world.hold("a");
      world.clock.advance(1000);
      await world.ok({ type: "start", ...hold });
      expect(await world.stateOf(hold.taskId)).toBe("running");
      const { startedAt } = await world.claimOf(hold.taskId);
      expect(startedAt).toBe(world.clock.now());
      world.clock.advance(1000);
      await world.ok({ type: "start", ...hold });
      expect((await world.claimOf(hold.taskId)).startedAt).toBe(startedAt);
      expect(await world.eventTypes(hold.taskId)).toEqual([...born, "task:claimed", "task:started"]);
    });

    it("a claim with start is running in one step, with both events", async (world) => {
      const { taskId } = await world.hold("a", {}, { start: true });
      expect(await world.stateOf(taskId)).toBe("running");
      expect((await world.claimOf(taskId)).startedAt).toBe(world.clock.now());
      expect(await world.eventTypes(taskId)).toEqual([...born, "task:claimed", "task:started"]);
    });

    it("claim-next with start is running in one step", async (world) => {
      const id = await world.task();
      await world.next("a", { start: true });
      expect(await world.stateOf(id)).toBe("running");
    });

    it("claiming again with start starts what is held", async (world) => {
      const hold = await world.hold("a");
      expect(await world.claim(hold.taskId, "a", { start: true })).toBe(hold.epoch);
      expect(await world.stateOf(hold.taskId)).toBe("running");
      expect(await world.eventTypes(hold.taskId)).toEqual([...born, "task:claimed", "task:started"]);
    });

    it("a heartbeat renews the lease without an event", async (world) => {
      const hold = await world.hold("a");
      world.clock.advance(minute);
      await world.ok({ type: "heartbeat", ...hold });
      expect(await world.claimOf(hold.taskId)).toMatchObject({
        state: "claimed",
        expiresAt: world.clock.now() + 30 * minute,
        lastHeartbeat: world.clock.now(),
        heartbeatCount: 1,
      });
      expect(await world.eventTypes(hold.taskId)).toEqual([...born, "task:claimed"]);
    });

    it("progress leaves a note on the timeline and renews the lease", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(minute);
      await world.ok({ type: "progress", ...hold, note: "tests pass", percent: 80 });
      expect(await world.claimOf(hold.taskId)).toMatchObject({
        progress: { note: "tests pass", percent: 80, at: world.clock.now() },
        expiresAt: world.clock.now() + 30 * minute,
      });
      const last = (await world.events()).at(-1)!;
      expect(last).toMatchObject({ type: "task:progress", data: { note: "tests pass", percent: 80 } });
    });

    it("ask waits for a human, and respond sets it running again", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      await world.ok({ type: "ask", ...hold, question: "Which?", options: ["x", "y"], default: "x" });
      expect(await world.look(hold.taskId)).toMatchObject({
        now: "awaiting_response",
        question: { text: "Which?", options: ["x", "y"], default: "x", askedAt: world.clock.now() },
      });
      await world.ok({ type: "respond", taskId: hold.taskId, response: "y" });
      expect(await world.look(hold.taskId)).toMatchObject({ now: "running", question: null, response: "y" });
      expect(await world.eventTypes(hold.taskId)).toEqual([
        ...born,
        "task:claimed",
        "task:started",
        "task:awaiting-response",
        "notification:created",
        "task:response-received",
        "notification:read",
      ]);
    });

    it("complete keeps the result and the end", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const startedAt = world.clock.now();
      world.clock.advance(minute);
      const git = { branch: "dibs/0001", commit: "4f1c2e7" };
      const result = { output: "done", filesCreated: ["a.ts"], filesModified: ["b.ts"], ...git };
      expect(await world.ok({ type: "complete", ...hold, result })).toEqual({
        unblocked: [],
        unblockedCount: 0,
      });
      const endedAt = world.clock.now();
      expect(await world.look(hold.taskId)).toMatchObject({ now: "completed", epoch: 1, startedAt, endedAt });
      expect(await world.attemptOf(hold)).toMatchObject({
        end: "complete",
        releaseReason: "completed",
        releasedAt: endedAt,
        result,
      });
      expect(await world.eventTypes(hold.taskId)).toEqual([
        ...born,
        "task:claimed",
        "task:started",
        "task:completed",
      ]);
    });

    it("completing what was never started starts it, with both events", async (world) => {
      const hold = await world.hold("a");
      await world.complete(hold);
      expect((await world.look(hold.taskId)).startedAt).toBe(world.clock.now());
      expect(await world.eventTypes(hold.taskId)).toEqual([
        ...born,
        "task:claimed",
        "task:started",
        "task:completed",
      ]);
    });

    it("fail queues it again for later while retries last", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const retryAt = world.clock.now() + 30_000;
      expect(await world.ok({ type: "fail", ...hold, error: "it broke", spread: 0 })).toEqual({
        willRetry: true,
        retryAt,
      });
      expect(await world.look(hold.taskId)).toMatchObject({
        now: "queued",
        error: "it broke",
        notBefore: retryAt,
        retryCount: 1,
        startedAt: null,
      });
      expect(await world.eventTypes(hold.taskId)).toEqual([
        ...born,
        "task:claimed",
        "task:started",
        "task:retry-scheduled",
      ]);
      expect((await world.events()).at(-1)!.data).toMatchObject({ error: "it broke" });
    });

    it("the last failure is final and tells a human", async (world) => {
      const { taskId } = await inState(world, "failed");
      expect(await world.look(taskId)).toMatchObject({ error: "it broke", endedAt: world.clock.now() });
      expect(await world.notifications()).toMatchObject([{ type: "TASK_ERROR", severity: "error", taskId }]);
      expect(await world.eventTypes(taskId)).toEqual([
        ...born,
        "task:claimed",
        "task:started",
        "task:failed",
        "notification:created",
      ]);
    });

    it("fail works while a question is open", async (world) => {
      const hold = await inState(world, "awaiting_response");
      await world.ok({ type: "fail", ...hold, error: "gave up", spread: 0 });
      expect(await world.look(hold.taskId)).toMatchObject({ now: "failed", question: null });
    });

    it("release gives it back with its reason", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(1000);
      expect(await world.ok({ type: "release", ...hold, reason: "lunch", spread: 0 })).toEqual({
        reason: "lunch",
        claimDurationMs: 1000,
      });
      expect(await world.look(hold.taskId)).toMatchObject({ now: "queued", startedAt: null, lostCount: 0 });
      expect(await world.attemptOf(hold)).toMatchObject({ end: "release", releaseReason: "lunch" });
      expect(await world.eventTypes(hold.taskId)).toEqual([
        ...born,
        "task:claimed",
        "task:started",
        "task:released",
      ]);
    });

    it("release as completed is complete", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const waiting = await world.task({ dependsOn: [hold.taskId] });
      await world.ok({ type: "release", ...hold, reason: "completed", result: resultOf("ok"), spread: 0 });
      expect(await world.stateOf(hold.taskId)).toBe("completed");
      expect((await world.attemptOf(hold)).result?.output).toBe("ok");
      expect(await world.eventTypes(hold.taskId)).toContain("task:completed");
      expect(await world.eventTypes(waiting)).toContain("task:unblocked");
    });

    it("release as failed is fail", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      await world.ok({ type: "release", ...hold, reason: "failed", error: "no", spread: 0 });
      expect(await world.look(hold.taskId)).toMatchObject({ now: "queued", retryCount: 1, error: "no" });
    });

    it("a leader releases by force what a session holds", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      await world.ok({ type: "release", taskId: hold.taskId, force: true, reason: "stuck", spread: 0 });
      expect(await world.stateOf(hold.taskId)).toBe("queued");
      await world.refused("TASK_NOT_CLAIMED", {
        type: "release",
        taskId: hold.taskId,
        force: true,
        spread: 0,
      });
    });

    it("a lease that is over queues it again", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(30 * minute);
      expect(await world.sweep()).toEqual([{ project, taskId: hold.taskId, sessionId: "a", reason: "ttl" }]);
      expect(await world.look(hold.taskId)).toMatchObject({ now: "queued", lostCount: 1, startedAt: null });
      expect(await world.eventTypes(hold.taskId)).toEqual([
        ...born,
        "task:claimed",
        "task:started",
        "task:claim-expired",
      ]);
    });

    it("a dead session's task is queued again", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      await world.ok({ type: "end-session", sessionId: "a", reason: "process_gone" });
      expect(await world.look(hold.taskId)).toMatchObject({ now: "queued", lostCount: 1 });
      expect(await world.eventTypes(hold.taskId)).toEqual([
        ...born,
        "task:claimed",
        "task:started",
        "task:claim-orphaned",
      ]);
    });

    for (const state of ["queued", "claimed", "running", "awaiting_response"] as const) {
      it(`cancel works while it is ${state}`, async (world) => {
        const hold = await inState(world, state);
        await world.ok({ type: "cancel", taskId: hold.taskId, reason: "not needed" });
        expect(await world.look(hold.taskId)).toMatchObject({
          now: "cancelled",
          endedAt: world.clock.now(),
          question: null,
        });
        expect((await world.events()).at(-1)).toMatchObject({
          type: "task:cancelled",
          data: { reason: "not needed" },
        });
        expect((await world.attemptOf(hold)).end).toBe(state === "queued" ? "release" : "cancel");
      });
    }

    for (const state of ["failed", "cancelled"] as const) {
      it(`a person retries what is ${state}, and the epoch goes on`, async (world) => {
        const hold = await inState(world, state);
        world.clock.advance(1000);
        await world.ok({ type: "retry", taskId: hold.taskId });
        expect(await world.look(hold.taskId)).toMatchObject({
          now: "queued",
          error: null,
          startedAt: null,
          endedAt: null,
          notBefore: null,
          retryCount: 0,
          lostCount: 0,
          epoch: 1,
          readyAt: world.clock.now(),
        });
        expect((await world.eventTypes(hold.taskId)).at(-1)).toBe("task:retried");
        expect(await world.claim(hold.taskId, "a")).toBe(2);
      });
    }
  });
}
