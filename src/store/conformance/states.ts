import { describe, expect } from "vitest";
import { type TaskState, taskStates } from "../../core/task.js";
import {
  type Driver,
  type Hold,
  type HolderMove,
  holderMoveNames,
  holderMoves,
  teller,
  type World,
} from "./harness.js";

/** A task in the given state, last or still held by session `a`. */
export async function inState(world: World, state: TaskState): Promise<Hold> {
  if (state === "submitted") await world.settings({ land: { target: "main" } });
  const hold = await world.hold("a", { maxRetries: 0 }, { start: state !== "claimed" });
  if (state === "queued") await world.ok({ type: "release", ...hold, spread: 0 });
  if (state === "awaiting_response") await world.ok({ type: "ask", ...hold, question: "Which one?" });
  if (state === "completed" || state === "submitted") await world.complete(hold);
  if (state === "failed") await world.ok({ type: "fail", ...hold, error: "it broke", spread: 0 });
  if (state === "cancelled") await world.ok({ type: "cancel", taskId: hold.taskId });
  expect(await world.stateOf(hold.taskId)).toBe(state);
  return hold;
}

const allowed: Record<HolderMove, readonly TaskState[]> = {
  start: ["claimed", "running"],
  heartbeat: ["claimed", "running"],
  progress: ["claimed", "running"],
  ask: ["claimed", "running"],
  complete: ["claimed", "running"],
  fail: ["claimed", "running", "awaiting_response"],
  release: ["claimed", "running", "awaiting_response"],
};

/** What the last holder is told in a state without a holder, where the call is no repetition. */
function refusalAtRest(move: HolderMove, state: TaskState) {
  const closing = {
    queued: "release",
    submitted: "complete",
    completed: "complete",
    failed: "fail",
    cancelled: "",
  } as const;
  if (state === "cancelled") return "TASK_CANCELLED";
  return closing[state as keyof typeof closing] === move ? null : "TASK_NOT_CLAIMED";
}

/** Every holder's move in every state, and people's moves where they do not belong. */
export function states(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: lifecycle, every move in every state`, () => {
    for (const move of holderMoveNames) {
      for (const state of taskStates) {
        const held = ["claimed", "running", "awaiting_response"].includes(state);
        const code = held ? "INVALID_STATE" : refusalAtRest(move, state);
        const fits = allowed[move].includes(state) || code === null;
        it(`${move} while ${state} is ${fits ? "accepted" : `refused as ${code}`}`, async (world) => {
          const hold = await inState(world, state);
          const told = { ...holderMoves[move], ...hold };
          if (fits) await world.ok(told);
          else {
            await world.refused(code!, told);
            expect(await world.stateOf(hold.taskId)).toBe(state);
          }
        });
      }
    }

    it("release as completed while a question is open is refused", async (world) => {
      const hold = await inState(world, "awaiting_response");
      await world.refused("INVALID_STATE", { type: "release", ...hold, reason: "completed", spread: 0 });
      expect(await world.stateOf(hold.taskId)).toBe("awaiting_response");
    });

    for (const state of taskStates) {
      const over = ["completed", "failed", "cancelled"].includes(state);
      const retryable = state === "failed" || state === "cancelled";

      it(`people's moves while ${state}`, async (world) => {
        const { taskId } = await inState(world, state);
        if (state !== "awaiting_response") {
          await world.refused("TASK_NOT_AWAITING", { type: "respond", taskId, response: "x" });
        }
        if (over) {
          await world.refused("TASK_NOT_CANCELLABLE", { type: "cancel", taskId });
        }
        if (state === "completed" || state === "submitted") {
          await world.refused("INVALID_STATE", { type: "update", taskId, patch: { title: "new" } });
        } else await world.ok({ type: "update", taskId, patch: { priority: 1, title: "new" } });
        if (!retryable) await world.refused("TASK_NOT_RETRYABLE", { type: "retry", taskId });
        expect(await world.stateOf(taskId)).toBe(state);
      });

      const isFree = state === "queued" || retryable;
      it(`dependsOn and requires can ${isFree ? "" : "not "}be edited while ${state}`, async (world) => {
        const other = await world.task();
        const { taskId } = await inState(world, state);
        for (const patch of [{ dependsOn: [other] }, { requires: ["gpu"] }]) {
          if (isFree) await world.ok({ type: "update", taskId, patch });
          else await world.refused("INVALID_STATE", { type: "update", taskId, patch });
        }
      });
    }
  });
}
