import { describe, expect } from "vitest";
import { type Changes, noChanges } from "../../core/changes.js";
import { carryOut } from "../../core/decide.js";
import type { IdempotencyRecord } from "../../core/view.js";
import type { Job } from "../store.js";
import { type Driver, type Hold, minute, org, project, type Told, teller, type World } from "./harness.js";

const day = 24 * 60 * minute;

const create =
  (prompt: string): Job<unknown> =>
  (transaction) =>
    carryOut(
      transaction,
      { type: "create", project, correlationId: "c", tasks: [{ prompt, id: prompt }] },
      "user:test",
    );

const keyed = (record: IdempotencyRecord): Changes => ({ ...noChanges(), idempotency: record });

async function commit<T>(world: World, ...jobs: Job<T>[]) {
  return world.store.commit(org, jobs);
}

export function transactions(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: transactions`, () => {
    it("a job that throws changes nothing, and its neighbours do not notice", async (world) => {
      const broken = new Error("broken job");
      const results = await commit<unknown>(
        world,
        create("first"),
        (transaction) => {
          create("second")(transaction);
          throw broken;
        },
        create("third"),
      );
      expect(results.map((result) => result.ok)).toEqual([true, false, true]);
      expect(results[1]).toEqual({ ok: false, error: broken });
      const tasks = await world.read((view) => view.tasks({ project: null, afterOrdinal: 0, limit: 10 }));
      expect(tasks.map((task) => task.id)).toEqual(["first", "third"]);
      expect(await world.next("a")).toBe("first");
      expect(await world.next("b")).toBe("third");
      expect(await world.next("c")).toBeNull();
    });

    it("a job that throws leaves what it changed as it was", async (world) => {
      const hold = await world.hold("a", { labels: ["x"] }, { start: true });
      const waiting = await world.task({ dependsOn: [hold.taskId] });
      await world.unchanged(async () => {
        const results = await commit(world, (transaction) => {
          const result = { output: "done", filesCreated: [], filesModified: [] };
          carryOut(transaction, { type: "complete", project, ...hold, result }, "user:test");
          carryOut(transaction, { type: "claim-next", project, sessionId: "b", register: {} }, "user:test");
          carryOut(transaction, { type: "update-project", project, settings: { order: "depth-first" } }, "u");
          throw new Error("broken job");
        });
        expect(results[0]!.ok).toBe(false);
      });
      expect((await world.complete(hold)).unblocked).toEqual([waiting]);
    });

    it("what ends together was started, claimed and tried each in its own time", async (world) => {
      const holds: Hold[] = [];
      for (let nth = 0; nth < 12; nth++) {
        world.clock.advance(1000);
        const agentType = nth % 3 === 0 ? "tester" : undefined;
        const hold = await world.hold(`worker-${nth % 5}-${nth}`, {}, { start: nth % 2 === 0, agentType });
        holds.push(hold);
        if (nth > 0) continue;
        await world.ok({ type: "fail", ...hold, error: "again", spread: 0 });
        world.clock.advance(10 * minute);
        hold.epoch = await world.claim(hold.taskId, hold.sessionId, { start: true });
      }
      const claims = await Promise.all(holds.map(({ taskId }) => world.claimOf(taskId)));
      world.clock.advance(1000);
      const result = { output: "done", filesCreated: [], filesModified: [] };
      const outcomes = await world.together(holds.map((hold) => ({ type: "complete", ...hold, result })));
      expect(outcomes.every(({ ok }) => ok)).toBe(true);
      await world.reopen();
      for (const [nth, { taskId, sessionId, epoch }] of holds.entries()) {
        const { claimedAt, startedAt, agentType } = claims[nth]!;
        const since = { startedAt: startedAt ?? world.clock.now() };
        expect(await world.look(taskId)).toMatchObject({ now: "completed", epoch, ...since });
        const attempt = await world.attemptOf({ taskId, epoch });
        expect(attempt).toMatchObject({ sessionId, epoch, claimedAt, agentType, ...since });
      }
    });

    it("all jobs may throw", async (world) => {
      const fail = () => {
        throw new Error("broken job");
      };
      const results = await commit(world, fail, fail, fail);
      expect(results.map((result) => result.ok)).toEqual([false, false, false]);
      await world.task();
    });

    it("no jobs is no problem", async (world) => {
      expect(await commit(world)).toEqual([]);
    });

    it("a job sees what earlier jobs of the commit changed, in every lookup", async (world) => {
      await world.session("a");
      const [, seen] = await commit<unknown>(
        world,
        (transaction) => {
          create("parent")(transaction);
          const child = { prompt: "x", id: "child", parentId: "parent", labels: ["ui"] };
          const after = { prompt: "y", id: "after", dependsOn: ["child"] };
          const tasks = [child, after];
          carryOut(transaction, { type: "create", project, correlationId: "c", tasks }, "user:test");
          carryOut(transaction, { type: "claim", project, taskId: "child", sessionId: "a" }, "user:test");
        },
        ({ view, now }) => ({
          state: view.claim(project, "child")?.state,
          children: view.children(project, "parent"),
          dependents: view.dependents(project, "child"),
          ofA: view.claimsOf(project, "a").map((claim) => claim.taskId),
          due: view.due(now + 5 * minute, 10),
          nextDue: view.nextDue(now),
          events: view.org().eventSeq,
        }),
      );
      expect(seen).toEqual({
        ok: true,
        value: {
          state: "claimed",
          children: ["child"],
          dependents: ["after"],
          ofA: ["child"],
          due: [{ project, taskId: "child" }],
          nextDue: world.clock.now() + 5 * minute,
          events: await world.read((view) => view.org().eventSeq),
        },
      });
    });

    it("all jobs of a commit have the same time", async (world) => {
      const results = await commit(
        world,
        ...Array.from(
          { length: 3 },
          () =>
            ({ now }: { now: number }) =>
              now,
        ),
      );
      expect(new Set(results.map((result) => result.ok && result.value)).size).toBe(1);
    });

    it("a read sees one state, as of one instant", async (world) => {
      const id = await world.task();
      const [before, after, now] = await world.read((view, at) => {
        const first = view.task(project, id);
        return [first, view.task(project, id), at];
      });
      expect(before).toEqual(after);
      expect(now).toBe(world.clock.now());
    });

    it("an error of a read job is passed on as it is, at once", async (world) => {
      const error = Object.assign(new Error("not for the store"), { code: "ID_TAKEN" });
      let runs = 0;
      const read = world.read(() => {
        runs++;
        throw error;
      });
      await expect(read).rejects.toBe(error);
      expect(runs).toBe(1);
    });

    it("whoever listens hears of a commit, until he stops", async (world) => {
      const heard = () => {
        let stop = () => {};
        const told = new Promise<void>((resolve) => {
          stop = world.store.onChange(org, () => resolve());
        });
        return told.finally(stop);
      };
      let wrongly = 0;
      const first = heard();
      world.store.onChange(org, () => wrongly++)();
      await world.session("a");
      await first;
      const second = heard();
      await world.ok({ type: "session-heartbeat", sessionId: "a", contextPercent: 10 });
      await second;
      expect(wrongly).toBe(0);
    });

    it("a commit that changed nothing calls nobody", async (world) => {
      let heard = 0;
      const stop = world.store.onChange(org, () => heard++);
      await commit(world, () => "looked only");
      await world.refused("TASK_NOT_FOUND", { type: "claim", taskId: "nowhere", sessionId: "a" });
      expect(heard).toBe(0);
      stop();
    });

    it("what a store holds is intact", async (world) => {
      await world.finish(await world.task());
      expect(await world.store.check()).toEqual([]);
    });

    it("a closed store says so", async (world) => {
      const { store } = world;
      const before = await world.everything();
      await store.close();
      await expect(store.commit(org, [create("late")])).rejects.toMatchObject({ code: "STORE_CLOSED" });
      await expect(store.read(org, () => null)).rejects.toMatchObject({ code: "STORE_CLOSED" });
      await store.close();
      world.everything = async () => before;
    });
  });

  describe(`${driver.name}: a project that gets another order`, () => {
    const next = (sessionId: string) => ({ type: "claim-next", sessionId }) as const;
    const make = (id: string) =>
      ({ type: "create", correlationId: "c", tasks: [{ id, prompt: "x" }] }) as Told;
    const reorder: Told = { type: "update-project", project: "side", settings: { order: "depth-first" } };
    const given = (outcome: unknown) => (outcome as { value: { taskId: string | null } }).value.taskId;

    it("leaves the queues of the others as the commit has left them", async (world) => {
      await world.ok({ type: "create-project", id: "side" });
      const first = await world.task();
      for (const id of ["a", "b", "c"]) await world.session(id);
      const jobs = [next("a"), make("second"), reorder, next("b"), next("c")];
      const outcomes = await world.together(jobs);
      expect([0, 3, 4].map((at) => given(outcomes[at]))).toEqual([first, "second", null]);
    });

    it("leaves what the commit has put into the others where it is found", async (world) => {
      await world.ok({ type: "create-project", id: "side" });
      for (const id of ["a", "b", "c"]) await world.session(id);
      const [, , found] = await world.together([make("only"), reorder, next("b")]);
      expect([given(found), await world.next("a"), await world.next("c")]).toEqual(["only", null, null]);
    });
  });

  describe(`${driver.name}: idempotency records`, () => {
    const record = (createdAt: number, answer: string): IdempotencyRecord => ({
      key: "k1",
      request: "fingerprint",
      answer,
      createdAt,
    });

    it("are kept with the change, and seen by the next job and the next commit", async (world) => {
      const kept = record(world.clock.now(), "first");
      const results = await commit<unknown>(
        world,
        ({ apply }) => apply(keyed(kept)),
        ({ view }) => view.idempotency("k1"),
        ({ view }) => view.idempotency("k2") ?? null,
      );
      expect(results.slice(1)).toEqual([
        { ok: true, value: kept },
        { ok: true, value: null },
      ]);
      expect(await world.read((view) => view.idempotency("k1"))).toEqual(kept);
    });

    it("go with the job that failed", async (world) => {
      await commit(world, ({ apply }) => {
        apply(keyed(record(world.clock.now(), "first")));
        throw new Error("broken job");
      });
      expect(await world.read((view) => view.idempotency("k1"))).toBeUndefined();
    });

    for (const [when, waited] of Object.entries({ "a day": day, "more than a day": day + 1 })) {
      it(`a key can be used anew after ${when}, in the first commit since`, async (world) => {
        await commit(world, ({ apply }) => apply(keyed(record(world.clock.now(), "first"))));
        world.clock.advance(waited);
        const anew = record(world.clock.now(), "second");
        await commit(world, ({ apply }) => apply(keyed(anew)));
        expect(await world.read((view) => view.idempotency("k1"))).toEqual(anew);
      });
    }

    it("are forgotten after two days, so that a clock set back by one brings none to life", async (world) => {
      await commit(world, ({ apply }) => apply(keyed(record(world.clock.now(), "first"))));
      world.clock.advance(2 * day - 1);
      await world.task();
      expect((await world.read((view) => view.idempotency("k1")))?.answer).toBe("first");
      world.clock.advance(60 * minute);
      await world.task();
      expect(await world.read((view) => view.idempotency("k1"))).toBeUndefined();
    });
  });

  describe(`${driver.name}: a clock that goes back`, () => {
    it("a small step back is absorbed: time stands still, events stay in order", async (world) => {
      await world.task();
      const before = world.clock.now();
      world.clock.advance(-minute);
      await world.task();
      const times = (await world.events()).map((event) => event.at);
      expect(times).toEqual([before, before, before, before]);
      expect(await world.read((_view, now) => now)).toBe(before);
    });

    it("a large step back is followed, and the numbers go on", async (world) => {
      await world.task();
      world.clock.advance(-365 * day);
      await world.task();
      const all = await world.events();
      expect(all.map((event) => event.seq)).toEqual([1, 2, 3, 4]);
      expect(all[3]!.at).toBe(world.clock.now());
    });

    it("shortens no lease, by heartbeat, progress or claiming again", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const { expiresAt } = await world.claimOf(hold.taskId);
      world.clock.advance(-60 * minute);
      await world.ok({ type: "heartbeat", ...hold });
      await world.ok({ type: "progress", ...hold, note: "x" });
      await world.claim(hold.taskId, "a");
      expect((await world.claimOf(hold.taskId)).expiresAt).toBe(expiresAt);
      expect(await world.complete(hold)).toEqual({ unblocked: [], unblockedCount: 0 });
    });

    it("loses no task: what was queued later is claimable, durations are not negative", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const id = await world.task();
      world.clock.advance(-60 * minute);
      await world.ok({ type: "release", ...hold, spread: 0 });
      const released = (await world.events()).at(-1)!;
      expect(released.data.claimDurationMs).toBe(0);
      world.clock.advance(60 * minute);
      expect([await world.next("b"), await world.next("c")].sort()).toEqual([hold.taskId, id].sort());
    });

    it("a claim made under a clock one year ahead lasts as long as any other", async (world) => {
      world.clock.advance(365 * day);
      const started = await world.hold("a", { timeoutMs: 10 * minute }, { start: true });
      const claimed = await world.hold("b");
      world.clock.advance(-365 * day);
      await world.task();
      const now = world.clock.now();
      expect(await world.claimOf(started.taskId)).toMatchObject({
        expiresAt: now + 30 * minute,
        startedAt: now,
        lastHeartbeat: now,
        deadlineAt: now + 10 * minute,
      });
      expect(await world.claimOf(claimed.taskId)).toMatchObject({ startBy: now + 5 * minute });
      world.clock.advance(5 * minute);
      await world.ok({ type: "heartbeat", ...started });
      expect((await world.claimOf(started.taskId)).expiresAt).toBe(now + 35 * minute);
      expect(await world.sweep()).toMatchObject([{ taskId: claimed.taskId, reason: "start_timeout" }]);
      world.clock.advance(5 * minute);
      expect(await world.sweep()).toMatchObject([{ taskId: started.taskId, reason: "timeout" }]);
    });

    it("a session that promised heartbeats under a clock one year ahead is lost when it is silent", async (world) => {
      world.clock.advance(365 * day);
      await world.session("a", { heartbeats: true });
      const { taskId } = await world.hold("a", {}, { start: true });
      world.clock.advance(-365 * day);
      expect(await world.sweep()).toEqual([]);
      world.clock.advance(10 * minute);
      expect(await world.sweep()).toMatchObject([{ taskId, reason: "session_silent" }]);
    });

    it("a second step back is followed like the first", async (world) => {
      for (let step = 0; step < 2; step++) {
        world.clock.advance(365 * day);
        const { taskId } = await world.hold(`s${step}`, {}, { start: true });
        world.clock.advance(-365 * day);
        await world.task();
        expect((await world.claimOf(taskId)).expiresAt).toBe(world.clock.now() + 30 * minute);
      }
    });

    it("a lease that a step back has left as it was is cut by the next cleanup", async (world) => {
      world.clock.advance(365 * day);
      const { taskId } = await world.hold("a", {}, { start: true });
      world.clock.advance(-365 * day);
      // As an earlier version did.
      await commit(world, ({ view, now, apply }) =>
        apply({ ...noChanges(), org: { ...view.org(), lastAt: now } }),
      );
      await world.ok({ type: "sweep", limit: 10 });
      expect((await world.claimOf(taskId)).expiresAt).toBeGreaterThan(world.clock.now() + day);
      await world.ok({ type: "sweep", limit: 10, thorough: true });
      expect((await world.claimOf(taskId)).expiresAt).toBe(world.clock.now() + 30 * minute);
    });

    it("a clock that was once far ahead does not freeze the leases", async (world) => {
      world.clock.advance(365 * day);
      await world.task();
      world.clock.advance(-365 * day);
      const hold = await world.hold("a", {}, { start: true });
      world.clock.advance(30 * minute);
      expect(await world.sweep()).toMatchObject([{ taskId: hold.taskId }]);
    });
  });
}
