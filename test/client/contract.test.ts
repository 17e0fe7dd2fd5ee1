// The library over a real server: the same calls, answers and refusals as in process.

import { describe, expect, test } from "vitest";
import { connectDibs, type Dibs, openDibs } from "../../src/index.js";
import { hasNoLocal } from "../dynamodb/local.js";
import { on, type StoreName, type World } from "../http/support.js";
import { aborted, until } from "../support.js";
import { failure } from "./fake-server.js";

const stores: StoreName[] = ["sqlite", "postgres", ...(hasNoLocal ? [] : ["dynamodb" as const])];

/** One case with a client of a server of its own. */
function over(store: StoreName, story: (dibs: Dibs, world: World) => Promise<void>, options = {}) {
  return on(
    store,
    async (world) => {
      const dibs = connect(world);
      try {
        await story(dibs, world);
      } finally {
        await dibs.close();
      }
    },
    // A stop cuts off what is under way: that too must be survived.
    { limits: { graceMs: 100 }, ...options },
  );
}

function connect(world: World, options = {}): Dibs {
  const token = world.server.token ?? undefined;
  return connectDibs({
    url: world.url,
    ...(token ? { token } : {}),
    retry: { baseMs: 20, tries: 20 },
    ...options,
  });
}

const realTime = { clock: { now: Date.now } };

describe("one interface", () => {
  /** A story of many calls; each answer, or refusal, in order. */
  async function tell(dibs: Dibs): Promise<unknown[]> {
    const answers: unknown[] = [];
    const note = async (call: Promise<unknown>) => {
      const answer = await call.catch((error: Error) => JSON.parse(JSON.stringify(error)));
      answers.push(JSON.parse(JSON.stringify(answer)));
    };
    const by = { taskId: "a", sessionId: "s", epoch: 1 };
    await note(
      dibs.sessions.register({ id: "s", capacity: 2, agentType: "autonomous", capabilities: ["x"] }),
    );
    await note(
      dibs.tasks.create({ id: "a", prompt: "first", correlationId: "c", metadata: { n: [1, null, "é"] } }),
    );
    await note(dibs.tasks.create({ id: "a", prompt: "again", correlationId: "c" }));
    await note(
      dibs.tasks.create({ id: "b", prompt: "then", correlationId: "c", dependsOn: ["a"], labels: ["l"] }),
    );
    await note(dibs.tasks.create({ id: "d", prompt: "x", correlationId: "c", dependsOn: ["nobody"] }));
    await note(dibs.tasks.claim({ taskId: "b", sessionId: "s" }));
    await note(dibs.tasks.explain({ taskId: "b" }));
    await note(dibs.tasks.claimNext({ sessionId: "s", labels: ["none"] }));
    await note(dibs.tasks.claimNext({ sessionId: "s" }));
    await note(dibs.tasks.claimNext({ sessionId: "unknown" }));
    await note(dibs.tasks.claim({ taskId: "a", sessionId: "other", register: true }));
    await note(dibs.tasks.start(by));
    await note(dibs.tasks.heartbeat(by));
    await note(dibs.tasks.progress({ ...by, note: "half", percent: 50 }));
    await note(dibs.tasks.ask({ ...by, question: "Which?", options: ["x", "y"], default: "x" }));
    await note(dibs.tasks.complete({ ...by, result: "too early" }));
    await note(dibs.notifications.inbox());
    await note(dibs.tasks.respond({ taskId: "a", response: "y", questionId: "another" }));
    await note(dibs.tasks.respond({ taskId: "a", response: "y" }));
    await note(dibs.tasks.complete({ ...by, epoch: 7, result: "stale" }));
    await note(dibs.tasks.complete({ ...by, result: { output: "done", filesCreated: ["a.ts"] } }));
    await note(dibs.tasks.complete({ ...by, result: "again" }));
    await note(dibs.tasks.get({ taskId: "nobody" }));
    await note(dibs.tasks.get({ taskId: "a", project: "nowhere" }));
    await note(dibs.tasks.list({ state: ["completed", "queued"], limit: 1 }));
    await note(dibs.tasks.list({ claimable: true, q: "then" }));
    await note(dibs.tasks.list({ limit: 0 }));
    await note(dibs.tasks.blockedBy({ taskId: "a" }));
    await note(dibs.tasks.attempts({ taskId: "a" }));
    await note(dibs.tasks.inFlight());
    await note(dibs.tasks.graph());
    await note(dibs.tasks.cancel({ taskId: "b" }));
    await note(dibs.tasks.cancel({ taskId: "b" }));
    await note(dibs.tasks.retry({ taskId: "b" }));
    await note(dibs.tasks.update({ taskId: "b", priority: "high", notBefore: new Date(0), assignee: null }));
    await note(dibs.tasks.update({ taskId: "b", wrong: 1 } as never));
    await note(dibs.projects.get());
    await note(dibs.projects.update({ settings: { maxRetries: 1 } }));
    await note(dibs.projects.pause());
    await note(dibs.projects.resume({}));
    await note(dibs.projects.create({ id: "second" }));
    await note(dibs.ids.next());
    await note(dibs.claims.stats());
    await note(dibs.sessions.get({ sessionId: "s" }));
    await note(dibs.sessions.currentTask({ sessionId: "s" }));
    await note(dibs.sessions.list({ all: true, project: "*" }));
    await note(dibs.sessions.summary());
    await note(dibs.sessions.end({ sessionId: "s" }));
    await note(dibs.sessions.end({ sessionId: "s" }));
    await note(dibs.notifications.read({ id: "nothing/here" }));
    await note(dibs.events.list({ types: ["task:created", "task:completed"], limit: 3 }));
    await note(dibs.tasks.events({ taskId: "a", after: 2 }));
    await note(dibs.tasks.create({ prompt: "x".repeat(300_000) }));
    return answers;
  }

  /** Ids that chance makes, and who a process is. */
  const withoutChance = (answers: unknown[]) =>
    JSON.parse(
      JSON.stringify(answers, (key, value) =>
        ["pid", "host", "processStartedAt", "correlationId", "questionId"].includes(key) ? null : value,
      ),
    );

  test.each([false, true])(
    "gives the same answers and refusals over HTTP and in process, with batch: %s",
    (batch) =>
      over(
        "memory",
        async (_, world) => {
          const options = { clock: world.clock, project: "demo", actor: "user:local" };
          const inProcess = await openDibs({ memory: true, ...options });
          const dibs = batch ? inCompany(connect(world, { batch })) : connect(world);
          const [there, here] = [await tell(dibs), await tell(inProcess)];
          expect(withoutChance(there)).toEqual(withoutChance(here));
          await Promise.all([inProcess.close(), dibs.close()]);
        },
        { auth: false },
      )(),
  );

  /** Every call shares its turn with another one: else none would share its request. */
  function inCompany(dibs: Dibs): Dibs {
    const groups = Object.entries(dibs).map(([name, group]) => {
      if (typeof group !== "object") return [name, group];
      const methods = Object.entries(group as Record<string, (...all: unknown[]) => Promise<unknown>>).map(
        ([method, call]) => [
          method,
          (...all: unknown[]) => {
            const answer = call(...all);
            // Refused, it leaves no trace.
            void dibs.sessions.heartbeat({ sessionId: "nobody" }).catch(() => undefined);
            return answer;
          },
        ],
      );
      return [name, Object.fromEntries(methods)];
    });
    return Object.fromEntries(groups) as Dibs;
  }

  test("a caller without a token, or without the right, is told so", () =>
    over("memory", async (dibs, world) => {
      const nobody = connect(world, { token: undefined });
      expect(await failure(nobody.tasks.list())).toMatchObject({ code: "UNAUTHENTICATED" });
      expect(await failure(nobody.events.follow().next())).toMatchObject({ code: "UNAUTHENTICATED" });
      const viewer = connect(world, { token: await world.tokenFor("viewer") });
      expect((await viewer.tasks.list()).tasks).toEqual([]);
      expect(await failure(viewer.tasks.create({ prompt: "x" }))).toMatchObject({ code: "FORBIDDEN" });
      expect(await failure(dibs.events.follow({ project: "nowhere" }).next())).toMatchObject({
        code: "PROJECT_NOT_FOUND",
      });
      await Promise.all([nobody.close(), viewer.close()]);
    })());

  test("a client's own project is where it works", () =>
    over("memory", async (dibs, world) => {
      await dibs.projects.create({ id: "second" });
      const second = connect(world, { project: "second" });
      const { task } = await second.tasks.create({ prompt: "there" });
      expect(task.project).toBe("second");
      expect((await dibs.tasks.list()).tasks).toEqual([]);
      expect((await dibs.tasks.list({ project: "*" })).tasks).toHaveLength(1);
      expect((await second.projects.pause()).project).toMatchObject({ id: "second", paused: true });
      const nowhere = connect(world, { project: "nowhere" });
      expect(await failure(nowhere.tasks.list())).toMatchObject({ code: "PROJECT_NOT_FOUND" });
      await Promise.all([second.close(), nowhere.close()]);
    })());

  test("a key acts once", () =>
    over("sqlite", async (dibs) => {
      const once = () => dibs.tasks.create({ prompt: "once" }, { idempotencyKey: "a key of mine" });
      const [first, second] = await Promise.all([once(), once()]);
      expect(second).toEqual(first);
      expect(
        await failure(dibs.tasks.create({ prompt: "other" }, { idempotencyKey: "a key of mine" })),
      ).toMatchObject({ code: "IDEMPOTENCY_MISMATCH" });
    })());
});

describe.each(stores)("claimNext that waits, on %s", (store) => {
  test("is woken, and ends with nothing when it is over or aborted", () =>
    over(store, async (dibs) => {
      await dibs.sessions.register({ id: "s" });
      expect(await dibs.tasks.claimNext({ sessionId: "s", waitMs: 20 })).toMatchObject({ claim: null });
      const waiting = dibs.tasks.claimNext({ sessionId: "s", waitMs: 60_000 });
      const { task } = await dibs.tasks.create({ prompt: "new" });
      expect((await waiting).claim).toMatchObject({ taskId: task.id, sessionId: "s" });
      await dibs.sessions.register({ id: "t" });
      const stop = new AbortController();
      const aborted = dibs.tasks.claimNext({ sessionId: "t", waitMs: 60_000 }, { signal: stop.signal });
      stop.abort();
      expect(await aborted).toEqual({ success: true, claim: null, task: null, resumed: false });
    })());

  test("an abort that races with a grant: whoever is told nothing holds nothing", () =>
    over(store, async (dibs) => {
      const told = await race(dibs, () => ({}));
      expect(await held(dibs)).toEqual(told.sort());
    })());

  test("with a key of the caller's, what was granted too late is the next answer under it", () =>
    over(store, async (dibs) => {
      const told = await race(dibs, (sessionId) => ({ idempotencyKey: `key of ${sessionId}` }));
      for (const [taskId, sessionId] of await held(dibs)) {
        const again = { idempotencyKey: `key of ${sessionId}` };
        if (told.some(([id]) => id === taskId)) continue;
        const { claim } = await dibs.tasks.claimNext({ sessionId: sessionId!, waitMs: 60_000 }, again);
        expect(claim).toMatchObject({ taskId, sessionId });
      }
    })());

  async function held(dibs: Dibs) {
    const { inFlight } = await dibs.tasks.inFlight();
    return inFlight.map(({ taskId, claim }) => [taskId, claim.sessionId]).sort();
  }

  /** Waits that are aborted just when there is something for them: who was told what. */
  async function race(dibs: Dibs, more: (sessionId: string) => { idempotencyKey?: string }) {
    const told: [taskId: string, sessionId: string][] = [];
    const rounds = Array.from({ length: 40 }, async (_, n) => {
      const sessionId = `s-${n}`;
      await dibs.sessions.register({ id: sessionId });
      const stop = new AbortController();
      const options = { signal: stop.signal, ...more(sessionId) };
      const claimed = dibs.tasks.claimNext({ sessionId, waitMs: 60_000 }, options);
      const created = dibs.tasks.create({ prompt: `task ${n}` });
      if (n % 4 > 1) await created;
      for (let turns = n % 7; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
      stop.abort();
      const { claim } = await claimed;
      if (claim) told.push([claim.taskId, sessionId]);
      await created;
    });
    await Promise.all(rounds);
    return told;
  }
});

describe("events.follow", () => {
  test("goes on across restarts of the server: every event once, in order", () =>
    over("sqlite", async (dibs, world) => {
      const seqs: number[] = [];
      const reading = (async () => {
        for await (const { seq, data } of dibs.events.follow({ after: 0, project: "*" })) {
          seqs.push(seq);
          if (data.title === "the last") break;
        }
      })();
      for (let round = 0; round < 3; round++) {
        await Promise.all(
          Array.from({ length: 20 }, (_, n) => dibs.tasks.create({ prompt: `${round} ${n}` })),
        );
        await world.restart();
      }
      await dibs.tasks.create({ prompt: "the last" });
      await reading;
      expect(seqs).toEqual(Array.from({ length: seqs.length }, (_, n) => n + 1));
    })());

  test("without a number begins at the call", () =>
    over("sqlite", async (dibs) => {
      await dibs.tasks.create({ id: "before", prompt: "x" });
      let isSettled = false;
      const onConnection = () => {
        isSettled = true;
      };
      const events = dibs.events.follow({ types: ["task:created"], onConnection });
      await until("it is settled", () => isSettled);
      const next = events.next();
      await dibs.tasks.create({ id: "after", prompt: "x" });
      expect((await next).value).toMatchObject({ taskId: "after" });
      await events.return();
    })());

  test("a reader ahead of the log is told so", () =>
    over("memory", async (dibs) => {
      await dibs.tasks.create({ prompt: "x" });
      const resets: { lastSeq: number }[] = [];
      const events = dibs.events.follow({ after: 9_999, project: "*", onReset: (ends) => resets.push(ends) });
      const next = events.next();
      await until("it is told", () => resets.length > 0);
      await dibs.tasks.create({ id: "fresh", prompt: "x" });
      expect((await next).value).toMatchObject({ taskId: "fresh", seq: resets[0]!.lastSeq + 1 });
      await events.return();
    })());
});

describe("dibs.work over HTTP", () => {
  test("works through everything, with results, as a session that promises heartbeats", () =>
    over(
      "sqlite",
      async (dibs) => {
        const tasks = Array.from({ length: 30 }, (_, n) => ({ id: `t-${n}`, prompt: `task ${n}` }));
        await dibs.tasks.batch({ tasks });
        const worker = dibs.work(({ task }) => `did ${task.prompt}`, { concurrency: 4, untilEmpty: true });
        const sessionId = await worker.sessionId;
        expect((await dibs.sessions.get({ sessionId })).session).toMatchObject({
          pid: null,
          heartbeats: true,
        });
        await worker.done;
        const { tasks: done } = await dibs.tasks.list({ limit: 100 });
        expect(done.map(({ state, epoch, result }) => [state, epoch, result?.output])).toEqual(
          tasks.map(({ prompt }) => ["completed", 1, `did ${prompt}`]),
        );
      },
      realTime,
    )());

  test("asks and is answered, is cancelled, and gives back what it holds when it stops", () =>
    over(
      "sqlite",
      async (dibs) => {
        await dibs.tasks.batch({ tasks: ["ask", "cancel", "stop"].map((id) => ({ id, prompt: id })) });
        const reasons: unknown[] = [];
        const worker = dibs.work(
          async ({ task, ask, signal }) => {
            if (task.id === "ask") return `it is ${await ask("Which colour?")}`;
            await aborted(signal);
            reasons.push((signal.reason as { code?: string }).code);
          },
          { concurrency: 3 },
        );
        const state = async (taskId: string) => (await dibs.tasks.get({ taskId })).task.state;
        await until("it asks", async () => (await state("ask")) === "awaiting_response");
        await dibs.tasks.respond({ taskId: "ask", response: "blue" });
        await until("it is done", async () => (await state("ask")) === "completed");
        await until("the other runs", async () => (await state("cancel")) === "running");
        await dibs.tasks.cancel({ taskId: "cancel" });
        await until("it is told", () => reasons.length === 1);
        expect(reasons).toEqual(["TASK_CANCELLED"]);
        await until("the third runs", async () => (await state("stop")) === "running");
        await worker.stop({ now: true });
        expect((await dibs.tasks.get({ taskId: "stop" })).task).toMatchObject({
          state: "queued",
          lostCount: 0,
        });
        expect((await dibs.tasks.get({ taskId: "ask" })).task.result?.output).toBe("it is blue");
      },
      realTime,
    )());

  test("keeps a lease that is shorter than the work", () =>
    over("sqlite", async (dibs, world) => {
      await dibs.projects.update({
        settings: { claim: { minTtlMs: 1, defaultTtlMs: 1_500, orphanThresholdMs: 1_500 } },
      });
      const { id: taskId } = (await dibs.tasks.create({ prompt: "long" })).task;
      const beats = async () => (await dibs.tasks.get({ taskId })).task.claim?.heartbeatCount ?? 0;
      const worker = dibs.work(
        async ({ signal }) => {
          for (let count = 1; count <= 4; count++) {
            await until("it was renewed", async () => signal.aborted || (await beats()) >= count);
            world.clock.advance(1_000);
          }
        },
        { untilEmpty: true },
      );
      await worker.done;
      expect((await dibs.tasks.get({ taskId })).task).toMatchObject({ state: "completed", epoch: 1 });
    })());

  test("goes on across restarts of the server: every task is done once, and none is held by nobody", () =>
    over(
      "sqlite",
      async (dibs, world) => {
        const ids = Array.from({ length: 120 }, (_, n) => `t-${n}`);
        await dibs.tasks.batch({ tasks: ids.map((id) => ({ id, prompt: id })) });
        const runs: string[] = [];
        const worker = dibs.work(
          async ({ task }) => {
            runs.push(task.id);
            await dibs.tasks.get({ taskId: task.id });
          },
          { concurrency: 4 },
        );
        for (const share of [0.2, 0.5, 0.8]) {
          await until("some are done", () => runs.length > ids.length * share);
          await world.restart();
        }
        await until("all are done", async () => {
          const { tasks } = await dibs.tasks.list({ state: "completed", limit: 1000 });
          return tasks.length === ids.length;
        });
        expect(runs.sort()).toEqual(ids.sort());
        await worker.stop();
        expect((await dibs.tasks.inFlight()).inFlight).toEqual([]);
      },
      realTime,
    )());

  test("whose server is away for longer than the lease tells its handler to stop", () =>
    over(
      "sqlite",
      async (dibs, world) => {
        await dibs.projects.update({ settings: { claim: { minTtlMs: 1, defaultTtlMs: 600 } } });
        await dibs.tasks.create({ prompt: "x" });
        let reason: unknown;
        const worker = dibs.work(async ({ signal }) => {
          await world.server.close();
          await aborted(signal);
          reason = signal.reason;
        });
        await until("it is told", () => reason !== undefined);
        expect(reason).toMatchObject({ code: "CLAIM_EXPIRED" });
        await world.start();
        await worker.stop();
      },
      realTime,
    )());

  test("two workers that end when nothing is left miss nothing", () =>
    over(
      "sqlite",
      async (dibs, world) => {
        const chain = Array.from({ length: 20 }, (_, n) => ({
          key: `k${n}`,
          prompt: `step ${n}`,
          ...(n === 0 ? {} : { dependsOn: [`k${n - 1}`] }),
        }));
        await dibs.tasks.batch({ tasks: chain });
        await dibs.work(() => "done", { untilEmpty: true }).done;
        expect((await dibs.tasks.list({ state: "completed" })).tasks).toHaveLength(20);
        expect(world.logged.join("")).not.toContain("INTERNAL");
      },
      realTime,
    )());
});
