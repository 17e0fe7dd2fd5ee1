import { describe, expect } from "vitest";
import { type Driver, minute, teller } from "./harness.js";

/** How much one session may hold, and what an agent gets that forgot what it holds. */
export function capacity(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: capacity and resuming`, () => {
    it("an agent that forgot its task is handed the same one, renewed", async (world) => {
      const held = await world.task();
      await world.task();
      await world.next("a", { start: true });
      world.clock.advance(10 * minute);
      expect(await world.ok({ type: "claim-next", sessionId: "a" })).toEqual({ taskId: held, resumed: true });
      expect(await world.claimOf(held)).toMatchObject({
        epoch: 1,
        state: "running",
        expiresAt: world.clock.now() + 30 * minute,
      });
    });

    it("our own runner asks without resume and gets nothing", async (world) => {
      await world.task();
      await world.task();
      await world.next("a");
      expect(await world.next("a", { resume: false })).toBeNull();
    });

    it("with room for more, claim-next goes on until it is full, then gives nothing", async (world) => {
      await world.session("a", { capacity: 2 });
      const ids = [await world.task(), await world.task(), await world.task()];
      expect(await world.next("a")).toBe(ids[0]);
      expect(await world.next("a")).toBe(ids[1]);
      expect(await world.next("a")).toBeNull();
      await world.complete({ taskId: ids[0]!, sessionId: "a", epoch: 1 });
      expect(await world.next("a")).toBe(ids[2]);
    });

    it("claim by id is not limited by capacity", async (world) => {
      const first = await world.hold("a");
      const second = await world.hold("a");
      expect(await world.stateOf(first.taskId)).toBe("claimed");
      expect(await world.stateOf(second.taskId)).toBe("claimed");
    });

    it("of several held tasks the oldest that it has not acted on is resumed", async (world) => {
      const first = await world.hold("a");
      world.clock.advance(1000);
      const second = await world.hold("a");
      world.clock.advance(1000);
      await world.hold("a");
      expect(await world.next("a")).toBe(first.taskId);
      await world.ok({ type: "progress", ...first, note: "on it" });
      expect(await world.next("a")).toBe(second.taskId);
      await world.ok({ type: "heartbeat", ...second });
      expect(await world.next("a")).toBe(second.taskId);
    });

    it("when it has acted on all of them, the oldest is resumed", async (world) => {
      const first = await world.hold("a", {}, { start: true });
      world.clock.advance(1000);
      await world.hold("a", {}, { start: true });
      expect(await world.next("a")).toBe(first.taskId);
    });

    it("resuming with start starts it", async (world) => {
      const { taskId } = await world.hold("a");
      expect(await world.next("a", { start: true })).toBe(taskId);
      expect(await world.stateOf(taskId)).toBe("running");
    });

    it("a task whose question is open is resumed too", async (world) => {
      const hold = await world.hold("a");
      await world.ok({ type: "ask", ...hold, question: "Which?" });
      await world.task();
      expect(await world.next("a")).toBe(hold.taskId);
      expect(await world.stateOf(hold.taskId)).toBe("awaiting_response");
    });

    it("what a session lost is not resumed", async (world) => {
      const lost = await world.hold("a", { priority: 10 }, { start: true });
      const other = await world.task({ priority: 90 });
      world.clock.advance(30 * minute);
      expect(await world.ok({ type: "claim-next", sessionId: "a" })).toEqual({
        taskId: other,
        resumed: false,
      });
      expect(await world.stateOf(lost.taskId)).toBe("queued");
    });

    it("an orchestrator works on the parts of the task it holds, one by one, then resumes it", async (world) => {
      const whole = await world.hold("a", {}, { start: true });
      const parts = [
        await world.task({ parentId: whole.taskId }),
        await world.task({ parentId: whole.taskId }),
      ];
      for (const part of parts) {
        expect(await world.next("a")).toBe(part);
        expect(await world.next("a")).toBe(part);
        await world.complete({ taskId: part, sessionId: "a", epoch: 1 });
      }
      expect(await world.ok({ type: "claim-next", sessionId: "a" })).toEqual({
        taskId: whole.taskId,
        resumed: true,
      });
      await world.complete(whole);
    });

    it("nothing to claim says when that may change by itself", async (world) => {
      expect(await world.ok({ type: "claim-next", sessionId: "a", register: {} })).toEqual({
        taskId: null,
        retryAt: null,
      });
      const hold = await world.hold("b", {}, { start: true });
      expect(await world.ok({ type: "claim-next", sessionId: "a" })).toEqual({
        taskId: null,
        retryAt: (await world.claimOf(hold.taskId)).expiresAt,
      });
      const notBefore = world.clock.now() + minute;
      await world.task({ notBefore });
      expect(await world.ok({ type: "claim-next", sessionId: "a" })).toEqual({
        taskId: null,
        retryAt: notBefore,
        scheduledAt: notBefore,
      });
    });
  });
}
