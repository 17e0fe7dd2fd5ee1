// An agent that runs into a limit: real commands with the names and the messages of agents.

import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { defaultTimings } from "../../src/runner/options.js";
import { type Stage, stage, tempDir, until } from "./support.js";

interface Window {
  /** The program of the agent. */
  command: string[];
  /** Known once the agent was started. */
  resetAt(): number;
  /** How often it was started while the window was closed. */
  failures(): number;
  /** Their marks: the session, and the process. */
  failed(): string[];
}

/**
 * An agent named `claude` whose quota window is closed until a full second at least so long after its first start: however
 * late that is on a busy machine, the window is closed then.
 */
function closedWindow(ms: number, { hasTime = true } = {}): Window {
  const directory = tempDir();
  const reset = join(directory, "reset");
  const file = join(directory, "claude");
  writeFileSync(
    file,
    `#!${process.execPath}
const { linkSync, readFileSync, writeFileSync } = require("node:fs");
const own = ${JSON.stringify(reset)} + process.pid;
writeFileSync(own, String(Math.ceil((Date.now() + ${ms}) / 1_000) * 1_000));
try {
  linkSync(own, ${JSON.stringify(reset)});
} catch {}
const resetAt = Number(readFileSync(${JSON.stringify(reset)}, "utf8"));
if (Date.now() < resetAt) {
  writeFileSync(${JSON.stringify(directory)} + "/" + process.env.DIBS_SESSION + "." + process.pid + ".failed", "");
  console.log("Working on it");
  console.log("Claude AI usage limit reached" + (${hasTime} ? "|" + resetAt / 1_000 : ""));
  process.exit(1);
}
console.log("done");
`,
  );
  chmodSync(file, 0o755);
  const failed = () => readdirSync(directory).filter((name) => name.endsWith(".failed"));
  const resetAt = () => Number(readFileSync(reset, "utf8"));
  return { command: [file], resetAt, failed, failures: () => failed().length };
}

const attemptsOf = async ({ dibs }: Stage, taskId: string) =>
  (await dibs.tasks.attempts({ taskId, limit: 100 })).attempts;

/** When each hold that a limit has caused ends, by the events of the store. */
async function quotaHolds({ dibs }: Stage): Promise<number[]> {
  const { events } = await dibs.events.list({ project: "*", types: ["resource:updated"] });
  return events.flatMap(({ data: { source, until } }) =>
    source === "quota" ? [Date.parse(String(until))] : [],
  );
}

describe("without a resource", () => {
  test("the task goes back without a retry, and the runner claims again when the limit ends", async () => {
    const here = await stage();
    const task = await here.add("work");
    const { command, resetAt, failures } = closedWindow(5_000);
    const runner = here.work({ command, untilEmpty: true });
    expect(await runner.done).toMatchObject({ released: 1, completed: 1, failed: 0, lost: 0 });
    expect(failures()).toBe(1);
    const [first, second] = (await attemptsOf(here, task.id)).sort((a, b) => a.epoch - b.epoch);
    expect(first?.releaseReason).toMatch(/^limit: Claude AI usage limit reached/);
    expect(Date.parse(second!.claimedAt)).toBeGreaterThanOrEqual(resetAt() - 1);
    expect(await here.task(task.id)).toMatchObject({ state: "completed", retryCount: 0 });
    expect(here.ends[0]).toMatchObject({ outcome: "released", limit: { resetAt: resetAt() } });
  });

  test("other tasks are not tried meanwhile, and a stop does not wait", async () => {
    const here = await stage();
    for (let n = 0; n < 3; n++) await here.add(`work ${n}`);
    const { command, failures } = closedWindow(600_000);
    const runner = here.work({ command });
    await until("the limit was met", () => here.ends.length === 1);
    await runner.stop();
    expect(failures()).toBe(1);
    expect(await runner.done).toMatchObject({ released: 1, completed: 0, failed: 0 });
  });

  test("--until-idle ends: nothing can be claimed now", async () => {
    const here = await stage();
    await here.add("work");
    const { command } = closedWindow(600_000, { hasTime: false });
    expect(await here.work({ command, untilIdle: true }).done).toMatchObject({ released: 1, failed: 0 });
  });
});

describe("with a resource that the session uses", () => {
  test("many workers fail at most once each, burn no retries, and claim again when the window opens", async () => {
    const here = await stage();
    const uses = { "claude-max-1": 1 };
    await here.dibs.resources.set({ id: "claude-max-1" });
    const tasks = await Promise.all(Array.from({ length: 24 }, (_, n) => here.add(`work ${n}`)));
    const { command, resetAt, failed } = closedWindow(10_000);
    for (const sessionId of ["one", "two"]) here.work({ command, uses, concurrency: 8, sessionId });
    // Events stay, however late they are read; the hold itself ends with the window.
    await until("the window is seen to be closed", async () => (await quotaHolds(here)).length > 0);
    for (const task of tasks) {
      expect(await here.becomes(task.id, "completed")).toMatchObject({ retryCount: 0, lostCount: 0 });
    }
    const bySession = failed().map((name) => name.split(".")[0]);
    expect(new Set(bySession).size).toBe(bySession.length);
    const holds = await quotaHolds(here);
    for (const endsAt of holds) expect(Math.abs(endsAt - resetAt())).toBeLessThan(1_000);
    const endsAt = Math.max(...holds);
    const claimed = (await Promise.all(tasks.map(({ id }) => attemptsOf(here, id)))).flat();
    const after = claimed.map(({ claimedAt }) => Date.parse(claimedAt)).filter((at) => at >= endsAt);
    // By the store's clock, and far below the wait of a claim: the end of the hold woke it.
    expect(Math.min(...after) - endsAt).toBeLessThan(defaultTimings.claimWaitMs / 2);
    expect(here.ends.filter(({ outcome }) => outcome === "failed" || outcome === "lost")).toEqual([]);
  });

  test("--until-empty waits for the end of a hold, as for the end of a limit", async () => {
    const here = await stage();
    await here.dibs.resources.set({ id: "claude-max-1" });
    const task = await here.add("work");
    await here.dibs.resources.hold({ id: "claude-max-1", forMs: 2_000 });
    const { command } = closedWindow(-1_000);
    const { done } = here.work({ command, uses: { "claude-max-1": 1 }, untilEmpty: true });
    expect(await done).toMatchObject({ completed: 1 });
    expect(await here.task(task.id)).toMatchObject({ state: "completed" });
  });

  test("the limit of one account holds neither another one nor what the project uses", async () => {
    const here = await stage();
    for (const id of ["claude-max-1", "claude-max-2", "ci"]) await here.dibs.resources.set({ id });
    await here.dibs.projects.update({ settings: { uses: { ci: 1 } } });
    const task = await here.add("work");
    const { command } = closedWindow(600_000);
    here.work({ command, uses: { "claude-max-1": 1 }, sessionId: "one" });
    await until("the limit was met", () => here.ends.length === 1);
    const { resources } = await here.dibs.resources.list({});
    expect(resources.filter(({ state }) => state === "held").map(({ id }) => id)).toEqual(["claude-max-1"]);
    const open = closedWindow(-1_000).command;
    here.work({ command: open, uses: { "claude-max-2": 1 }, sessionId: "two" });
    expect(await here.becomes(task.id, "completed")).toMatchObject({ retryCount: 0 });
  });

  test("a leader can resume it before", async () => {
    const here = await stage();
    await here.dibs.resources.set({ id: "claude-max-1" });
    const task = await here.add("work");
    const { command, failures } = closedWindow(600_000);
    here.work({ command, uses: { "claude-max-1": 1 } });
    await until("the limit was met", () => here.ends.length === 1);
    expect(failures()).toBe(1);
    await here.dibs.resources.resume({ id: "claude-max-1" });
    await until("it is tried again", () => failures() === 2);
    expect(await here.task(task.id)).toMatchObject({ retryCount: 0 });
  });
});

test("what an agent reports as its cost is the attempt's", async () => {
  const here = await stage();
  const task = await here.add("work");
  const file = join(tempDir(), "claude");
  const result =
    '{"type":"result","is_error":false,"result":"ok","total_cost_usd":0.42,"usage":{"input_tokens":7}}';
  writeFileSync(file, `#!/bin/sh\necho '${result}'\n`);
  chmodSync(file, 0o755);
  await here.work({ command: [file, "--output-format", "json"], untilIdle: true }).done;
  const [attempt] = await attemptsOf(here, task.id);
  expect(attempt?.usage).toMatchObject({ usd: 0.42, inputTokens: 7, outputTokens: null });
});

test("a command of another name fails as before, unless its pattern is given", async () => {
  const here = await stage();
  const task = await here.add("work", { maxRetries: 0 });
  const { command: file } = closedWindow(600_000);
  await here.work({ command: [process.execPath, ...file], untilIdle: true }).done;
  expect(await here.task(task.id)).toMatchObject({ state: "failed" });

  const again = await here.add("work", { maxRetries: 0 });
  const command = [process.execPath, ...file];
  await here.work({ command, untilIdle: true, limitPattern: /usage limit reached\|(?<reset>\d+)/ }).done;
  expect(await here.task(again.id)).toMatchObject({ state: "queued", retryCount: 0 });
});

test("a task about limits that fails has failed, if its last lines are about something else", async () => {
  const here = await stage();
  const task = await here.add("work", { maxRetries: 0 });
  const directory = tempDir();
  const file = join(directory, "claude");
  const lines = ["The page says: Claude usage limit reached.", ...Array(20).fill("a test failed")];
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' ${lines.map((line) => `'${line}'`).join(" ")}\nexit 1\n`);
  chmodSync(file, 0o755);
  expect(existsSync(file)).toBe(true);
  await here.work({ command: [file], untilIdle: true }).done;
  expect(await here.task(task.id)).toMatchObject({ state: "failed" });
});
