import { describe, expect } from "vitest";
import { type Driver, minute, project, teller, type World } from "./harness.js";

/** Claims the task when its time has come, and fails it. */
async function failOnce(world: World, taskId: string, more: { retryable?: boolean; spread?: number } = {}) {
  world.clock.set(Math.max(world.clock.now(), (await world.look(taskId)).notBefore ?? 0));
  const epoch = await world.claim(taskId, "a");
  return world.ok({ type: "fail", taskId, sessionId: "a", epoch, error: "it broke", spread: 0, ...more });
}

/** Claims the task and lets the lease run out. */
async function loseOnce(world: World, taskId: string, progress = false): Promise<void> {
  const epoch = await world.claim(taskId, "a", { start: true });
  if (progress) await world.ok({ type: "progress", taskId, sessionId: "a", epoch, note: "on it" });
  world.clock.advance(30 * minute);
  await world.sweep();
}

export function retries(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: retries`, () => {
    it("three retries, each after twice the time, then it failed for good", async (world) => {
      const id = await world.task();
      for (const [index, delayMs] of [30_000, 60_000, 120_000].entries()) {
        const { willRetry, retryAt } = await failOnce(world, id);
        expect({ willRetry, delayMs: retryAt! - world.clock.now() }).toEqual({ willRetry: true, delayMs });
        expect(await world.look(id)).toMatchObject({
          now: "queued",
          retryCount: index + 1,
          notBefore: retryAt,
        });
      }
      expect(await failOnce(world, id)).toEqual({ willRetry: false, retryAt: null });
      expect(await world.look(id)).toMatchObject({
        now: "failed",
        retryCount: 3,
        error: "it broke",
        epoch: 4,
      });
      const types = await world.eventTypes(id);
      expect(types.filter((type) => type === "task:retry-scheduled")).toHaveLength(3);
      expect(types.filter((type) => type === "task:failed")).toHaveLength(1);
    });

    for (const end of ["failed", "cancelled"] as const) {
      it(`a ${end} task can be edited before it is retried, and the next attempt gets the edit`, async (world) => {
        const id = await world.task({ prompt: "do it", timeoutMs: minute });
        if (end === "failed") await failOnce(world, id, { retryable: false });
        else await world.ok({ type: "cancel", taskId: id });
        const before = await world.look(id);
        const patch = { prompt: "do it with care", priority: 90, labels: ["hard"], files: ["a.ts"] };
        await world.ok({
          type: "update",
          taskId: id,
          patch: { ...patch, timeoutMs: 5 * minute, maxRetries: 1 },
        });
        expect(await world.look(id)).toMatchObject({ now: end, readyAt: null, endedAt: before.endedAt });
        expect(await world.next("b")).toBeNull();
        const later = { notBefore: world.clock.now() + minute };
        await world.refused("INVALID_STATE", { type: "update", taskId: id, patch: later });
        await world.ok({ type: "retry", taskId: id });
        expect(await world.next("b")).toBe(id);
        const fields = {
          priority: 90,
          labels: ["hard"],
          files: ["a.ts"],
          timeoutMs: 5 * minute,
          maxRetries: 1,
        };
        expect(await world.look(id)).toMatchObject(fields);
        expect(await world.read((view) => view.text(project, id)?.prompt)).toBe("do it with care");
      });

      it(`what a ${end} task depends on can be changed before it is retried`, async (world) => {
        const first = await world.task();
        const id = await world.task();
        const dependent = await world.task({ dependsOn: [id] });
        if (end === "failed") await failOnce(world, id, { retryable: false });
        else await world.ok({ type: "cancel", taskId: id });
        const cycle = { dependsOn: [dependent] };
        await world.refused("DEPENDENCY_CYCLE", { type: "update", taskId: id, patch: cycle });
        await world.ok({ type: "update", taskId: id, patch: { dependsOn: [first] } });
        await world.ok({ type: "retry", taskId: id });
        expect(await world.explain(id)).toMatchObject([{ code: "WAITING_ON_DEPENDENCIES" }]);
        await world.finish(first);
        expect(await world.next("b")).toBe(id);
      });
    }

    it("a retry is not claimable before its time", async (world) => {
      const id = await world.task();
      const { retryAt } = await failOnce(world, id);
      expect(await world.explain(id)).toMatchObject([{ code: "SCHEDULED", until: retryAt }]);
      world.clock.set(retryAt! - 1);
      expect(await world.next("b")).toBeNull();
      world.clock.set(retryAt!);
      expect(await world.next("b")).toBe(id);
    });

    it("the delay is spread by ten percent", async (world) => {
      for (const [spread, delayMs] of [
        [-1, 27_000],
        [0, 30_000],
        [1, 33_000],
      ] as const) {
        const { retryAt } = await failOnce(world, await world.task(), { spread });
        expect(retryAt! - world.clock.now()).toBe(delayMs);
      }
    });

    it("the delay is at most an hour", async (world) => {
      const id = await world.task({ maxRetries: 9 });
      let delayMs = 0;
      for (let n = 0; n < 9; n++) {
        const { retryAt } = await failOnce(world, id, { spread: 1 });
        delayMs = retryAt! - world.clock.now();
      }
      expect(delayMs).toBe(60 * minute);
    });

    it("the project sets delay, growth and number", async (world) => {
      await world.settings({ maxRetries: 1, retry: { delayMs: 1000, backoff: "fixed", jitter: 0.5 } });
      const id = await world.task();
      const { retryAt } = await failOnce(world, id, { spread: 1 });
      expect(retryAt! - world.clock.now()).toBe(1500);
      expect((await failOnce(world, id)).willRetry).toBe(false);
    });

    it("fixed delays do not grow", async (world) => {
      await world.settings({ retry: { backoff: "fixed" } });
      const id = await world.task();
      for (let n = 0; n < 3; n++) {
        expect((await failOnce(world, id)).retryAt! - world.clock.now()).toBe(30_000);
      }
    });

    it("a task can have its own number of retries, also none", async (world) => {
      const none = await world.task({ maxRetries: 0 });
      expect((await failOnce(world, none)).willRetry).toBe(false);
      expect(await world.look(none)).toMatchObject({ now: "failed", retryCount: 0 });
      const five = await world.task({ maxRetries: 5 });
      for (let n = 0; n < 5; n++) expect((await failOnce(world, five)).willRetry).toBe(true);
      expect((await failOnce(world, five)).willRetry).toBe(false);
    });

    it("what must not be retried fails at once", async (world) => {
      const id = await world.task();
      expect(await failOnce(world, id, { retryable: false })).toEqual({ willRetry: false, retryAt: null });
      expect(await world.look(id)).toMatchObject({ now: "failed", retryCount: 0 });
      expect(await world.notifications()).toMatchObject([{ type: "TASK_ERROR", taskId: id }]);
    });

    it("automatic retries tell nobody; only the final failure does", async (world) => {
      const id = await world.task({ maxRetries: 1 });
      await failOnce(world, id);
      expect(await world.notifications()).toEqual([]);
      await failOnce(world, id);
      expect(await world.notifications()).toMatchObject([{ type: "TASK_ERROR", message: "it broke" }]);
    });

    it("releases and lost workers are no retries", async (world) => {
      const id = await world.task();
      await world.claim(id, "a");
      await world.ok({ type: "release", taskId: id, sessionId: "a", spread: 0 });
      await loseOnce(world, id);
      expect(await world.look(id)).toMatchObject({ retryCount: 0, lostCount: 1, notBefore: null });
    });

    it("a completion after retries keeps their number and clears the error", async (world) => {
      const id = await world.task();
      const { retryAt } = await failOnce(world, id);
      world.clock.set(retryAt!);
      await world.finish(id);
      expect(await world.look(id)).toMatchObject({ now: "completed", retryCount: 1, error: null });
    });

    it("a person can always retry, and then all retries are left again", async (world) => {
      const id = await world.task({ maxRetries: 1 });
      await failOnce(world, id);
      await failOnce(world, id);
      await world.ok({ type: "retry", taskId: id });
      expect(await world.look(id)).toMatchObject({
        now: "queued",
        retryCount: 0,
        notBefore: null,
        error: null,
      });
      expect((await failOnce(world, id)).willRetry).toBe(true);
      expect((await failOnce(world, id)).willRetry).toBe(false);
    });

    it("a person's retry settles what was told about the failure, and nothing else", async (world) => {
      const [id, other] = [await world.task(), await world.task()];
      for (const each of [id, other]) await failOnce(world, each, { retryable: false });
      world.clock.advance(minute);
      await world.ok({ type: "retry", taskId: id });
      const told = async (taskId: string) =>
        (await world.notifications()).filter((each) => each.taskId === taskId).map(({ readAt }) => readAt);
      expect(await told(id)).toEqual([world.clock.now()]);
      expect(await told(other)).toEqual([null]);
      expect((await world.eventTypes(id)).slice(-2)).toEqual(["notification:read", "task:retried"]);
      await failOnce(world, id, { retryable: false });
      expect((await told(id)).toSorted()).toEqual([world.clock.now(), null].toSorted());
    });

    it("fewer retries than it had already means no more of them", async (world) => {
      const id = await world.task();
      await failOnce(world, id);
      await failOnce(world, id);
      await world.ok({ type: "update", taskId: id, patch: { maxRetries: 1 } });
      expect((await failOnce(world, id)).willRetry).toBe(false);
      expect(await world.look(id)).toMatchObject({ now: "failed", retryCount: 2 });
    });
  });

  describe(`${driver.name}: lost workers`, () => {
    it("a task that lost its worker three times in a row fails as WORKER_LOST", async (world) => {
      const id = await world.task();
      await loseOnce(world, id);
      await loseOnce(world, id);
      expect(await world.look(id)).toMatchObject({ now: "queued", lostCount: 2 });
      await loseOnce(world, id);
      expect(await world.look(id)).toMatchObject({
        now: "failed",
        lostCount: 3,
        error: "WORKER_LOST",
        retryCount: 0,
        endedAt: world.clock.now(),
      });
      expect(await world.notifications()).toMatchObject([
        { type: "WORKER_LOST", severity: "warning", taskId: id, readAt: null },
      ]);
      expect((await world.eventTypes(id)).slice(-3)).toEqual([
        "task:claim-expired",
        "task:failed",
        "notification:created",
      ]);
    });

    it("expiry, silence and the end of a session all count", async (world) => {
      const id = await world.task();
      await loseOnce(world, id);
      await world.session("silent", { heartbeats: true });
      await world.claim(id, "silent", { start: true });
      world.clock.advance(10 * minute);
      await world.sweep();
      await world.claim(id, "gone", { start: true });
      await world.ok({ type: "end-session", sessionId: "gone", reason: "session_ended" });
      expect(await world.look(id)).toMatchObject({ now: "failed", error: "WORKER_LOST" });
    });

    it("the number is the project's own", async (world) => {
      await world.settings({ maxLost: 1 });
      const id = await world.task();
      await loseOnce(world, id);
      expect(await world.stateOf(id)).toBe("failed");
    });

    it("a deliberate release does not count", async (world) => {
      const id = await world.task();
      for (let n = 0; n < 5; n++) {
        await world.claim(id, "a");
        await world.ok({ type: "release", taskId: id, sessionId: "a", spread: 0 });
      }
      expect(await world.look(id)).toMatchObject({ now: "queued", lostCount: 0 });
    });

    it("progress starts the count anew", async (world) => {
      const id = await world.task();
      await loseOnce(world, id);
      await loseOnce(world, id);
      await loseOnce(world, id, true);
      expect(await world.look(id)).toMatchObject({ now: "queued", lostCount: 1 });
    });

    it("a heartbeat and a start do not", async (world) => {
      const id = await world.task();
      await loseOnce(world, id);
      const epoch = await world.claim(id, "a", { start: true });
      await world.ok({ type: "heartbeat", taskId: id, sessionId: "a", epoch });
      expect((await world.look(id)).lostCount).toBe(1);
    });

    it("completion starts the count anew", async (world) => {
      const id = await world.task();
      await loseOnce(world, id);
      await world.finish(id);
      expect((await world.look(id)).lostCount).toBe(0);
    });

    it("a person's retry starts the count anew, and settles what was told", async (world) => {
      const id = await world.task();
      for (let n = 0; n < 3; n++) await loseOnce(world, id);
      await world.ok({ type: "retry", taskId: id });
      expect(await world.notifications()).toMatchObject([{ readAt: world.clock.now() }]);
      expect(await world.look(id)).toMatchObject({ now: "queued", lostCount: 0, error: null, epoch: 3 });
      await loseOnce(world, id);
      expect(await world.stateOf(id)).toBe("queued");
    });

    it("losing the worker while a question is open does not count", async (world) => {
      await world.settings({ maxLost: 1 });
      const hold = await world.hold("a", {}, { start: true });
      await world.ok({ type: "ask", ...hold, question: "Which?" });
      await world.ok({ type: "end-session", sessionId: "a", reason: "session_ended" });
      expect(await world.look(hold.taskId)).toMatchObject({ now: "awaiting_response", lostCount: 0 });
    });
  });
}
