// Who wins, who is told, and what is never done: three sides of one task.

import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { laterClock, openScene, type Scene, told } from "./support.js";

const records = (scene: Scene) =>
  readFileSync(`${scene.file}.conflicts`, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

async function withTask(more: object = {}): Promise<Scene> {
  const scene = await openScene();
  await scene.create("One", { id: "task-1", ...more });
  await scene.sync();
  return scene;
}

describe("text that both sides changed", () => {
  test("the later one wins, both are told and kept: the file's", async () => {
    const scene = await withTask();
    await scene.dibs.tasks.update({ taskId: "task-1", title: "Store's" });
    scene.editEntry("task-1", { title: "File's" });
    scene.savedAt(scene.clock.now() + 5_000);
    const [conflict] = told(await scene.sync(), "conflict");
    const sides = { field: "title", base: "One", file: "File's", store: "Store's", taken: "file" };
    expect(conflict).toMatchObject({ taskId: "task-1", ...sides });
    expect((await scene.task("task-1")).title).toBe("File's");
    expect(records(scene)).toMatchObject([sides]);
    expect(await scene.isClean()).toBe(true);
  });

  test("the later one wins, both are told and kept: the store's", async () => {
    const scene = await withTask();
    await scene.dibs.tasks.update({ taskId: "task-1", title: "Store's", priority: 80 });
    scene.editEntry("task-1", { title: "File's", priority: "low", files: ["a.ts"] });
    scene.savedAt(scene.clock.now() - 5_000);
    const conflicts = told(await scene.sync(), "conflict");
    expect(conflicts.map(({ field, taken }) => [field, taken])).toEqual([
      ["title", "store"],
      ["priority", "store"],
    ]);
    // What only one side changed is no conflict.
    const { title, priority, files } = await scene.task("task-1");
    expect({ title, priority, files }).toEqual({ title: "Store's", priority: 80, files: ["a.ts"] });
    expect(scene.entry("task-1")).toMatchObject({ title: "Store's", priority: "high", files: ["a.ts"] });
    expect(records(scene)).toHaveLength(2);
  });

  test("the one text of the file is later or earlier than either of the store's", async () => {
    const scene = await withTask();
    await scene.dibs.tasks.update({ taskId: "task-1", prompt: "Store's" });
    scene.editEntry("task-1", { description: "File's" });
    scene.savedAt(scene.clock.now() - 5_000);
    expect(told(await scene.sync(), "conflict")).toMatchObject([{ field: "description", taken: "store" }]);
    expect((await scene.task("task-1")).prompt).toBe("Store's");
  });

  test("the same change on both sides is no conflict", async () => {
    const scene = await withTask();
    await scene.dibs.tasks.update({ taskId: "task-1", title: "Same", labels: ["a"] });
    scene.editEntry("task-1", { title: "Same", labels: ["a", "a"] });
    expect(told(await scene.sync(), "conflict")).toEqual([]);
    expect(existsSync(`${scene.file}.conflicts`)).toBe(false);
  });

  test("without a base, as on the first meeting of a file and a store, every difference is one", async () => {
    const scene = await withTask({ priority: 80 });
    rmSync(`${scene.directory}/.tasks.json.dibs-base`);
    scene.editEntry("task-1", { title: "File's" });
    scene.savedAt(scene.clock.now() + 5_000);
    const conflicts = told(await scene.sync(), "conflict");
    expect(conflicts).toMatchObject([{ field: "title", taken: "file" }]);
    expect((await scene.task("task-1")).title).toBe("File's");
  });
});

describe("copies that are out of date", () => {
  test("an editor that read the file before the store changed takes nothing back", async () => {
    const scene = await withTask();
    await scene.create("Two", { id: "task-2" });
    await scene.sync();
    const old = scene.content;
    await scene.dibs.tasks.update({ taskId: "task-1", title: "Changed since", dependsOn: ["task-2"] });
    await scene.create("Three", { id: "task-3" });
    await scene.claim("task-2", "agent-1");
    await scene.sync();
    old.tasks[1]!.title = "Edited in the old copy";
    scene.write(old);
    const news = await scene.sync();
    expect(news.map(({ what, taskId }) => [what, taskId])).toEqual([
      ["edited", "task-2"],
      ["wrote", undefined],
    ]);
    const { title, dependsOn } = await scene.task("task-1");
    expect({ title, dependsOn }).toEqual({ title: "Changed since", dependsOn: ["task-2"] });
    expect(scene.entries.map(({ id, title }) => [id, title])).toEqual([
      ["task-1", "Changed since"],
      ["task-2", "Edited in the old copy"],
      ["task-3", "Three"],
    ]);
    expect(scene.entry("task-2").claim.sessionId).toBe("agent-1");
  });

  test("an old copy of a failed task does not fail it again", async () => {
    const scene = await withTask({ maxRetries: 0 });
    await scene.claim("task-1", "agent-1");
    await scene.dibs.tasks.fail({ taskId: "task-1", sessionId: "agent-1", error: "no" });
    await scene.sync();
    const old = scene.content;
    await scene.dibs.tasks.retry({ taskId: "task-1" });
    await scene.sync();
    scene.write(old);
    expect(await scene.isClean()).toBe(true);
    expect((await scene.task("task-1")).state).toBe("queued");
    expect(scene.entry("task-1").status).toBe("pending");
  });

  test("done in a copy that did not know of the holder is refused", async () => {
    const scene = await withTask();
    const old = scene.content;
    await scene.claim("task-1", "agent-1");
    await scene.sync();
    old.tasks[0]!.status = "done";
    scene.write(old);
    const [refused] = told(await scene.sync(), "refused");
    expect(refused!.message).toContain("agent-1 holds it until");
    expect((await scene.task("task-1")).state).toBe("running");
    expect(scene.entry("task-1")).toMatchObject({ status: "in_progress", claim: { sessionId: "agent-1" } });
  });
});

describe("who holds what", () => {
  test("done in a copy that knew the holder completes the task in the holder's name", async () => {
    const scene = await withTask();
    await scene.create("Two", { id: "task-2", dependsOn: ["task-1"] });
    const { epoch } = await scene.claim("task-1", "agent-1");
    await scene.sync();
    scene.editEntry("task-1", {
      status: "completed",
      result: { output: "It works.", filesCreated: ["a.ts"] },
    });
    expect(told(await scene.sync(), "completed")).toMatchObject([
      { taskId: "task-1", message: "as agent-1" },
    ]);
    const { attempts } = await scene.dibs.tasks.attempts({ taskId: "task-1" });
    expect(attempts).toMatchObject([{ sessionId: "agent-1", epoch, releaseReason: "completed" }]);
    expect((await scene.task("task-1")).result).toEqual({
      output: "It works.",
      filesCreated: ["a.ts"],
      filesModified: [],
    });
    // The holder who reports it too is not told off: it happened once.
    await scene.dibs.tasks.complete({ taskId: "task-1", sessionId: "agent-1", epoch });
    expect((await scene.dibs.tasks.claimable()).tasks.map(({ id }) => id)).toEqual(["task-2"]);
  });

  test("many programs remove the claim with the end: the one that the copy had counts", async () => {
    const scene = await withTask();
    await scene.claim("task-1", "agent-1");
    await scene.sync();
    scene.edit(({ tasks: [task] }) => {
      task!.status = "completed";
      delete task!.claim;
    });
    expect(told(await scene.sync(), "completed")).toMatchObject([{ message: "as agent-1" }]);
  });

  test("done by a holder whose lease is over is refused, and kept as a late result", async () => {
    const scene = await withTask();
    await scene.claim("task-1", "agent-1");
    await scene.sync();
    scene.clock.advance(31 * 60_000);
    scene.editEntry("task-1", { status: "completed", result: "late" });
    const [refused] = told(await scene.sync(), "refused");
    expect(refused).toMatchObject({ taskId: "task-1", field: "status", code: "CLAIM_EXPIRED" });
    expect((await scene.task("task-1")).state).toBe("queued");
    const { attempts } = await scene.dibs.tasks.attempts({ taskId: "task-1" });
    expect(attempts[0]!.lateResult?.result?.output).toBe("late");
    expect(scene.entry("task-1")).toMatchObject({ status: "pending", claim: null });
  });

  test("done by a holder after somebody else has claimed is refused", async () => {
    const scene = await withTask();
    await scene.claim("task-1", "agent-1");
    await scene.sync();
    const old = scene.content;
    scene.clock.advance(31 * 60_000);
    await scene.claim("task-1", "agent-2");
    old.tasks[0]!.status = "completed";
    scene.write(old);
    expect(told(await scene.sync(), "refused")).toMatchObject([{ code: "NOT_CLAIM_OWNER" }]);
    expect((await scene.task("task-1")).claim?.sessionId).toBe("agent-2");
    expect(scene.entry("task-1").claim.sessionId).toBe("agent-2");
  });

  test("done for what nobody holds completes it, in the assignee's name if it has one", async () => {
    const scene = await withTask({ assignee: "agent-7" });
    await scene.create("Two", { id: "task-2", dependsOn: ["task-1"] });
    await scene.sync();
    // The one that depends on the other stands first.
    scene.edit(({ tasks }) => {
      tasks.reverse();
      for (const task of tasks) task.status = "done";
    });
    expect(told(await scene.sync(), "completed").map(({ taskId }) => taskId)).toEqual(["task-1", "task-2"]);
    const by = async (taskId: string) => (await scene.dibs.tasks.attempts({ taskId })).attempts[0]!.sessionId;
    expect([await by("task-1"), await by("task-2")]).toEqual(["agent-7", "tasks-json"]);
  });

  test("done for what waits is refused, and nobody holds it afterwards", async () => {
    const scene = await withTask();
    await scene.create("Two", { id: "task-2", dependsOn: ["task-1"] });
    await scene.sync();
    scene.editEntry("task-2", { status: "completed" });
    const [refused] = told(await scene.sync(), "refused");
    expect(refused).toMatchObject({ taskId: "task-2", code: "TASK_NOT_CLAIMABLE" });
    expect(await scene.task("task-2")).toMatchObject({ state: "queued", claim: null });
    expect(scene.entry("task-2").status).toBe("pending");
  });

  test("the result of an end that is refused is kept beside the file", async () => {
    const scene = await withTask();
    await scene.create("Two", { id: "task-2", dependsOn: ["task-1"], notBefore: "2099-01-01T00:00:00Z" });
    await scene.sync();
    scene.editEntry("task-2", { status: "completed", result: "Much work." });
    expect(told(await scene.sync(), "refused")).toMatchObject([{ code: "TASK_NOT_CLAIMABLE" }]);
    expect(records(scene)).toMatchObject([
      { file: { to: "completed", result: "Much work." }, store: "queued" },
    ]);
    // And it still waits for its time.
    expect(await scene.task("task-2")).toMatchObject({
      state: "queued",
      notBefore: "2099-01-01T00:00:00.000Z",
    });
  });

  test("done for what was to begin later, or to be tried again later, completes it", async () => {
    const scene = await withTask({ notBefore: "2099-01-01T00:00:00Z" });
    await scene.create("Two", { id: "task-2" });
    const { epoch } = await scene.claim("task-2", "agent-1");
    await scene.dibs.tasks.fail({ taskId: "task-2", sessionId: "agent-1", epoch, error: "no" });
    await scene.sync();
    scene.editEntry("task-1", { status: "completed", result: "Early." });
    scene.editEntry("task-2", { status: "completed", result: "After all." });
    expect(await scene.isClean()).toBe(true);
    expect(await scene.task("task-1")).toMatchObject({ state: "completed", result: { output: "Early." } });
    expect(await scene.task("task-2")).toMatchObject({
      state: "completed",
      result: { output: "After all." },
    });
  });

  test("what was to begin later still is, if its end is refused", async () => {
    const scene = await withTask({ notBefore: "2099-01-01T00:00:00Z" });
    scene.editEntry("task-1", { status: "completed", result: "x".repeat(2 ** 20 + 1) });
    expect(told(await scene.sync(), "refused")).toMatchObject([{ code: "PAYLOAD_TOO_LARGE" }]);
    const task = await scene.task("task-1");
    expect(task).toMatchObject({ state: "queued", claim: null, notBefore: "2099-01-01T00:00:00.000Z" });
  });

  test("done for what asks a human is refused", async () => {
    const scene = await withTask();
    await scene.claim("task-1", "agent-1");
    await scene.dibs.tasks.ask({ taskId: "task-1", sessionId: "agent-1", question: "Which?" });
    await scene.sync();
    scene.editEntry("task-1", { status: "completed" });
    expect(told(await scene.sync(), "refused")).toMatchObject([{ code: "INVALID_STATE" }]);
    expect((await scene.task("task-1")).state).toBe("awaiting_response");
  });

  test("a claim in the file is a request that the store grants", async () => {
    const scene = await withTask();
    const claim = { sessionId: "agent-1", claimedAt: new Date().toISOString() };
    scene.editEntry("task-1", { status: "in_progress", claim });
    expect(told(await scene.sync(), "claimed")).toMatchObject([{ taskId: "task-1", message: "as agent-1" }]);
    expect(await scene.task("task-1")).toMatchObject({
      state: "running",
      claim: { sessionId: "agent-1", epoch: 1 },
    });
    expect(scene.entry("task-1").claim).toMatchObject({ sessionId: "agent-1", epoch: 1 });
    // And the end is by the same hand.
    scene.editEntry("task-1", { status: "completed" });
    await scene.sync();
    expect((await scene.task("task-1")).state).toBe("completed");
  });

  test("a claim in the file says what type of agent it is", async () => {
    const scene = await withTask({ agentType: "reviewer" });
    const claim = { sessionId: "agent-1", agentType: "reviewer" };
    scene.editEntry("task-1", { status: "in_progress", claim });
    expect(await scene.isClean()).toBe(true);
    expect((await scene.task("task-1")).claim).toMatchObject(claim);
    const { sessions } = await scene.dibs.sessions.list();
    expect(sessions).toMatchObject([{ id: "agent-1", agentType: "reviewer" }]);
    expect(scene.entry("task-1").claim).toMatchObject(claim);
  });

  test("a claim that was over before it was seen is refused", async () => {
    const scene = await withTask();
    const expiresAt = new Date(scene.clock.now() - 1).toISOString();
    scene.editEntry("task-1", { status: "in_progress", claim: { sessionId: "agent-1", expiresAt } });
    const [refused] = told(await scene.sync(), "refused");
    expect(refused!.message).toBe(`The requested claim expired at ${expiresAt}.`);
    expect(scene.entry("task-1")).toMatchObject({ status: "pending", claim: null });
  });

  test("a claim of what somebody else has taken meanwhile is refused", async () => {
    const scene = await withTask();
    await scene.claim("task-1", "agent-2");
    scene.editEntry("task-1", { status: "in_progress", claim: { sessionId: "agent-1" } });
    const [refused] = told(await scene.sync(), "refused");
    expect(refused!.message).toBe("agent-2 holds it, not agent-1.");
    expect(scene.entry("task-1").claim.sessionId).toBe("agent-2");
  });

  test("a holder cannot be changed by hand", async () => {
    const scene = await withTask();
    await scene.claim("task-1", "agent-1");
    await scene.sync();
    scene.editEntry("task-1", { claim: { ...scene.entry("task-1").claim, sessionId: "agent-2" } });
    expect(told(await scene.sync(), "refused")).toMatchObject([
      { message: "agent-1 holds it, not agent-2." },
    ]);
    expect(scene.entry("task-1").claim.sessionId).toBe("agent-1");
    scene.editEntry("task-1", { status: "pending", claim: null });
    expect(told(await scene.sync(), "refused")).toMatchObject([
      { message: expect.stringContaining("agent-1 holds it") },
    ]);
    expect(scene.entry("task-1")).toMatchObject({ status: "in_progress", claim: { sessionId: "agent-1" } });
  });

  test("in progress by nobody is refused", async () => {
    const scene = await withTask();
    scene.editEntry("task-1", { status: "in_progress" });
    expect(told(await scene.sync(), "refused")).toMatchObject([
      { message: expect.stringContaining("by whom") },
    ]);
    scene.editEntry("task-1", { status: "in_progress", claim: { sessionId: "../../etc" } });
    expect(told(await scene.sync(), "refused")).toMatchObject([
      { message: expect.stringContaining("Session '../../etc'") },
    ]);
    expect((await scene.task("task-1")).state).toBe("queued");
  });

  test("a heartbeat in the file renews the lease", async () => {
    const scene = await withTask();
    await scene.claim("task-1", "agent-1");
    await scene.sync();
    scene.clock.advance(10 * 60_000);
    const lastHeartbeat = new Date(scene.clock.now()).toISOString();
    scene.editEntry("task-1", { claim: { ...scene.entry("task-1").claim, lastHeartbeat } });
    expect(told(await scene.sync(), "renewed")).toMatchObject([{ taskId: "task-1" }]);
    const { claim } = await scene.task("task-1");
    expect(claim).toMatchObject({ lastHeartbeat, heartbeatCount: 1 });
    expect(scene.entry("task-1").claim.expiresAt).toBe(claim!.expiresAt);
  });
});

describe("other moves", () => {
  test("failed and cancelled tasks are tried again by hand, and edited with it", async () => {
    const scene = await withTask();
    await scene.dibs.tasks.cancel({ taskId: "task-1" });
    await scene.sync();
    scene.editEntry("task-1", { status: "pending", title: "Once more" });
    expect((await scene.sync()).map(({ what }) => what)).toEqual(["retried", "edited", "wrote"]);
    expect(await scene.task("task-1")).toMatchObject({ state: "queued", title: "Once more" });
  });

  test("the error that goes with another try is no edit of its own", async () => {
    const scene = await withTask({ maxRetries: 0 });
    const by = { taskId: "task-1", sessionId: "agent-1" };
    await scene.claim("task-1", "agent-1");
    await scene.dibs.tasks.fail({ ...by, error: "no" });
    await scene.sync();
    scene.editEntry("task-1", { status: "pending", error: null });
    expect((await scene.sync()).map(({ what }) => what)).toEqual(["retried", "wrote"]);
    expect(await scene.task("task-1")).toMatchObject({ state: "queued", error: null });
  });

  test("a task is cancelled by hand", async () => {
    const scene = await withTask();
    scene.editEntry("task-1", { status: "cancelled" });
    await scene.sync();
    expect((await scene.task("task-1")).state).toBe("cancelled");
  });

  test("what is completed stays completed, and its text too", async () => {
    const scene = await withTask();
    scene.editEntry("task-1", { status: "done" });
    await scene.sync();
    scene.editEntry("task-1", { status: "pending", title: "Later" });
    const refused = told(await scene.sync(), "refused");
    expect(refused.map(({ field }) => field)).toEqual(["status", "title"]);
    expect(scene.entry("task-1")).toMatchObject({ status: "completed", title: "One" });
    expect(records(scene)).toMatchObject([{}, { file: { title: "Later" }, store: { title: "One" } }]);
  });

  test("of several edits the good ones are taken", async () => {
    const scene = await withTask();
    await scene.claim("task-1", "agent-1");
    await scene.sync();
    scene.editEntry("task-1", { title: "Good", dependsOn: ["nobody"], priority: "very", labels: ["x"] });
    const news = await scene.sync();
    expect(told(news, "edited").map(({ fields }) => fields)).toEqual([["title"], ["labels"]]);
    expect(told(news, "refused").map(({ field }) => field)).toEqual(["priority", "dependsOn"]);
    expect(scene.entry("task-1")).toMatchObject({
      title: "Good",
      dependsOn: [],
      priority: "medium",
      labels: ["x"],
    });
  });

  test("results and parents are not changed without a word", async () => {
    const scene = await withTask();
    scene.editEntry("task-1", { result: "by hand", parentId: "0001" });
    expect(told(await scene.sync(), "refused").map(({ field }) => field)).toEqual(["parentId", "result"]);
    expect(records(scene)).toHaveLength(2);
  });
});

describe("what is missing in the file", () => {
  test("a task that was removed is told and written back, with all it had", async () => {
    const scene = await withTask();
    scene.editEntry("task-1", { mine: "kept" });
    await scene.create("Two", { id: "task-2" });
    await scene.sync();
    scene.edit((content) => void content.tasks.shift());
    const [removed] = told(await scene.sync(), "removed");
    expect(removed).toMatchObject({
      count: 1,
      taskIds: ["task-1"],
      message: expect.stringContaining("written back"),
    });
    expect((await scene.task("task-1")).state).toBe("queued");
    expect(scene.entry("task-1")).toMatchObject({ title: "One", mine: "kept" });
    expect(await scene.isClean()).toBe(true);
  });

  test("--removed cancel cancels it, and what is over then stays away", async () => {
    const scene = await withTask();
    await scene.create("Two", { id: "task-2" });
    await scene.sync({ removed: "cancel" });
    scene.edit((content) => void content.tasks.shift());
    const news = await scene.sync({ removed: "cancel" });
    expect(news.map(({ what }) => what)).toEqual(["removed", "cancelled", "wrote"]);
    expect((await scene.task("task-1")).state).toBe("cancelled");
    expect(scene.entries.map(({ id }) => id)).toEqual(["task-2"]);
    expect(await scene.isClean({ removed: "cancel" })).toBe(true);
    await scene.dibs.tasks.retry({ taskId: "task-1" });
    await scene.sync();
    expect(scene.entries.map(({ id }) => id)).toEqual(["task-2", "task-1"]);
  });

  test("a field that a program has dropped is no edit", async () => {
    const scene = await withTask({ labels: ["a"], files: ["b"] });
    scene.edit(({ tasks: [task] }) => {
      for (const name of ["labels", "files", "description", "claim", "priority"]) delete task![name];
    });
    expect(await scene.isClean()).toBe(true);
    expect(await scene.task("task-1")).toMatchObject({ labels: ["a"], files: ["b"], prompt: "One" });
    expect(scene.entry("task-1")).toMatchObject({ labels: ["a"], files: ["b"], description: "One" });
  });

  test("a file that is gone is written anew", async () => {
    const scene = await withTask();
    rmSync(scene.file);
    expect(await scene.isClean()).toBe(true);
    expect(scene.entries).toHaveLength(1);
  });
});

describe("a write that was cut off", () => {
  /** The file and the base before and after the store's title changed. */
  async function cutOff() {
    const scene = await withTask();
    const base = join(scene.directory, ".tasks.json.dibs-base");
    const before = { file: scene.text, base: readFileSync(base, "utf8") };
    await scene.dibs.tasks.update({ taskId: "task-1", title: "Second" });
    await scene.sync();
    const after = { file: scene.text, base: readFileSync(base, "utf8") };
    writeFileSync(base, before.base);
    writeFileSync(`${base}.next`, after.base);
    return { scene, before, after };
  }

  test("after the file was there: what we wrote ourselves is no edit", async () => {
    const { scene } = await cutOff();
    await scene.dibs.tasks.update({ taskId: "task-1", title: "Third" });
    expect(await scene.isClean()).toBe(true);
    expect([(await scene.task("task-1")).title, scene.entry("task-1").title]).toEqual(["Third", "Third"]);
  });

  test("after the file was there, and somebody has edited it since", async () => {
    const { scene } = await cutOff();
    scene.editEntry("task-1", { priority: "high" });
    await scene.dibs.tasks.update({ taskId: "task-1", title: "Third" });
    expect(await scene.isClean()).toBe(true);
    expect(await scene.task("task-1")).toMatchObject({ title: "Third", priority: 80 });
  });

  test("before the file was there: the old file takes nothing back", async () => {
    const { scene, before } = await cutOff();
    scene.write(before.file);
    expect(await scene.isClean()).toBe(true);
    expect([(await scene.task("task-1")).title, scene.entry("task-1").title]).toEqual(["Second", "Second"]);
  });
});

describe("a file of another store", () => {
  test("is not mixed with tasks that are here already", async () => {
    const scene = await withTask();
    const other = await openScene({ file: scene.file }, laterClock());
    await other.create("Its own");
    await expect(other.sync()).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      message: expect.stringContaining("is kept for project demo of another store"),
    });
    expect(scene.entries.map(({ title }) => title)).toEqual(["One"]);
    // Unless that is wanted.
    rmSync(`${scene.directory}/.tasks.json.dibs-base`);
    await other.sync();
    expect(scene.entries.map(({ title }) => title)).toEqual(["One", "Its own"]);
  });

  test("is taken over by one that has nothing yet", async () => {
    const scene = await withTask();
    const other = await openScene({ file: scene.file }, laterClock());
    await other.sync();
    expect((await other.task("task-1")).title).toBe("One");
  });
});

describe("new tasks", () => {
  test("they come in any order, with parents and dependencies", async () => {
    const scene = await openScene();
    scene.write({
      tasks: [
        { id: "c", title: "C", dependsOn: ["b"], status: "done" },
        { id: "b", title: "B", dependsOn: ["a"], parentId: "top", status: "done" },
        { id: "a", title: "A", parentId: "top", status: "done" },
        { id: "top", title: "Top", type: "group" },
      ],
    });
    await scene.sync();
    const states = await Promise.all(["a", "b", "c", "top"].map(async (id) => (await scene.task(id)).state));
    expect(states).toEqual(["completed", "completed", "completed", "completed"]);
    expect(scene.entries.map(({ id, status }) => [id, status])).toEqual([
      ["c", "done"],
      ["b", "done"],
      ["a", "done"],
      ["top", "completed"],
    ]);
  });

  test("one without an id gets one, and only once", async () => {
    const scene = await withTask();
    const old = scene.content;
    old.tasks.push({ title: "Two", mine: 1 }, { title: "Two", mine: 1 });
    scene.write(old);
    await scene.sync();
    expect(scene.entries.map(({ id }) => id)).toEqual(["task-1", "0001", "0002"]);
    // The editor still has its copy without ids open, and saves it again.
    old.tasks[0]!.title = "Other";
    scene.write(old);
    await scene.sync();
    expect(scene.entries.map(({ id, title }) => [id, title])).toEqual([
      ["task-1", "Other"],
      ["0001", "Two"],
      ["0002", "Two"],
    ]);
    expect((await scene.dibs.tasks.list()).tasks).toHaveLength(3);
  });

  test("what cannot be a task is told once and left in the file; the others come in", async () => {
    const scene = await openScene();
    const bad = [
      { id: "../x", title: "Bad id" },
      { id: "0001", title: "An id like ours" },
      { id: "lonely", title: "Waits for nobody", dependsOn: ["nobody"] },
      { id: 7, title: "A number" },
      { id: "empty" },
      "no object",
      { id: "good", title: "Again" },
    ];
    scene.write({ tasks: [{ id: "good", title: "Good" }, ...bad] });
    const refused = told(await scene.sync(), "refused");
    expect(refused).toHaveLength(bad.length);
    expect((await scene.dibs.tasks.list()).tasks.map(({ id }) => id)).toEqual(["good"]);
    expect(scene.entries.slice(1)).toEqual(bad);
    // What was missing has come.
    await scene.create("Nobody", { id: "nobody" });
    await scene.sync();
    expect((await scene.task("lonely")).dependsOn).toEqual(["nobody"]);
  });

  test("those that wait for each other are told so; the others come in", async () => {
    const scene = await openScene();
    const bad = [
      { id: "a", title: "A", dependsOn: ["b"] },
      { id: "b", title: "B", dependsOn: ["a"] },
      { id: "next", title: "Next", dependsOn: ["a"] },
      { id: "lonely", title: "Waits for nobody", dependsOn: ["nobody"] },
      { id: "c", title: "C", parentId: "top", dependsOn: ["top"] },
    ];
    const good = [
      { id: "good", title: "Good" },
      { id: "top", title: "Top" },
    ];
    scene.write({ tasks: [...bad, ...good] });
    const refused = told(await scene.sync(), "refused");
    const messages = new Map(refused.map(({ taskId, message }) => [taskId, message]));
    expect(refused).toHaveLength(bad.length);
    for (const id of ["a", "b"]) expect(messages.get(id)).toContain("wait for each other: a → b → a");
    expect(messages.get("c")).toMatch(/wait for each other: .*top → c/);
    expect(messages.get("next")).toContain("Dependency a not found");
    expect(messages.get("lonely")).toContain("Dependency nobody not found");
    const ids = (await scene.dibs.tasks.list()).tasks.map(({ id }) => id);
    expect(ids.sort()).toEqual(["good", "top"]);
    expect(scene.entries.slice(0, bad.length)).toEqual(bad);
    // One that is mended comes in with those that wait for it.
    scene.editEntry("b", { dependsOn: [] });
    await scene.sync();
    expect((await scene.task("next")).dependsOn).toEqual(["a"]);
  });
});
