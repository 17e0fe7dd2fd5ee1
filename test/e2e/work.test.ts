// dibs.work: claim, run, report, repeat.

import { describe, expect, test } from "vitest";
import { type Dibs, PermanentFailure, type WorkContext } from "../../src/index.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { Child, checkStore, open, tempFile, until } from "../faults/support.js";
import { aborted } from "../support.js";

/** A promise with its ends outside. */
function signal<T = void>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** Resolves when the handler's task is lost, with the reason. */
const lost = ({ signal }: WorkContext) => aborted(signal);

async function withTasks(count: number): Promise<{ path: string; dibs: Dibs; ids: string[] }> {
  const path = tempFile();
  const dibs = await open({ path });
  const { tasks } = await dibs.tasks.batch({
    tasks: Array.from({ length: count }, (_, n) => ({ prompt: `task ${n}` })),
  });
  return { path, dibs, ids: tasks.map(({ id }) => id) };
}

const stateOf = async (dibs: Dibs, taskId: string) => (await dibs.tasks.get({ taskId })).task.state;

describe("a worker", () => {
  test("runs as many at once as asked for, never more, and stores the results", async () => {
    const { path, dibs, ids } = await withTasks(20);
    let running = 0;
    let most = 0;
    const worker = dibs.work(
      async ({ task }) => {
        most = Math.max(most, ++running);
        await dibs.tasks.list();
        running--;
        return { output: `did ${task.prompt}`, filesCreated: ["a.ts"], filesModified: ["b.ts"] };
      },
      { concurrency: 4, untilEmpty: true },
    );
    await worker.done;
    expect(most).toBe(4);
    for (const [index, taskId] of ids.entries()) {
      const { task } = await dibs.tasks.get({ taskId });
      expect(task).toMatchObject({
        state: "completed",
        result: { output: `did task ${index}`, filesCreated: ["a.ts"], filesModified: ["b.ts"] },
      });
    }
    expect((await dibs.sessions.get({ sessionId: await worker.sessionId })).session.endedAt).not.toBeNull();
    await dibs.close();
    await checkStore(path);
  });

  test("with many slots waits without a warning", async () => {
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on("warning", note);
    const { dibs } = await withTasks(40);
    await dibs.work(() => "done", { concurrency: 32, untilEmpty: true }).done;
    await new Promise((resolve) => setImmediate(resolve));
    process.off("warning", note);
    expect(warnings).toEqual([]);
    await dibs.close();
  });

  test("reports a result and takes the next task in one commit", async () => {
    let commits = Date.UTC(2026, 0, 1);
    const dibs = await open({ path: tempFile(), clock: () => ++commits }); // Each commit has a time of its own.
    await dibs.tasks.batch({ tasks: ["a", "b", "c"].map((id) => ({ id, prompt: id })) });
    await dibs.work(() => "done", { untilEmpty: true }).done;
    const { events } = await dibs.events.list({ limit: 100 });
    const at = (type: string, taskId: string) =>
      events.find((event) => event.type === type && event.taskId === taskId)!.at;
    expect(at("task:claimed", "b")).toBe(at("task:completed", "a"));
    expect(at("task:claimed", "c")).toBe(at("task:completed", "b"));
    await dibs.close();
  });

  test("an error thrown fails the attempt, which is tried again; PermanentFailure is final", async () => {
    const { dibs, ids } = await withTasks(2);
    const [flaky, hopeless] = ids as [string, string];
    await dibs.projects.update({ settings: { retry: { delayMs: 1, backoff: "fixed", jitter: 0 } } });
    let tries = 0;
    const worker = dibs.work(({ task }) => {
      if (task.id === hopeless) throw new PermanentFailure("no use");
      if (++tries === 1) throw new Error("at first not");
      return "at last";
    });
    await until("both are over", async () =>
      (await Promise.all(ids.map((id) => stateOf(dibs, id)))).every((state) =>
        /completed|failed/.test(state),
      ),
    );
    await worker.stop();
    expect((await dibs.tasks.get({ taskId: flaky })).task).toMatchObject({
      state: "completed",
      // Right after the start: it costs no retry.
      retryCount: 0,
      result: { output: "at last" },
    });
    const { attempts } = await dibs.tasks.attempts({ taskId: flaky });
    expect(attempts.map(({ error }) => error)).toEqual([null, expect.stringContaining("at first not")]);
    expect((await dibs.tasks.get({ taskId: hopeless })).task).toMatchObject({
      state: "failed",
      retryCount: 0,
      error: expect.stringContaining("no use"),
    });
  });

  test.each([
    ["cancelled", "TASK_CANCELLED", "cancelled"],
    ["taken away by force", undefined, "queued"],
  ])("the handler's signal fires when its task is %s by another process", async (how, code, after) => {
    const { path, dibs, ids } = await withTasks(1);
    const taskId = ids[0]!;
    const started = signal();
    const reason = signal<unknown>();
    const worker = dibs.work(async (context) => {
      started.resolve();
      reason.resolve(await lost(context));
    });
    await started.promise;
    const other = new Child("client.mjs", { path });
    await other.said("ready");
    if (how === "cancelled") await other.call("tasks.cancel", { taskId });
    else {
      await other.call("projects.pause");
      await other.call("tasks.release", { taskId, force: true });
    }
    expect(await reason.promise).toMatchObject(code ? { code } : { name: "DibsError" });
    await worker.stop();
    expect(await stateOf(dibs, taskId)).toBe(after);
  });

  test("ask waits for an answer, which another process gives", async () => {
    const { path, dibs, ids } = await withTasks(1);
    const taskId = ids[0]!;
    const worker = dibs.work(async ({ ask, progress }) => {
      await progress("halfway", 50);
      const colour = await ask("Which colour?", { options: ["red", "blue"], default: "red" });
      return `painted it ${colour}`;
    });
    const human = new Child("client.mjs", { path });
    await human.said("ready");
    await until("the question is asked", async () => (await stateOf(dibs, taskId)) === "awaiting_response");
    const { task } = await human.call("tasks.get", { taskId });
    expect(task.question).toMatchObject({ text: "Which colour?", options: ["red", "blue"], default: "red" });
    await human.call("tasks.respond", { taskId, questionId: task.question.id, response: "blue" });
    await until("it is done", async () => (await stateOf(dibs, taskId)) === "completed");
    expect((await dibs.tasks.get({ taskId })).task.result?.output).toBe("painted it blue");
    await worker.stop();
  });

  test("stop finishes what runs and claims nothing more", async () => {
    const { dibs, ids } = await withTasks(3);
    const started = signal();
    const finish = signal();
    const worker = dibs.work(async () => {
      started.resolve();
      await finish.promise;
      return "finished";
    });
    await started.promise;
    const stopped = worker.stop();
    finish.resolve();
    await stopped;
    expect(await Promise.all(ids.map((id) => stateOf(dibs, id)))).toEqual(["completed", "queued", "queued"]);
    expect((await dibs.tasks.inFlight()).inFlight).toEqual([]);
  });

  test("stop with now aborts and gives back, and that is no loss", async () => {
    const { dibs, ids } = await withTasks(1);
    const started = signal();
    const worker = dibs.work(async (context) => {
      started.resolve();
      await lost(context);
      throw new Error("aborted");
    });
    await started.promise;
    await worker.stop({ now: true });
    const { task } = await dibs.tasks.get({ taskId: ids[0]! });
    expect(task).toMatchObject({ state: "queued", retryCount: 0, lostCount: 0, claim: null });
  });

  test("stop while it waits for work ends at once, and close stops workers", async () => {
    const dibs = await open({ path: tempFile() });
    const idle = dibs.work(() => "x");
    await idle.sessionId;
    await idle.stop();
    const another = dibs.work(() => "x");
    await another.sessionId;
    await dibs.close();
    await another.done;
  });

  test("keeps a lease that is shorter than the work", async () => {
    // The store's time passes only when a lease was renewed: whoever is slow loses nothing.
    const clock = new TestClock();
    const dibs = await open({ path: tempFile(), clock });
    await dibs.projects.update({
      settings: { claim: { minTtlMs: 1, defaultTtlMs: 1_500, orphanThresholdMs: 1_500 } },
    });
    const { id: taskId } = (await dibs.tasks.create({ prompt: "long" })).task;
    const beats = async () => (await dibs.tasks.get({ taskId })).task.claim?.heartbeatCount ?? 0;
    const worker = dibs.work(
      async ({ signal }) => {
        for (let count = 1; count <= 4; count++) {
          await until("the lease was renewed", async () => signal.aborted || (await beats()) >= count);
          clock.advance(1_000);
        }
        return "kept";
      },
      { untilEmpty: true },
    );
    await worker.done;
    expect((await dibs.tasks.get({ taskId })).task).toMatchObject({ state: "completed", epoch: 1 });
  });
});

describe("a worker process that is killed", () => {
  test("leaves its task to another worker at once, although its lease lasts half an hour", async () => {
    const { path, dibs, ids } = await withTasks(1);
    const taskId = ids[0]!;
    const victim = new Child("client.mjs", { path });
    await victim.said("ready");
    victim.send("work", { options: {} });
    await victim.said("running");
    const heir = new Child("client.mjs", { path });
    await heir.said("ready");
    heir.send("work", { options: {} });
    await victim.kill();
    expect(await heir.said("running")).toMatchObject({ taskId });
    heir.send("finish");
    await until("it is done", async () => (await stateOf(dibs, taskId)) === "completed");
    const { task } = await dibs.tasks.get({ taskId });
    expect(task).toMatchObject({ epoch: 2, result: { output: `done by ${heir.pid}` } });
    const { events } = await dibs.tasks.events({ taskId });
    expect(events.map(({ type }) => type)).toContain("task:claim-orphaned");
  });

  test("while it waits for an answer does not lose the answer", async () => {
    const { path, dibs, ids } = await withTasks(1);
    const taskId = ids[0]!;
    const victim = new Child("client.mjs", { path });
    const { pid } = await victim.said("ready");
    await victim.call("sessions.register", { id: "victim", pid });
    await victim.call("tasks.claim", { taskId, sessionId: "victim", start: true });
    await victim.call("tasks.ask", { taskId, sessionId: "victim", question: "Go on?" });
    await victim.kill();
    await dibs.tasks.respond({ taskId, response: "yes" });
    expect(await stateOf(dibs, taskId)).toBe("queued");
    const response = signal<string | null>();
    await dibs.work(({ response: text }) => response.resolve(text), { untilEmpty: true }).done;
    expect(await response.promise).toBe("yes");
    expect(await stateOf(dibs, taskId)).toBe("completed");
  });
});
