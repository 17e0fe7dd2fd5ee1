// kill -9 of a runner, and what becomes of its command: it does not outlive its claim, whoever has to see to that.

import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { randomFrom } from "../faults/support.js";
import { report } from "../proof/figures.js";
import { afterwards, gone, isRunning, machine, type RunnerProcess, stage, until } from "./support.js";

test("the watchdog ends the command when its runner is gone", async () => {
  const here = await stage();
  const task = await here.add("orphan");
  const command = here.command({ wait: true, stubborn: true, grandchild: true });
  const runner = here.workElsewhere({ command });
  const { pid, ppid, grandchild } = await here.seen(task.id);
  await runner.kill();
  for (const each of [pid, grandchild!, ppid]) await gone(each);
  expect(readdirSync(here.directory).filter((name) => name.startsWith("dibs-run-"))).toEqual([]);
});

test("a successor ends the survivor before it runs the task again", async () => {
  const here = await stage();
  const task = await here.add("survive");
  const runner = here.workElsewhere({
    command: here.command({ wait: true, stubborn: true, grandchild: true }),
  });
  const first = await here.seen(task.id);
  // The watchdog cannot do its part.
  const startedAt = machine.processStart(first.ppid);
  process.kill(first.ppid, "SIGSTOP");
  afterwards(() => machine.isAlive(first.ppid, startedAt) && process.kill(first.ppid, "SIGKILL"));
  await runner.kill();
  expect([first.pid, first.grandchild!].filter(isRunning)).toHaveLength(2);
  here.work({ once: true, command: here.command({ wait: true }) });
  const second = await here.seen(task.id, 2);
  expect([first.pid, first.grandchild!].filter(isRunning)).toEqual([]);
  expect(isRunning(second.pid)).toBe(true);
  here.go(task.id, { out: "by the successor" });
  expect((await here.becomes(task.id, "completed")).result?.output).toBe("by the successor");
  expect(String(here.troubles[0])).toContain("earlier attempt");
});

test("waiting for a survivor's end takes nothing off the time of the attempt", async () => {
  const here = await stage();
  const timeoutMs = 10_000;
  const task = await here.add("short", { timeoutMs });
  const { dibs } = here;
  // The runner is as slow as one that waits for a stubborn survivor.
  const attempts: typeof dibs.tasks.attempts = async (...given) => {
    const { claim } = await here.task(task.id);
    const since = Date.parse(claim!.claimedAt);
    await until("the time is over", () => Date.now() > since + 1.1 * timeoutMs);
    return dibs.tasks.attempts(...given);
  };
  const slow = { ...dibs, tasks: { ...dibs.tasks, attempts } };
  expect(await here.work({ dibs: slow, once: true, command: here.command() }).done).toMatchObject({
    completed: 1,
  });
  expect(await here.task(task.id)).toMatchObject({ state: "completed", lostCount: 0 });
});

test("also when the watchdog was killed together with the runner", async () => {
  const here = await stage();
  const task = await here.add("survive alone");
  const runner = here.workElsewhere({ command: here.command({ wait: true, stubborn: true }) });
  const first = await here.seen(task.id);
  process.kill(runner.pid, "SIGSTOP");
  process.kill(first.ppid, "SIGKILL");
  await runner.kill();
  expect(isRunning(first.pid)).toBe(true);
  here.work({ once: true, command: here.command() });
  await here.becomes(task.id, "completed");
  expect(isRunning(first.pid)).toBe(false);
});

test("metadata is no licence to kill: a process that is not the runner's is left alone", async () => {
  const here = await stage();
  const task = await here.add("forged");
  const innocent = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
    detached: true,
    stdio: "ignore",
  });
  afterwards(() => innocent.kill("SIGKILL"));
  const pid = innocent.pid!;
  await here.dibs.sessions.register({ id: "forger" });
  const record = { host: machine.hostId, pid, pgid: pid, processStartedAt: machine.processStart(pid) };
  await here.dibs.tasks.claim({ taskId: task.id, sessionId: "forger", metadata: { runner: record } });
  await here.dibs.tasks.release({ taskId: task.id, sessionId: "forger" });
  await here.work({ untilIdle: true }).done;
  expect((await here.task(task.id)).state).toBe("completed");
  expect(isRunning(pid)).toBe(true);
});

test("a runner that is told to stop finishes or releases, and is gone", async () => {
  const here = await stage();
  const task = await here.add("stop");
  const runner = here.workElsewhere({ command: here.command({ wait: true }) });
  const { pid } = await here.seen(task.id);
  runner.signal("SIGTERM");
  await runner.exited;
  expect(isRunning(pid)).toBe(false);
  expect(await here.task(task.id)).toMatchObject({ state: "queued", lostCount: 0 });
});

const taskCount = 40;
const runnerCount = 4;
const killsMax = 12;

test("four runners, killed at random: every task is done once, none is stranded, none is worked on by two", {
  timeout: 300_000,
}, async () => {
  const seed = Number(process.env.DIBS_SEED) || Math.floor(Math.random() * 2 ** 31);
  console.info(`survivors.test.ts: seed ${seed} (set DIBS_SEED to repeat)`);
  const random = randomFrom(seed);
  const here = await stage({ maxLost: 1000 });
  const ids: string[] = [];
  for (let n = 0; n < taskCount; n++) ids.push((await here.add(`task ${n}`)).id);
  const command = here.command({ exclusive: true, append: true, out: "done" });
  const start = () => here.workElsewhere({ command });
  const runners: RunnerProcess[] = Array.from({ length: runnerCount }, start);

  let kills = 0;
  const left = async () =>
    (await here.dibs.tasks.list({ limit: 100 })).tasks.filter((each) => each.state !== "completed");
  for (let open = await left(); open.length > 0; open = await left()) {
    // All through the run, at moments of its own.
    const isTime = taskCount - open.length >= (kills * taskCount) / (killsMax + 1);
    if (kills < killsMax && isTime && open.some((each) => each.state === "running")) {
      kills++;
      const at = Math.floor(random() * runners.length);
      await runners[at]!.kill();
      runners[at] = start();
    }
    await sleep(random() * 60);
  }
  for (const runner of runners) runner.signal("SIGTERM");
  await Promise.all(runners.map((runner) => runner.exited));

  expect(kills).toBeGreaterThan(0);
  const files = readdirSync(here.directory);
  expect(files.filter((name) => name.endsWith(".overlap"))).toEqual([]);
  for (const taskId of ids) {
    const { attempts } = await here.dibs.tasks.attempts({ taskId });
    expect(attempts.filter((each) => each.releaseReason === "completed")).toHaveLength(1);
    expect(attempts.filter((each) => each.releasedAt === null)).toEqual([]);
  }
  const worked = readFileSync(join(here.directory, "done.txt"), "utf8").trim().split("\n");
  expect(new Set(worked.map((line) => line.split(".")[0]))).toEqual(new Set(ids));
  expect((await here.dibs.tasks.inFlight({})).inFlight).toEqual([]);
  report("runners", { kills, "completed tasks": ids.length });
});
