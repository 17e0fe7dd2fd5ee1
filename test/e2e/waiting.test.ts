// The library as its users see it: waiting, following, acting once.

import { describe, expect, test } from "vitest";
import type { DibsEvent } from "../../src/index.js";
import { Child, open, refusalOf, tempFile, until } from "../faults/support.js";

async function blockedPair() {
  const path = tempFile();
  const dibs = await open({ path });
  await dibs.sessions.register({ id: "first" });
  await dibs.sessions.register({ id: "second" });
  const { ids } = await dibs.tasks.batch({
    tasks: [
      { key: "a", prompt: "a" },
      { key: "b", prompt: "b", dependsOn: ["a"] },
    ],
  });
  const [a, b] = [ids.a!, ids.b!];
  await dibs.tasks.claim({ taskId: a, sessionId: "first" });
  return { path, dibs, a, b };
}

describe("claimNext that waits", () => {
  test("is woken by a completion in the same process", async () => {
    const { dibs, a, b } = await blockedPair();
    let isSettled = false;
    const waiting = dibs.tasks.claimNext({ sessionId: "second", waitMs: 60_000 }).finally(() => {
      isSettled = true;
    });
    await dibs.tasks.explain({ taskId: b });
    expect(isSettled).toBe(false);
    await dibs.tasks.complete({ taskId: a, sessionId: "first" });
    expect((await waiting).claim).toMatchObject({ taskId: b, sessionId: "second" });
  });

  test("is woken by a completion in another process", async () => {
    const { path, dibs, a, b } = await blockedPair();
    const other = new Child("client.mjs", { path });
    await other.said("ready");
    const waiting = other.call("tasks.claimNext", { sessionId: "second", waitMs: 60_000 });
    // An answer after the wait was asked for shows that it is under way.
    await other.call("tasks.get", { taskId: b });
    await dibs.tasks.complete({ taskId: a, sessionId: "first" });
    expect((await waiting).claim).toMatchObject({ taskId: b, sessionId: "second" });
  });

  test("is woken when a scheduled task comes due, and by a new task, a release, a retry and a resume", async () => {
    const dibs = await open({ path: tempFile() });
    await dibs.sessions.register({ id: "me" });
    const wait = () => dibs.tasks.claimNext({ sessionId: "me", waitMs: 60_000 });
    const finish = (taskId: string) => dibs.tasks.complete({ taskId, sessionId: "me" });

    const scheduled = await dibs.tasks.create({ prompt: "soon", notBefore: Date.now() + 150 });
    expect((await wait()).claim?.taskId).toBe(scheduled.task.id);
    await finish(scheduled.task.id);

    const forNew = wait();
    const { task } = await dibs.tasks.create({ prompt: "new" });
    expect((await forNew).claim?.taskId).toBe(task.id);
    await dibs.tasks.fail({ taskId: task.id, sessionId: "me", error: "no", retryable: false });
    const forRetry = wait();
    await dibs.tasks.retry({ taskId: task.id });
    expect((await forRetry).claim?.taskId).toBe(task.id);
    await finish(task.id);

    const held = await dibs.tasks.create({ prompt: "held" });
    await dibs.tasks.claim({ taskId: held.task.id, sessionId: "you", register: true });
    const forRelease = wait();
    await dibs.tasks.release({ taskId: held.task.id, sessionId: "you" });
    expect((await forRelease).claim?.taskId).toBe(held.task.id);
    await finish(held.task.id);

    await dibs.projects.pause();
    const paused = await dibs.tasks.create({ prompt: "paused" });
    const forResume = wait();
    await dibs.projects.resume();
    expect((await forResume).claim?.taskId).toBe(paused.task.id);
  });

  test("gets what a lease leaves behind that began after the wait did", async () => {
    const { dibs, a } = await blockedPair();
    await dibs.projects.update({ settings: { claim: { minTtlMs: 1 } } });
    // The lease that it has stays as long as it is; the one that comes with the answer is short.
    await dibs.tasks.claim({ taskId: a, sessionId: "first", ttlMs: 50, start: true });
    await dibs.tasks.ask({ taskId: a, sessionId: "first", question: "Which?" });
    const waiting = dibs.tasks.claimNext({ sessionId: "second", waitMs: 60_000 });
    // Answers after the wait was asked for show that it is under way.
    for (let i = 0; i < 5; i++) await dibs.tasks.cancel({ taskId: "none" }).catch(() => {});
    await dibs.tasks.respond({ taskId: a, response: "this" });
    expect((await waiting).claim).toMatchObject({ taskId: a, sessionId: "second", epoch: 2 });
  });

  test("answers with no claim at its end", async () => {
    const { dibs } = await blockedPair();
    const before = performance.now();
    const answer = await dibs.tasks.claimNext({ sessionId: "second", waitMs: 50 });
    expect(answer).toMatchObject({ success: true, claim: null, task: null, resumed: false });
    expect(answer).toHaveProperty("why.message", "Nothing to claim: 1 claimed, 1 blocked. Run: dibs list");
    expect(performance.now() - before).toBeGreaterThanOrEqual(49);
  });

  test("ends by its signal without a claim", async () => {
    const { dibs, a } = await blockedPair();
    const abort = new AbortController();
    const waiting = dibs.tasks.claimNext({ sessionId: "second", waitMs: 60_000 }, { signal: abort.signal });
    abort.abort();
    expect((await waiting).claim).toBeNull();
    expect((await dibs.tasks.complete({ taskId: a, sessionId: "first" })).unblockedCount).toBe(1);
    expect((await dibs.tasks.claimable()).tasks).toHaveLength(1);
  });

  test("hands each task to exactly one of many waiters", async () => {
    const dibs = await open({ path: tempFile() });
    const waiters = Array.from({ length: 10 }, (_, n) =>
      dibs.tasks.claimNext({ sessionId: `s${n}`, register: true, waitMs: 60_000 }),
    );
    await dibs.tasks.batch({ tasks: Array.from({ length: 10 }, () => ({ prompt: "x" })) });
    const ids = (await Promise.all(waiters)).map(({ claim }) => claim?.taskId);
    expect(new Set(ids).size).toBe(10);
  });
});

describe("close", () => {
  test("ends waits and streams, and later calls are refused", async () => {
    const { dibs } = await blockedPair();
    const waiting = dibs.tasks.claimNext({ sessionId: "second", waitMs: 60_000 }).catch((error) => error);
    const seen: DibsEvent[] = [];
    const following = (async () => {
      for await (const event of dibs.events.follow({ after: 0 })) seen.push(event);
    })();
    await until("the stream runs", () => seen.length > 0);
    await dibs.close();
    const end = await waiting;
    expect(end.claim === null || end.code === "STORE_CLOSED").toBe(true);
    await following;
    expect((await refusalOf(dibs.tasks.list())).code).toBe("STORE_CLOSED");
    await dibs.close();
  });
});

describe("following events", () => {
  test("sees exactly the log, written by two processes, and resumes after a number", async () => {
    const path = tempFile();
    const dibs = await open({ path });
    const writer = new Child("client.mjs", { path });
    const reader = new Child("client.mjs", { path });
    await Promise.all([writer.said("ready"), reader.said("ready")]);
    reader.send("follow", { after: 0 });
    for (let round = 0; round < 15; round++) {
      await Promise.all([
        dibs.tasks.create({ prompt: `here ${round}` }),
        writer.call("tasks.create", { prompt: `there ${round}` }),
      ]);
    }
    const { events: log } = await dibs.events.list({ limit: 1_000 });
    expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1));
    await until("all were seen", () => reader.of("event").length >= log.length);
    expect(reader.of("event").map(({ event }) => event)).toEqual(log);

    const resumed: DibsEvent[] = [];
    for await (const event of dibs.events.follow({ after: 17 })) {
      if (resumed.push(event) === log.length - 17) break;
    }
    expect(resumed).toEqual(log.slice(17));
  });

  test("without a number it begins with what comes next; filters hold", async () => {
    const dibs = await open({ path: tempFile() });
    await dibs.tasks.create({ prompt: "before" });
    const stream = dibs.events.follow({ types: ["task:created"] })[Symbol.asyncIterator]();
    const next = stream.next();
    // The stream has looked for its place once a read after it has answered.
    await dibs.tasks.list();
    const { task } = await dibs.tasks.create({ prompt: "after" });
    expect((await next).value).toMatchObject({ type: "task:created", taskId: task.id });
    await stream.return?.(undefined);
  });
});

describe("an idempotency key", () => {
  test("acts once, across processes, and refuses another request", async () => {
    const path = tempFile();
    const dibs = await open({ path });
    const other = new Child("client.mjs", { path });
    await other.said("ready");
    const key = { idempotencyKey: "once" };
    const [first, again] = await Promise.all([
      dibs.tasks.create({ prompt: "x" }, key),
      other.call("tasks.create", { prompt: "x" }, key),
    ]);
    expect(again).toEqual(first);
    expect(await dibs.tasks.create({ prompt: "x" }, key)).toEqual(first);
    expect((await dibs.tasks.list()).tasks).toHaveLength(1);
    for (const refused of [
      dibs.tasks.create({ prompt: "y" }, key),
      dibs.tasks.batch({ tasks: [{ prompt: "x" }] }, key),
      other.call("tasks.create", { prompt: "y" }, key),
    ]) {
      expect((await refusalOf(refused)).code).toBe("IDEMPOTENCY_MISMATCH");
    }
    expect((await dibs.tasks.list()).tasks).toHaveLength(1);
  });

  test("of a refused request is free again", async () => {
    const dibs = await open({ path: tempFile() });
    const key = { idempotencyKey: "again" };
    await refusalOf(dibs.tasks.create({ id: "mine", prompt: "x", dependsOn: ["later"] }, key));
    await dibs.tasks.create({ id: "later", prompt: "later" });
    const { task } = await dibs.tasks.create({ id: "mine", prompt: "x", dependsOn: ["later"] }, key);
    expect(task.id).toBe("mine");
  });

  test("of a claimNext that found nothing does not hide what comes later", async () => {
    const dibs = await open({ path: tempFile() });
    await dibs.sessions.register({ id: "me" });
    const claim = () =>
      dibs.tasks.claimNext({ sessionId: "me", waitMs: 60_000 }, { idempotencyKey: "my claim" });
    const waiting = claim();
    await dibs.tasks.list();
    const { task } = await dibs.tasks.create({ prompt: "x" });
    expect((await waiting).claim?.taskId).toBe(task.id);
    expect((await claim()).claim?.taskId).toBe(task.id);
  });
});

describe("a claim of a named task that waits", () => {
  const wait = { sessionId: "second", waitMs: 60_000 };

  test("gets it as soon as its dependency is completed, its holder releases it, or its project is resumed", async () => {
    const { dibs, a, b } = await blockedPair();
    const forDependency = dibs.tasks.claim({ taskId: b, ...wait });
    await dibs.tasks.complete({ taskId: a, sessionId: "first" });
    expect((await forDependency).claim).toMatchObject({ taskId: b, sessionId: "second" });

    const { task } = await dibs.tasks.create({ prompt: "c" });
    await dibs.tasks.claim({ taskId: task.id, sessionId: "first" });
    const forRelease = dibs.tasks.claim({ taskId: task.id, ...wait, sessionId: "third", register: true });
    await dibs.tasks.release({ taskId: task.id, sessionId: "first" });
    expect((await forRelease).claim).toMatchObject({ taskId: task.id, sessionId: "third" });

    const next = (await dibs.tasks.create({ prompt: "d" })).task.id;
    await dibs.projects.pause({});
    const forResume = dibs.tasks.claim({ taskId: next, ...wait, sessionId: "fourth", register: true });
    await dibs.projects.resume({});
    expect((await forResume).claim).toMatchObject({ taskId: next });
  });

  test("gets it when the lease of its holder ends", async () => {
    const { dibs, a } = await blockedPair();
    await dibs.tasks.release({ taskId: a, sessionId: "first" });
    await dibs.projects.update({ settings: { claim: { minTtlMs: 1_000, defaultTtlMs: 1_000 } } });
    await dibs.tasks.claim({ taskId: a, sessionId: "first", ttlMs: 1_000, start: true });
    expect((await dibs.tasks.claim({ taskId: a, ...wait })).claim).toMatchObject({ sessionId: "second" });
  });

  test("is refused at once where only an edit can help", async () => {
    const { dibs } = await blockedPair();
    const { task } = await dibs.tasks.create({ prompt: "for another", assignee: "first" });
    expect(await refusalOf(dibs.tasks.claim({ taskId: task.id, ...wait }))).toMatchObject({
      code: "TASK_NOT_CLAIMABLE",
      details: { reasons: [{ code: "ASSIGNED_TO_OTHER" }] },
    });
  });

  test("is refused when its time is up, or when the caller ends the wait", async () => {
    const { dibs, a } = await blockedPair();
    const code = "TASK_ALREADY_CLAIMED";
    expect(await refusalOf(dibs.tasks.claim({ taskId: a, ...wait, waitMs: 10 }))).toMatchObject({ code });
    const stop = new AbortController();
    const waiting = refusalOf(dibs.tasks.claim({ taskId: a, ...wait }, { signal: stop.signal }));
    stop.abort();
    expect(await waiting).toMatchObject({ code });
  });
});
