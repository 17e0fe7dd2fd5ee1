// SIGSTOP: a process that stands still is alive, but its lease runs out, and its locks must not stop others from living.

import { readFileSync } from "node:fs";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, test } from "vitest";
import type { Dibs } from "../../src/index.js";
import { Child, checkStore, open, refusalOf, tempFile, until } from "./support.js";

const ttlMs = 300;

async function withShortLeases(path: string): Promise<Dibs> {
  const dibs = await open({ path });
  await dibs.projects.update({ settings: { claim: { minTtlMs: 1, defaultTtlMs: ttlMs } } });
  return dibs;
}

/** Another process that has claimed the task and is stopped. */
async function stoppedHolder(path: string, taskId: string) {
  const child = new Child("client.mjs", { path });
  const { pid } = await child.said("ready");
  await child.call("sessions.register", { id: "sleeper", pid });
  const { claim } = await child.call("tasks.claim", { taskId, sessionId: "sleeper", start: true });
  await stop(child, path);
  return { child, by: { taskId, sessionId: "sleeper", epoch: claim.epoch as number } };
}

/** Stopped between two transactions: one that is stopped inside keeps the lock, and is a story of its own. */
async function stop(child: Child, path?: string): Promise<void> {
  const state = () => readFileSync(`/proc/${child.pid}/stat`, "utf8").replace(/^.*\) /, "")[0];
  for (;;) {
    child.signal("SIGSTOP");
    await until("the process is stopped", () => state() === "T");
    if (path === undefined || isUnlocked(path)) return;
    child.signal("SIGCONT");
    await until("the process goes on", () => state() !== "T");
  }
}

function isUnlocked(path: string): boolean {
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    db.exec("BEGIN IMMEDIATE; ROLLBACK");
    return true;
  } catch {
    return false;
  } finally {
    db.close();
  }
}

describe("a process stopped for longer than its lease", () => {
  test("is refused with CLAIM_EXPIRED while nobody else has claimed; what it brings is kept", async () => {
    const path = tempFile();
    const dibs = await withShortLeases(path);
    const { id: taskId } = (await dibs.tasks.create({ prompt: "work" })).task;
    const { child, by } = await stoppedHolder(path, taskId);
    const claimNow = async () => (await dibs.tasks.get({ taskId })).task.claim;
    const isOver = async () => ((await claimNow())?.healthStatus ?? "expired") === "expired";
    await until("the lease is over", isOver);

    child.signal("SIGCONT");
    for (const operation of ["tasks.heartbeat", "tasks.progress", "tasks.start"]) {
      expect((await refusalOf(child.call(operation, by))).code).toBe("CLAIM_EXPIRED");
    }
    const late = await refusalOf(child.call("tasks.complete", { ...by, result: "too late" }));
    expect(late.code).toBe("CLAIM_EXPIRED");

    const { attempts } = await dibs.tasks.attempts({ taskId });
    expect(attempts).toHaveLength(1);
    expect(attempts[0]?.lateResult).toMatchObject({ result: { output: "too late" } });
    expect((await dibs.tasks.get({ taskId })).task).toMatchObject({ state: "queued", result: null });
    // It was alive all the time: expired, not orphaned.
    const types = (await dibs.tasks.events({ taskId })).events.map(({ type }) => type);
    expect(types).toContain("task:claim-expired");
    expect(types).not.toContain("task:claim-orphaned");
    await checkStore(path);
  });

  test("is refused with NOT_CLAIM_OWNER when somebody else took the task, and changes nothing", async () => {
    const path = tempFile();
    const dibs = await withShortLeases(path);
    const { id: taskId } = (await dibs.tasks.create({ prompt: "work" })).task;
    const { child, by } = await stoppedHolder(path, taskId);
    await dibs.sessions.register({ id: "other" });
    const { claim } = await dibs.tasks.claimNext({ sessionId: "other", waitMs: 60_000, ttlMs: 7_200_000 });
    expect(claim).toMatchObject({ taskId, epoch: by.epoch + 1 });

    child.signal("SIGCONT");
    const late = await refusalOf(child.call("tasks.complete", { ...by, result: "too late" }));
    expect(late.code).toBe("NOT_CLAIM_OWNER");
    for (const operation of ["tasks.heartbeat", "tasks.progress", "tasks.release"]) {
      expect((await refusalOf(child.call(operation, by))).code).toBe("NOT_CLAIM_OWNER");
    }
    expect((await dibs.tasks.get({ taskId })).task).toMatchObject({ claim: { sessionId: "other" } });
    const { epoch } = claim!;
    const { task } = await dibs.tasks.complete({ taskId, sessionId: "other", epoch, result: "in time" });
    expect(task.result?.output).toBe("in time");
    const { attempts } = await dibs.tasks.attempts({ taskId });
    expect(attempts.map((each) => each.lateResult?.result?.output ?? null)).toEqual([null, "too late"]);
    await checkStore(path);
  });

  test("its worker's handler is told when it wakes up", async () => {
    const path = tempFile();
    const dibs = await withShortLeases(path);
    const { id: taskId } = (await dibs.tasks.create({ prompt: "work" })).task;
    const child = new Child("client.mjs", { path });
    await child.said("ready");
    child.send("work", { options: { ttlMs, heartbeatMs: 20 } });
    await child.said("running");
    await stop(child, path);
    await dibs.sessions.register({ id: "other" });
    const { claim } = await dibs.tasks.claimNext({ sessionId: "other", waitMs: 60_000, ttlMs: 7_200_000 });
    expect(claim?.taskId).toBe(taskId);
    child.signal("SIGCONT");
    await child.said("lost");
    await dibs.tasks.complete({ taskId, sessionId: "other", result: "by the other" });
    await checkStore(path);
  });
});

describe("a process stopped inside a write transaction", () => {
  /** Counts turns of the event loop that timers get, until there are enough. */
  async function ticks(count: number): Promise<void> {
    for (let tick = 0; tick < count; tick++) await new Promise((resolve) => setTimeout(resolve, 1));
  }

  test.each(["continued", "killed"])("does not freeze others; when it is %s, they go on", async (end) => {
    const path = tempFile();
    const dibs = await open({ path });
    const before = await dibs.tasks.create({ prompt: "before" });
    const locker = new Child("locker.mjs", { path });
    await locker.said("locked");
    await stop(locker);

    let isSettled = false;
    const blocked = dibs.tasks.create({ prompt: "blocked" }).finally(() => {
      isSettled = true;
    });
    const opening = open({ path });
    await ticks(100);
    // A frozen loop would have let no timer through before the commit gave up.
    expect(isSettled).toBe(false);
    expect((await dibs.tasks.list()).tasks.map(({ id }) => id)).toEqual([before.task.id]);

    if (end === "killed") await locker.kill();
    else {
      locker.signal("SIGCONT");
      locker.send("finish");
      await locker.said("unlocked");
    }
    const { task } = await blocked;
    const second = await opening;
    expect((await second.tasks.list()).tasks.map(({ id }) => id)).toEqual([before.task.id, task.id]);
    await checkStore(path);
  });

  test("does not freeze a process of its own that waits and follows", async () => {
    const path = tempFile();
    const dibs = await open({ path });
    await dibs.tasks.create({ prompt: "work" });
    const locker = new Child("locker.mjs", { path });
    await locker.said("locked");
    await stop(locker);
    const seen: string[] = [];
    const stopFollowing = new AbortController();
    const following = (async () => {
      for await (const event of dibs.events.follow({ after: 0, signal: stopFollowing.signal })) {
        seen.push(event.type);
      }
    })();
    const claiming = dibs.tasks.claimNext({ sessionId: "me", register: true, waitMs: 60_000 });
    await ticks(100);
    expect(seen).toEqual(["task:created", "task:queued"]);
    await locker.kill();
    expect((await claiming).claim).not.toBeNull();
    await until("the claim was followed", () => seen.includes("task:claimed"));
    stopFollowing.abort();
    await following;
  });
});
