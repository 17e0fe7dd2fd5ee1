// When a command must end: cancelled, lost, too late, stopped. And when it must not: while a human thinks.

import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Dibs, DibsError } from "../../src/index.js";
import { aborted } from "../support.js";
import { gone, isRunning, type Stage, stage, until } from "./support.js";

/** How long a lease or an attempt lasts whose end is waited for: a machine that stands still for a while does not end it early. */
const lastsMs = 10_000;

/** Leases of seconds, for runners that must notice things by themselves. */
const short = {
  claim: { minTtlMs: 500, defaultTtlMs: 60_000, heartbeatIntervalMs: 60_000, orphanThresholdMs: 120_000 },
};

const byOf = (env: Record<string, string>) => ({
  taskId: env.DIBS_TASK!,
  sessionId: env.DIBS_SESSION!,
  epoch: Number(env.DIBS_EPOCH),
});

describe("a command is ended", () => {
  test("when its task is cancelled, with its whole group, however stubborn", async () => {
    const here = await stage(short);
    const task = await here.add("cancel me");
    const runner = here.work({
      once: true,
      command: here.command({ wait: true, stubborn: true, grandchild: true }),
      timings: { heartbeatMs: 600_000 },
    });
    const { pid, grandchild } = await here.seen(task.id);
    expect(isRunning(grandchild!)).toBe(true);
    await here.dibs.tasks.cancel({ taskId: task.id });
    await gone(pid);
    await gone(grandchild!);
    expect(await runner.done).toMatchObject({ lost: 1 });
    expect((await here.task(task.id)).state).toBe("cancelled");
    expect(here.ends[0]?.reason).toContain("cancelled");
  });

  test("when somebody takes the task away", async () => {
    const here = await stage(short);
    const task = await here.add("take me");
    const runner = here.work({
      once: true,
      command: here.command({ wait: true }),
      timings: { heartbeatMs: 600_000 },
    });
    const { pid } = await here.seen(task.id);
    await here.dibs.tasks.release({ taskId: task.id, force: true, reason: "needed elsewhere" });
    await gone(pid);
    expect(await runner.done).toMatchObject({ lost: 1 });
    expect((await here.task(task.id)).state).toBe("queued");
  });

  test("when a heartbeat is refused, also if no event came", async () => {
    const here = await stage(short);
    const task = await here.add("lose me");
    const runner = here.work({
      dibs: deaf(here.dibs),
      once: true,
      command: here.command({ wait: true }),
      timings: { heartbeatMs: 50 },
    });
    const { pid } = await here.seen(task.id);
    await here.dibs.tasks.cancel({ taskId: task.id });
    await gone(pid);
    expect(await runner.done).toMatchObject({ lost: 1 });
  });

  test("when what it prints is refused, also if nothing else tells", async () => {
    const here = await stage(short);
    const task = await here.add("talk on");
    const runner = here.work({
      dibs: deaf(here.dibs),
      once: true,
      command: [process.execPath, "-e", "setInterval(() => console.log(process.pid), 20)"],
      timings: { heartbeatMs: 600_000 },
    });
    await until("it talks", () => here.lines.length > 0);
    await here.dibs.tasks.cancel({ taskId: task.id });
    expect(await runner.done).toMatchObject({ lost: 1 });
    expect(isRunning(Number(here.lines[0]))).toBe(false);
    expect((await here.task(task.id)).state).toBe("cancelled");
  });

  test("when its time is over, by the runner's own clock", async () => {
    const here = await stage(short);
    const task = await here.add("too slow", { timeoutMs: lastsMs });
    // Nobody tells it: no event comes, and no heartbeat is due.
    const runner = here.work({
      dibs: deaf(here.dibs),
      once: true,
      command: here.command({ wait: true, stubborn: true }),
    });
    const { pid } = await here.seen(task.id);
    await gone(pid);
    expect(await runner.done).toMatchObject({ failed: 1, lost: 0 });
    const error = expect.stringContaining("timed out after 10s");
    expect(here.ends[0]).toMatchObject({ outcome: "failed", reason: error });
    expect(await here.task(task.id)).toMatchObject({ state: "queued", retryCount: 1, lostCount: 0, error });
    const { attempts } = await here.dibs.tasks.attempts({ taskId: task.id });
    expect(attempts[0]).toMatchObject({ releaseReason: "timeout", lateResult: { error } });
  });

  test("when its time is over, and the store is the first to notice", async () => {
    const here = await stage(short);
    const task = await here.add("too slow", { timeoutMs: lastsMs });
    // The runner's own clock is too slow to matter.
    const slow = {
      ...here.dibs,
      tasks: {
        ...here.dibs.tasks,
        claimNext: async (...given: Parameters<typeof here.dibs.tasks.claimNext>) => {
          const answer = await here.dibs.tasks.claimNext(...given);
          return answer.task ? { ...answer, task: { ...answer.task, timeoutMs: 600_000 } } : answer;
        },
      },
    };
    const runner = here.work({ dibs: slow, once: true, command: here.command({ wait: true }) });
    await here.seen(task.id);
    await until("the store has noticed", async () => {
      await here.dibs.claims.cleanup({});
      return (await here.task(task.id)).retryCount === 1;
    });
    expect(await runner.done).toMatchObject({ failed: 1, lost: 0 });
    expect(await here.task(task.id)).toMatchObject({ state: "queued", retryCount: 1, lostCount: 0 });
  });

  test("before the lease is over, when the store cannot be reached", async () => {
    const here = await stage(short);
    const task = await here.add("cut off");
    const line = { isCut: false };
    const runner = here.work({
      dibs: cuttable(here.dibs, line),
      once: true,
      ttlMs: lastsMs,
      command: here.command({ wait: true }),
      timings: { killGraceMs: 200 },
    });
    const { pid } = await here.seen(task.id);
    line.isCut = true;
    await gone(pid);
    // By the store's clock too.
    expect((await here.task(task.id)).claim?.healthStatus ?? "expired").not.toBe("healthy");
    await runner.done;
    line.isCut = false;
    expect(here.ends[0]).toMatchObject({ outcome: "lost", reason: expect.stringContaining("renewed") });
  });

  test("not as long as heartbeats go through: a lease of its own pace", async () => {
    const here = await stage(short);
    const task = await here.add("long");
    const runner = here.work({ once: true, ttlMs: lastsMs, command: here.command({ wait: true }) });
    await here.seen(task.id);
    // The project's interval is a minute.
    await until("it was renewed", async () => ((await here.task(task.id)).claim?.heartbeatCount ?? 0) > 2);
    here.go(task.id);
    expect(await runner.done).toMatchObject({ completed: 1 });
  });

  test("and whoever it left behind in its group, before its task is reported", async () => {
    const here = await stage(short);
    const task = await here.add("leave one behind");
    const left: boolean[] = [];
    const complete: Dibs["tasks"]["complete"] = async (...report) => {
      left.push(isRunning((await here.seen(task.id)).grandchild!));
      return here.dibs.tasks.complete(...report);
    };
    const runner = here.work({
      dibs: { ...here.dibs, tasks: { ...here.dibs.tasks, complete } },
      once: true,
      command: here.command({ grandchild: true, out: "done" }),
    });
    expect(await runner.done).toMatchObject({ completed: 1 });
    expect(left).toEqual([false]);
  });
});

test("a report that nobody can hear is given up when the lease is over", async () => {
  const here = await stage(short);
  const task = await here.add("done, but");
  const line = { isCut: false };
  const runner = here.work({
    dibs: cuttable(here.dibs, line),
    once: true,
    ttlMs: lastsMs,
    command: here.command({ wait: true }),
    timings: { killGraceMs: 100 },
  });
  await here.seen(task.id);
  line.isCut = true;
  here.go(task.id);
  expect(await runner.done).toMatchObject({ lost: 1 });
  expect(here.ends[0]).toMatchObject({ exitCode: 0 });
  await until("the store has taken it back", async () => (await here.task(task.id)).state === "queued");
});

describe("a report that nobody can hear, of a runner that is told to stop", () => {
  async function unheard(timings: Record<string, number>) {
    const here = await stage(short);
    const task = await here.add("done, but");
    const line = { isCut: false };
    const dibs = cuttable(here.dibs, line);
    const runner = here.work({ dibs, command: here.command({ wait: true }), timings });
    const { pid } = await here.seen(task.id);
    line.isCut = true;
    here.go(task.id);
    await gone(pid);
    await until("it was tried", () => here.troubles.some((trouble) => String(trouble).includes("cut")));
    return runner;
  }

  test("is given up at the end of the grace", async () => {
    const runner = await unheard({ stopGraceMs: 300 });
    await runner.stop();
    expect(await runner.done).toMatchObject({ lost: 1 });
  });

  test("is given up at once when it is told twice, however long the next try is away", async () => {
    const runner = await unheard({ stopGraceMs: 600_000, retryMs: 600_000 });
    void runner.stop();
    await runner.stop({ now: true });
    expect(await runner.done).toMatchObject({ lost: 1 });
  });
});

describe("a question", () => {
  test("stops the clocks: the command may wait longer than its lease and its time", async () => {
    const here = await stage(short);
    const task = await here.add("ask and wait", { timeoutMs: lastsMs });
    const runner = here.work({
      once: true,
      ttlMs: lastsMs,
      command: here.command({ wait: true }),
      timings: { heartbeatMs: 100 },
    });
    const { env, pid } = await here.seen(task.id);
    await here.dibs.tasks.ask({ ...byOf(env), question: "which?" });
    // Another command has as much time, starts later and asks nothing: when it has been ended, both times have passed.
    const other = await here.add("ask nothing", { timeoutMs: lastsMs });
    const control = here.work({ once: true, command: here.command({ wait: true }) });
    expect(await control.done).toMatchObject({ failed: 1 });
    expect(here.ends).toMatchObject([{ taskId: other.id, outcome: "failed" }]);
    expect(isRunning(pid)).toBe(true);
    await here.dibs.tasks.respond({ taskId: task.id, response: "that" });
    await until("the lease runs again", async () => (await here.task(task.id)).state === "running");
    here.go(task.id, { out: "with the answer" });
    expect(await runner.done).toMatchObject({ completed: 1 });
  });

  test("of a command that does not wait is left open, and the next attempt gets the answer", async () => {
    const here = await stage(short);
    const task = await here.add("ask and go");
    const runner = here.work({ once: true, command: here.command({ wait: true }) });
    const { env } = await here.seen(task.id);
    await here.dibs.tasks.ask({ ...byOf(env), question: "which?" });
    here.go(task.id);
    expect(await runner.done).toMatchObject({ awaiting: 1 });
    expect(await here.task(task.id)).toMatchObject({ state: "awaiting_response", claim: null });
    await here.dibs.tasks.respond({ taskId: task.id, response: "that one" });
    await here.work({ untilIdle: true, command: here.command() }).done;
    expect((await here.seen(task.id, 2)).env.DIBS_RESPONSE).toBe("that one");
    expect((await here.task(task.id)).state).toBe("completed");
  });
});

describe("a stop", () => {
  test("lets what runs finish, and claims nothing more", async () => {
    const here = await stage(short);
    const task = await here.add("finish me");
    const next = await here.add("not me", { priority: 1 });
    const stopping = new AbortController();
    const runner = here.work({
      signal: stopping.signal,
      command: here.command({ wait: true }),
      timings: { stopGraceMs: 60_000 },
    });
    await here.seen(task.id);
    stopping.abort();
    here.go(task.id, { out: "finished" });
    expect(await runner.done).toMatchObject({ completed: 1 });
    expect((await here.task(next.id)).state).toBe("queued");
  });

  test("ends and releases what does not finish within the grace", async () => {
    const here = await stage(short);
    const task = await here.add("never finishes");
    const runner = here.work({ command: here.command({ wait: true, grandchild: true }) });
    const { pid, grandchild } = await here.seen(task.id);
    await runner.stop();
    expect([pid, grandchild!].filter(isRunning)).toEqual([]);
    expect(await here.task(task.id)).toMatchObject({ state: "queued", lostCount: 0, retryCount: 0 });
    const { attempts } = await here.dibs.tasks.attempts({ taskId: task.id });
    expect(attempts[0]?.releaseReason).toBe("stopped");
  });

  test("asked for twice does not wait", async () => {
    const here = await stage(short);
    const task = await here.add("at once");
    const runner = here.work({
      command: here.command({ wait: true, stubborn: true }),
      timings: { stopGraceMs: 600_000, killGraceMs: 600_000 },
    });
    const { pid } = await here.seen(task.id);
    const first = runner.stop();
    await runner.stop({ now: true });
    await first;
    expect(isRunning(pid)).toBe(false);
    expect((await here.task(task.id)).state).toBe("queued");
  });

  test("does not wait for an answer that may come in days", async () => {
    const here = await stage(short);
    const task = await here.add("asked");
    const runner = here.work({
      command: here.command({ wait: true }),
      timings: { stopGraceMs: 600_000, heartbeatMs: 50 },
    });
    const { env } = await here.seen(task.id);
    await here.dibs.tasks.ask({ ...byOf(env), question: "which?" });
    // Stopping again and again is harmless: sooner or later the runner knows of the question.
    const again = setInterval(() => void runner.stop().catch(() => undefined), 20);
    await runner.done.finally(() => clearInterval(again));
    expect(await here.task(task.id)).toMatchObject({ state: "awaiting_response", claim: null });
  });

  test("while nothing runs leaves no process behind", async () => {
    const here = await stage(short);
    const runner = here.work({ concurrency: 2 });
    await until("both wait", async () => (await here.dibs.sessions.list({})).sessions.length === 2);
    await runner.stop();
    expect(await watchdogsOf(here)).toEqual([]);
  });
});

/** Processes that were started with this test's watchdog. */
async function watchdogsOf(here: Stage): Promise<string[]> {
  const { readdirSync, readFileSync } = await import("node:fs");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(join("/proc", pid, "cmdline"), "utf8").includes(here.watchdog);
      } catch {
        return false;
      }
    });
}

/** A client that hears no events. */
function deaf(dibs: Dibs): Dibs {
  return {
    ...dibs,
    events: {
      ...dibs.events,
      follow: async function* ({ signal } = {}) {
        await aborted(signal!);
        yield* [];
      },
    },
  };
}

/** A client whose line can be cut. */
function cuttable(dibs: Dibs, line: { isCut: boolean }): Dibs {
  const groups = Object.entries(deaf(dibs)).map(([group, methods]) => {
    if (typeof methods !== "object") return [group, methods];
    const cut = Object.entries(methods).map(([name, method]) => [
      name,
      name === "follow"
        ? method
        : async (...args: unknown[]) => {
            if (line.isCut) throw new DibsError("STORE_UNAVAILABLE", "the line is cut");
            return (method as (...args: unknown[]) => unknown)(...args);
          },
    ]);
    return [group, Object.fromEntries(cut)];
  });
  return Object.fromEntries(groups);
}
