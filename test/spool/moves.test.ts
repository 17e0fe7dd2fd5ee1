import { renameSync, rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { machine, openRig, type Rig, Sleeper } from "./support.js";

const retryAtOnce = { retry: { delayMs: 0 } };

/** A spool that holds the one task there is. */
async function holding(prompt = "one") {
  const rig = await openRig();
  await rig.add(prompt);
  const spool = await rig.proxy();
  await spool.poll();
  return { rig, spool };
}

test("a result that is found after the loss was noticed is kept on the attempt, too", async () => {
  const { rig, spool } = await holding();
  const taken = rig.take("0001");
  await spool.poll();
  await rig.dibs.tasks.release({ taskId: "0001", sessionId: "leader", force: true });
  await rig.dibs.tasks.claim({ taskId: "0001", sessionId: "other", register: true, start: true });
  rig.write("completed/0001/result.md", "late, but here");
  rig.mv(taken, "completed/0001/0001.md");
  // The renewal comes first, and learns of the loss.
  rig.clock.advance(60 * 60_000);
  await rig.settle(spool);
  const { attempts } = await rig.dibs.tasks.attempts({ taskId: "0001" });
  expect(attempts.find(({ epoch }) => epoch === 1)?.lateResult).toMatchObject({
    result: { output: "late, but here" },
  });
  expect(rig.ls("stale")).toEqual(["0001"]);
});

describe("what this spool holds lies in to_execute", () => {
  test("a task is claimed, and laid out under its id", async () => {
    const { rig } = await holding("Fix the build\n\nIt is broken since Monday.");
    expect(rig.read("to_execute/0001/0001.md")).toBe("Fix the build\n\nIt is broken since Monday.\n");
    const { state, claim } = await rig.task("0001");
    expect(state).toBe("claimed");
    expect(claim).toMatchObject({ epoch: 1, agentType: "claude" });
    expect(rig.events).toMatchObject([{ type: "placed", taskId: "0001", epoch: 1 }]);
  });

  test("four wait at a time; those that were taken make room for others", async () => {
    const rig = await openRig();
    await rig.add("a", "b", "c", "d", "e", "f");
    const spool = await rig.proxy();
    await spool.poll();
    expect(rig.ls("to_execute")).toEqual(["0001", "0002", "0003", "0004"]);
    rig.take("0001");
    await spool.poll();
    expect(rig.ls("to_execute")).toEqual(["0002", "0003", "0004", "0005"]);
  });

  test("only tasks for this agent are claimed", async () => {
    const rig = await openRig();
    await rig.dibs.tasks.create({ prompt: "for codex", agentType: "codex" });
    await rig.dibs.tasks.create({ prompt: "for claude", agentType: "claude" });
    await rig.dibs.tasks.create({ prompt: "for somebody called claude", assignee: "claude" });
    await (await rig.proxy()).poll();
    expect(rig.ls("to_execute")).toEqual(["0002", "0003"]);
  });

  test("leases are renewed for as long as the spool runs, whether or not somebody works", async () => {
    const { rig, spool } = await holding();
    for (let hour = 0; hour < 6; hour++) {
      for (let minute = 0; minute < 60; minute++) {
        rig.clock.advance(60_000);
        await spool.poll();
      }
    }
    expect((await rig.task("0001")).claim).toMatchObject({ epoch: 1 });
    expect(rig.has("to_execute/0001/0001.md")).toBe(true);
  });

  test("the answer to a question stands below the prompt for whoever comes next", async () => {
    const rig = await openRig();
    await rig.add("Choose a colour");
    const by = { taskId: "0001", sessionId: "ann" };
    await rig.dibs.tasks.claim({ ...by, register: true });
    await rig.dibs.tasks.ask({ ...by, question: "Which?" });
    await rig.dibs.tasks.release(by);
    await rig.dibs.tasks.respond({ taskId: "0001", response: "teal" });
    await (await rig.proxy()).poll();
    expect(rig.read("to_execute/0001/0001.md")).toMatch(/^Choose a colour\n\n.*teal\n$/);
  });

  test("a time limit that runs while a task waits does not cost it a try", async () => {
    const rig = await openRig();
    await rig.dibs.tasks.create({ prompt: "quick", timeoutMs: 10_000 });
    const spool = await rig.proxy();
    await spool.poll();
    for (let second = 0; second < 60; second++) {
      rig.clock.advance(1_000);
      await spool.poll();
    }
    expect(await rig.task("0001")).toMatchObject({ state: "claimed", lostCount: 0 });
    expect(rig.has("to_execute/0001/0001.md")).toBe(true);
  });
});

describe("what workers do with files", () => {
  test("a move with a process id starts a task; a move to completed completes it", async () => {
    const { rig, spool } = await holding();
    const taken = rig.take("0001");
    await spool.poll();
    expect((await rig.task("0001")).state).toBe("running");
    rig.write("completed/0001/result.md", "all green");
    rig.mv(taken, "completed/0001/0001.md");
    await spool.poll();
    expect(await rig.task("0001")).toMatchObject({ state: "completed", result: { output: "all green" } });
    expect(rig.ls("completed/0001")).toEqual([".dibs.json", "0001.md", "result.md"]);
    expect([...rig.ls("in_progress"), ...rig.ls("to_execute")]).toEqual([]);
    expect(rig.events.map(({ type }) => type)).toEqual(["placed", "taken", "completed"]);
  });

  const ways: Record<string, (rig: Rig) => void> = {
    "its whole directory is moved": (rig) => {
      rig.write("in_progress/0001/0001.result.txt", "done");
      rig.mv("in_progress/0001", "completed/0001");
    },
    "the result stays where it was worked on": (rig) => {
      rig.write("in_progress/0001/result", "done");
      rig.mv(`in_progress/0001/0001.${process.pid}.md`, "completed/0001/0001.md");
    },
    "the result is JSON": (rig) => {
      rig.write("completed/0001/result.json", JSON.stringify({ output: "done", filesCreated: ["a.ts"] }));
      rig.mv(`in_progress/0001/0001.${process.pid}.md`, `completed/0001/0001.${process.pid}.md`);
    },
    "the file lies in completed itself": (rig) => {
      rig.write("in_progress/0001/result.md", "done");
      rig.mv(`in_progress/0001/0001.${process.pid}.md`, `completed/0001.${process.pid}.md`);
    },
  };
  test.each(Object.entries(ways))("a task is completed when %s", async (_, finish) => {
    const { rig, spool } = await holding();
    rig.take("0001");
    await spool.poll();
    finish(rig);
    await spool.poll();
    expect(await rig.task("0001")).toMatchObject({ state: "completed", result: { output: "done" } });
    expect(rig.ls("completed")).toEqual(["0001"]);
    expect(rig.ls("in_progress")).toEqual([]);
  });

  test("a task that was taken and done between two looks is completed all the same", async () => {
    const { rig, spool } = await holding();
    rig.mv("to_execute/0001", "completed/0001");
    await spool.poll();
    expect((await rig.task("0001")).state).toBe("completed");
  });

  test("a file that was put back waits for the next worker", async () => {
    const { rig, spool } = await holding();
    const worker = new Sleeper();
    rig.mv(rig.take("0001", worker.pid), "to_execute/0001/0001.md");
    await spool.poll();
    await worker.kill();
    await spool.poll();
    rig.take("0001");
    await spool.poll();
    expect(await rig.task("0001")).toMatchObject({ state: "running", lostCount: 0, claim: { epoch: 1 } });
  });

  test("an error file fails the attempt, and all of it goes to stale", async () => {
    const { rig, spool } = await holding();
    await rig.dibs.projects.update({ settings: retryAtOnce });
    rig.take("0001");
    rig.write("in_progress/0001/notes.txt", "tried this");
    rig.write("in_progress/0001/error.md", "no such compiler\n");
    await rig.settle(spool);
    expect(rig.told("failed")).toMatchObject([
      { taskId: "0001", error: "no such compiler", willRetry: true },
    ]);
    const stale = rig.ls("stale/0001");
    expect(stale).toEqual([".dibs.json", `0001.${process.pid}.md`, "error.md", "notes.txt"]);
    expect(await rig.task("0001")).toMatchObject({ retryCount: 1, error: "no such compiler" });
    await spool.poll();
    expect(rig.has("to_execute/0001/0001.md")).toBe(true);
  });

  test("an error that is still being written is not read yet", async () => {
    const { rig, spool } = await holding();
    rig.take("0001");
    rig.write("in_progress/0001/error", "");
    await spool.poll();
    rig.clock.advance(200);
    rig.write("in_progress/0001/error", "disk full");
    await spool.poll();
    rig.clock.advance(200);
    await spool.poll();
    expect(rig.told("failed")).toEqual([]);
    rig.clock.advance(200);
    await spool.poll();
    expect(rig.told("failed")).toMatchObject([{ error: "disk full" }]);
  });

  test("a task that nobody has begun is taken away when it gets parts, and comes back when they are done", async () => {
    const { rig, spool } = await holding();
    const child = await rig.dibs.tasks.create({ prompt: "part", parentId: "0001" });
    await spool.poll();
    expect(rig.ls("to_execute")).toEqual(["0001_t1"]);
    expect((await rig.task("0001")).claim).toBeNull();
    rig.mv(rig.take("0001_t1"), "completed/0001_t1/0001_t1.md");
    await rig.settle(spool);
    await spool.poll();
    expect((await rig.task(child.task.id)).state).toBe("completed");
    expect(rig.ls("to_execute")).toEqual(["0001"]);
  });

  test("a task with open children completes when they are done, and not before", async () => {
    const { rig, spool } = await holding();
    const taken = rig.take("0001");
    await spool.poll();
    await rig.dibs.tasks.create({ prompt: "a part", parentId: "0001" });
    rig.mv(taken, "completed/0001/0001.md");
    await spool.poll();
    await spool.poll();
    expect(rig.told("waiting")).toHaveLength(1);
    expect((await rig.task("0001")).state).toBe("running");
    rig.mv("to_execute/0001_t1", "completed/0001_t1");
    await spool.poll();
    await spool.poll();
    expect((await rig.task("0001")).state).toBe("completed");
  });

  test("a worker may ask before it was seen to have begun", async () => {
    const { rig, spool } = await holding();
    const { sessionId, epoch } = (await rig.task("0001")).claim!;
    const taken = rig.take("0001");
    await rig.dibs.tasks.ask({ taskId: "0001", sessionId, epoch, question: "Teal?" });
    rig.mv(taken, "completed/0001/0001.md");
    await spool.poll();
    expect(rig.told("waiting")).toMatchObject([{ reason: "it waits for an answer" }]);
    rig.mv("completed/0001/0001.md", taken);
    await spool.poll();
    for (let minute = 0; minute < 60; minute++) {
      rig.clock.advance(60_000);
      await spool.poll();
    }
    await rig.dibs.tasks.respond({ taskId: "0001", response: "yes" });
    rig.mv(taken, "completed/0001/0001.md");
    await spool.poll();
    expect((await rig.task("0001")).state).toBe("completed");
    expect(rig.told("trouble")).toEqual([]);
  });

  test("what else lies in its directory does not keep a file from coming back", async () => {
    const { rig, spool } = await holding();
    await spool.close();
    rig.write("to_execute/0001/notes.txt", "a person's");
    rig.write("to_execute/0001-2/notes.txt", "a person's");
    const next = await rig.proxy();
    await next.poll();
    expect(rig.told("placed").at(-1)).toMatchObject({ taskId: "0001", name: "0001-3" });
    rig.write("to_execute/0001-3/notes.txt", "a person's");
    const again = await rig.afterKill();
    rmSync(rig.path("to_execute/0001-3/0001-3.md"));
    await again.poll();
    expect(rig.ls("to_execute/0001-3")).toEqual(["0001-3.md", "notes.txt"]);
  });

  test("directories that somebody removed are made again", async () => {
    const { rig, spool } = await holding();
    rmSync(rig.path("completed"), { recursive: true });
    rmSync(rig.path("stale"), { recursive: true });
    await spool.poll();
    rig.mv("to_execute/0001", "completed/0001");
    await spool.poll();
    expect((await rig.task("0001")).state).toBe("completed");
  });

  test.each([
    ["completed", {}],
    ["submitted", { land: { target: "main" } }],
  ])(
    "a worker that hands in its task by the command line is believed, and its file is put away (%s)",
    async (state, settings) => {
      const { rig, spool } = await holding();
      await rig.dibs.projects.update({ settings });
      const worker = new Sleeper();
      rig.take("0001", worker.pid);
      await spool.poll();
      const { sessionId, epoch } = (await rig.task("0001")).claim!;
      await rig.dibs.tasks.complete({ taskId: "0001", sessionId, epoch, result: "by hand" });
      rig.clock.advance(600_000);
      await spool.poll();
      expect(rig.ls("in_progress")).toEqual(["0001"]);
      await worker.kill();
      await spool.poll();
      expect(rig.ls("completed/0001")).toContain(`0001.${worker.pid}.md`);
      expect(rig.ls("stale")).toEqual([]);
      expect((await rig.task("0001")).state).toBe(state);
    },
  );
});

describe("workers that die", () => {
  test("a dead process sends its task to stale, and back into the queue", async () => {
    const { rig, spool } = await holding();
    const worker = new Sleeper();
    rig.take("0001", worker.pid);
    rig.write("completed/0001/result.md", "half of it");
    await spool.poll();
    expect((await rig.task("0001")).state).toBe("running");
    await worker.kill();
    await spool.poll();
    expect(rig.ls("stale/0001")).toEqual([".dibs.json", `0001.${worker.pid}.md`, "result.md"]);
    expect(await rig.task("0001")).toMatchObject({ lostCount: 1, claim: { epoch: 2 } });
    expect(rig.has("to_execute/0001/0001.md")).toBe(true);
    expect((await rig.dibs.tasks.attempts({ taskId: "0001" })).attempts).toHaveLength(2);
  });

  test("a process with the same number, started later, is another one", async () => {
    const rig = await openRig();
    await rig.add("one");
    let started = "monday";
    const spool = await rig.proxy({
      machine: { ...machine, processStart: () => started, isAlive: (_, at) => at === null || at === started },
    });
    await spool.poll();
    rig.take("0001", 4_242);
    await spool.poll();
    await spool.poll();
    expect(rig.ls("stale")).toEqual([]);
    started = "tuesday";
    await spool.poll();
    expect(rig.ls("stale")).toEqual(["0001"]);
  });

  test("a task that kills its workers is failed in the end", async () => {
    const { rig, spool } = await holding();
    for (let time = 1; time <= 3; time++) {
      const worker = new Sleeper();
      rig.take("0001", worker.pid);
      await worker.kill();
      await spool.poll();
    }
    expect(await rig.task("0001")).toMatchObject({ state: "failed", error: "WORKER_LOST" });
    expect(rig.ls("stale")).toEqual(["0001", "0001-2", "0001-3"]);
    expect(rig.ls("to_execute")).toEqual([]);
  });

  test("what another worker has found stale and moved is back in the queue, too", async () => {
    const { rig, spool } = await holding();
    const worker = new Sleeper();
    rig.take("0001", worker.pid);
    await spool.poll();
    await worker.kill();
    renameSync(rig.path("in_progress/0001"), rig.path("stale/0001"));
    await spool.poll();
    expect(rig.told("stale")).toMatchObject([{ taskId: "0001", path: "stale/0001" }]);
    expect(await rig.task("0001")).toMatchObject({ lostCount: 1, claim: { epoch: 2 } });
  });

  test("a worker that died just after it was done has done it", async () => {
    const { rig, spool } = await holding();
    const worker = new Sleeper();
    const taken = rig.take("0001", worker.pid);
    await spool.poll();
    rig.mv(taken, `completed/0001/0001.${worker.pid}.md`);
    await worker.kill();
    await spool.poll();
    expect(await rig.task("0001")).toMatchObject({ state: "completed", lostCount: 0 });
  });

  test("who does not say who it is has as long as a lease", async () => {
    const { rig, spool } = await holding();
    rig.mv("to_execute/0001", "in_progress/0001");
    await spool.poll();
    for (let minute = 0; minute < 29; minute++) {
      rig.clock.advance(60_000);
      await spool.poll();
    }
    expect((await rig.task("0001")).state).toBe("running");
    rig.clock.advance(60_000);
    await spool.poll();
    expect(rig.ls("stale")).toEqual(["0001"]);
  });

  test("a file that vanished while somebody worked on it is a lost worker; one that nobody had begun goes back", async () => {
    const { rig, spool } = await holding();
    rig.mv(rig.take("0001"), "../elsewhere.md");
    await spool.poll();
    rig.clock.advance(3_000);
    await spool.poll();
    // Nobody was seen to have it.
    expect(rig.told("released")).toHaveLength(1);
    rig.take("0001");
    await spool.poll();
    rig.mv(`in_progress/0001/0001.${process.pid}.md`, "../elsewhere.md");
    await spool.poll();
    rig.clock.advance(3_000);
    await spool.poll();
    expect(rig.told("stale")).toHaveLength(1);
    expect(await rig.task("0001")).toMatchObject({ lostCount: 1 });
  });
});

describe("claims that are lost", () => {
  const losses: Record<string, (rig: Rig) => Promise<unknown>> = {
    "taken away by a leader": (rig) => rig.dibs.tasks.release({ taskId: "0001", force: true }),
    cancelled: (rig) => rig.dibs.tasks.cancel({ taskId: "0001" }),
  };

  test.each(Object.entries(losses))("a waiting file disappears when its task is %s", async (_, lose) => {
    const { rig, spool } = await holding();
    await rig.dibs.projects.pause();
    await lose(rig);
    rig.clock.advance(60_000);
    await spool.poll();
    await spool.poll();
    expect(rig.ls("to_execute")).toEqual([]);
    expect(rig.told("lost")).toHaveLength(1);
  });

  test.each(Object.entries(losses))("work goes to stale when its task is %s", async (_, lose) => {
    const { rig, spool } = await holding();
    await rig.dibs.projects.pause();
    rig.take("0001");
    await spool.poll();
    await lose(rig);
    rig.clock.advance(60_000);
    await spool.poll();
    await spool.poll();
    expect(rig.ls("in_progress")).toEqual([]);
    expect(rig.ls("stale/0001")).toContain(`0001.${process.pid}.md`);
  });

  test("work that is done after its claim was lost completes nothing, and its result is kept for a human", async () => {
    const { rig, spool } = await holding();
    const taken = rig.take("0001");
    await spool.poll();
    await rig.dibs.tasks.release({ taskId: "0001", force: true });
    await rig.dibs.tasks.claim({ taskId: "0001", sessionId: "ann", register: true });
    rig.write("completed/0001/result.md", "too late");
    rig.mv(taken, "completed/0001/0001.md");
    await spool.poll();
    expect(await rig.task("0001")).toMatchObject({ state: "claimed", claim: { sessionId: "ann", epoch: 2 } });
    expect(rig.ls("completed")).toEqual([]);
    expect(rig.ls("stale/0001")).toEqual([".dibs.json", "0001.md", "result.md"]);
    const { attempts } = await rig.dibs.tasks.attempts({ taskId: "0001" });
    expect(attempts.find(({ epoch }) => epoch === 1)?.lateResult).toMatchObject({
      result: { output: "too late" },
    });
  });

  test("nothing may be begun when a lease could not be renewed in time; it comes back with the store", async () => {
    const rig = await openRig();
    await rig.add("one");
    let isAway = false;
    const dibs = new Proxy(rig.dibs, {
      get: (target, group) =>
        isAway
          ? new Proxy({}, { get: () => () => Promise.reject(new Error("the store is away")) })
          : Reflect.get(target, group),
    });
    const spool = await rig.proxy({ dibs });
    await spool.poll();
    isAway = true;
    for (let minute = 0; minute < 31; minute++) {
      rig.clock.advance(60_000);
      await spool.poll();
    }
    expect(rig.ls("to_execute")).toEqual([]);
    expect(rig.told("trouble")).toHaveLength(1);
    isAway = false;
    await spool.poll();
    await spool.poll();
    expect(rig.has("to_execute/0001/0001.md")).toBe(true);
    expect((await rig.task("0001")).lostCount).toBe(1);
  });
});

describe("stopping, and starting again", () => {
  test("what nobody has begun goes back; what is worked on is held on to, and goes on under the same epoch", async () => {
    const rig = await openRig();
    await rig.add("one", "two");
    const spool = await rig.proxy();
    await spool.poll();
    const worker = new Sleeper();
    const taken = rig.take("0001", worker.pid);
    await spool.close();
    expect(rig.ls("to_execute")).toEqual([]);
    expect((await rig.task("0002")).state).toBe("queued");
    expect((await rig.task("0001")).claim).toMatchObject({ epoch: 1 });
    expect((await rig.dibs.locks.list()).locks).toEqual([]);
    // Longer than a silent session may live, shorter than a lease.
    rig.clock.advance(20 * 60_000);
    const next = await rig.proxy();
    await next.poll();
    expect(await rig.task("0001")).toMatchObject({ state: "running", lostCount: 0, claim: { epoch: 1 } });
    rig.mv(taken, "completed/0001/0001.md");
    await next.poll();
    expect((await rig.task("0001")).state).toBe("completed");
    expect(rig.has("to_execute/0002/0002.md")).toBe(true);
  });

  test("none runs where a script that lives holds the session lock", async () => {
    const { rig, spool } = await holding();
    const worker = new Sleeper();
    await spool.close();
    rig.write("../../locks/claude.lock", `${worker.pid}\n2026-01-01T00:00:00Z\ndefault\n`);
    await expect(rig.proxy()).rejects.toMatchObject({ code: "SESSION_BUSY" });
    await worker.kill();
    const next = await rig.proxy();
    expect(rig.read("../../locks/claude.lock")).toMatch(
      new RegExp(`^${process.pid}\n\\d{4}-.*\nspool-claude-`),
    );
    await next.close();
    expect(rig.has("../../locks/claude.lock")).toBe(false);
  });
});
