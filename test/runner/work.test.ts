// Claim, run, report, repeat: what a command is given and how its end is reported.

import { existsSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describe, expect, test } from "vitest";
import type { WireBreaker } from "../../src/contract/shapes.js";
import { type Dibs, DibsError } from "../../src/index.js";
import { runWork } from "../../src/runner/index.js";
import { asArgument, hostilePrompts, stage, until } from "./support.js";

describe("what a command is given", () => {
  test("the bare prompt on stdin, placeholders as whole arguments, and its claim in the environment", async () => {
    const here = await stage();
    const task = await here.add("do this", { title: "a title" });
    const runner = here.work({
      stdin: "prompt",
      command: here.command({}, "{id}", "{title}", "{prompt}", "x{id}", "{id} {title}", "{other}"),
      untilIdle: true,
      sessionId: "worker",
      env: { ...process.env, DIBS_DATABASE_URL: "of another store", DIBS_EPOCH: "99", MARK: "kept" },
    });
    expect(await runner.done).toMatchObject({ completed: 1, failed: 0 });
    const seen = await here.seen(task.id);
    expect(Buffer.from(seen.stdin, "base64").toString()).toBe("do this");
    expect(seen.more).toEqual([task.id, "a title", "do this", "x{id}", "{id} {title}", "{other}"]);
    expect(seen.env).toEqual({
      DIBS_TASK: task.id,
      DIBS_SESSION: "worker",
      DIBS_EPOCH: "1",
      DIBS_PROJECT: task.project,
      DIBS_URL: "http://127.0.0.1:1",
      DIBS_RESULT_FILE: expect.stringContaining("result"),
      MARK: "kept",
    });
    expect(existsSync(seen.env.DIBS_RESULT_FILE!)).toBe(false);
  });

  test("its directory, also for those who believe PWD", async () => {
    const here = await stage();
    const task = await here.add("where");
    const runner = here.work({
      untilIdle: true,
      command: [process.execPath, "-p", "process.env.PWD"],
      cwd: here.directory,
      env: { ...process.env, PWD: "/of/the/runner" },
    });
    await runner.done;
    expect((await here.task(task.id)).result?.output).toBe(here.directory);
  });

  test("no say in which program runs: a placeholder there is only a name", async () => {
    const here = await stage();
    const task = await here.add("x", { title: process.execPath });
    const error = await here.work({ command: ["{title}", "-e", ""] }).done.catch((refused) => refused);
    expect(error.message).toContain("{title}");
    expect(await here.task(task.id)).toMatchObject({ state: "queued", retryCount: 0 });
  });

  test("hostile prompts byte for byte, and they start nothing", async () => {
    const here = await stage();
    const tasks = [];
    for (const [, prompt] of hostilePrompts)
      tasks.push(await here.add(prompt, { title: prompt.slice(0, 40) }));
    const runner = here.work({
      stdin: "prompt",
      command: here.command({}, "{prompt}", "{title}"),
      untilIdle: true,
      cwd: here.directory,
    });
    expect(await runner.done).toMatchObject({ completed: hostilePrompts.length });
    for (const [n, [what, prompt]] of hostilePrompts.entries()) {
      const seen = await here.seen(tasks[n]!.id);
      expect(Buffer.from(seen.stdin, "base64"), what).toEqual(Buffer.from(prompt));
      expect(seen.more[0], what).toBe(asArgument(prompt));
    }
    expect(existsSync(join(here.directory, "pwned"))).toBe(false);
  });

  test("a prompt and a title that are no options, whatever they begin with", async () => {
    const here = await stage();
    const prompt = "--dangerously-skip-permissions";
    const task = await here.add(prompt, { title: "-rf" });
    const command = here.command({}, "{prompt}", "--message", "{title}");
    await here.work({ command, untilIdle: true, stdin: "prompt" }).done;
    const seen = await here.seen(task.id);
    expect(seen.more).toEqual([` ${prompt}`, "--message", " -rf"]);
    const { values, positionals } = parseArgs({
      args: seen.more,
      strict: false,
      options: { message: { type: "string" } },
    });
    expect({ ...values }).toEqual({ message: " -rf" });
    expect(positionals.map((text) => text.trim())).toEqual([prompt]);
    expect(Buffer.from(seen.stdin, "base64").toString()).toBe(prompt);
  });

  test("a prompt of 200 KiB on stdin; as an argument it is refused for good, with advice", async () => {
    const here = await stage();
    const prompt = "0123456789abcdef".repeat(12_800);
    const long = await here.add(prompt);
    await here.work({ untilIdle: true, stdin: "prompt" }).done;
    expect(Buffer.from((await here.seen(long.id)).stdin, "base64").toString()).toBe(prompt);
    const longer = await here.add(prompt);
    await here.work({ untilIdle: true, command: here.command({}, "{prompt}") }).done;
    expect(await here.task(longer.id)).toMatchObject({
      state: "failed",
      error: expect.stringContaining("standard input"),
    });
  });

  test("a prompt that nobody reads is no trouble", async () => {
    const here = await stage();
    const task = await here.add("x".repeat(200_000));
    await here.work({ untilIdle: true, command: [process.execPath, "-e", ""] }).done;
    expect(await here.task(task.id)).toMatchObject({ state: "completed" });
  });

  test("the answer to an earlier question", async () => {
    const here = await stage();
    const task = await here.add("ask me");
    await here.dibs.sessions.register({ id: "asker" });
    await here.dibs.tasks.claim({ taskId: task.id, sessionId: "asker", start: true });
    await here.dibs.tasks.ask({ taskId: task.id, sessionId: "asker", question: "which?" });
    await here.dibs.tasks.release({ taskId: task.id, sessionId: "asker" });
    await here.dibs.tasks.respond({ taskId: task.id, response: "the blue one\n" });
    await here.work({ untilIdle: true }).done;
    expect((await here.seen(task.id, 2)).env.DIBS_RESPONSE).toBe("the blue one\n");
  });

  test("an answer that is longer than an environment takes, cut between characters", async () => {
    const here = await stage();
    const task = await here.add("ask me");
    await here.dibs.tasks.claim({ taskId: task.id, sessionId: "asker", start: true, register: true });
    await here.dibs.tasks.ask({ taskId: task.id, sessionId: "asker", question: "which?" });
    await here.dibs.tasks.release({ taskId: task.id, sessionId: "asker" });
    await here.dibs.tasks.respond({ taskId: task.id, response: `x${"€".repeat(60_000)}` });
    expect(await here.work({ untilIdle: true }).done).toMatchObject({ completed: 1 });
    const { DIBS_RESPONSE = "" } = (await here.seen(task.id, 2)).env;
    expect(DIBS_RESPONSE).toMatch(/^x€+$/);
    expect(Buffer.byteLength(DIBS_RESPONSE)).toBe(96 * 1024 - 2);
  });
});

describe("how its end is reported", () => {
  test("exit 0 completes with the tail of what it said", async () => {
    const here = await stage();
    const task = await here.add("talk");
    await here.work({
      untilIdle: true,
      command: here.command({ out: "\u001b[32mdone\u001b[0m\n", err: "noise\n" }),
    }).done;
    expect((await here.task(task.id)).result).toEqual({
      output: "done",
      filesCreated: [],
      filesModified: [],
    });
    const log = await here.log(task.id);
    expect(log).toContain("done");
    expect(log).toContain("noise");
    expect(here.lines).toContain("noise");
  });

  test("a result file wins: as JSON, or as a text", async () => {
    const here = await stage();
    const result = { output: "from the file", filesCreated: ["a.ts"], filesModified: ["b.ts"] };
    const json = await here.add("json");
    await here.work({ untilIdle: true, command: here.command({ out: "said", result }) }).done;
    expect((await here.task(json.id)).result).toEqual(result);
    const text = await here.add("text");
    await here.work({ untilIdle: true, command: here.command({ out: "said", result: "just\u0000 text" }) })
      .done;
    expect((await here.task(text.id)).result?.output).toBe("just\ufffd text");
    const foreign = await here.add("foreign");
    await here.work({ untilIdle: true, command: here.command({ result: { answer: 42 } }) }).done;
    expect((await here.task(foreign.id)).result?.output).toBe('{"answer":42}');
    const odd = await here.add("odd");
    await here.work({ untilIdle: true, command: here.command({ result: { filesCreated: "no list" } }) }).done;
    expect((await here.task(odd.id)).state).toBe("completed");
  });

  test("any other end fails with the last lines; right after the start it costs no retry", async () => {
    const here = await stage();
    const task = await here.add("fail", { maxRetries: 1 });
    const command = here.command({ err: "no such file\n", exit: 3 });
    expect(await here.work({ once: true, command }).done).toMatchObject({ failed: 1 });
    const failed = await here.task(task.id);
    expect(failed).toMatchObject({ state: "queued", retryCount: 0 });
    expect(failed.error).toBe("exited with code 3\nno such file");
    await here.dibs.tasks.cancel({ taskId: task.id });
    const killed = await here.add("die", { maxRetries: 0 });
    await here.work({ untilIdle: true, command: here.command({ kill: "SIGKILL" }) }).done;
    expect((await here.task(killed.id)).error).toContain("SIGKILL");
  });

  test("a failure that says so is not retried", async () => {
    const here = await stage();
    const task = await here.add("hopeless", { maxRetries: 5 });
    const result = { error: "the repository is gone", retryable: false };
    const summary = await here.work({ untilIdle: true, command: here.command({ exit: 1, result }) }).done;
    expect(summary).toMatchObject({ failed: 1 });
    expect(await here.task(task.id)).toMatchObject({ state: "failed", error: "the repository is gone" });
  });

  test("with open children it goes back, and is handed out again when they are done", async () => {
    const here = await stage();
    const parent = await here.add("split");
    const runner = here.work({ command: here.command({ wait: true }) });
    await here.seen(parent.id);
    const child = await here.add("part", { parentId: parent.id });
    here.go(parent.id);
    await until("the parent went back", async () => (await here.task(parent.id)).claim === null);
    expect((await here.dibs.tasks.attempts({ taskId: parent.id })).attempts[0]?.releaseReason).toContain(
      "subtasks",
    );
    await here.seen(child.id);
    here.go(child.id);
    await here.becomes(child.id, "completed");
    await runner.stop();
    await here.work({ untilIdle: true, command: here.command() }).done;
    expect((await here.task(parent.id)).state).toBe("completed");
  });

  test("a task that finds more parts each time is not handed out to the same runner for ever", async () => {
    const here = await stage();
    const parent = await here.add("hydra");
    const runner = here.work({
      untilIdle: true,
      onStart: (_claim, task) => {
        if (task.id === parent.id) adding.push(here.add("head", { parentId: parent.id }));
      },
      command: here.command(),
    });
    const adding: Promise<unknown>[] = [];
    await runner.done;
    await Promise.all(adding);
    expect((await here.task(parent.id)).state).toBe("queued");
    expect((await here.dibs.tasks.attempts({ taskId: parent.id })).attempts).toHaveLength(4);
  });

  test("what the command reports itself is not reported again", async () => {
    const here = await stage();
    const task = await here.add("by itself");
    /** What the runner has dealt with: it asks for the event after. */
    const noticed: string[] = [];
    const follow: Dibs["events"]["follow"] = async function* (options) {
      for await (const event of here.dibs.events.follow(options)) {
        yield event;
        noticed.push(event.type);
      }
    };
    const runner = here.work({
      dibs: { ...here.dibs, events: { ...here.dibs.events, follow } },
      once: true,
      command: here.command({ wait: true }),
      timings: { heartbeatMs: 30 },
    });
    const { env, pid } = await here.seen(task.id);
    const by = { taskId: task.id, sessionId: env.DIBS_SESSION!, epoch: Number(env.DIBS_EPOCH) };
    await here.dibs.tasks.complete({ ...by, result: "its own words" });
    // It may still say goodbye.
    await until("the runner has seen it", () => noticed.includes("task:completed"));
    here.go(task.id, { out: "bye", exit: 1 });
    expect(await runner.done).toMatchObject({ reported: 1 });
    expect((await here.task(task.id)).result?.output).toBe("its own words");
    expect(pid).toBeGreaterThan(1);
  });

  test("however much it prints: the log is bounded, says what is missing, and ends with the end", async () => {
    const here = await stage();
    const task = await here.add("flood");
    await here.work({ untilIdle: true, command: here.command({ flood: 20_000, out: "the end\n" }) }).done;
    const log = await here.log(task.id);
    expect(Buffer.byteLength(log)).toBeLessThanOrEqual(256 * 1024);
    expect(log).toContain("bytes left out");
    expect(log.trimEnd().endsWith("the end")).toBe(true);
    expect((await here.task(task.id)).result?.output.endsWith("the end")).toBe(true);
  });
});

describe("the loop", () => {
  test("once runs one task, until-idle all of them, slots have sessions of their own", async () => {
    const here = await stage();
    for (let n = 0; n < 5; n++) await here.add(`task ${n}`);
    expect(await here.work({ once: true }).done).toMatchObject({ completed: 1 });
    expect(await here.work({ untilIdle: true, concurrency: 2, sessionId: "pair" }).done).toMatchObject({
      completed: 4,
    });
    const { tasks } = await here.dibs.tasks.list({});
    const sessions = new Set<string>();
    for (const { id } of tasks) {
      const { attempts } = await here.dibs.tasks.attempts({ taskId: id });
      expect(attempts).toHaveLength(1);
      sessions.add(attempts[0]!.sessionId);
    }
    expect([...sessions].filter((id) => id.startsWith("pair-")).length).toBeGreaterThan(0);
    expect((await here.dibs.sessions.list({})).sessions).toEqual([]);
  });

  test("a waiting runner takes what is added, and only what its labels say", async () => {
    const here = await stage();
    const runner = here.work({ labels: ["mine"] });
    const other = await here.add("not mine");
    const mine = await here.add("mine", { labels: ["mine"] });
    await here.becomes(mine.id, "completed");
    expect((await here.task(other.id)).state).toBe("queued");
    await runner.stop();
    expect(await runner.done).toMatchObject({ completed: 1 });
  });

  test("a runner whose session somebody ended registers again and goes on", async () => {
    const here = await stage();
    const runner = here.work({ sessionId: "worker", timings: { claimWaitMs: 50 } });
    await until("it is there", async () => (await here.dibs.sessions.list({})).sessions.length === 1);
    await here.dibs.sessions.end({ sessionId: "worker" });
    const task = await here.add("after that");
    await here.becomes(task.id, "completed");
    await runner.stop();
  });

  test("a command that cannot be started ends the runner, and costs no task an attempt of its retries", async () => {
    const here = await stage();
    const task = await here.add("never run");
    const error = await here.work({ command: ["/no/such/agent"] }).done.catch((refused) => refused);
    expect(error).toBeInstanceOf(DibsError);
    expect(error.message).toContain("/no/such/agent");
    expect(await here.task(task.id)).toMatchObject({ state: "queued", retryCount: 0, lostCount: 0 });
  });

  test("until-empty waits for retries, scheduled tasks and their dependents", async () => {
    const here = await stage();
    await here.dibs.projects.update({ settings: { retry: { delayMs: 300 } } });
    const first = await here.add("fails once", { notBefore: new Date(Date.now() + 500).toISOString() });
    const second = await here.add("after that", { dependsOn: [first.id] });
    const script =
      "require('fs').existsSync('tried') || (require('fs').writeFileSync('tried', ''), process.exit(1))";
    const command = [process.execPath, "-e", script];
    const summary = await here.work({ untilEmpty: true, cwd: here.directory, command }).done;
    expect(summary).toMatchObject({ completed: 2, failed: 1 });
    expect((await here.task(second.id)).state).toBe("completed");
  });

  test("an agent that fails at once is held back, told once, and goes on when it is repaired", async () => {
    const here = await stage();
    await here.dibs.projects.update({ settings: { retry: { delayMs: 500 } } });
    for (let n = 0; n < 12; n++) await here.add(`task ${n}`);
    const held: WireBreaker[] = [];
    const command = [process.execPath, "-e", "process.exit(require('fs').existsSync('repaired') ? 0 : 1)"];
    const runner = here.work({
      untilEmpty: true,
      concurrency: 2,
      cwd: here.directory,
      command,
      agentType: "broken",
      onBreaker: (breaker) => void held.push(breaker),
    });
    await until("it is held back", () => held.length > 0);
    const { notifications } = await here.dibs.notifications.list({ unread: true });
    expect(notifications).toMatchObject([{ type: "AGENT_FAILING", title: "Agent broken fails at once" }]);
    expect(held).toMatchObject([{ agentType: "broken" }]);
    writeFileSync(join(here.directory, "repaired"), "");
    expect(await runner.done).toMatchObject({ completed: 12 });
    expect(held).toHaveLength(1);
    expect(here.ends.filter(({ outcome }) => outcome === "failed").length).toBeLessThan(12);
    expect((await here.dibs.notifications.list({ unread: true })).notifications).toEqual([]);
  });

  test("sessions have names with the lowest free number, or the one that is given", async () => {
    const here = await stage();
    const named = async () => (await here.dibs.sessions.list({})).sessions.map(({ name }) => name).sort();
    const host = hostname().split(".")[0];
    const pair = here.work({ agentType: "claude", concurrency: 2 });
    await until("two are there", async () => (await named()).length === 2);
    here.work({ agentType: "claude" });
    here.work({ name: "Ada" });
    await until("four are there", async () => (await named()).length === 4);
    const numbered = (...numbers: number[]) => numbers.map((n) => `claude-${n}@${host}`);
    expect(await named()).toEqual(["Ada", ...numbered(1, 2, 3)]);
    await pair.stop();
    here.work({ agentType: "claude" });
    await until("the number is used again", async () => (await named()).length === 3);
    expect(await named()).toEqual(["Ada", ...numbered(1, 3)]);
  });

  test("runners that start at the same time have different names", async () => {
    const here = await stage();
    for (let n = 0; n < 4; n++) here.work({ agentType: "claude" });
    const names = async () => (await here.dibs.sessions.list({})).sessions.map(({ name }) => name);
    await until("all are named", async () => new Set(await names()).size === 4);
  });

  test("a runner without a command is refused", async () => {
    const here = await stage();
    expect(() => runWork({ ...here.common, command: [] })).toThrow(DibsError);
    expect(() => runWork({ ...here.common, command: ["a"], concurrency: 0 })).toThrow(DibsError);
  });
});
