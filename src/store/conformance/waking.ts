import { describe, expect } from "vitest";
import { type Driver, minute, org, resultOf, teller, type World } from "./harness.js";

/** Whether the store reports of these commits that they may free a waiting claim. It reports soon after a commit. */
async function mayFree(world: World, act: () => Promise<unknown>): Promise<boolean> {
  let reported = false;
  const stop = world.store.onChange(org, (change) => {
    reported ||= change.mayFree;
  });
  try {
    await act();
    for (let tries = 0; tries < 100 && !reported; tries++) await new Promise((next) => setTimeout(next, 10));
    return reported;
  } finally {
    stop();
  }
}

const claimMore = { resume: false };

/** A claim that found nothing before finds something afterwards, and the store says so. */
async function frees(world: World, sessionId: string, act: () => Promise<unknown>, more = {}): Promise<void> {
  const next = () => world.next(sessionId, { ...claimMore, ...more });
  expect(await next()).toBeNull();
  expect(await mayFree(world, act)).toBe(true);
  expect(await next()).not.toBeNull();
}

/** A wrong no leaves claims waiting: every way in which a claim becomes possible is a case. */
export function waking(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: commits that may free a waiting claim`, () => {
    it("a task is created", async (world) => {
      await frees(world, "a", () => world.task());
    });

    it("the last dependency of a task is completed", async (world) => {
      const first = await world.hold("b");
      await world.task({ dependsOn: [first.taskId] });
      await frees(world, "a", () => world.complete(first));
    });

    it("a dependency is removed", async (world) => {
      const first = await world.hold("b");
      const taskId = await world.task({ dependsOn: [first.taskId] });
      await frees(world, "a", () => world.ok({ type: "update", taskId, patch: { dependsOn: [] } }));
    });

    it("the last open subtask of a task is completed", async (world) => {
      const parentId = await world.task();
      const child = await world.hold("b", { parentId });
      await frees(world, "a", () => world.complete(child));
    });

    it("a submitted task that keeps an exclusive path ends", async (world) => {
      await world.settings({ scopes: { exclusive: ["a.lock"] }, land: { target: "main" } });
      const first = await world.hold("b", { files: ["a.lock"] });
      await world.task({ files: ["a.lock"] });
      const change = { commit: "c".repeat(40), result: resultOf("done") };
      await world.ok({ type: "submit", ...first, ...change });
      await frees(world, "a", () => world.ok({ type: "cancel", taskId: first.taskId }));
    });

    it("a task is released", async (world) => {
      const held = await world.hold("b");
      await frees(world, "a", () => world.ok({ type: "release", ...held, spread: 0 }));
    });

    it("a lease expires", async (world) => {
      await world.hold("b");
      expect(await world.next("a", claimMore)).toBeNull();
      world.clock.advance(24 * 60 * minute);
      expect(await mayFree(world, () => world.sweep())).toBe(true);
      expect(await world.next("a", claimMore)).not.toBeNull();
    });

    it("a failed task is retried", async (world) => {
      const held = await world.hold("b", { maxRetries: 0 });
      await world.ok({ type: "fail", ...held, error: "it broke", spread: 0 });
      await frees(world, "a", () => world.ok({ type: "retry", taskId: held.taskId }));
    });

    it("the session itself finishes a task, and has room for another", async (world) => {
      const held = await world.hold("a");
      await world.task();
      await frees(world, "a", () => world.complete(held));
    });

    const changes = {
      "a session gets room for more": { capacity: 2 },
      "a session gets a capability": { capabilities: ["gpu"] },
      "a session becomes another type of agent": { agentType: "codex" },
      "a session gets a name": { name: "Ann" },
    };
    const wanted = {
      capacity: {},
      capabilities: { requires: ["gpu"] },
      agentType: { agentType: "codex" },
      name: { assignee: "Ann" },
    };
    for (const [sentence, change] of Object.entries(changes)) {
      it(sentence, async (world) => {
        const [field] = Object.keys(change) as (keyof typeof wanted)[];
        if (field === "capacity") await world.hold("a");
        else await world.session("a");
        await world.task(wanted[field!]);
        await frees(world, "a", () => world.session("a", change));
      });
    }

    const patches = {
      "a task is assigned to the session": [{ assignee: "b" }, { assignee: "a" }],
      "a task is assigned to no session": [{ assignee: "b" }, { assignee: null }],
      "a task no longer needs a capability": [{ requires: ["gpu"] }, { requires: [] }],
      "a task no longer needs a type of agent": [{ agentType: "codex" }, { agentType: null }],
    } as const;
    for (const [sentence, [before, patch]] of Object.entries(patches)) {
      it(sentence, async (world) => {
        await world.session("a");
        const taskId = await world.task(before as object);
        await frees(world, "a", () => world.ok({ type: "update", taskId, patch: patch as object }));
      });
    }

    it("a label that the claim asks for is added", async (world) => {
      const taskId = await world.task();
      const patch = { labels: ["ui"] };
      await frees(world, "a", () => world.ok({ type: "update", taskId, patch }), { labels: ["ui"] });
    });

    it("a project is resumed", async (world) => {
      await world.task();
      await world.ok({ type: "update-project", paused: true });
      await frees(world, "a", () => world.ok({ type: "update-project", paused: false }));
    });

    it("a breaker closes", async (world) => {
      for (let n = 0; n < 9; n++) await world.task();
      const heed = { ...claimMore, start: true, heedBreaker: true };
      const host = { pid: 7, host: "laptop", agentType: "claude" };
      for (const id of ["a", "b"]) await world.session(id, { ...host, name: `${id}@laptop` });
      for (let n = 0; n < 5; n++) {
        const taskId = (await world.next("b", heed))!;
        const { epoch } = await world.claimOf(taskId);
        world.clock.advance(1_000);
        await world.ok({
          type: "fail",
          taskId,
          sessionId: "b",
          epoch,
          error: "no login",
          quick: true,
          spread: 0,
        });
      }
      world.clock.advance(30_000);
      const taskId = (await world.next("b", heed))!;
      const { epoch } = await world.claimOf(taskId);
      // The probe keeps its claim: only the breaker changes.
      const proof = { type: "progress", taskId, sessionId: "b", epoch, note: "it works" } as const;
      await frees(world, "a", () => world.ok(proof), heed);
    });

    it("a token is revoked, and a session ends: their claims wait no longer", async (world) => {
      await world.ok({ type: "create-token", id: "t1", name: "ci", role: "worker", hash: "h" });
      expect(await mayFree(world, () => world.ok({ type: "revoke-token", id: "t1" }))).toBe(true);
      await world.session("a");
      const end = () => world.ok({ type: "end-session", sessionId: "a", reason: "session_ended" });
      expect(await mayFree(world, end)).toBe(true);
    });

    it("units of a resource come back", async (world) => {
      await world.ok({ type: "set-resource", id: "db", capacity: 1 });
      const held = await world.hold("b", { uses: { db: 1 } });
      await world.task({ uses: { db: 1 } });
      await frees(world, "a", () => world.complete(held));
    });

    it("a resource gets more units", async (world) => {
      await world.ok({ type: "set-resource", id: "db", capacity: 1 });
      await world.hold("b", { uses: { db: 1 } });
      await world.task({ uses: { db: 1 } });
      await frees(world, "a", () => world.ok({ type: "set-resource", id: "db", capacity: 2 }));
    });

    it("a resource is resumed", async (world) => {
      await world.ok({ type: "set-resource", id: "db" });
      await world.ok({ type: "hold-resource", id: "db", source: "manual" });
      await world.task({ uses: { db: 1 } });
      await frees(world, "a", () => world.ok({ type: "resume-resource", id: "db" }));
    });

    it("the first claim after a hold has worked", async (world) => {
      await world.ok({ type: "set-resource", id: "db" });
      await world.ok({ type: "hold-resource", id: "db", source: "quota", forMs: minute });
      for (let n = 0; n < 2; n++) await world.task({ uses: { db: 1 } });
      world.clock.advance(minute);
      const taskId = (await world.next("b"))!;
      const proof = { type: "progress", taskId, sessionId: "b", note: "it works" } as const;
      await frees(world, "a", () => world.ok(proof));
    });

    it("a task that units were reserved for is cancelled", async (world) => {
      await world.ok({ type: "set-resource", id: "db", capacity: 2 });
      const held = await world.hold("b", { uses: { db: 1 } }, { start: true });
      await world.hold("c", { uses: { db: 1 } }, { start: true });
      const big = await world.task({ uses: { db: 2 } });
      world.clock.advance(10 * minute);
      await world.task({ uses: { db: 1 } });
      await world.next("d");
      await world.complete(held);
      await frees(world, "a", () => world.ok({ type: "cancel", taskId: big }));
    });

    it("a session uses less", async (world) => {
      await world.ok({ type: "set-resource", id: "db", capacity: 1 });
      await world.hold("b", { uses: { db: 1 } });
      await world.session("a", { uses: { db: 1 } });
      await world.task();
      await frees(world, "a", () => world.session("a", { uses: {} }));
    });

    it("in one commit with others that free nothing", async (world) => {
      await world.session("a");
      const heartbeat = { type: "session-heartbeat", sessionId: "a", contextPercent: 5 } as const;
      const create = { type: "create", correlationId: "c", tasks: [{ prompt: "x" }] } as const;
      await frees(world, "a", () =>
        world.together([heartbeat, { ...create, tasks: [...create.tasks] }, heartbeat]),
      );
    });
  });
}
