import { describe, expect } from "vitest";
import { type Driver, type Hold, holderMoves, minute, project, teller, type World } from "./harness.js";

async function asking(
  world: World,
  session: Record<string, unknown> = {},
): Promise<Hold & { questionId: string }> {
  await world.session("a", session);
  const hold = await world.hold("a", {}, { start: true });
  const { questionId } = await world.ok({ type: "ask", ...hold, question: "Which one?" });
  return { ...hold, questionId };
}

export function questions(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: questions and answers`, () => {
    it("asking stops the clock of the lease", async (world) => {
      const { taskId } = await asking(world);
      world.clock.advance(24 * 60 * minute);
      expect(await world.sweep()).toEqual([]);
      expect(await world.claimOf(taskId)).toMatchObject({ sessionId: "a", state: "awaiting_response" });
    });

    it("the answer gives a fresh lease, of the claim's own length", async (world) => {
      const hold = await world.hold("a", {}, { start: true, ttlMs: 2 * minute });
      world.clock.advance(2 * minute - 1);
      await world.ok({ type: "ask", ...hold, question: "Which one?" });
      world.clock.advance(100 * minute);
      await world.ok({ type: "respond", taskId: hold.taskId, response: "this" });
      expect(await world.claimOf(hold.taskId)).toMatchObject({
        state: "running",
        expiresAt: world.clock.now() + 2 * minute,
        pausedAt: null,
      });
      world.clock.advance(2 * minute);
      await world.refused("CLAIM_EXPIRED", { type: "heartbeat", ...hold });
    });

    it("asking before starting starts it, and an answer leaves it running", async (world) => {
      const hold = await world.hold("a");
      await world.ok({ type: "ask", ...hold, question: "Which one?" });
      world.clock.advance(60 * minute);
      await world.ok({ type: "respond", taskId: hold.taskId, response: "this" });
      expect(await world.stateOf(hold.taskId)).toBe("running");
      world.clock.advance(20 * minute);
      await world.complete(hold);
    });

    it("an answer for another question is refused, and the open one is shown", async (world) => {
      const { taskId, questionId } = await asking(world);
      const refusal = await world.refused("QUESTION_MISMATCH", {
        type: "respond",
        taskId,
        response: "x",
        questionId: "q999",
      });
      expect(refusal.details?.question).toMatchObject({ id: questionId, text: "Which one?" });
      await world.ok({ type: "respond", taskId, response: "x", questionId });
    });

    it("an answer for a question of yesterday is refused", async (world) => {
      const first = await asking(world);
      await world.ok({ type: "respond", taskId: first.taskId, response: "x" });
      const { taskId, sessionId, epoch } = first;
      const second = await world.ok({ type: "ask", taskId, sessionId, epoch, question: "And now?" });
      expect(second.questionId).not.toBe(first.questionId);
      const late = { type: "respond" as const, taskId, response: "y", questionId: first.questionId };
      await world.refused("QUESTION_MISMATCH", late);
    });

    it("only an open question can be answered, once", async (world) => {
      const { taskId } = await asking(world);
      await world.ok({ type: "respond", taskId, response: "x" });
      await world.refused("TASK_NOT_AWAITING", { type: "respond", taskId, response: "y" });
      await world.refused("TASK_NOT_FOUND", { type: "respond", taskId: "nowhere", response: "y" });
      expect((await world.look(taskId)).response).toBe("x");
    });

    it("a question tells a human, and the answer settles that", async (world) => {
      const { taskId } = await asking(world);
      expect(await world.notifications()).toMatchObject([
        {
          type: "TASK_AWAITING_RESPONSE",
          severity: "warning",
          taskId,
          project,
          message: "Which one?",
          createdAt: world.clock.now(),
          readAt: null,
        },
      ]);
      expect(await world.read((view) => view.unreadCount(null))).toBe(1);
      world.clock.advance(minute);
      await world.ok({ type: "respond", taskId, response: "x" });
      expect(await world.notifications()).toMatchObject([{ readAt: world.clock.now() }]);
      expect(await world.read((view) => view.unreadCount(null))).toBe(0);
    });

    for (const [how, move] of Object.entries({
      cancelled: { type: "cancel" },
      failed: { type: "fail", sessionId: "a", error: "gave up", spread: 0 },
    } as const)) {
      it(`a question whose task is ${how} needs nobody any more`, async (world) => {
        const { taskId } = await asking(world);
        await world.ok({ ...move, taskId });
        const read = (await world.notifications()).find((each) => each.type === "TASK_AWAITING_RESPONSE");
        expect(read?.readAt).toBe(world.clock.now());
      });
    }

    it("a notification is read once", async (world) => {
      await asking(world);
      const { id } = (await world.notifications())[0]!;
      await world.ok({ type: "read-notification", id });
      await world.unchanged(() => world.ok({ type: "read-notification", id }));
      expect((await world.events()).filter((event) => event.type === "notification:read")).toHaveLength(1);
      await world.refused("NOT_FOUND", { type: "read-notification", id: "n999" });
      await world.refused("NOT_FOUND", { type: "read-notification", id: "nonsense" });
    });

    it("completion tells a human only where the project wants it", async (world) => {
      await world.finish(await world.task());
      expect(await world.notifications()).toEqual([]);
      await world.settings({ notifications: { taskCompleted: true } });
      const id = await world.task();
      await world.finish(id);
      expect(await world.notifications()).toMatchObject([
        { type: "TASK_COMPLETED", severity: "info", taskId: id },
      ]);
    });
  });

  const abandonments: Record<
    string,
    { session?: object; leave(world: World, hold: Hold): Promise<unknown> }
  > = {
    "released it": { leave: (world, hold) => world.ok({ ...holderMoves.release, ...hold }) },
    "was taken off by force": {
      leave: (world, { taskId }) => world.ok({ type: "release", taskId, force: true, spread: 0 }),
    },
    "ended its session": {
      leave: (world) => world.ok({ type: "end-session", sessionId: "a", reason: "session_ended" }),
    },
    "fell silent": {
      session: { heartbeats: true },
      leave: async (world) => {
        world.clock.advance(10 * minute);
        await world.sweep();
      },
    },
    "fell silent, unnoticed": {
      session: { heartbeats: true },
      leave: async (world) => world.clock.advance(10 * minute),
    },
    "came back as another process": {
      session: { pid: 1, host: "h", processStartedAt: "t" },
      leave: (world) => world.session("a", { pid: 2, host: "h", processStartedAt: "t" }),
    },
  };

  describe(`${driver.name}: questions whose holder is gone`, () => {
    for (const [how, { session, leave }] of Object.entries(abandonments)) {
      it(`the answer still lands when the holder ${how}`, async (world) => {
        const { taskId, questionId, ...rest } = await asking(world, { ...session });
        await leave(world, { taskId, sessionId: rest.sessionId, epoch: rest.epoch });
        expect(await world.look(taskId)).toMatchObject({
          now: "awaiting_response",
          question: { id: questionId, text: "Which one?" },
        });
        expect(await world.next("b")).toBeNull();
        world.clock.advance(1000);
        await world.ok({ type: "respond", taskId, response: "this one", questionId });
        expect(await world.look(taskId)).toMatchObject({
          now: "queued",
          question: null,
          response: "this one",
          responsePending: true,
          readyAt: world.clock.now(),
          epoch: 1,
        });
        expect(await world.next("b")).toBe(taskId);
        expect(await world.look(taskId)).toMatchObject({ response: "this one", responsePending: true });
      });
    }

    it("an answer for an earlier question is refused, and the open one still waits", async (world) => {
      const { questionId: earlier, ...hold } = await asking(world);
      await world.ok({ type: "respond", taskId: hold.taskId, response: "x" });
      const { questionId } = await world.ok({ type: "ask", ...hold, question: "And now?" });
      await world.ok({ type: "release", ...hold, spread: 0 });
      const stale = { type: "respond", taskId: hold.taskId, response: "y", questionId: earlier } as const;
      await world.unchanged(() => world.refused("QUESTION_MISMATCH", stale));
      await world.ok({ ...stale, questionId });
    });

    it("a question without a holder can be cancelled, and nothing else ends it", async (world) => {
      const { taskId } = await asking(world);
      await world.ok({ type: "release", taskId, force: true, spread: 0 });
      await world.session("b");
      const refusal = await world.refused("TASK_NOT_CLAIMABLE", { type: "claim", taskId, sessionId: "b" });
      expect(refusal.details?.reasons).toMatchObject([{ code: "AWAITING_RESPONSE" }]);
      await world.ok({ type: "cancel", taskId });
      await world.refused("TASK_NOT_AWAITING", { type: "respond", taskId, response: "x" });
    });

    it("the last holder hears that its lease is over, unless it let go itself", async (world) => {
      const { questionId: _, ...hold } = await asking(world, { heartbeats: true });
      world.clock.advance(10 * minute);
      await world.refused("CLAIM_EXPIRED", { type: "progress", ...hold });
      const { questionId: __, ...other } = await asking(world);
      await world.ok({ type: "release", ...other, spread: 0 });
      await world.refused("TASK_NOT_CLAIMED", { type: "progress", ...other });
    });
  });

  describe(`${driver.name}: the answer is repeated until it is acknowledged`, () => {
    const answered = async (world: World): Promise<Hold> => {
      const { questionId: _, ...hold } = await asking(world);
      await world.ok({ type: "respond", taskId: hold.taskId, response: "this" });
      expect((await world.look(hold.taskId)).responsePending).toBe(true);
      return hold;
    };

    for (const move of ["progress", "ask", "complete", "fail", "release"] as const) {
      it(`${move} acknowledges it`, async (world) => {
        const hold = await answered(world);
        await world.ok({ ...holderMoves[move], ...hold });
        expect((await world.look(hold.taskId)).responsePending).toBe(false);
      });
    }

    it("a heartbeat, a start and a repeated claim do not", async (world) => {
      const hold = await answered(world);
      await world.ok({ type: "heartbeat", ...hold });
      await world.ok({ type: "start", ...hold });
      await world.claim(hold.taskId, "a");
      expect(await world.look(hold.taskId)).toMatchObject({ responsePending: true, response: "this" });
    });

    it("it waits for the next holder when this one is lost before acting on it", async (world) => {
      const hold = await answered(world);
      world.clock.advance(30 * minute);
      await world.sweep();
      expect(await world.next("b")).toBe(hold.taskId);
      expect(await world.look(hold.taskId)).toMatchObject({ responsePending: true, response: "this" });
    });
  });
}
