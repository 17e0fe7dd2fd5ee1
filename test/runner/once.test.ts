// One command for one prompt or task, under a lock: beside a busy one, not at all, or later.

import { describe, expect, test } from "vitest";
import { DibsError } from "../../src/index.js";
import { type OnceOptions, runOnce } from "../../src/runner/index.js";
import { isRunning, machine, type Stage, stage, until } from "./support.js";

const once = (here: Stage, options: Partial<OnceOptions>) =>
  runOnce({ ...here.common, command: here.command({ out: "done" }), ...options });

/** Held by another process: the one that runs this test's own. */
const hold = (here: Stage, name: string) =>
  here.dibs.locks.acquire({ name, pid: process.ppid, host: machine.hostId });

describe("a run", () => {
  test("makes a task of a prompt, and reports it", async () => {
    const here = await stage();
    const ran = await once(here, { prompt: "say it", title: "a title" });
    expect(ran).toMatchObject({ type: "ran", lock: null, end: { outcome: "completed", exitCode: 0 } });
    expect(await here.task(ran.taskId)).toMatchObject({
      state: "completed",
      title: "a title",
      assignee: null,
      result: { output: "done" },
    });
    expect(Buffer.from((await here.seen(ran.taskId)).stdin, "base64").toString()).toContain("\nsay it\n");
    expect((await here.dibs.sessions.list({})).sessions).toEqual([]);
  });

  test("is tried once", async () => {
    const here = await stage();
    const ran = await once(here, { prompt: "fail", command: here.command({ exit: 7 }) });
    expect(ran).toMatchObject({ end: { outcome: "failed", exitCode: 7 } });
    expect((await here.task(ran.taskId)).state).toBe("failed");
  });

  test("takes a task that exists, and no other", async () => {
    const here = await stage();
    await here.add("urgent", { priority: 100 });
    const task = await here.add("this one");
    expect(await once(here, { taskId: task.id })).toMatchObject({ type: "ran", taskId: task.id });
    expect((await here.task(task.id)).state).toBe("completed");
    await expect(once(here, { taskId: task.id })).rejects.toMatchObject({ code: "TASK_NOT_CLAIMABLE" });
  });

  test("of a command that cannot be started leaves nothing in the queue", async () => {
    const here = await stage();
    await expect(once(here, { prompt: "never", command: ["/no/such/agent"] })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
    expect((await here.dibs.tasks.list({})).tasks).toMatchObject([{ state: "failed", retryCount: 0 }]);
  });

  test("needs a prompt or a task", async () => {
    const here = await stage();
    await expect(once(here, {})).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
    await expect(once(here, { prompt: "a", taskId: "0001" })).rejects.toBeInstanceOf(DibsError);
  });
});

describe("a lock", () => {
  test("is held while the command runs, and free afterwards", async () => {
    const here = await stage();
    const running = once(here, {
      prompt: "locked",
      lock: { name: "agent" },
      command: here.command({ wait: true }),
    });
    const { env } = await here.seen("0001");
    expect(env.DIBS_SESSION).toMatch(/^run-/); // Whoever is called like the lock keeps what it holds.
    const { lock } = await here.dibs.locks.get({ name: "agent" });
    expect(lock).toMatchObject({ pid: process.pid, host: machine.hostId, holderAlive: true });
    expect(lock?.sessionId).toBe(env.DIBS_SESSION);
    here.go("0001");
    expect(await running).toMatchObject({ type: "ran", lock: "agent" });
    expect((await here.dibs.locks.get({ name: "agent" })).lock).toBeNull();
  });

  test("that is busy: fork runs beside it under a name of its own", async () => {
    const here = await stage();
    await hold(here, "agent");
    const ran = await once(here, { prompt: "beside", lock: { name: "agent" }, sessionId: "agent" });
    expect(ran).toMatchObject({ type: "ran", end: { outcome: "completed" } });
    const name = ran.type === "ran" ? ran.lock : null;
    expect(name).toMatch(new RegExp(`^agent_fork_${process.pid}_\\d{10}$`));
    expect((await here.seen(ran.taskId)).env.DIBS_SESSION).toBe(name);
    expect((await here.dibs.locks.list({})).locks.map((lock) => lock.name)).toEqual(["agent"]);
  });

  test("that is busy: exit refuses, and makes no task", async () => {
    const here = await stage();
    await hold(here, "agent");
    await expect(
      once(here, { prompt: "no", lock: { name: "agent", onConflict: "exit" } }),
    ).rejects.toMatchObject({ code: "SESSION_BUSY" });
    expect((await here.dibs.tasks.list({})).tasks).toEqual([]);
  });

  test("that is busy: queue leaves a task for others, and runs nothing", async () => {
    const here = await stage();
    await hold(here, "agent");
    const queued = await once(here, { prompt: "later", lock: { name: "agent", onConflict: "queue" } });
    expect(queued).toMatchObject({ type: "queued", busy: { name: "agent" } });
    expect(await here.task(queued.taskId)).toMatchObject({
      state: "queued",
      prompt: "later",
      assignee: null,
    });
    expect(here.hasRun(queued.taskId)).toBe(false);
  });

  test("whose holder is dead is free", async () => {
    const here = await stage();
    await here.dibs.locks.acquire({
      name: "agent",
      pid: 4_000_000,
      host: machine.hostId,
      processStartedAt: "1",
    });
    expect(await once(here, { prompt: "free", lock: { name: "agent", onConflict: "exit" } })).toMatchObject({
      type: "ran",
      lock: "agent",
    });
  });

  test("is released also when the run is stopped, and its task goes back", async () => {
    const here = await stage();
    const stopping = new AbortController();
    const running = once(here, {
      prompt: "stop me",
      lock: { name: "agent" },
      command: here.command({ wait: true }),
      signal: stopping.signal,
    });
    const { pid } = await here.seen("0001");
    stopping.abort();
    expect(await running).toMatchObject({ type: "ran", end: { outcome: "released", reason: "stopped" } });
    expect(isRunning(pid)).toBe(false);
    await until("it is free", async () => (await here.dibs.locks.get({ name: "agent" })).lock === null);
    expect(await here.task("0001")).toMatchObject({ state: "queued", assignee: null });
  });
});
