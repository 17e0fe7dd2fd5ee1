// Getting work over HTTP: claim-next with all that it heeds, waiting for work, and who may act with which fencing number.

import { describe, expect, test } from "vitest";
import { type Desk, desks, minutes, must, seconds } from "./desk.js";
import { everyStoreName } from "./support.js";

const next = async ({ post }: Desk, sessionId: string, more: object = {}) =>
  must(await post("/api/tasks/claim-next", { sessionId, ...more }));

/** The server has begun to wait: it has looked for work, and found none. */
async function waiting(here: Desk, sessionId: string, more: object = {}) {
  const answer = next(here, sessionId, { waitMs: 30_000, ...more });
  const isWaiting = answer.then(() => false);
  // A wait shows in nothing but its silence: other requests are answered meanwhile.
  for (let n = 0; n < 3; n++) await here.get("/api/tasks?limit=1");
  expect(await Promise.race([isWaiting, Promise.resolve(true)])).toBe(true);
  return { answer };
}

describe.each(everyStoreName)("claim-next on %s", (store) => {
  const desk = desks(store);

  test("nothing to do is an answer: success without a claim", async () => {
    const here = await desk();
    await here.session("worker");
    const { status, body } = await here.post("/api/tasks/claim-next", { sessionId: "worker" });
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: true, claim: null });
  });

  test("nothing to do says why, and what to run", async () => {
    const here = await desk();
    await here.session("worker");
    await here.running("other");
    must(await here.post(`/api/projects/${here.project}/pause`));
    const fix = `dibs project resume ${here.project}`;
    expect((await next(here, "worker")).why).toEqual({
      message: `Nothing to claim: 1 running, project paused. Run: ${fix}`,
      fix,
      reasons: [
        { code: "RUNNING", count: 1, message: "1 running" },
        { code: "PROJECT_PAUSED", message: "project paused" },
      ],
    });
  });

  test("gives a task with its claim, and says that it is fresh", async () => {
    const here = await desk();
    await here.session("worker");
    const id = await here.task();
    const { status, body } = await here.post("/api/tasks/claim-next", {
      sessionId: "worker",
      ttlMs: minutes(2),
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      success: true,
      resumed: false,
      claim: {
        taskId: id,
        sessionId: "worker",
        epoch: 1,
        claimedAt: here.at(),
        expiresAt: here.at(minutes(2)),
      },
      task: { id, state: "claimed", prompt: "do it" },
    });
  });

  test("a claim of a task that was attempted before says why that failed, by claim-next and by id", async () => {
    const here = await desk();
    await here.session("other");
    const id = await here.running("worker");
    must(await here.post(`/api/tasks/${id}/fail`, { sessionId: "worker", error: "The port was taken." }));
    here.clock.advance(minutes(60));
    const handover = expect.stringContaining("error: The port was taken.");
    expect(await next(here, "other")).toMatchObject({ claim: { taskId: id, epoch: 2 }, handover });
    must(await here.post(`/api/tasks/${id}/release`, { sessionId: "other" }));
    expect(must(await here.post(`/api/tasks/${id}/claim`, { sessionId: "worker" })).handover).toEqual(
      expect.stringContaining("attempt 1, error: The port was taken."),
    );
  });

  test("an agent that forgot what it holds is given it again, not a second one", async () => {
    const here = await desk();
    await here.session("worker");
    const id = await here.task();
    await here.task();
    const first = await next(here, "worker");
    here.clock.advance(minutes(1));
    const again = await next(here, "worker");
    expect(again).toMatchObject({ resumed: true, claim: { taskId: id, epoch: first.claim.epoch } });
    expect(again.claim.expiresAt).toBe(here.at(minutes(30)));
    expect(must(await here.get("/api/tasks/in-flight")).summary.total).toBe(1);
  });

  test("a runner at its capacity is given nothing instead", async () => {
    const here = await desk();
    await here.session("runner", { capacity: 2 });
    for (let n = 0; n < 3; n++) await here.task();
    const given = [await next(here, "runner"), await next(here, "runner"), await next(here, "runner")];
    expect(given.map(({ claim }) => claim?.taskId ?? null)).toEqual(["0001", "0002", null]);
    await here.session("single");
    await next(here, "single");
    expect((await next(here, "single", { resume: false })).claim).toBeNull();
  });

  test("an orchestrator that waits for the parts it made can work on them", async () => {
    const here = await desk();
    const whole = await here.running("orchestrator");
    const part = await here.task({ parentId: whole });
    expect((await next(here, "orchestrator")).claim.taskId).toBe(part);
    must(await here.post(`/api/tasks/${part}/complete`, { sessionId: "orchestrator" }));
    must(await here.post(`/api/tasks/${whole}/complete`, { sessionId: "orchestrator" }));
  });

  test("hands out only what fits: labels, assignee, type, capabilities, time", async () => {
    const here = await desk();
    await here.session("worker", { capabilities: ["docker"], agentType: "cli", name: "alice", capacity: 20 });
    await here.task({ id: "for-bob", assignee: "bob" });
    await here.task({ id: "for-auto", agentType: "autonomous" });
    await here.task({ id: "for-gpu", requires: ["docker", "gpu"] });
    await here.task({ id: "for-later", notBefore: here.at(seconds(30)) });
    expect((await next(here, "worker")).claim).toBeNull();
    await here.task({
      id: "for-alice",
      assignee: "alice",
      agentType: "cli",
      requires: ["docker"],
      labels: ["x"],
    });
    expect((await next(here, "worker", { labels: ["y"] })).claim).toBeNull();
    expect((await next(here, "worker", { labels: ["x", "y"] })).claim.taskId).toBe("for-alice");
    here.clock.advance(seconds(30));
    expect((await next(here, "worker")).claim.taskId).toBe("for-later");
  });

  test("a task that waited long comes before one that is a little more urgent", async () => {
    const here = await desk();
    await here.session("worker");
    const old = await here.task({ priority: 50 });
    here.clock.advance(minutes(5));
    await here.task({ priority: 60 });
    expect((await next(here, "worker")).claim.taskId).toBe(old);
  });

  test("depth first: a project can ask for the deepest part that was made last", async () => {
    const here = await desk();
    await here.settings({ order: "depth-first" });
    await here.session("worker", { capacity: 9 });
    for (const parentId of [undefined, undefined, "0001", "0001", "0001_t1"]) {
      await here.task(parentId === undefined ? { priority: 100 } : { parentId });
    }
    const handed = [await next(here, "worker"), await next(here, "worker"), await next(here, "worker")];
    expect(handed.map(({ claim }) => claim.taskId)).toEqual(["0001_t1.1", "0001_t2", "0002"]);
  });

  test("a paused project gives nothing, and goes on when it is resumed", async () => {
    const here = await desk();
    await here.session("worker");
    const id = await here.task();
    must(await here.post(`/api/projects/${here.project}/pause`));
    expect((await next(here, "worker")).claim).toBeNull();
    expect(must(await here.get("/api/tasks/claimable")).tasks).toEqual([]);
    const refused = await here.post(`/api/tasks/${id}/claim`, { sessionId: "worker" });
    expect(refused.body).toMatchObject({
      error: "TASK_NOT_CLAIMABLE",
      reasons: [{ code: "PROJECT_PAUSED" }],
    });
    must(await here.post(`/api/projects/${here.project}/resume`));
    expect((await next(here, "worker")).claim.taskId).toBe(id);
  });

  test("an unknown session is refused, unless it asks to be registered", async () => {
    const here = await desk();
    await here.task();
    const refused = await here.post("/api/tasks/claim-next", { sessionId: "new" });
    expect([refused.status, refused.body.error]).toEqual([404, "SESSION_NOT_FOUND"]);
    expect((await next(here, "new", { register: true })).claim.sessionId).toBe("new");
  });

  describe("that waits", () => {
    const causes: [string, (here: Desk) => Promise<() => Promise<unknown>>][] = [
      ["a task is created", async (here) => () => here.task({ id: "work" })],
      [
        "a batch is",
        async (here) => () => here.post("/api/tasks/batch", { tasks: [{ id: "work", prompt: "x" }] }),
      ],
      [
        "another session releases one",
        async (here) => {
          await here.running("other", { id: "work" });
          return () => here.post("/api/tasks/work/release", { sessionId: "other" });
        },
      ],
      [
        "another session is over",
        async (here) => {
          await here.running("other", { id: "work" });
          return () => here.delete("/api/sessions/other");
        },
      ],
      [
        "what it waits for is completed",
        async (here) => {
          const first = await here.running("other");
          await here.task({ id: "work", dependsOn: [first] });
          return () => here.post(`/api/tasks/${first}/complete`, { sessionId: "other" });
        },
      ],
      [
        "a person retries one",
        async (here) => {
          await here.running("other", { id: "work" });
          must(await here.post("/api/tasks/work/fail", { sessionId: "other", error: "x", retryable: false }));
          return () => here.post("/api/tasks/work/retry");
        },
      ],
      [
        "the project is resumed",
        async (here) => {
          await here.task({ id: "work" });
          must(await here.post(`/api/projects/${here.project}/pause`));
          return () => here.post(`/api/projects/${here.project}/resume`);
        },
      ],
      [
        "a person changes for whom it is",
        async (here) => {
          await here.task({ id: "work", assignee: "somebody" });
          return () => here.patch("/api/tasks/work", { assignee: null });
        },
      ],
    ];

    test.each(causes)("is answered as soon as %s", async (_what, prepare) => {
      const here = await desk();
      await here.session("waiter");
      const act = await prepare(here);
      const { answer } = await waiting(here, "waiter", { start: true });
      await act();
      expect((await answer).claim).toMatchObject({ taskId: "work", sessionId: "waiter" });
      expect((await here.shown("work")).state).toBe("running");
    });

    test("is answered at once if there is work already", async () => {
      const here = await desk();
      await here.session("waiter");
      const id = await here.task();
      expect((await next(here, "waiter", { waitMs: 60_000 })).claim.taskId).toBe(id);
    });

    test("ends without a claim when its time is over", async () => {
      const here = await desk();
      await here.session("waiter");
      expect(await next(here, "waiter", { waitMs: 50 })).toMatchObject({ success: true, claim: null });
    });

    test("of five who wait for one task one gets it, and the others go on waiting", async () => {
      const here = await desk();
      const names = ["w1", "w2", "w3", "w4", "w5"];
      for (const name of names) await here.session(name);
      const claimed: string[] = [];
      const answers = await Promise.all(names.map((name) => waiting(here, name)));
      const all = answers.map(({ answer }) => answer.then(({ claim }) => void claimed.push(claim.taskId)));
      const first = await here.task();
      await Promise.race(all);
      // All of them have tried by the time that another commit is answered.
      await here.session("nobody");
      expect(claimed).toEqual([first]);
      const rest: string[] = [];
      for (const _ of names.slice(1)) rest.push(await here.task());
      await Promise.all(all);
      expect(claimed.sort()).toEqual([first, ...rest].sort());
    });

    test("a client that goes away does not take a task with it", async () => {
      const here = await desk();
      await here.session("gone");
      await here.session("stays");
      const leaving = new AbortController();
      const lost = fetch(`${here.world.url}/api/tasks/claim-next`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${here.world.token}`,
          "content-type": "application/json",
          "dibs-project": here.project,
        },
        body: JSON.stringify({ sessionId: "gone", waitMs: 30_000 }),
        signal: leaving.signal,
      }).catch(() => null);
      for (let n = 0; n < 3; n++) await here.get("/api/tasks?limit=1");
      leaving.abort();
      await lost;
      // The server hears of it with one of the next turns of its loop.
      for (let n = 0; n < 3; n++) await here.get("/api/tasks?limit=1");
      const id = await here.task();
      expect((await next(here, "stays")).claim.taskId).toBe(id);
    });
  });
});

describe.each(everyStoreName)("the fencing number on %s", (store) => {
  const desk = desks(store);

  test("a claim has the fields of the attempt that it becomes", async () => {
    const here = await desk();
    await here.session("worker");
    const id = await here.task();
    const claim = await here.claim(id, "worker");
    expect(claim).toMatchObject({ releasedAt: null, releaseReason: null, lateResult: null });
    must(await here.post(`/api/tasks/${id}/release`, { sessionId: "worker" }));
    const [attempt] = must(await here.get(`/api/tasks/${id}/attempts`)).attempts;
    expect(Object.keys(attempt)).toEqual(expect.arrayContaining(Object.keys(claim)));
  });

  test("rises with every claim, and only the present one may write", async () => {
    const here = await desk();
    await here.session("worker");
    const id = await here.task();
    for (let epoch = 1; epoch <= 3; epoch++) {
      expect((await here.claim(id, "worker", { start: true })).epoch).toBe(epoch);
      if (epoch < 3) must(await here.post(`/api/tasks/${id}/release`, { sessionId: "worker", epoch }));
    }
    const calls: [string, object][] = [
      ["start", {}],
      ["claim/heartbeat", {}],
      ["progress", { note: "x" }],
      ["ask", { question: "?" }],
      ["complete", { result: "x" }],
      ["fail", { error: "x" }],
    ];
    const before = await here.told(id);
    for (const [call, more] of calls) {
      for (const epoch of [2, 0]) {
        const { status, body } = await here.post(`/api/tasks/${id}/${call}`, {
          sessionId: "worker",
          epoch,
          ...more,
        });
        expect([call, epoch, status, body.error]).toEqual([call, epoch, 409, "STALE_EPOCH"]);
      }
    }
    expect(await here.told(id)).toEqual(before);
    must(await here.post(`/api/tasks/${id}/complete`, { sessionId: "worker", epoch: 3 }));
  });

  test("complete, fail and release answer the same again, and nothing happens twice", async () => {
    const here = await desk();
    await here.session("worker");
    for (const [call, more] of [
      ["complete", { result: "ok" }],
      ["fail", { error: "x" }],
      ["release", { reason: "lunch" }],
    ] as const) {
      const id = await here.task();
      const { epoch } = await here.claim(id, "worker");
      const request = { sessionId: "worker", epoch, ...more };
      const first = must(await here.post(`/api/tasks/${id}/${call}`, request));
      const events = await here.told(id);
      const again = must(await here.post(`/api/tasks/${id}/${call}`, request));
      expect(again).toEqual(first);
      expect(await here.told(id)).toEqual(events);
    }
  });

  test("a leader can take a task away by force; a worker cannot", async () => {
    const here = await desk();
    const id = await here.running("worker");
    const token = await here.world.tokenFor("worker");
    const refused = await here.post(`/api/tasks/${id}/release`, { force: true }, { token });
    expect([refused.status, refused.body.error]).toEqual([403, "FORBIDDEN"]);
    const leader = await here.world.tokenFor("leader");
    const { released } = must(
      await here.post(`/api/tasks/${id}/release`, { force: true, reason: "taken" }, { token: leader }),
    );
    expect(released).toMatchObject({ taskId: id, reason: "taken" });
    expect((await here.timeline(id)).at(-1)).toMatchObject({ type: "task:released", actor: "user:leader" });
  });

  test("an attempt that runs longer than the task allows is over", async () => {
    const here = await desk();
    const id = await here.running("worker", { timeoutMs: seconds(90) });
    here.clock.advance(seconds(60));
    must(await here.post(`/api/tasks/${id}/claim/heartbeat`, { sessionId: "worker" }));
    here.clock.advance(seconds(30));
    const late = await here.post(`/api/tasks/${id}/claim/heartbeat`, { sessionId: "worker" });
    expect([late.status, late.body.error, late.body.reason]).toEqual([410, "CLAIM_EXPIRED", "timeout"]);
  });
});
