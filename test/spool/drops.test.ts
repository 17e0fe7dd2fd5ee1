import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { until } from "../support.js";
import { openRig, Sleeper } from "./support.js";

describe("a file that is dropped into to_execute", () => {
  test("becomes a task of that id, is held at once and stays where it is", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    rig.write("to_execute/fix-build/fix-build.md", "# Fix the build #\n\nIt is red.\n");
    await rig.settle(spool);
    const task = await rig.task("fix-build");
    expect(task).toMatchObject({
      title: "Fix the build",
      prompt: "# Fix the build #\n\nIt is red.\n",
      agentType: "claude",
      state: "claimed",
    });
    expect(rig.ls("to_execute/fix-build")).toEqual(["fix-build.md"]);
    rig.mv(rig.take("fix-build"), "completed/fix-build/fix-build.md");
    await spool.poll();
    expect((await rig.task("fix-build")).state).toBe("completed");
  });

  test("gets its directory if it has none", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    rig.write("to_execute/note.md", "Do this");
    await rig.settle(spool);
    await rig.settle(spool);
    expect(rig.ls("to_execute")).toEqual(["note"]);
    expect((await rig.task("note")).prompt).toBe("Do this");
  });

  test("is read when it is complete, not before", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    rig.write("to_execute/slow/slow.md", "");
    await spool.poll();
    rig.clock.advance(200);
    rig.write("to_execute/slow/slow.md", "The first half");
    await spool.poll();
    rig.clock.advance(200);
    rig.write("to_execute/slow/slow.md", "The first half, and the second");
    await spool.poll();
    expect(rig.told("created")).toEqual([]);
    rig.clock.advance(300);
    await spool.poll();
    expect((await rig.task("slow")).prompt).toBe("The first half, and the second");
  });

  test("is a child of the task that its name tells of", async () => {
    const rig = await openRig();
    await rig.add("an orchestration");
    const spool = await rig.proxy();
    await spool.poll();
    rig.take("0001");
    await spool.poll();
    rig.write("to_execute/0001_t1/0001_t1.md", "a part");
    rig.write("to_execute/0099_t1/0099_t1.md", "a part of nothing");
    await rig.settle(spool);
    expect(await rig.task("0001_t1")).toMatchObject({ parentId: "0001" });
    expect(await rig.task("0099_t1")).toMatchObject({ parentId: null });
    rig.write("to_execute/0001_t1.1/0001_t1.1.md", "a part of the part");
    await rig.settle(spool);
    expect(await rig.task("0001_t1.1")).toMatchObject({ parentId: "0001_t1" });
    rig.take("0001_t1.1", process.pid);
    await spool.poll();
    expect((await rig.task("0001_t1.1")).state).toBe("running");
  });

  test("is a task under another id where a task has its name already, and keeps its name here", async () => {
    const rig = await openRig();
    await rig.dibs.tasks.create({ id: "taken", prompt: "somebody's", assignee: "ann" });
    await rig.dibs.tasks.create({ prompt: "another one's", assignee: "ann" });
    const spool = await rig.proxy();
    rig.write("to_execute/taken/taken.md", "mine");
    rig.write("to_execute/0001/0001.md", "mine too");
    await rig.settle(spool);
    const made = rig.told("created").map(({ name, taskId }) => `${name}=${taskId}`);
    expect(made).toEqual(["0001=0002", "taken=0003"]);
    rig.take("taken");
    await spool.poll();
    expect((await rig.task("0003")).state).toBe("running");
    expect((await rig.task("taken")).state).toBe("queued");
  });

  test("is a task, too, if somebody has taken it before it was seen", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    const worker = new Sleeper();
    rig.write(`in_progress/quick/quick.${worker.pid}.md`, "Be quick");
    await rig.settle(spool);
    await spool.poll();
    expect(await rig.task("quick")).toMatchObject({ state: "running", prompt: "Be quick" });
    await worker.kill();
    await spool.poll();
    expect(rig.ls("stale")).toEqual(["quick"]);
    expect(rig.has("to_execute/quick/quick.md")).toBe(true);
  });

  test("is a task, too, if somebody has done it before it was seen", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    await spool.poll();
    rig.write("completed/quicker/result.md", "there");
    rig.write("completed/quicker/quicker.77.md", "Be quicker");
    await rig.settle(spool);
    await spool.poll();
    expect(await rig.task("quicker")).toMatchObject({ state: "completed", result: { output: "there" } });
  });

  test("waits in the queue if it was taken, and found dead, before it was seen", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    await spool.poll();
    rig.write("stale/unlucky/unlucky.77.md", "Be careful");
    await rig.settle(spool);
    expect(rig.told("created")).toHaveLength(1);
    expect(rig.ls("stale/unlucky")).toEqual([".dibs.json", "unlucky.77.md"]);
    expect(rig.read("to_execute/unlucky/unlucky.md")).toBe("Be careful\n");
  });

  test("waits in the queue, and not here, while the project is paused", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    await rig.dibs.projects.pause();
    rig.write("to_execute/later/later.md", "Later");
    await rig.settle(spool);
    expect(rig.ls("to_execute")).toEqual([]);
    expect((await rig.task("later")).state).toBe("queued");
    await rig.dibs.projects.resume();
    await spool.poll();
    expect(rig.ls("to_execute")).toEqual(["later"]);
  });

  test("may have the name of one that was completed here before", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    for (const text of ["monday", "tuesday"]) {
      rig.write("to_execute/nightly/nightly.md", text);
      await rig.settle(spool);
      rig.mv(rig.take("nightly"), "completed/nightly/nightly.md");
      await spool.poll();
    }
    const { tasks } = await rig.dibs.tasks.list();
    expect(tasks.map(({ prompt, state }) => `${prompt} ${state}`)).toEqual([
      "monday completed",
      "tuesday completed",
    ]);
    expect(rig.ls("completed")).toEqual(["nightly", "nightly-2"]);
  });

  test("is told of once if it is empty, and taken when it is filled", async () => {
    const rig = await openRig();
    const spool = await rig.proxy();
    rig.write("to_execute/empty/empty.md", " \n");
    for (let poll = 0; poll < 5; poll++) await rig.settle(spool);
    expect(rig.told("refused")).toEqual([
      { type: "refused", path: "to_execute/empty/empty.md", reason: "is empty" },
    ]);
    rig.write("to_execute/empty/empty.md", "Now");
    await rig.settle(spool);
    expect((await rig.task("empty")).prompt).toBe("Now");
  });
});

test("what lay there before this was a spool is history, but what waits or is worked on is not", async () => {
  const rig = await openRig();
  const worker = new Sleeper();
  rig.write("completed/0001/0001.md", "done last year");
  rig.write("completed/old.md", "done even earlier");
  rig.write("stale/0002/0002.77.md", "given up");
  rig.write("to_execute/0003/0003.md", "waits");
  rig.write(`in_progress/0004/0004.${worker.pid}.md`, "is worked on");
  rig.write("../../counters/global.NextId", "0005\n");
  // The file system's clock may be coarse.
  await until("the file system's clock has moved", () => {
    writeFileSync(join(rig.directory, "probe"), "");
    return statSync(join(rig.directory, "probe")).mtimeMs > statSync(rig.path("to_execute/0003")).mtimeMs;
  });
  const spool = await rig.proxy();
  await rig.settle(spool);
  await spool.poll();
  expect(rig.told("created").map(({ taskId }) => taskId)).toEqual(["0003", "0004"]);
  expect(await rig.task("0003")).toMatchObject({ prompt: "waits", state: "claimed" });
  expect(await rig.task("0004")).toMatchObject({ prompt: "is worked on", state: "running" });
});

test("a name from the time before this was a spool may be used again", async () => {
  const rig = await openRig();
  rig.write("completed/nightly/nightly.md", "done last year");
  rig.write("stale/nightly/nightly.77.md", "given up last year");
  const spool = await rig.proxy();
  rig.write("to_execute/nightly/nightly.md", "tonight");
  await rig.settle(spool);
  rig.mv(rig.take("nightly"), "completed/nightly/nightly.md");
  await spool.poll();
  expect(await rig.task("nightly")).toMatchObject({ prompt: "tonight", state: "completed" });
  expect(rig.read("completed/nightly-2/nightly.md")).toBe("done last year");
});

test("another file of the name of a task that is worked on waits for it", async () => {
  const rig = await openRig();
  const spool = await rig.proxy();
  rig.write("to_execute/report/report.md", "the first");
  await rig.settle(spool);
  const taken = rig.take("report");
  await spool.poll();
  rig.write("to_execute/report/report.md", "the second");
  await rig.settle(spool);
  expect(rig.told("refused")).toHaveLength(1);
  rig.mv(taken, "completed/report/report.md");
  await spool.poll();
  await rig.settle(spool);
  expect((await rig.dibs.tasks.list()).tasks.map(({ prompt, state }) => `${prompt} ${state}`)).toEqual([
    "the first completed",
    "the second claimed",
  ]);
});

test("a copy of what somebody works on is not taken twice", async () => {
  const rig = await openRig();
  await rig.add("one");
  const spool = await rig.proxy();
  await spool.poll();
  rig.write(`in_progress/0001/0001.${process.pid}.md`, rig.read("to_execute/0001/0001.md"));
  await spool.poll();
  expect(rig.ls("to_execute")).toEqual([]);
  expect((await rig.task("0001")).state).toBe("running");
});

describe("what a person brings back from stale", () => {
  async function stale() {
    const rig = await openRig();
    await rig.dibs.projects.update({ settings: { retry: { delayMs: 3_600_000 }, maxRetries: 0 } });
    await rig.add("one");
    const spool = await rig.proxy();
    await spool.poll();
    rig.take("0001");
    rig.write("in_progress/0001/error", "no");
    await rig.settle(spool);
    expect((await rig.task("0001")).state).toBe("failed");
    return { rig, spool };
  }

  test("is tried again", async () => {
    const { rig, spool } = await stale();
    rig.mv("stale/0001", "to_execute/0001");
    await rig.settle(spool);
    await spool.poll();
    expect(await rig.task("0001")).toMatchObject({ state: "claimed", claim: { epoch: 2 } });
    expect(rig.ls("to_execute/0001")).toEqual(["0001.md", "error"]);
    rig.mv("to_execute/0001/error", "../error");
    rig.mv(rig.take("0001"), "completed/0001/0001.md");
    await spool.poll();
    expect((await rig.task("0001")).state).toBe("completed");
  });

  test("goes back if somebody else has it by now", async () => {
    const { rig, spool } = await stale();
    await rig.dibs.tasks.retry({ taskId: "0001" });
    await rig.dibs.tasks.claim({ taskId: "0001", sessionId: "ann", register: true });
    rig.mv("stale/0001", "to_execute/0001");
    await rig.settle(spool);
    expect(rig.ls("to_execute")).toEqual([]);
    expect(rig.ls("stale")).toEqual(["0001"]);
    expect(rig.told("lost").at(-1)).toMatchObject({ taskId: "0001", path: "stale/0001" });
  });
});

test("a file of a held task that was elsewhere for a while is no second task", async () => {
  const rig = await openRig();
  await rig.add("one");
  const spool = await rig.proxy();
  await spool.poll();
  await rig.dibs.projects.pause();
  rig.mv("to_execute/0001", "../elsewhere");
  await spool.poll();
  rig.clock.advance(3_000);
  await spool.poll();
  expect((await rig.task("0001")).state).toBe("queued");
  await rig.dibs.projects.resume();
  await rig.dibs.projects.pause();
  rig.mv("../elsewhere", "to_execute/0001");
  await rig.settle(spool);
  expect((await rig.dibs.tasks.list()).tasks).toHaveLength(1);
  expect(rig.ls("to_execute")).toEqual([]);
});
