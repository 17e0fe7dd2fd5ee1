// A client that was written from seed 0 alone: it knows claim, heartbeat and release, a session id and a task id, and nothing else.

import { describe, expect, test } from "vitest";
import { minutes, must } from "./desk.js";
import { on, storeNames, type World } from "./support.js";

class Seed0Client {
  constructor(
    private readonly world: World,
    private readonly sessionId: string,
  ) {}

  private async post(path: string, more: object) {
    const { status, body } = await this.world.post(`/api/tasks/${path}`, {
      sessionId: this.sessionId,
      ...more,
    });
    return { status, ...body };
  }

  claim = (taskId: string) => this.post(`${taskId}/claim`, { ttlMs: 1_800_000, agentType: "autonomous" });
  heartbeat = (taskId: string) => this.post(`${taskId}/claim/heartbeat`, { extendMs: 1_800_000 });
  release = (taskId: string, reason: string) => this.post(`${taskId}/release`, { reason });

  /** Works on it for `ms`, with a heartbeat every minute as seed 0's configuration says. */
  async work(taskId: string, ms: number): Promise<void> {
    for (let done = 0; done < ms; done += 60_000) {
      this.world.clock.advance(60_000);
      expect(await this.heartbeat(taskId)).toMatchObject({ status: 200, success: true });
    }
  }
}

const stateOf = async (world: World, id: string) => must(await world.get(`/api/tasks/${id}`)).task.state;
const told = async (world: World, id: string): Promise<string[]> =>
  must(await world.get(`/api/tasks/${id}/events`)).events.map((each: { type: string }) => each.type);

async function scene(world: World) {
  await world.session("session-abc-123");
  await world.session("session-xyz-789");
  await world.task({ id: "phase-3" });
  await world.task({ id: "phase-4", dependsOn: ["phase-3"] });
  return {
    abc: new Seed0Client(world, "session-abc-123"),
    xyz: new Seed0Client(world, "session-xyz-789"),
  };
}

describe.each(storeNames)("a client that knows only seed 0, on %s,", (store) => {
  test(
    "does a task to its end: claim, heartbeats past the start timeout, release as completed",
    on(store, async (world) => {
      const { abc, xyz } = await scene(world);
      expect(await abc.claim("phase-3")).toMatchObject({ status: 200, success: true });
      await abc.work("phase-3", minutes(45));
      expect(await xyz.claim("phase-4")).toMatchObject({ status: 400, error: "TASK_NOT_CLAIMABLE" });
      const released = await abc.release("phase-3", "completed");
      expect(released).toMatchObject({
        status: 200,
        success: true,
        released: { taskId: "phase-3", reason: "completed", claimDuration: minutes(45) },
      });
      expect(await stateOf(world, "phase-3")).toBe("completed");
      const events = await told(world, "phase-3");
      expect(events.slice(0, 3)).toEqual(["task:created", "task:queued", "task:claimed"]);
      expect(events.slice(3).sort()).toEqual(["task:completed", "task:released", "task:started"]);
      expect(events.at(-1)).toBe("task:completed");
      // Its dependents are free, and somebody who waits for work is handed them.
      expect(await told(world, "phase-4")).toContain("task:unblocked");
      expect(await xyz.claim("phase-4")).toMatchObject({ status: 200, claim: { taskId: "phase-4" } });
    }),
  );

  test(
    "that never heartbeats loses the task at the start timeout, and another can have it",
    on(store, async (world) => {
      const { abc, xyz } = await scene(world);
      await abc.claim("phase-3");
      world.clock.advance(minutes(5) - 1);
      expect(await xyz.claim("phase-3")).toMatchObject({ status: 409, error: "TASK_ALREADY_CLAIMED" });
      world.clock.advance(1);
      expect(await abc.heartbeat("phase-3")).toMatchObject({ status: 410, error: "CLAIM_EXPIRED" });
      expect(await xyz.claim("phase-3")).toMatchObject({ status: 200 });
      expect(await abc.release("phase-3", "completed")).toMatchObject({
        status: 403,
        error: "NOT_CLAIM_OWNER",
      });
      expect(await stateOf(world, "phase-3")).toBe("claimed");
    }),
  );

  test(
    "that releases as failed has it tried again after a while, and at last it stays failed",
    on(store, async (world) => {
      const { abc } = await scene(world);
      for (let attempt = 1; attempt <= 4; attempt++) {
        expect(await abc.claim("phase-3")).toMatchObject({ status: 200 });
        expect(await abc.release("phase-3", "failed")).toMatchObject({
          status: 200,
          released: { taskId: "phase-3", reason: "failed", claimDuration: 0 },
        });
        if (attempt === 4) break;
        const { task } = must(await world.get("/api/tasks/phase-3"));
        expect(task).toMatchObject({ state: "queued", retryCount: attempt });
        expect(await abc.claim("phase-3")).toMatchObject({ status: 400, error: "TASK_NOT_CLAIMABLE" });
        // 30 s, doubled each time, give or take a tenth.
        const delayMs = Date.parse(task.notBefore) - world.clock.now();
        const expected = 30_000 * 2 ** (attempt - 1);
        expect(Math.abs(delayMs - expected)).toBeLessThanOrEqual(expected / 10);
        world.clock.advance(delayMs);
      }
      expect(await stateOf(world, "phase-3")).toBe("failed");
      expect(await stateOf(world, "phase-4")).toBe("queued");
    }),
  );

  test.each(["paused", "switching", "released", "context full"])(
    "that releases as %s puts it back at once, for others first",
    (reason) =>
      on(store, async (world) => {
        const { abc } = await scene(world);
        await abc.claim("phase-3");
        expect(await abc.release("phase-3", reason)).toMatchObject({
          status: 200,
          released: { taskId: "phase-3", reason },
        });
        const { task } = must(await world.get("/api/tasks/phase-3"));
        expect(task).toMatchObject({ state: "queued", retryCount: 0, lostCount: 0, claim: null });
        const next = (sessionId: string) => world.post("/api/tasks/claim-next", { sessionId });
        expect((await next("session-abc-123")).body.claim).toBeNull();
        expect((await next("session-xyz-789")).body.claim.taskId).toBe("phase-3");
        must(
          await world.post("/api/tasks/phase-3/release", { sessionId: "session-xyz-789", reason: "later" }),
        );
        world.clock.advance(minutes(1));
        expect((await next("session-abc-123")).body.claim.taskId).toBe("phase-3");
      })(),
  );

  test(
    "whose server was restarted in between just goes on",
    on(store, async (world) => {
      const { abc, xyz } = await scene(world);
      await abc.claim("phase-3");
      await abc.heartbeat("phase-3");
      await world.restart();
      expect(await xyz.claim("phase-3")).toMatchObject({ status: 409 });
      expect(await abc.heartbeat("phase-3")).toMatchObject({ status: 200, claim: { heartbeatCount: 2 } });
      expect(await abc.release("phase-3", "completed")).toMatchObject({ status: 200 });
      expect(await stateOf(world, "phase-3")).toBe("completed");
    }),
  );
});
