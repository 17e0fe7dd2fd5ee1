// Every field and every state, both ways, in both dialects.

import { describe, expect, test } from "vitest";
import { type Dialect, type Field, names } from "../../src/bridges/tasks-json/dialect.js";
import { editable } from "../../src/bridges/tasks-json/fields.js";
import { type Entry, openScene, type Scene, told } from "./support.js";

const dialects: Dialect[] = ["camel", "pascal"];

/** What each field is changed to in the store, how the file then says it, and what it is changed to in the file. */
const cases: Record<
  (typeof editable)[number],
  { store: unknown; shown?: Record<Dialect, unknown>; file: unknown; read?: unknown }
> = {
  title: { store: "Another title", file: "A third title" },
  description: { store: "What it is about", file: "What else it is about" },
  prompt: { store: "What to do", file: "What else to do" },
  priority: { store: 80, shown: { camel: "high", pascal: "High" }, file: "critical", read: 100 },
  phase: { store: "test", file: "review" },
  dependsOn: { store: ["dep-1"], file: ["dep-1", "dep-2"] },
  files: { store: ["a.ts", "a.ts"], file: ["b/*.ts"] },
  labels: { store: ["x"], file: ["y", "z"] },
  assignee: { store: "agent-7", file: "agent-8" },
  agentType: { store: "cli", file: "autonomous" },
  requires: { store: ["gpu"], file: ["gpu", "net"] },
  maxRetries: { store: 5, file: 1 },
  notBefore: {
    store: "2030-01-01T00:00:00.000Z",
    file: "2031-01-01T01:00:00+01:00",
    read: "2031-01-01T00:00:00.000Z",
  },
  timeoutMs: { store: 1_000, file: 2_000 },
  metadata: { store: { a: 1 }, file: { b: [2] } },
};

const nameIn = (field: Field, dialect: Dialect) => names[field][dialect === "camel" ? 0 : 1];

async function oneTask(dialect: Dialect): Promise<Scene> {
  const scene = await openScene({ dialect });
  for (const id of ["dep-1", "dep-2"]) await scene.create(id, { id });
  // Two texts, so that each has its own name in the file.
  await scene.create("Told", { id: "task-1", title: "Title", description: "Described" });
  await scene.sync();
  return scene;
}

describe.each(dialects)("in the words of %s", (dialect) => {
  test("every field goes from the store into the file and back", async () => {
    const scene = await oneTask(dialect);
    const inStore = Object.fromEntries(editable.map((field) => [field, cases[field].store]));
    await scene.dibs.tasks.update({ taskId: "task-1", ...inStore });
    await scene.sync();
    for (const field of editable) {
      const { store, shown } = cases[field];
      expect(scene.entry("task-1")[nameIn(field, dialect)], field).toEqual(shown?.[dialect] ?? store);
    }

    const inFile = editable.map((field) => [nameIn(field, dialect), cases[field].file]);
    scene.editEntry("task-1", Object.fromEntries(inFile));
    const [news] = told(await scene.sync(), "edited");
    expect((news!.fields as string[]).sort()).toEqual([...editable].sort());
    const task = await scene.task("task-1");
    for (const field of editable) {
      const { file, read = file } = cases[field];
      expect(task[field], field).toEqual(read);
      // It keeps the spelling it was given.
      expect(scene.entry("task-1")[nameIn(field, dialect)], field).toEqual(file);
    }
    expect(await scene.isClean()).toBe(true);
  });

  test("one field that is edited leaves the others alone", async () => {
    const scene = await oneTask(dialect);
    for (const field of editable) {
      const { file, read = file } = cases[field];
      scene.editEntry("task-1", { [nameIn(field, dialect)]: file });
      expect(told(await scene.sync(), "edited"), field).toMatchObject([{ taskId: "task-1" }]);
      expect((await scene.task("task-1"))[field]).toEqual(read);
    }
  });

  test("a task has the names of the seed, and the claim", async () => {
    const scene = await oneTask(dialect);
    const { epoch } = await scene.claim("dep-1", "agent-1");
    await scene.sync();
    const entry = scene.entry("dep-1");
    const { claim } = await scene.task("dep-1");
    const { sessionId, claimedAt, expiresAt, lastHeartbeat } = claim!;
    expect(entry.claim).toEqual({ sessionId, claimedAt, expiresAt, lastHeartbeat, agentType: "cli", epoch });
    if (dialect === "camel") {
      expect(Object.keys(entry)).toEqual(
        "id title description status priority dependsOn files claim maxRetries".split(" "),
      );
    } else {
      expect(entry).toMatchObject({
        ClaimedByAgentId: "agent-1",
        ClaimedAt: claimedAt,
        Status: "InProgress",
      });
      const seed =
        "TaskId Title Description Priority Status DependsOn Files ClaimedByAgentId ClaimedAt Result Error RetryCount MaxRetries";
      expect(Object.keys(entry)).toEqual(expect.arrayContaining(seed.split(" ")));
    }
  });

  test("results and errors are shown", async () => {
    const scene = await oneTask(dialect);
    const { epoch } = await scene.claim("dep-1", "agent-1");
    const result = { output: "done", filesCreated: ["a"], filesModified: ["b"] };
    await scene.dibs.tasks.complete({ taskId: "dep-1", sessionId: "agent-1", epoch, result });
    await scene.claim("dep-2", "agent-1");
    await scene.dibs.tasks.fail({ taskId: "dep-2", sessionId: "agent-1", error: "no", retryable: false });
    await scene.sync();
    expect(scene.entry("dep-1")[nameIn("result", dialect)]).toEqual(
      dialect === "camel" ? result : { Output: "done", FilesCreated: ["a"], FilesModified: ["b"] },
    );
    expect(scene.entry("dep-2")[nameIn("error", dialect)]).toBe("no");
  });
});

describe("states", () => {
  const words: [state: string, camel: string, pascal: string][] = [
    ["queued", "pending", "Pending"],
    ["claimed", "in_progress", "InProgress"],
    ["running", "in_progress", "InProgress"],
    ["awaiting_response", "in_progress", "InProgress"],
    ["completed", "completed", "Completed"],
    ["failed", "failed", "Failed"],
    ["cancelled", "cancelled", "Failed"],
  ];

  async function bring(scene: Scene, taskId: string): Promise<void> {
    const { tasks } = scene.dibs;
    await scene.create("One", { id: taskId });
    if (taskId === "queued") return;
    if (taskId === "cancelled") return void (await tasks.cancel({ taskId }));
    const by = { taskId, sessionId: `agent-${taskId}` };
    await tasks.claim({ ...by, register: true, start: taskId !== "claimed" });
    if (taskId === "awaiting_response") await tasks.ask({ ...by, question: "Which?", options: ["a", "b"] });
    if (taskId === "completed") await tasks.complete({ ...by, result: "done" });
    if (taskId === "failed") await tasks.fail({ ...by, error: "no", retryable: false });
  }

  test.each(dialects)("each has its word in %s", async (dialect) => {
    const scene = await openScene({ dialect });
    for (const [state] of words) await bring(scene, state);
    await scene.sync();
    for (const [state, camel, pascal] of words) {
      const entry = scene.entry(state);
      expect(entry[nameIn("status", dialect)]).toBe(dialect === "camel" ? camel : pascal);
      const question = entry[nameIn("question", dialect)];
      expect(question?.text).toBe(state === "awaiting_response" ? "Which?" : undefined);
    }
    scene.edit((content) => Object.assign(content, { touched: true }));
    expect(await scene.isClean()).toBe(true);
    for (const [state] of words) expect((await scene.task(state)).state).toBe(state);
  });

  test("every seed's word is understood, and kept", async () => {
    const scene = await openScene();
    const said: Record<string, string[]> = {
      queued: ["pending", "Pending", "queued", "available", "todo", "blocked", "READY"],
      completed: ["done", "Completed", "complete"],
      cancelled: ["cancelled", "Canceled"],
    };
    const all = Object.entries(said).flatMap(([state, words]) => words.map((word) => [state, word] as const));
    const result = "It stands.";
    scene.write({ tasks: all.map(([, status], at) => ({ id: `task-${at}`, title: "One", status, result })) });
    await scene.sync();
    for (const [at, [state, word]] of all.entries()) {
      const task = await scene.task(`task-${at}`);
      expect(task.state, word).toBe(state);
      expect(scene.entry(task.id).status).toBe(word);
      if (state === "completed") expect(task.result?.output).toBe(result);
    }
  });

  test("failed and cancelled come in as they are", async () => {
    const scene = await openScene();
    scene.write({
      tasks: [
        { id: "a", title: "A", status: "failed", error: "it broke" },
        { id: "b", title: "B", status: "cancelled" },
      ],
    });
    await scene.sync();
    expect(await scene.task("a")).toMatchObject({ state: "failed", error: "it broke" });
    expect((await scene.task("b")).state).toBe("cancelled");
  });

  test("a word that is no state is told and put right", async () => {
    const scene = await openScene();
    await scene.create("One", { id: "task-1" });
    await scene.sync();
    scene.editEntry("task-1", { status: "sort of" });
    expect(told(await scene.sync(), "refused")).toMatchObject([{ taskId: "task-1", field: "status" }]);
    expect(scene.entry("task-1").status).toBe("pending");
  });
});

describe("texts", () => {
  test("one text in the file is what the agent is told", async () => {
    const scene = await openScene();
    await scene.create("Do this");
    await scene.create("Do that", { id: "b", description: "Do that" });
    await scene.sync();
    expect(scene.entry("0001").description).toBe("Do this");
    expect(scene.entry("0001").prompt).toBeUndefined();
    scene.editEntry("0001", { description: "Do this now" });
    scene.editEntry("b", { description: "Do that now" });
    await scene.sync();
    expect(await scene.task("0001")).toMatchObject({ prompt: "Do this now", description: null });
    expect(await scene.task("b")).toMatchObject({ prompt: "Do that now", description: "Do that now" });
  });

  test("a prompt that is added is told to the agent, and the description stays", async () => {
    const scene = await openScene();
    await scene.create("About it");
    await scene.sync();
    scene.editEntry("0001", { prompt: "Do it" });
    await scene.sync();
    expect(await scene.task("0001")).toMatchObject({ prompt: "Do it", description: "About it" });
    expect(scene.entry("0001")).toMatchObject({ prompt: "Do it", description: "About it" });
  });

  test("a title alone is enough", async () => {
    const scene = await openScene();
    scene.write({ tasks: [{ title: "Write docs" }] });
    await scene.sync();
    expect(await scene.task("0001")).toMatchObject({ title: "Write docs", prompt: "Write docs" });
    expect(scene.entry("0001").title).toBe("Write docs");
  });

  test("numbers between the words stay exact in the store, and in the file if they were written there", async () => {
    const scene = await openScene();
    await scene.create("One", { priority: 73 });
    scene.write({ tasks: [{ id: "b", title: "B", priority: 42 }] });
    await scene.sync();
    expect(scene.entry("0001").priority).toBe("high");
    expect(scene.entry("b").priority).toBe(42);
    await scene.dibs.tasks.update({ taskId: "0001", priority: 75 });
    await scene.sync();
    scene.editEntry("0001", { title: "Other" });
    expect(told(await scene.sync(), "edited")).toMatchObject([{ fields: ["title"] }]);
    expect((await scene.task("0001")).priority).toBe(75);
  });
});

describe("forms of the file", () => {
  const forms: [string, (tasks: Entry[]) => unknown][] = [
    ["a list", (tasks) => tasks],
    ["an object with a list", (tasks) => ({ version: 2, tasks })],
    ["an object with Tasks", (tasks) => ({ Tasks: tasks, owner: "ann" })],
    [
      "tasks by their ids",
      (tasks) => ({ tasks: Object.fromEntries(tasks.map((each) => [each.id, each])), x: 1 }),
    ],
    ["nothing but tasks by their ids", (tasks) => Object.fromEntries(tasks.map((each) => [each.id, each]))],
  ];

  test.each(forms)("%s stays what it is", async (_, form) => {
    const scene = await openScene();
    const before = form([{ id: "a", title: "A", custom: { deep: [1, null] } }]);
    scene.write(before);
    await scene.create("B", { id: "b" });
    await scene.sync();
    expect((await scene.task("a")).title).toBe("A");
    const after = JSON.parse(scene.text);
    expect(Array.isArray(after)).toBe(Array.isArray(before));
    const { dibsRev: _rev, ...top } = after;
    const list = Array.isArray(after) ? after : Object.values(top.tasks ?? top.Tasks ?? top);
    expect(list).toMatchObject([
      { id: "a", custom: { deep: [1, null] } },
      { id: "b", title: "B" },
    ]);
    if (!Array.isArray(before)) expect(after).toMatchObject(omitTasks(before as Entry));
    expect(scene.text).toBe(JSON.stringify(after, null, 2));
    expect(await scene.isClean()).toBe(true);
  });

  const omitTasks = ({ tasks: _, Tasks: __, ...rest }: Entry) =>
    Object.values(rest).every((each) => typeof each !== "object") ? rest : {};

  test("the dialect is found out from the file", async () => {
    const scene = await openScene();
    scene.write([
      { TaskId: "task-1", Title: "One", Status: "Pending", Priority: "High", DependsOn: null, Mine: 7 },
    ]);
    await scene.create("Two", { id: "task-2" });
    await scene.sync();
    expect(await scene.task("task-1")).toMatchObject({ title: "One", priority: 80, dependsOn: [] });
    const [first, second] = scene.entries;
    expect(first).toMatchObject({ TaskId: "task-1", Mine: 7, ClaimedByAgentId: null, DependsOn: null });
    expect(second).toMatchObject({ TaskId: "task-2", Title: "Two", Status: "Pending", MaxRetries: 3 });
    await scene.create("Three", { id: "task-3" });
    await scene.sync();
    expect(scene.entry("task-3").Title).toBe("Three");
  });

  test.each([
    ["four blanks", (text: string) => JSON.stringify(JSON.parse(text), null, 4)],
    [
      "tabs and Windows lines",
      (text: string) => JSON.stringify(JSON.parse(text), null, "\t").replaceAll("\n", "\r\n"),
    ],
    ["no lines at all", (text: string) => JSON.stringify(JSON.parse(text))],
    ["a byte order mark", (text: string) => `\ufeff${JSON.stringify(JSON.parse(text), null, 2)}\n`],
  ])("it is laid out as before: %s", async (_, laidOut) => {
    const scene = await openScene();
    await scene.create("One");
    await scene.sync();
    scene.write(laidOut(scene.text));
    await scene.create("Two");
    await scene.sync();
    const { text } = scene;
    const bare = text.replace(/^\ufeff/, "");
    expect(text).toBe(laidOut(bare));
    expect(JSON.parse(bare).tasks).toHaveLength(2);
  });

  test("unknown fields stay, of tasks, of what is no task, and of the file", async () => {
    const scene = await openScene();
    scene.write(
      '{"__proto__": {"x": 1}, "owner": {"name": "ann"}, "tasks": [{"id": "a", "title": "A", "__proto__": {"y": 2}, "mine": [1]}]}',
    );
    await scene.sync();
    await scene.claim("a", "agent-1");
    await scene.sync();
    const again = JSON.parse(scene.text, (key, value) => (key === "__proto__" ? { kept: value } : value));
    expect(scene.text).toContain('"__proto__":{"x":1}');
    expect(scene.text).toContain('"__proto__":{"y":2}');
    expect(again.owner).toEqual({ name: "ann" });
    expect(scene.entry("a")).toMatchObject({ mine: [1], claim: { sessionId: "agent-1" } });
    expect(({} as Entry).x).toBeUndefined();
  });
});
