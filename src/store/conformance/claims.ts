import { describe, expect, test } from "vitest";
import { type Driver, project, told } from "./harness.js";

export function claims(driver: Driver): void {
  describe(`${driver.name}: claims and leases`, () => {
    test(
      "exactly one of two sessions gets a task",
      told(driver, async (world) => {
        const id = await world.task();
        await world.session("a");
        await world.session("b");
        await world.ok({ type: "claim", taskId: id, sessionId: "a" });
        const refusal = await world.refused("TASK_ALREADY_CLAIMED", {
          type: "claim",
          taskId: id,
          sessionId: "b",
        });
        expect(refusal.details?.claim).toMatchObject({
          sessionId: "a",
          remainingMs: 1_800_000,
          holderAlive: true,
        });
      }),
    );

    test(
      "a late completion is refused after the lease is over, and kept for a human to see",
      told(driver, async (world) => {
        const id = await world.task();
        const epoch = await world.claim(id, "a", { start: true });
        world.clock.advance(1_800_000);
        const result = { output: "too late", filesCreated: [], filesModified: [] };
        await world.refused("CLAIM_EXPIRED", { type: "complete", taskId: id, sessionId: "a", epoch, result });
        expect(await world.stateOf(id)).toBe("queued");
        const attempt = await world.read((view) => view.attempt(project, id, epoch));
        expect(attempt?.lateResult?.result?.output).toBe("too late");
      }),
    );
  });
}
