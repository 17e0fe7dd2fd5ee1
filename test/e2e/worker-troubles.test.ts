// dibs.work when things go wrong around it: nothing is stranded, nothing hangs, nothing is lost in silence.

import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, test } from "vitest";
import { type Dibs, DibsError, type WorkHandler } from "../../src/index.js";
import { open, tempFile, until } from "../faults/support.js";
import { aborted } from "../support.js";

async function withTasks(count: number): Promise<{ dibs: Dibs; ids: string[] }> {
  const dibs = await open({ path: tempFile() });
  const { tasks } = await dibs.tasks.batch({
    tasks: Array.from({ length: count }, (_, n) => ({ prompt: `task ${n}` })),
  });
  return { dibs, ids: tasks.map(({ id }) => id) };
}

/** A promise, and what opens it. */
function gate(): [Promise<void>, () => void] {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return [opened, () => open()];
}

const look = async (dibs: Dibs, taskId: string) => (await dibs.tasks.get({ taskId })).task;

describe("a worker in trouble", () => {
  test("when one slot cannot go on, the others finish what they run, and then it says why", async () => {
    const { dibs, ids } = await withTasks(1);
    const [begun, begin] = gate();
    const [finished, finish] = gate();
    const handler = async () => {
      begin();
      await finished;
      return "finished";
    };
    const worker = dibs.work(handler, { concurrency: 2, ttlMs: 100_000 });
    const end = worker.done.catch((error: unknown) => error);
    await begun;
    // The idle slot asks again, with a length that is not allowed any more.
    await dibs.projects.update({ settings: { claim: { maxTtlMs: 90_000 } } });
    finish();
    expect(await end).toMatchObject({ code: "VALIDATION_FAILED" });
    expect(await look(dibs, ids[0]!)).toMatchObject({ state: "completed", lostCount: 0, epoch: 1 });
  });

  test("an attempt that tidies up after a cancellation does not cost the next one, and what it says late is kept", async () => {
    const { dibs, ids } = await withTasks(1);
    const [tidied, tidy] = gate();
    const [lost, lose] = gate();
    const begun: number[] = [];
    const handler: WorkHandler = async ({ claim, signal }) => {
      begun.push(claim.epoch);
      await aborted(signal);
      if (claim.epoch > 1) return lose();
      await tidied;
      return "half of it";
    };
    const worker = dibs.work(handler, { concurrency: 2 });
    await until("the first has begun", () => begun.length === 1);
    await dibs.tasks.cancel({ taskId: ids[0]! });
    await dibs.tasks.retry({ taskId: ids[0]! });
    await until("the second has begun", () => begun.length === 2);
    tidy();
    const attemptsOf = async () => (await dibs.tasks.attempts({ taskId: ids[0]! })).attempts;
    const first = async () => (await attemptsOf()).find(({ epoch }) => epoch === 1);
    await until(
      "the first is over",
      async () => (await first())?.lateResult?.result?.output === "half of it",
    );
    await dibs.tasks.cancel({ taskId: ids[0]! });
    await lost;
    await worker.stop();
    expect(await look(dibs, ids[0]!)).toMatchObject({ state: "cancelled", epoch: 2, lostCount: 0 });
    expect((await attemptsOf()).map(({ lateResult }) => lateResult?.result?.output ?? null)).toEqual([
      null,
      "half of it",
    ]);
  });

  test("a question asked while it stops does not keep it: the answer waits for the next holder", async () => {
    const { dibs, ids } = await withTasks(1);
    const [begun, begin] = gate();
    const [opened, open] = gate();
    const worker = dibs.work(async ({ ask }) => {
      begin();
      await opened;
      return ask("Still there?");
    });
    await begun;
    const stopped = worker.stop();
    open();
    await stopped;
    expect(await look(dibs, ids[0]!)).toMatchObject({ state: "awaiting_response", claim: null });
    await dibs.tasks.respond({ taskId: ids[0]!, response: "yes" });
    expect(await look(dibs, ids[0]!)).toMatchObject({
      state: "queued",
      response: "yes",
      responsePending: true,
    });
  });

  test("a second question at once is refused, and the first is answered", async () => {
    const { dibs, ids } = await withTasks(1);
    const worker = dibs.work(
      async ({ ask }) => {
        const first = ask("one?");
        const second = await ask("two?").catch((error: Error) => error.message);
        return `${await first}; ${second}`;
      },
      { untilEmpty: true },
    );
    await until("the question is open", async () => (await look(dibs, ids[0]!)).question !== null);
    await dibs.tasks.respond({ taskId: ids[0]!, response: "first" });
    await worker.done;
    expect((await look(dibs, ids[0]!)).result?.output).toContain("first; A question of this task is open");
  });

  test("an error text that no store can keep fails the attempt all the same", async () => {
    const { dibs, ids } = await withTasks(1);
    const worker = dibs.work(
      () => {
        throw new Error(`zero \u0000 and half a pair \ud83d`);
      },
      { untilEmpty: true },
    );
    await worker.done;
    const { state, error } = await look(dibs, ids[0]!);
    expect([state, error]).toEqual(["queued", expect.stringContaining("zero")]);
  });

  test("a handler that throws at once is held back, and goes on when it works again", async () => {
    const { dibs, ids } = await withTasks(10);
    await dibs.projects.update({ settings: { retry: { delayMs: 200 } } });
    let isBroken = true;
    let tries = 0;
    const held: number[] = [];
    const worker = dibs.work(
      () => {
        tries++;
        if (isBroken) throw new Error("no credit");
      },
      { concurrency: 2, onBreaker: ({ failures }) => void held.push(failures) },
    );
    await until("it is held back", () => held.length > 0);
    expect(tries).toBeLessThan(8);
    const inbox = async () => (await dibs.notifications.list({ unread: true })).notifications;
    expect(await inbox()).toMatchObject([{ type: "AGENT_FAILING" }]);
    isBroken = false;
    const states = () => Promise.all(ids.map(async (id) => (await look(dibs, id)).state));
    await until("all is done", async () => (await states()).every((state) => state === "completed"));
    await worker.stop();
    expect(held).toHaveLength(1);
    expect(await inbox()).toEqual([]);
  });

  test("whatever a handler returns is kept", async () => {
    const { dibs, ids } = await withTasks(3);
    const values: unknown[] = [5, { found: true }, [1, 2]];
    await dibs.work(() => values.shift() as string, { untilEmpty: true }).done;
    const outputs = await Promise.all(ids.map(async (id) => (await look(dibs, id)).result?.output));
    expect(outputs).toEqual(["5", '{"found":true}', "[1,2]"]);
  });

  test("without a handler, or for no tasks at once, it is refused at once", async () => {
    const { dibs } = await withTasks(1);
    expect(() => dibs.work(undefined as never)).toThrow(DibsError);
    expect(() => dibs.work(() => "", { concurrency: 0 })).toThrow(/concurrency/);
    expect((await dibs.tasks.inFlight()).summary.total).toBe(0);
  });
});

describe("the library, looked at twice", () => {
  test("a wait that finds nothing writes nothing, also while its session holds another task", async () => {
    const path = tempFile();
    const dibs = await open({ path });
    const watcher = await open({ path });
    await dibs.tasks.create({ prompt: "held" });
    await dibs.sessions.register({ id: "s", heartbeats: true, capacity: 2 });
    await dibs.tasks.claimNext({ sessionId: "s", start: true });
    const stop = new AbortController();
    const waiting = dibs.tasks.claimNext({ sessionId: "s", waitMs: 60_000 }, { signal: stop.signal });
    const db = new DatabaseSync(path, { readOnly: true });
    const version = () => Object.values(db.prepare("PRAGMA data_version").get() as object)[0];
    const versions = new Set([version()]);
    // What is shown is that nothing happens for a while: a slow machine sees less of it, and does not fail.
    for (let turn = 0; turn < 30; turn++) {
      await watcher.tasks.list();
      await new Promise((resolve) => setTimeout(resolve, 10));
      versions.add(version());
    }
    db.close();
    stop.abort();
    expect((await waiting).claim).toBeNull();
    // One for the wait's own first try, if it was late; a wait that wakes itself makes hundreds.
    expect(versions.size).toBeLessThanOrEqual(2);
  });

  test("a session that a claim registers dies with its process", async () => {
    const { dibs } = await withTasks(1);
    await dibs.tasks.claimNext({ sessionId: "s", register: true });
    expect((await dibs.sessions.get({ sessionId: "s" })).session).toMatchObject({ pid: process.pid });
  });

  test("following a project that does not exist is refused", async () => {
    const { dibs } = await withTasks(1);
    await expect(dibs.events.follow({ project: "nowhere" }).next()).rejects.toMatchObject({
      code: "PROJECT_NOT_FOUND",
    });
  });

  test("a session that comes back after its silence has lost all it held, however much", async () => {
    let now = Date.UTC(2026, 0, 1);
    const dibs = await open({ memory: true, clock: { now: () => now } });
    await dibs.sessions.register({ id: "s", heartbeats: true, capacity: 200 });
    await dibs.tasks.batch({ tasks: Array.from({ length: 150 }, (_, n) => ({ prompt: `task ${n}` })) });
    for (let n = 0; n < 150; n++) await dibs.tasks.claimNext({ sessionId: "s", start: true });
    now += 600_000;
    await dibs.sessions.heartbeat({ sessionId: "s" });
    expect((await dibs.tasks.inFlight()).summary.total).toBe(0);
  });

  test("a cleanup ends every lease that is over, and a list shows none of them as running", async () => {
    let now = Date.UTC(2026, 0, 1);
    const dibs = await open({ memory: true, clock: { now: () => now } });
    await dibs.sessions.register({ id: "s", capacity: 1000 });
    await dibs.sessions.register({ id: "t", capacity: 1000 });
    await dibs.tasks.batch({
      tasks: Array.from({ length: 1200 }, (_, n) => ({ id: `t-${n}`, prompt: "x" })),
    });
    await Promise.all(
      Array.from({ length: 1200 }, (_, n) =>
        dibs.tasks.claim({ taskId: `t-${n}`, sessionId: n % 2 ? "s" : "t", start: true }),
      ),
    );
    now += 1_800_000;
    expect((await dibs.tasks.list({ state: "running" })).tasks).toEqual([]);
    expect((await dibs.claims.stats()).expired).toBe(0);
  });
});
