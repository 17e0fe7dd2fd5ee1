import { describe, expect } from "vitest";
import { type Driver, type Hold, minute, project, resultOf, teller, type World } from "./harness.js";

const closing = {
  complete: { type: "complete", result: resultOf("done") },
  fail: { type: "fail", error: "it broke", spread: 0 },
  "fail for good": { type: "fail", error: "it broke", retryable: false, spread: 0 },
  release: { type: "release", reason: "lunch", spread: 0 },
  "release as completed": { type: "release", reason: "completed", spread: 0 },
  "release as failed": { type: "release", reason: "failed", spread: 0 },
} as const;

async function lateOf(world: World, hold: Hold) {
  return (await world.attemptOf(hold)).lateResult;
}

/** What is told twice happens once, and what comes too late is kept but never applied. */
export function repetition(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: repeated and late calls`, () => {
    for (const [name, move] of Object.entries(closing)) {
      for (const withEpoch of [true, false]) {
        const how = withEpoch ? "with" : "without";
        it(`${name}, repeated ${how} epoch, answers the same and changes nothing`, async (world) => {
          const hold = await world.hold("a", {}, { start: true });
          await world.task({ dependsOn: [hold.taskId] });
          const told = withEpoch ? { ...move, ...hold } : { ...move, taskId: hold.taskId, sessionId: "a" };
          world.clock.advance(1000);
          const first = await world.ok(told);
          world.clock.advance(1000);
          await world.unchanged(async () => expect(await world.ok(told)).toEqual(first));
          await world.sweep();
          await world.unchanged(async () => expect(await world.ok(told)).toEqual(first));
        });
      }
    }

    it("a repetition with its epoch answers the same though somebody else holds the task now", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const first = await world.ok({ type: "release", ...hold, reason: "lunch", spread: 0 });
      await world.claim(hold.taskId, "b");
      world.clock.advance(1000);
      await world.unchanged(async () => {
        expect(await world.ok({ type: "release", ...hold, reason: "lunch", spread: 0 })).toEqual(first);
      });
    });

    it("a repetition without epoch is refused once somebody else holds the task", async (world) => {
      const { taskId, epoch } = await world.hold("a", {}, { start: true });
      await world.ok({ type: "release", taskId, sessionId: "a", epoch, spread: 0 });
      await world.claim(taskId, "b");
      await world.refused("NOT_CLAIM_OWNER", { type: "release", taskId, sessionId: "a", spread: 0 });
    });

    it("without epoch, a session that claimed again releases the new claim", async (world) => {
      const { taskId } = await world.hold("a");
      await world.ok({ type: "release", taskId, sessionId: "a", spread: 0 });
      await world.claim(taskId, "a");
      await world.ok({ type: "release", taskId, sessionId: "a", spread: 0 });
      expect(await world.stateOf(taskId)).toBe("queued");
      expect((await world.look(taskId)).epoch).toBe(2);
    });

    it("a repeated complete lists again what it unblocked", async (world) => {
      const hold = await world.hold("a");
      const waiting = await world.task({ dependsOn: [hold.taskId] });
      expect(await world.complete(hold)).toEqual({ unblocked: [waiting], unblockedCount: 1 });
      await world.claim(waiting, "b");
      expect(await world.complete(hold)).toEqual({ unblocked: [waiting], unblockedCount: 1 });
    });

    it("another way to end it is not a repetition", async (world) => {
      const hold = await world.hold("a");
      await world.complete(hold);
      await world.refused("TASK_NOT_CLAIMED", { type: "fail", ...hold, error: "x", spread: 0 });
      await world.refused("TASK_NOT_CLAIMED", { type: "release", ...hold, spread: 0 });
      expect(await lateOf(world, hold)).toBeNull();
      expect(await world.stateOf(hold.taskId)).toBe("completed");
    });

    for (const swept of [false, true]) {
      const when = swept ? "after a sweep" : "before any sweep";

      it(`a late result is kept once, ${when}, and never applied`, async (world) => {
        const hold = await world.hold("a", {}, { start: true });
        world.clock.advance(30 * minute);
        if (swept) await world.sweep();
        const tell = (output: string) => ({ type: "complete" as const, ...hold, result: resultOf(output) });
        await world.refused("CLAIM_EXPIRED", tell("first"));
        const late = { at: world.clock.now(), result: resultOf("first"), error: null };
        expect(await lateOf(world, hold)).toEqual(late);
        world.clock.advance(1000);
        await world.refused("CLAIM_EXPIRED", tell("second"));
        expect(await lateOf(world, hold)).toEqual(late);
        expect(await world.stateOf(hold.taskId)).toBe("queued");
        expect((await world.attemptOf(hold)).result).toBeNull();
      });

      it(`a late result is kept although somebody else holds the task, ${when}`, async (world) => {
        const hold = await world.hold("a", {}, { start: true });
        world.clock.advance(30 * minute);
        if (swept) await world.sweep();
        await world.claim(hold.taskId, "b", { start: true });
        await world.refused("NOT_CLAIM_OWNER", { type: "complete", ...hold, result: resultOf("late") });
        expect((await lateOf(world, hold))?.result?.output).toBe("late");
        expect(await world.stateOf(hold.taskId)).toBe("running");
      });
    }

    it("a late result without epoch goes to the session's own last attempt", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(30 * minute);
      await world.claim(hold.taskId, "b");
      const { taskId } = hold;
      await world.refused("NOT_CLAIM_OWNER", {
        type: "complete",
        taskId,
        sessionId: "a",
        result: resultOf("late"),
      });
      expect((await lateOf(world, hold))?.result?.output).toBe("late");
    });

    it("a late result of the same session's earlier claim is kept on that one", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(30 * minute);
      await world.claim(hold.taskId, "a", { start: true });
      await world.refused("STALE_EPOCH", { type: "complete", ...hold, result: resultOf("late") });
      expect((await lateOf(world, hold))?.result?.output).toBe("late");
    });

    it("a late failure is kept as an error", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(30 * minute);
      await world.refused("CLAIM_EXPIRED", { type: "fail", ...hold, error: "it broke", spread: 0 });
      expect(await lateOf(world, hold)).toMatchObject({ result: null, error: "it broke" });
      expect(await world.look(hold.taskId)).toMatchObject({ retryCount: 0, error: null });
    });

    it("what a cancelled holder had is kept too", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      await world.ok({ type: "cancel", taskId: hold.taskId });
      await world.refused("TASK_CANCELLED", { type: "complete", ...hold, result: resultOf("almost") });
      expect((await lateOf(world, hold))?.result?.output).toBe("almost");
      expect(await world.stateOf(hold.taskId)).toBe("cancelled");
    });

    it("a long late result is cut", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(30 * minute);
      await world.refused("CLAIM_EXPIRED", {
        type: "complete",
        ...hold,
        result: resultOf("x".repeat(200_000)),
      });
      expect((await lateOf(world, hold))?.result?.output.length).toBeLessThanOrEqual(64 * 1024);
    });

    it("a completion refused for the present attempt is no late result of an earlier one", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const { taskId } = hold;
      world.clock.advance(30 * minute);
      await world.claim(taskId, "a", { start: true });
      await world.ok({ type: "ask", taskId, sessionId: "a", question: "Which?" });
      await world.refused("INVALID_STATE", {
        type: "complete",
        taskId,
        sessionId: "a",
        result: resultOf("x"),
      });
      expect(await lateOf(world, hold)).toBeNull();
    });

    it("a result that is too large is refused and the task stays held", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const result = resultOf("x".repeat(1024 * 1024 + 1));
      await world.refused("PAYLOAD_TOO_LARGE", { type: "complete", ...hold, result });
      expect(await world.stateOf(hold.taskId)).toBe("running");
      const largest = resultOf("x".repeat(1024 * 1024));
      await world.ok({ type: "complete", ...hold, result: largest });
      const kept = await world.read((view) => view.attempt(project, hold.taskId, hold.epoch));
      expect(kept?.result?.output.length).toBe(1024 * 1024);
    });
  });
}
