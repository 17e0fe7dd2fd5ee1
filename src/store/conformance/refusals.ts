import { describe, expect } from "vitest";
import type { Code } from "../../core/refusal.js";
import {
  type Driver,
  type Hold,
  holderMoveNames,
  holderMoves,
  minute,
  project,
  resultOf,
  teller,
  type World,
} from "./harness.js";

const lease = 30 * minute;

/** How a holder of session `a` came to be refused; each situation also fits every one below it in the order. */
const situations: { sentence: string; code: Code; make(world: World): Promise<Hold> }[] = [
  {
    sentence: "there is no such task, nor such a session",
    code: "TASK_NOT_FOUND",
    make: async () => ({ taskId: "nowhere", sessionId: "nobody", epoch: 7 }),
  },
  {
    sentence: "there is no such session, and the task is cancelled",
    code: "SESSION_NOT_FOUND",
    make: async (world) => {
      const hold = await world.hold("a");
      await world.ok({ type: "cancel", taskId: hold.taskId });
      return { ...hold, sessionId: "nobody" };
    },
  },
  {
    sentence: "the session is over and the task was its own",
    code: "SESSION_NOT_FOUND",
    make: async (world) => {
      const hold = await world.hold("a");
      await world.ok({ type: "end-session", sessionId: "a", reason: "session_ended" });
      return hold;
    },
  },
  {
    sentence: "the task was cancelled under its holder",
    code: "TASK_CANCELLED",
    make: async (world) => {
      const hold = await world.hold("a");
      await world.ok({ type: "cancel", taskId: hold.taskId });
      return hold;
    },
  },
  {
    sentence: "the lease ended and the task was cancelled afterwards",
    code: "TASK_CANCELLED",
    make: async (world) => {
      const hold = await world.hold("a");
      world.clock.advance(lease);
      await world.ok({ type: "cancel", taskId: hold.taskId });
      return hold;
    },
  },
  {
    sentence: "the lease of the last holder is over",
    code: "CLAIM_EXPIRED",
    make: async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(lease);
      return hold;
    },
  },
  {
    sentence: "the task was never started in time",
    code: "CLAIM_EXPIRED",
    make: async (world) => {
      const hold = await world.hold("a");
      world.clock.advance(5 * minute);
      return hold;
    },
  },
  {
    sentence: "the session was silent for too long",
    code: "CLAIM_EXPIRED",
    make: async (world) => {
      await world.session("a", { heartbeats: true });
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(10 * minute);
      return hold;
    },
  },
  {
    sentence: "the last holder was lost for the last time and the task failed",
    code: "CLAIM_EXPIRED",
    make: async (world) => {
      await world.settings({ maxLost: 1 });
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(lease);
      return hold;
    },
  },
  {
    sentence: "nobody has ever held the task",
    code: "TASK_NOT_CLAIMED",
    make: async (world) => {
      await world.session("a");
      return { taskId: await world.task(), sessionId: "a", epoch: 7 };
    },
  },
  {
    sentence: "another session was the last holder, and its lease is over",
    code: "TASK_NOT_CLAIMED",
    make: async (world) => {
      const hold = await world.hold("b", {}, { start: true });
      await world.session("a");
      world.clock.advance(lease);
      return { ...hold, sessionId: "a" };
    },
  },
  {
    sentence: "another session held the task when it was cancelled",
    code: "TASK_NOT_CLAIMED",
    make: async (world) => {
      const hold = await world.hold("b");
      await world.session("a");
      await world.ok({ type: "cancel", taskId: hold.taskId });
      return { ...hold, sessionId: "a" };
    },
  },
  {
    sentence: "another session has claimed the task since, and asks a human",
    code: "NOT_CLAIM_OWNER",
    make: async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(lease);
      const epoch = await world.claim(hold.taskId, "b", { start: true });
      await world.ok({ type: "ask", taskId: hold.taskId, sessionId: "b", epoch, question: "Which?" });
      return hold;
    },
  },
  {
    sentence: "the same session has claimed the task again since, and asks a human",
    code: "STALE_EPOCH",
    make: async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(lease);
      const epoch = await world.claim(hold.taskId, "a", { start: true });
      await world.ok({ type: "ask", taskId: hold.taskId, sessionId: "a", epoch, question: "Which?" });
      return hold;
    },
  },
];

export function refusals(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: refusals of a holder, in their order`, () => {
    for (const { sentence, code, make } of situations) {
      for (const swept of [false, true]) {
        it(`${code}${swept ? ", swept or not" : ""}: ${sentence}`, async (world) => {
          const hold = await make(world);
          for (const move of holderMoveNames) {
            if (swept) await world.sweep();
            await world.refused(code, { ...holderMoves[move], ...hold });
          }
        });
      }
    }

    it("a project that does not exist comes before everything", async (world) => {
      const hold = { taskId: "nowhere", sessionId: "nobody", project: "elsewhere" };
      for (const move of holderMoveNames) {
        await world.refused("PROJECT_NOT_FOUND", { ...holderMoves[move], ...hold });
      }
      await world.refused("PROJECT_NOT_FOUND", { type: "claim", ...hold });
      await world.refused("PROJECT_NOT_FOUND", { type: "claim-next", ...hold });
    });

    it("the state comes before open children and a lease out of bounds", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      await world.task({ parentId: hold.taskId });
      await world.ok({ type: "ask", ...hold, question: "Which?" });
      await world.refused("INVALID_STATE", { type: "complete", ...hold, result: resultOf("x") });
      await world.refused("INVALID_STATE", { type: "heartbeat", ...hold, extendMs: 1 });
    });

    it("the last holder hears that it expired only until somebody else claims", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(lease);
      await world.refused("CLAIM_EXPIRED", { type: "start", ...hold });
      await world.refused("CLAIM_EXPIRED", { type: "start", taskId: hold.taskId, sessionId: "a" });
      const other = await world.claim(hold.taskId, "b");
      await world.refused("NOT_CLAIM_OWNER", { type: "start", ...hold });
      await world.ok({ type: "release", taskId: hold.taskId, sessionId: "b", epoch: other, spread: 0 });
      await world.refused("TASK_NOT_CLAIMED", { type: "start", ...hold });
    });

    it("a refused holder is told who it was and which epoch is the present one", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(lease);
      expect(await world.refused("CLAIM_EXPIRED", { type: "heartbeat", ...hold })).toMatchObject({
        details: { taskId: hold.taskId, sessionId: "a", epoch: 1, reason: "ttl" },
      });
      await world.claim(hold.taskId, "a");
      expect(await world.refused("STALE_EPOCH", { type: "heartbeat", ...hold })).toMatchObject({
        details: { epoch: 2 },
      });
    });

    it("a refused call changes nothing", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      await world.session("b");
      world.clock.advance(minute);
      for (const move of holderMoveNames) {
        await world.unchanged(() =>
          world.refused("NOT_CLAIM_OWNER", { ...holderMoves[move], ...hold, sessionId: "b" }),
        );
      }
    });
  });

  describe(`${driver.name}: refusals of a claim, in their order`, () => {
    it("the task, then the session, then the lease, then the holder, then the reasons", async (world) => {
      const blocked = await world.task({ dependsOn: [await world.task()] });
      const { taskId } = await world.hold("b");
      await world.refused("TASK_NOT_FOUND", {
        type: "claim",
        taskId: "nowhere",
        sessionId: "nobody",
        ttlMs: 1,
      });
      await world.refused("SESSION_NOT_FOUND", { type: "claim", taskId, sessionId: "nobody", ttlMs: 1 });
      await world.session("a");
      await world.refused("VALIDATION_FAILED", { type: "claim", taskId, sessionId: "a", ttlMs: 1 });
      await world.refused("VALIDATION_FAILED", { type: "claim", taskId: blocked, sessionId: "a", ttlMs: 1 });
      await world.ok({ type: "update-project", paused: true });
      await world.refused("TASK_ALREADY_CLAIMED", { type: "claim", taskId, sessionId: "a" });
      const refusal = await world.refused("TASK_NOT_CLAIMABLE", {
        type: "claim",
        taskId: blocked,
        sessionId: "a",
      });
      expect(refusal.details?.reasons).toMatchObject([
        { code: "WAITING_ON_DEPENDENCIES" },
        { code: "PROJECT_PAUSED" },
      ]);
    });

    it("claim-next knows neither an unknown nor an ended session", async (world) => {
      await world.refused("SESSION_NOT_FOUND", { type: "claim-next", sessionId: "nobody", ttlMs: 1 });
      await world.session("a");
      await world.refused("VALIDATION_FAILED", { type: "claim-next", sessionId: "a", ttlMs: 1 });
      await world.ok({ type: "end-session", sessionId: "a", reason: "session_ended" });
      await world.refused("SESSION_NOT_FOUND", { type: "claim-next", sessionId: "a" });
    });

    it("a task that is over cannot be claimed, and says so", async (world) => {
      const hold = await world.hold("a");
      await world.complete(hold);
      const refusal = await world.refused("TASK_NOT_CLAIMABLE", { type: "claim", ...hold });
      expect(refusal.details?.reasons).toMatchObject([{ code: "TERMINAL" }]);
    });

    it("a claim that is refused registers nobody", async (world) => {
      const { taskId } = await world.hold("a");
      await world.refused("TASK_ALREADY_CLAIMED", { type: "claim", taskId, sessionId: "b", register: {} });
      expect(await world.read((view) => view.session(project, "b"))).toBeUndefined();
    });

    it("whoever asks for any of a thousand leases that are over gets it, swept or not", async (world) => {
      const { ids } = await world.ok({
        type: "create",
        correlationId: "corr-test",
        tasks: Array.from({ length: 1001 }, () => ({ prompt: "do it" })),
      });
      await world.session("a");
      await world.together(ids.map((taskId) => ({ type: "claim", taskId, sessionId: "a" })));
      world.clock.advance(lease);
      expect(await world.claim(ids.at(-1)!, "b")).toBe(2);
    });
  });
}
