// For as long as it runs: nothing is missed on either side, and no more is read than has changed.

import { existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Dibs, DibsError } from "../../src/index.js";
import { eventually, openScene, type Scene, timings, told } from "./support.js";

async function watched(more: Parameters<Scene["start"]>[0] = {}): Promise<Scene> {
  const scene = await openScene();
  await scene.create("One", { id: "task-1" });
  await scene.start(more);
  await eventually(() => existsSync(scene.file)).toBe(true);
  return scene;
}

/** Counts the calls of the operations that read tasks. */
function counted(dibs: Dibs): { dibs: Dibs; calls: Record<string, number> } {
  const calls: Record<string, number> = { list: 0, get: 0 };
  const tasks = new Proxy(dibs.tasks, {
    get(target, name: keyof Dibs["tasks"]) {
      if (name in calls) calls[name]!++;
      return target[name];
    },
  });
  return { dibs: { ...dibs, tasks }, calls };
}

describe("what happens in the store", () => {
  test("is in the file soon, state by state", async () => {
    const scene = await watched();
    const shown = () => scene.entry("task-1");
    const { epoch } = await scene.claim("task-1", "agent-1");
    await eventually(() => shown().claim?.sessionId).toBe("agent-1");
    const by = { taskId: "task-1", sessionId: "agent-1", epoch };
    await scene.dibs.tasks.complete({ ...by, result: "done" });
    await eventually(() => shown()).toMatchObject({
      status: "completed",
      claim: null,
      result: { output: "done" },
    });
  });

  test("heartbeats move the lease in the file, though no event tells of them", async () => {
    const scene = await watched();
    const { epoch, expiresAt } = await scene.claim("task-1", "agent-1");
    await eventually(() => scene.entry("task-1").claim?.expiresAt).toBe(expiresAt);
    scene.clock.advance(60_000);
    const by = { taskId: "task-1", sessionId: "agent-1", epoch };
    const { claim } = await scene.dibs.tasks.heartbeat(by);
    await eventually(() => scene.entry("task-1").claim).toMatchObject({
      expiresAt: claim.expiresAt,
      lastHeartbeat: claim.lastHeartbeat,
    });
  });

  test("a lease that ends is over in the file, long before leases are looked at again", async () => {
    const scene = await openScene();
    await scene.create("One", { id: "task-1" });
    const { ttlMs } = await scene.claim("task-1", "agent-1");
    scene.clock.advance(ttlMs - 300);
    await scene.start({ timings: { ...timings, refreshMs: 600_000 } });
    await eventually(() => existsSync(scene.file)).toBe(true);
    expect(scene.entry("task-1").status).toBe("in_progress");
    scene.clock.advance(300);
    await eventually(() => scene.entry("task-1")).toMatchObject({ status: "pending", claim: null });
  });

  test("only tasks that changed are read again", async () => {
    const scene = await openScene();
    const prompts = Array.from({ length: 2_500 }, (_, at) => ({ prompt: `Task ${at}` }));
    await scene.dibs.tasks.batch({ tasks: prompts });
    const { dibs, calls } = counted(scene.dibs);
    await scene.start({ dibs });
    await eventually(() => told(scene.news, "wrote").length).toBe(1);
    expect(calls).toEqual({ list: 3, get: 0 });
    for (const taskId of ["0001", "0002", "0003"]) await scene.claim(taskId, `agent-${taskId}`);
    await eventually(() => scene.entry("0003").status).toBe("in_progress");
    expect(calls.list).toBe(3);
    // Claim and start are two events of one task, and may fall into two exchanges.
    expect(calls.get).toBeLessThanOrEqual(6);
  });

  test("many changes at once are few writes", async () => {
    const writeEveryMs = 200;
    const scene = await watched({ timings: { ...timings, debounceMs: 50, writeEveryMs } });
    const before = told(scene.news, "wrote").length;
    const since = performance.now();
    for (let at = 0; at < 200; at++) await scene.create(`Task ${at}`);
    await eventually(() => scene.entries.length).toBe(201);
    // A slow machine takes longer, and writes more often meanwhile.
    const most = 2 + (performance.now() - since) / writeEveryMs;
    expect(told(scene.news, "wrote").length - before).toBeLessThan(Math.min(most, 200));
  });

  test("what was committed before a stop is written by the stop", async () => {
    const scene = await openScene();
    const sync = await scene.start({ timings: { debounceMs: 60_000 } });
    await eventually(() => existsSync(scene.file)).toBe(true);
    for (let at = 0; at < 5; at++) await scene.create(`Task ${at}`);
    await sync.stop();
    expect(scene.entries).toHaveLength(5);
  });

  test("troubles of the store are told once and waited for", async () => {
    const scene = await openScene();
    await scene.create("One", { id: "task-1" });
    let isDown = false;
    const tasks = new Proxy(scene.dibs.tasks, {
      get: (target, name: keyof Dibs["tasks"]) =>
        isDown ? () => Promise.reject(new DibsError("STORE_UNAVAILABLE", "It is down.")) : target[name],
    });
    await scene.start({ dibs: { ...scene.dibs, tasks } });
    await eventually(() => existsSync(scene.file)).toBe(true);
    isDown = true;
    scene.editEntry("task-1", { title: "Other" });
    await eventually(() => told(scene.news, "trouble").length).toBe(1);
    // Nothing that could not be taken is written over.
    expect(scene.entry("task-1").title).toBe("Other");
    isDown = false;
    await eventually(async () => (await scene.task("task-1")).title).toBe("Other");
    await eventually(() => told(scene.news, "whole").length).toBe(1);
    expect(told(scene.news, "trouble")).toHaveLength(1);
  });

  test("a token that may not edit ends it, and the edit stays in the file", async () => {
    const scene = await openScene();
    await scene.create("One", { id: "task-1" });
    const update = () => Promise.reject(new DibsError("FORBIDDEN", "tasks.update needs the role leader."));
    const sync = await scene.start({ dibs: { ...scene.dibs, tasks: { ...scene.dibs.tasks, update } } });
    await eventually(() => existsSync(scene.file)).toBe(true);
    scene.editEntry("task-1", { title: "Other" });
    await expect(sync.ended).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(scene.entry("task-1").title).toBe("Other");
  });
});

describe("what happens to the file", () => {
  test("editors that rename, and editors that truncate and write", async () => {
    const scene = await watched();
    const title = async () => (await scene.task("task-1")).title;
    scene.editEntry("task-1", { title: "By renaming" });
    await eventually(title).toBe("By renaming");
    await eventually(() => scene.content.dibsRev).toBe(2);
    writeFileSync(scene.file, scene.text.replace("By renaming", "By writing"));
    await eventually(title).toBe("By writing");
  });

  test("an edit that leaves no trace but its bytes is seen", async () => {
    const scene = await watched();
    const title = async () => (await scene.task("task-1")).title;
    await eventually(() => told(scene.news, "wrote").length).toBe(1);
    // The same size, the same inode, and the time put back.
    const { atime, mtime } = statSync(scene.file);
    writeFileSync(scene.file, scene.text.replaceAll('"One"', '"Two"'));
    utimesSync(scene.file, atime, mtime);
    await eventually(title).toBe("Two");
  });

  test("edits in a row are all seen", async () => {
    const scene = await watched();
    for (let at = 0; at < 10; at++) {
      scene.editEntry("task-1", { title: `Title ${at}` });
      await eventually(async () => (await scene.task("task-1")).title).toBe(`Title ${at}`);
    }
  });

  test("a file that is removed comes back", async () => {
    const scene = await watched();
    rmSync(scene.file);
    await eventually(() => existsSync(scene.file)).toBe(true);
    expect(JSON.parse(readFileSync(scene.file, "utf8")).tasks).toHaveLength(1);
  });

  test("edits made while nobody watched are taken at the start, and so is what the store did", async () => {
    const scene = await openScene();
    await scene.create("One", { id: "task-1" });
    const first = await scene.start();
    await eventually(() => existsSync(scene.file)).toBe(true);
    await first.stop();
    scene.editEntry("task-1", { title: "By hand" });
    await scene.dibs.tasks.update({ taskId: "task-1", priority: 80 });
    await scene.create("Two", { id: "task-2" });
    await scene.start();
    await eventually(() => scene.entries.map(({ title, priority }) => [title, priority])).toEqual([
      ["By hand", "high"],
      ["Two", "medium"],
    ]);
    expect(await scene.task("task-1")).toMatchObject({ title: "By hand", priority: 80 });
    expect(told(scene.news, "conflict")).toEqual([]);
  });
});
