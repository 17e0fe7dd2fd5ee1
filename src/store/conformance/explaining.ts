import { describe, expect } from "vitest";
import { type Driver, minute, teller } from "./harness.js";

/** Why is this not running? The same predicate that claiming asks, in words. */
export function explaining(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: explain`, () => {
    it("has nothing to say of what can be claimed", async (world) => {
      const id = await world.task();
      await world.session("a");
      expect(await world.explain(id)).toEqual([]);
      expect(await world.explain(id, "a")).toEqual([]);
    });

    it("tells the whole blocking chain, with what failed in it marked", async (world) => {
      const broken = await world.hold("a", { maxRetries: 0 });
      const middle = await world.task({ dependsOn: [broken.taskId] });
      const dropped = await world.task();
      const last = await world.task({ dependsOn: [middle, dropped] });
      await world.ok({ type: "fail", ...broken, error: "x", spread: 0 });
      await world.ok({ type: "cancel", taskId: dropped });
      const [reason] = await world.explain(last);
      expect(reason).toMatchObject({ code: "WAITING_ON_DEPENDENCIES", count: 3 });
      expect([...reason!.taskIds!].sort()).toEqual([broken.taskId, middle, dropped].sort());
      expect(reason!.message).toContain(`${broken.taskId} (failed)`);
      expect(reason!.message).toContain(`${dropped} (cancelled)`);
    });

    it("names the root cause of a chain and its own command, never another explain", async (world) => {
      const first = await world.task({ maxRetries: 0 });
      const second = await world.task({ dependsOn: [first] });
      const last = await world.task({ dependsOn: [second] });
      const of = async (id: string) => {
        const [reason] = await world.explain(id);
        return [reason?.message.split(". ")[1], reason?.fix];
      };
      expect(await of(last)).toEqual([
        `Root cause: ${first} is ready and not claimed.`,
        `dibs claim ${first}`,
      ]);
      const epoch = await world.claim(first, "a", { start: true });
      expect(await of(last)).toEqual([
        `Root cause: ${first} is claimed by a live session.`,
        `dibs show ${first}`,
      ]);
      await world.ok({ type: "ask", taskId: first, sessionId: "a", epoch, question: "Which?" });
      expect(await of(last)).toEqual([
        `Root cause: ${first} is waiting for an answer.`,
        `dibs answer ${first} "<your answer>"`,
      ]);
      await world.ok({ type: "respond", taskId: first, response: "this" });
      await world.ok({ type: "fail", taskId: first, sessionId: "a", error: "x", spread: 0 });
      expect(await of(last)).toEqual([`Root cause: ${first} failed.`, `dibs retry ${first}`]);
      expect(await of(second)).toEqual([undefined, `dibs retry ${first}`]);
      await world.ok({ type: "cancel", taskId: second });
      expect((await of(last))[1]).toBe(`dibs retry ${second}`);
    });

    it("names the root cause of a parent that waits for its subtasks", async (world) => {
      const whole = await world.task({ type: "group" });
      const part = await world.task({ parentId: whole });
      const other = await world.task({ maxRetries: 0 });
      await world.task({ parentId: whole, dependsOn: [other] });
      const parts = async () =>
        (await world.explain(whole)).find(({ code }) => code === "WAITING_ON_CHILDREN");
      expect((await parts())?.fix).toBe(`dibs list --parent ${whole}`);
      await world.claim(other, "a");
      await world.ok({ type: "fail", taskId: other, sessionId: "a", error: "x", spread: 0 });
      expect(await parts()).toMatchObject({
        fix: `dibs retry ${other}`,
        message: expect.stringContaining(`Root cause: ${other} failed.`),
      });
      await world.ok({ type: "cancel", taskId: part });
    });

    it("leaves out of the chain what is completed", async (world) => {
      const done = await world.task();
      const open = await world.task();
      const last = await world.task({ dependsOn: [done, open] });
      await world.finish(done);
      expect(await world.explain(last)).toMatchObject([
        { code: "WAITING_ON_DEPENDENCIES", taskIds: [open], count: 1 },
      ]);
    });

    it("follows the chain through children", async (world) => {
      const group = await world.task({ type: "group" });
      const part = await world.task({ parentId: group });
      const after = await world.task({ dependsOn: [group] });
      expect(await world.explain(after)).toMatchObject([{ taskIds: [group, part] }]);
    });

    it("cuts a long chain at a thousand, with its count", async (world) => {
      const tasks = Array.from({ length: 1200 }, (_, index) => ({
        prompt: "x",
        key: `k${index}`,
        ...(index === 0 ? {} : { dependsOn: [`k${index - 1}`] }),
      }));
      const { ids } = await world.ok({ type: "create", correlationId: "c", tasks });
      const [reason] = await world.explain(ids.at(-1)!);
      expect(reason?.taskIds).toHaveLength(1000);
      expect(reason?.count).toBe(1199);
    });

    it("says who holds it, that it is alive, and until when", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const { expiresAt } = await world.claimOf(hold.taskId);
      const [reason] = await world.explain(hold.taskId);
      expect(reason).toEqual({
        code: "CLAIMED",
        message: "a holds it, and is alive.",
        until: expiresAt,
        sessionId: "a",
        holderAlive: true,
      });
    });

    it("does not count a lease that is over, swept or not", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(30 * minute);
      expect(await world.explain(hold.taskId)).toEqual([]);
      await world.sweep();
      expect(await world.explain(hold.taskId)).toEqual([]);
    });

    it("says the question that it waits for, with or without a holder", async (world) => {
      const hold = await world.hold("a");
      await world.ok({ type: "ask", ...hold, question: "Which one?" });
      const expected = [{ code: "AWAITING_RESPONSE", message: expect.stringContaining("Which one?") }];
      expect(await world.explain(hold.taskId)).toMatchObject(expected);
      await world.ok({ type: "release", ...hold, spread: 0 });
      expect(await world.explain(hold.taskId)).toMatchObject(expected);
    });

    it("says that it is over, and how to begin again", async (world) => {
      const done = await world.task();
      await world.finish(done);
      expect(await world.explain(done)).toEqual([{ code: "TERMINAL", message: "It is completed." }]);
      const dropped = await world.task();
      await world.ok({ type: "cancel", taskId: dropped });
      expect(await world.explain(dropped)).toMatchObject([
        { code: "TERMINAL", fix: `dibs retry ${dropped}` },
      ]);
    });

    it("gives all reasons at once, and every one of them with a command that helps", async (world) => {
      const other = await world.task();
      const id = await world.task({
        dependsOn: [other],
        notBefore: world.clock.now() + minute,
        assignee: "ann",
        agentType: "coder",
        requires: ["gpu"],
      });
      await world.task({ parentId: id });
      await world.session("a");
      await world.ok({ type: "update-project", paused: true });
      const anybody = ["WAITING_ON_DEPENDENCIES", "WAITING_ON_CHILDREN", "SCHEDULED", "PROJECT_PAUSED"];
      expect(await world.whyNot(id)).toEqual(anybody);
      const reasons = await world.explain(id, "a");
      expect(reasons.map((reason) => reason.code)).toEqual([
        ...anybody,
        "ASSIGNED_TO_OTHER",
        "WRONG_AGENT_TYPE",
        "MISSING_CAPABILITY",
      ]);
      for (const { fix } of reasons) expect(fix).toMatch(/^dibs /);
      const refusal = await world.refused("TASK_NOT_CLAIMABLE", {
        type: "claim",
        taskId: id,
        sessionId: "a",
      });
      expect(refusal.details?.reasons).toEqual(reasons);
    });
  });
}
