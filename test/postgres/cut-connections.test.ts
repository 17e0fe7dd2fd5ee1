// Connections that are cut at the worst moments. What was acknowledged is there, once; what was tried again is there once, too.

import { describe, expect, test } from "vitest";
import type { Everything } from "../../src/core/invariants.js";
import type { Dibs } from "../../src/index.js";
import { afterwards, open, refusalOf, until } from "../faults/support.js";
import { testDatabase } from "./database.js";
import { isDone, isQuery, type Link, ProxyServer, type Rules } from "./proxy.js";
import { connectSql } from "./sql.js";
import { seeded, stored } from "./support.js";

const database = await testDatabase();

async function openBehindProxy() {
  await database.empty();
  const proxy = await ProxyServer.before(database.url);
  afterwards(() => proxy.close());
  // The fewest connections: one that were lost for good would be missed.
  const dibs = await open({ url: `${proxy.url}?pool=2` });
  const { session } = await dibs.sessions.register({ capacity: 1_000 });
  return { proxy, dibs, sessionId: session.id };
}

/** Applies to so many commits from now on. */
function atCommits(count: number, then: NonNullable<Rules["fromClient"]>): NonNullable<Rules["fromClient"]> {
  let left = count;
  return (message, link) => (isQuery(message, "COMMIT") && left-- > 0 ? then(message, link) : "pass");
}

const beforeCommit = (count = 1): Rules => ({ fromClient: atCommits(count, () => "cut") });

/** The server commits, the client never hears of it. */
function beforeAnswer(count = 1): Rules {
  const deaf = new Set<Link>();
  return {
    fromClient: atCommits(count, (_, link) => {
      deaf.add(link);
      return "pass";
    }),
    fromServer: (message, link) => {
      if (!deaf.has(link)) return "pass";
      return isDone(message, "COMMIT") ? "cut" : "drop";
    },
  };
}

/** A task's whole life; every step must be answered with success. */
async function work(dibs: Dibs, sessionId: string, name: string): Promise<string> {
  const { task } = await dibs.tasks.create({ prompt: name });
  const { claim } = await dibs.tasks.claim({ taskId: task.id, sessionId, start: true });
  await dibs.tasks.complete({
    taskId: task.id,
    sessionId,
    epoch: claim.epoch,
    result: { output: `did ${name}` },
  });
  return task.id;
}

/** Each of them was created, claimed and completed, once. */
function expectOnce({ tasks, claims, attempts, events }: Everything, names: string[]): void {
  expect(tasks.map(({ title }) => title).sort()).toEqual([...names].sort());
  expect(tasks.filter(({ state, epoch }) => state !== "completed" || epoch !== 1)).toEqual([]);
  expect(claims).toEqual([]);
  expect(attempts.map(({ result }) => result?.output).sort()).toEqual(
    names.map((name) => `did ${name}`).sort(),
  );
  for (const type of ["task:queued", "task:claimed", "task:started", "task:completed"]) {
    const ids = events.filter((event) => event.type === type).map(({ taskId }) => taskId);
    expect(ids.sort()).toEqual(tasks.map(({ id }) => id).sort());
  }
}

describe.each([
  ["before its commit reaches the server", beforeCommit],
  ["after the commit, before the answer arrives", beforeAnswer],
])("a connection cut %s", (_, rules) => {
  test("at any step of a task: the step is done once and answered", async () => {
    const { proxy, dibs, sessionId } = await openBehindProxy();
    proxy.rules = rules();
    const { task } = await dibs.tasks.create({ prompt: "a" });
    expect(proxy.cuts).toBe(1);
    proxy.rules = rules();
    const { claim } = await dibs.tasks.claim({ taskId: task.id, sessionId, start: true });
    expect(proxy.cuts).toBe(2);
    proxy.rules = rules();
    const by = { taskId: task.id, sessionId, epoch: claim.epoch };
    await dibs.tasks.complete({ ...by, result: { output: "did a" } });
    expect(proxy.cuts).toBe(3);
    expectOnce(await stored(database.url), ["a"]);
  });

  test("under a whole group of jobs: each is done once, and refusals stay refusals", async () => {
    const { proxy, dibs, sessionId } = await openBehindProxy();
    proxy.rules = rules();
    const names = Array.from({ length: 20 }, (_, n) => `task ${n}`);
    const missing = dibs.tasks.claim({ taskId: "nothing", sessionId }).catch((error) => error);
    await Promise.all(names.map((name) => work(dibs, sessionId, name)));
    expect(await missing).toMatchObject({ code: "TASK_NOT_FOUND" });
    expect(proxy.cuts).toBe(1);
    expectOnce(await stored(database.url), names);
  });

  test("commit after commit: each job is done once", async () => {
    const { proxy, dibs, sessionId } = await openBehindProxy();
    proxy.rules = rules(6);
    for (const name of ["a", "b", "c"]) await work(dibs, sessionId, name);
    expect(proxy.cuts).toBe(6);
    expectOnce(await stored(database.url), ["a", "b", "c"]);
  });
});

describe("a commit that arrives long after its client was cut off", () => {
  test("is waited for, and not done a second time", async () => {
    const { proxy, dibs, sessionId } = await openBehindProxy();
    let late: Link | null = null;
    let isSent = false;
    proxy.rules = {
      fromClient: (message, link) => {
        if (!late && isQuery(message, "COMMIT")) {
          late = link;
          link.client.destroy();
          return "drop";
        }
        // Somebody asks for the org's lock, which the late transaction still holds.
        if (late && !isSent && link !== late && message.includes("dibs org ")) {
          isSent = true;
          const commit = Buffer.from("Q\0\0\0\u000bCOMMIT\0", "latin1");
          setTimeout(() => late!.server.write(commit), 30);
        }
        return "pass";
      },
      keepsServer: true,
    };
    await work(dibs, sessionId, "a");
    expect(isSent).toBe(true);
    expectOnce(await stored(database.url), ["a"]);
  });
});

describe("a commit that was cut off, and whose number another server has used since", () => {
  test("is carried out again", async () => {
    const { proxy, dibs, sessionId } = await openBehindProxy();
    const other = await open({ url: database.url });
    await work(dibs, sessionId, "a");
    let using: Promise<unknown> | null = null;
    let isUsed = false;
    proxy.rules.fromClient = (message) => {
      if (!using && isQuery(message, "COMMIT")) {
        using = other.tasks.create({ prompt: "by the other" }).then(() => {
          isUsed = true;
        });
        return "cut";
      }
      return using && !isUsed ? "cut" : "pass";
    };
    const { id: taskId } = (await dibs.tasks.create({ prompt: "by this one" })).task;
    await using;
    expect((await dibs.tasks.get({ taskId })).task.title).toBe("by this one");
    const { tasks } = await stored(database.url);
    expect(tasks.map(({ title }) => title).sort()).toEqual(["a", "by the other", "by this one"]);
  });
});

describe("a commit of which nobody can tell what became of it", () => {
  test("fails, and nothing of it goes along with the next one", async () => {
    const { proxy, dibs, sessionId } = await openBehindProxy();
    const { id: taskId } = (await dibs.tasks.create({ prompt: "work" })).task;
    const { epoch } = (await dibs.tasks.claim({ taskId, sessionId })).claim;
    const by = { taskId, sessionId, epoch };
    let cut: Link | null = null;
    proxy.rules.fromClient = atCommits(1, (_, link) => {
      cut = link;
      return "drop";
    });
    const failing = refusalOf(dibs.tasks.progress({ ...by, note: "lost" }));
    await until("it commits", () => cut !== null);
    // Whoever asks what became of it waits for the org's lock, in vain.
    const locker = connectSql(database.url);
    afterwards(() => locker.end());
    const locked = locker`SELECT pg_advisory_lock(hashtextextended('dibs org default', 0))`;
    const waiting = () => database.admin`SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event = 'advisory'`;
    await until("the lock is asked for", async () => (await waiting()).length === 1);
    cut!.cut();
    await locked;
    await until("the store waits", async () => (await waiting()).length === 1);
    await database.admin`SELECT pg_cancel_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event = 'advisory'`;
    const refused = await failing;
    expect(refused.code).toBe("STORE_UNAVAILABLE");
    expect(refused.message).toContain("could not be found out");
    await locker.end();

    await dibs.tasks.progress({ ...by, note: "kept" });
    const { events } = await stored(database.url);
    const notes = events.filter(({ type }) => type === "task:progress").map(({ data }) => data.note);
    expect(notes).toEqual(["kept"]);
  });
});

describe("connections cut at random bytes", () => {
  test("everything acknowledged is there once, and nobody has to handle an error", async () => {
    const random = seeded("cut-connections.test.ts");
    const { proxy, dibs, sessionId } = await openBehindProxy();
    // Some are cut while they are made, some in their first transaction, most in a later one.
    const some = () => Math.floor(random() < 0.2 ? random() * 20_000 : 20_000 + random() * 60_000);
    proxy.rules.bytesMax = () => ({ toServer: some(), toClient: some() });
    proxy.cutAll();
    const names: string[] = [];
    const worker = async (who: number) => {
      for (let n = 0; n < 25; n++) {
        const name = `task ${who}/${n}`;
        await work(dibs, sessionId, name);
        names.push(name);
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, who) => worker(who)));
    expect(proxy.cuts).toBeGreaterThan(5);
    proxy.rules = {};
    expectOnce(await stored(database.url), names);
  });
});
