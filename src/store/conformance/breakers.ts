import { describe, expect } from "vitest";
import { type Driver, type Hold, minute, project, resultOf, teller, type World } from "./harness.js";

const second = 1_000;
const host = { pid: 7, host: "laptop" };
const quickly = { quick: true, error: "exited with code 1", spread: 0 };

/** What the runner of this session gets: the id of a task, or null. */
async function claim(world: World, sessionId: string): Promise<Hold | null> {
  const taskId = await world.next(sessionId, { start: true, resume: false, heedBreaker: true });
  if (taskId === null) return null;
  const { epoch } = await world.claimOf(taskId);
  return { taskId, sessionId, epoch };
}

/** The agent exits at once. */
async function failQuickly(world: World, sessionId: string, more: object = {}): Promise<string> {
  const hold = await claim(world, sessionId);
  if (!hold) throw new Error(`${sessionId} got nothing`);
  world.clock.advance(second);
  await world.ok({ type: "fail", ...hold, ...quickly, ...more });
  return hold.taskId;
}

async function runner(world: World, id: string, more: object = {}): Promise<string> {
  return world.session(id, { agentType: "claude", name: `${id}@laptop`, ...host, ...more });
}

/** Enough tasks, and five quick failures in a row by two slots. */
async function broken(world: World): Promise<void> {
  for (let n = 0; n < 20; n++) await world.task();
  for (const id of ["a", "b"]) await runner(world, id);
  for (const id of ["a", "b", "a", "b", "a"]) await failQuickly(world, id);
}

const failing = async (world: World) =>
  (await world.notifications()).filter(({ type }) => type === "AGENT_FAILING");

export function breakers(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: agents that fail at once`, () => {
    it("a quick failure costs no retry and waits for the retry delay", async (world) => {
      const id = await world.task({ maxRetries: 1 });
      await runner(world, "a");
      for (let n = 0; n < 3; n++) {
        await failQuickly(world, "a");
        const task = await world.look(id);
        expect(task).toMatchObject({ now: "queued", retryCount: 0, error: quickly.error });
        expect(task.notBefore).toBe(world.clock.now() + 30 * second);
        world.clock.set(task.notBefore!);
      }
    });

    const honest: Record<string, (world: World, hold: Hold) => Promise<unknown>> = {
      "after more than 15 seconds": async (world) => world.clock.advance(15 * second),
      "after progress": (world, hold) => world.ok({ type: "progress", ...hold, note: "read the code" }),
      "with a question open": (world, hold) => world.ok({ type: "ask", ...hold, question: "Which?" }),
    };
    for (const [when, happens] of Object.entries(honest)) {
      it(`a failure ${when} costs a retry`, async (world) => {
        const id = await world.task();
        await runner(world, "a");
        const hold = (await claim(world, "a"))!;
        await happens(world, hold);
        world.clock.advance(second);
        await world.ok({ type: "fail", ...hold, ...quickly });
        expect(await world.look(id)).toMatchObject({ now: "queued", retryCount: 1 });
      });
    }

    it("a quick failure is none if the runner saw a commit, or if it is final", async (world) => {
      const [committed, final] = [await world.task(), await world.task()];
      await runner(world, "a");
      await failQuickly(world, "a", { quick: false });
      await failQuickly(world, "a", { retryable: false });
      expect(await world.look(committed)).toMatchObject({ now: "queued", retryCount: 1 });
      expect(await world.look(final)).toMatchObject({ now: "failed" });
    });

    it("a task that must not be retried is not retried after a quick failure", async (world) => {
      const id = await world.task({ maxRetries: 0 });
      await runner(world, "a");
      await failQuickly(world, "a");
      expect(await world.stateOf(id)).toBe("failed");
    });

    it("five quick failures in a row open the breaker: one inbox item, and nothing is claimed", async (world) => {
      await broken(world);
      const found = await failing(world);
      expect(found).toMatchObject([
        { title: "Agent claude fails at once", severity: "error", taskId: null, readAt: null },
      ]);
      expect(found[0]?.message).toMatch(/^5 attempts in a row .* a@laptop: exited with code 1$/m);
      expect(await claim(world, "a")).toBeNull();
      expect(await claim(world, "b")).toBeNull();
      const answer = await world.ok({ type: "claim-next", sessionId: "b", heedBreaker: true });
      const probeAt = world.clock.now() + 30 * second;
      expect(answer).toMatchObject({
        breaker: { agentType: "claude", failures: 5, probeAt },
        retryAt: probeAt,
      });
    });

    it("the inbox item names the task if it was always the same", async (world) => {
      const id = await world.task();
      await runner(world, "a");
      for (let n = 0; n < 5; n++) {
        world.clock.set(Math.max(world.clock.now(), (await world.look(id)).notBefore ?? 0));
        await failQuickly(world, "a");
      }
      const [item] = await failing(world);
      expect(item).toMatchObject({ taskId: id });
      expect(item?.message).toContain(`always on task ${id}`);
    });

    it("an open breaker lets one probe through, with growing pauses", async (world) => {
      await broken(world);
      for (const pause of [30, 60, 120, 240, 480, 900, 900]) {
        world.clock.advance(pause * second - 1);
        expect(await claim(world, "a")).toBeNull();
        world.clock.advance(1);
        const probe = (await claim(world, "a"))!;
        expect(probe).not.toBeNull();
        expect(await claim(world, "b")).toBeNull();
        await world.ok({ type: "fail", ...probe, ...quickly });
      }
      expect(await failing(world)).toHaveLength(1);
      const tasks = await world.read((view) => view.tasks({ project, afterOrdinal: 0, limit: 100 }));
      expect(tasks.filter(({ state, retryCount }) => state !== "queued" || retryCount > 0)).toEqual([]);
    });

    it("probes pause even where retries do not", async (world) => {
      await world.settings({ retry: { delayMs: 0 } });
      await broken(world);
      expect(await claim(world, "a")).toBeNull();
      world.clock.advance(second);
      await failQuickly(world, "a");
      world.clock.advance(second);
      expect(await claim(world, "a")).toBeNull();
    });

    const proofs: Record<string, (world: World, hold: Hold) => Promise<unknown>> = {
      completes: (world, hold) => world.complete(hold),
      "reports progress": (world, hold) => world.ok({ type: "progress", ...hold, note: "half" }),
      asks: (world, hold) => world.ok({ type: "ask", ...hold, question: "Which?" }),
      "fails after a minute": async (world, hold) => {
        world.clock.advance(minute);
        await world.ok({ type: "fail", ...hold, ...quickly });
      },
      "runs for longer than 15 seconds": async (world, hold) => {
        world.clock.advance(16 * second);
        await world.ok({ type: "heartbeat", ...hold });
      },
    };
    for (const [what, proof] of Object.entries(proofs)) {
      it(`the breaker closes, and its inbox item with it, when a probe ${what}`, async (world) => {
        await broken(world);
        world.clock.advance(30 * second);
        const probe = (await claim(world, "a"))!;
        await proof(world, probe);
        expect(await claim(world, "b")).not.toBeNull();
        expect(await failing(world)).toMatchObject([{ readAt: world.clock.now() }]);
      });
    }

    it("a heartbeat right after the start proves nothing", async (world) => {
      await broken(world);
      world.clock.advance(30 * second);
      const probe = (await claim(world, "a"))!;
      await world.ok({ type: "heartbeat", ...probe });
      expect(await claim(world, "b")).toBeNull();
    });

    it("a probe whose worker is lost is followed by another", async (world) => {
      await broken(world);
      world.clock.advance(30 * second);
      await claim(world, "a");
      await world.ok({ type: "end-session", sessionId: "a", reason: "process_gone" });
      expect(await claim(world, "b")).toBeNull();
      world.clock.advance(30 * second);
      expect(await claim(world, "b")).not.toBeNull();
    });

    it("a success in between starts the count again", async (world) => {
      for (let n = 0; n < 20; n++) await world.task();
      await runner(world, "a");
      for (let round = 0; round < 3; round++) {
        for (let n = 0; n < 4; n++) await failQuickly(world, "a");
        const hold = (await claim(world, "a"))!;
        await world.complete(hold);
      }
      expect(await failing(world)).toEqual([]);
    });

    it("honest failures never open it, however many", async (world) => {
      for (let n = 0; n < 12; n++) await world.task();
      await runner(world, "a");
      for (let n = 0; n < 12; n++) {
        const hold = (await claim(world, "a"))!;
        world.clock.advance(2 * minute);
        await world.ok({ type: "fail", ...hold, ...quickly });
      }
      expect(await failing(world)).toEqual([]);
    });

    it("other agents, other hosts and claims that do not heed it go on", async (world) => {
      await broken(world);
      await runner(world, "codex", { agentType: "codex" });
      await runner(world, "elsewhere", { host: "server" });
      expect(await claim(world, "codex")).not.toBeNull();
      expect(await claim(world, "elsewhere")).not.toBeNull();
      expect(await world.next("a")).not.toBeNull();
    });

    it("a worker that does not ask for it pays a retry, and only the inbox hears of it", async (world) => {
      for (let n = 0; n < 6; n++) await world.task();
      await world.session("mcp", { agentType: "cursor" });
      const failed: string[] = [];
      for (let n = 0; n < 5; n++) {
        const taskId = (await world.next("mcp"))!;
        await world.ok({ type: "fail", taskId, sessionId: "mcp", error: "no", spread: 0 });
        failed.push(taskId);
      }
      for (const id of failed) expect(await world.look(id)).toMatchObject({ retryCount: 1 });
      expect(await failing(world)).toMatchObject([{ title: "Agent cursor fails at once" }]);
      expect(await world.next("mcp")).not.toBeNull();
    });

    it("failures of workers that are no runners hold no runner of the same agent back", async (world) => {
      for (let n = 0; n < 8; n++) await world.task();
      await runner(world, "mcp");
      for (let n = 0; n < 6; n++) {
        const taskId = (await world.next("mcp"))!;
        await world.ok({ type: "fail", taskId, sessionId: "mcp", error: "no", spread: 0 });
      }
      const [item, another] = await failing(world);
      expect([item?.message, another]).toEqual([expect.not.stringContaining("Runners"), undefined]);
      await runner(world, "a");
      const hold = (await claim(world, "a"))!;
      await world.ok({ type: "complete", ...hold, result: resultOf("it works") });
      expect((await failing(world))[0]).toMatchObject({ readAt: expect.anything() });
    });

    it("a task that failed quickly before and after its agent worked pays for it, and holds no other back", async (world) => {
      const bad = await world.task({ maxRetries: 1 });
      await runner(world, "a");
      await failQuickly(world, "a");
      await world.finish(await world.task(), "a");
      for (const state of ["queued", "failed"]) {
        world.clock.set(Math.max(world.clock.now(), (await world.look(bad)).notBefore ?? 0));
        expect(await failQuickly(world, "a")).toBe(bad);
        expect(await world.stateOf(bad)).toBe(state);
      }
      expect(await failing(world)).toEqual([]);
    });

    it("a task that fails quickly again and again while others succeed fails in the end", async (world) => {
      const bad = await world.task({ maxRetries: 2, labels: ["bad"] });
      await runner(world, "a");
      const costs: number[] = [];
      for (let n = 0; n < 4; n++) {
        world.clock.set(Math.max(world.clock.now(), (await world.look(bad)).notBefore ?? 0));
        const epoch = await world.claim(bad, "a", { start: true });
        await world.ok({ type: "fail", taskId: bad, sessionId: "a", epoch, ...quickly });
        costs.push((await world.look(bad)).retryCount);
        await world.finish(await world.task(), "a");
      }
      expect(costs).toEqual([0, 1, 2, 2]);
      expect(await world.stateOf(bad)).toBe("failed");
      expect(await failing(world)).toEqual([]);
    });

    it("survives a restart of the store", async (world) => {
      await broken(world);
      await world.reopen();
      expect(await claim(world, "b")).toBeNull();
      world.clock.advance(30 * second);
      const probe = (await claim(world, "b"))!;
      await world.ok({ type: "complete", ...probe, result: resultOf("it works") });
      expect(await claim(world, "a")).not.toBeNull();
    });

    it("a clock that is set back does not hold the agent back for long", async (world) => {
      await broken(world);
      world.clock.set(world.clock.now() - 24 * 60 * minute);
      expect(await claim(world, "b")).not.toBeNull();
      expect(await claim(world, "a")).toBeNull();
    });
  });
}
