// The second seed's list of what must hold, line by line, by somebody who only reads and writes tasks.json in the seed's own words.

import { describe, expect, test } from "vitest";
import { type Entry, eventually, openScene, type Scene, told } from "./support.js";

/** The seed's program: it knows the file and nothing else. */
class TaskStore {
  constructor(private readonly scene: Scene) {}

  /** What it wrote has been read, and what followed has been written. */
  private async saved(): Promise<void> {
    await this.scene.sync();
    await this.scene.sync();
  }

  get(id: string): Entry {
    return this.scene.entry(id);
  }

  async addTasks(...tasks: Entry[]): Promise<void> {
    if (this.scene.news.length === 0) this.scene.write({ tasks: [] });
    this.scene.edit((content) => content.tasks.push(...tasks));
    await this.saved();
  }

  async tryClaim(id: string, agent: string): Promise<boolean> {
    const claimed = { Status: "InProgress", ClaimedByAgentId: agent, ClaimedAt: new Date().toISOString() };
    this.scene.editEntry(id, claimed);
    await this.saved();
    return this.get(id).ClaimedByAgentId === agent;
  }

  async complete(id: string): Promise<void> {
    this.scene.editEntry(id, { Status: "Completed", Result: { Output: "done" } });
    await this.saved();
  }

  async fail(id: string, error: string): Promise<void> {
    this.scene.editEntry(id, { Status: "Failed", Error: error });
    await this.saved();
  }
}

const task = (TaskId: string, more: Entry = {}): Entry => ({
  TaskId,
  Title: `Title of ${TaskId}`,
  Description: `Do ${TaskId}`,
  Priority: "Normal",
  Status: "Pending",
  DependsOn: [],
  Files: [],
  MaxRetries: 2,
  ...more,
});

async function opened(): Promise<{ scene: Scene; store: TaskStore }> {
  const scene = await openScene({ dialect: "pascal" });
  await scene.dibs.projects.update({ settings: { retry: { delayMs: 0, jitter: 0 } } });
  return { scene, store: new TaskStore(scene) };
}

const claimable = async ({ dibs }: Scene) => (await dibs.tasks.claimable()).tasks.map(({ id }) => id);

describe("the second seed's acceptance list", () => {
  test("tasks with unresolved dependencies cannot be claimed", async () => {
    const { scene, store } = await opened();
    await store.addTasks(task("task-1"), task("task-2", { DependsOn: ["task-1"] }));
    expect(await store.tryClaim("task-2", "agent-1")).toBe(false);
    expect(store.get("task-2")).toMatchObject({ Status: "Pending", ClaimedByAgentId: null, ClaimedAt: null });
    const claim = scene.dibs.tasks.claim({ taskId: "task-2", sessionId: "agent-2", register: true });
    await expect(claim).rejects.toMatchObject({ code: "TASK_NOT_CLAIMABLE" });
  });

  test("completing a task automatically makes dependent tasks claimable", async () => {
    const { store } = await opened();
    await store.addTasks(task("task-1"), task("task-2", { DependsOn: ["task-1"] }));
    expect(await store.tryClaim("task-1", "agent-1")).toBe(true);
    await store.complete("task-1");
    expect(store.get("task-1")).toMatchObject({ Status: "Completed", Result: { Output: "done" } });
    expect(await store.tryClaim("task-2", "agent-1")).toBe(true);
  });

  test("two agents cannot claim the same task", async () => {
    const { scene, store } = await opened();
    await store.addTasks(task("task-1"), task("task-2"));
    // One through the file and one through the store, at the same time.
    await scene.claim("task-1", "agent-2");
    expect(await store.tryClaim("task-1", "agent-1")).toBe(false);
    expect(store.get("task-1").ClaimedByAgentId).toBe("agent-2");
    // And both through the file.
    expect(await store.tryClaim("task-2", "agent-1")).toBe(true);
    expect(await store.tryClaim("task-2", "agent-3")).toBe(false);
    expect((await scene.task("task-2")).claim?.sessionId).toBe("agent-1");
  });

  test("failed tasks are retried up to MaxRetries, then left as Failed", async () => {
    const { scene, store } = await opened();
    await store.addTasks(task("task-1"));
    for (const retries of [1, 2]) {
      expect(await store.tryClaim("task-1", "agent-1")).toBe(true);
      await store.fail("task-1", `broke ${retries}`);
      expect(store.get("task-1")).toMatchObject({ Status: "Pending", RetryCount: retries });
      scene.clock.advance(1);
    }
    expect(await store.tryClaim("task-1", "agent-1")).toBe(true);
    await store.fail("task-1", "broke for good");
    expect(store.get("task-1")).toMatchObject({ Status: "Failed", RetryCount: 2, Error: "broke for good" });
  });

  test("task state persists to disk after every mutation", async () => {
    const { scene } = await opened();
    const { tasks } = scene.dibs;
    const by = { taskId: "task-1", sessionId: "agent-1" };
    const states: string[] = [];
    for (const mutation of [
      () => scene.create("One", { id: "task-1" }),
      () => scene.claim("task-1", "agent-1"),
      () => tasks.ask({ ...by, question: "Which?" }),
      () => tasks.respond({ taskId: "task-1", response: "That one" }),
      () => tasks.release(by),
      () => tasks.cancel({ taskId: "task-1" }),
      () => tasks.retry({ taskId: "task-1" }),
      () => scene.claim("task-1", "agent-1"),
      () => tasks.complete(by),
    ]) {
      await mutation();
      await scene.sync();
      const { Status, ClaimedByAgentId } = scene.entry("task-1");
      states.push(`${Status} ${ClaimedByAgentId}`);
    }
    expect(states).toEqual([
      "Pending null",
      "InProgress agent-1",
      "InProgress agent-1",
      "InProgress agent-1",
      "Pending null",
      "Failed null",
      "Pending null",
      "InProgress agent-1",
      "Completed null",
    ]);
  });

  test("the task store can be loaded from disk on restart", async () => {
    const { scene, store } = await opened();
    await store.addTasks(task("task-1"), task("task-2", { DependsOn: ["task-1"], Priority: "High" }));
    await store.tryClaim("task-1", "agent-1");
    await store.complete("task-1");
    // A store that has never seen it.
    const other = await openScene();
    other.write(scene.text);
    await other.sync();
    expect(await other.task("task-1")).toMatchObject({ state: "completed", result: { output: "done" } });
    expect(await other.task("task-2")).toMatchObject({ dependsOn: ["task-1"], priority: 80, maxRetries: 2 });
    expect(await claimable(other)).toEqual(["task-2"]);
  });

  test("decomposition produces tasks with stable ids and id-based dependencies", async () => {
    const { scene } = await opened();
    await scene.dibs.tasks.batch({
      tasks: [{ prompt: "Set up" }, { prompt: "Build", dependsOn: ["Set up"] }] as never,
    });
    await scene.sync();
    const shown = () => scene.entries.map(({ TaskId, DependsOn }) => [TaskId, DependsOn]);
    expect(shown()).toEqual([
      ["0001", []],
      ["0002", ["0001"]],
    ]);
    await scene.dibs.tasks.update({ taskId: "0001", title: "Other" });
    await scene.sync();
    expect(shown()[1]).toEqual(["0002", ["0001"]]);
    // Titles are understood where a decomposition is written into the file, and become ids.
    scene.edit((content) =>
      content.tasks.push(task("task-3"), task("task-4", { DependsOn: ["Title of task-3"] })),
    );
    await scene.sync();
    expect(scene.entry("task-4").DependsOn).toEqual(["task-3"]);
  });

  test("GetClaimable returns only tasks with all dependencies satisfied", async () => {
    const { scene, store } = await opened();
    await store.addTasks(
      task("task-1"),
      task("task-2"),
      task("task-3", { DependsOn: ["task-1", "task-2"] }),
      task("task-4", { DependsOn: ["task-3"] }),
    );
    expect(await claimable(scene)).toEqual(["task-1", "task-2"]);
    await store.complete("task-1");
    expect(await claimable(scene)).toEqual(["task-2"]);
    await store.complete("task-2");
    expect(await claimable(scene)).toEqual(["task-3"]);
    scene.editEntry("task-4", { DependsOn: [] });
    await scene.sync();
    expect(await claimable(scene)).toEqual(["task-3", "task-4"]);
  });

  test("stale claims, of an agent that crashed, are released after the timeout", async () => {
    const { scene, store } = await opened();
    await store.addTasks(task("task-1"));
    const sync = await scene.start();
    expect(store.get("task-1").Status).toBe("Pending");
    scene.editEntry("task-1", { Status: "InProgress", ClaimedByAgentId: "agent-1" });
    await eventually(() => store.get("task-1").claim?.epoch).toBe(1);
    scene.clock.advance(31 * 60_000);
    // Nobody but the sync looks.
    await eventually(() => store.get("task-1")).toMatchObject({ Status: "Pending", ClaimedByAgentId: null });
    await sync.stop();
    expect(told(scene.news, "trouble")).toEqual([]);
  });
});
