import { describe, expect, test } from "vitest";
import type { OutputOf } from "../../src/contract/operation.js";
import type { OperationNamed } from "../../src/contract/registry.js";
import { driverNames, type Pipeline, pipelines } from "./world.js";

const on = await pipelines();

type Answer = OutputOf<OperationNamed<"tasks.bulk">>;

const nothing = { done: 0, refusedCount: 0, refused: [], more: false, nextCursor: null };

async function create(pipeline: Pipeline, count: number, more: object = {}): Promise<string[]> {
  const tasks = Array.from({ length: count }, () => ({ prompt: "do it", ...more }));
  const answer = await pipeline.call("tasks.batch", { tasks });
  return answer.tasks.map(({ id }) => id);
}

async function states(pipeline: Pipeline): Promise<Record<string, string>> {
  const { tasks } = await pipeline.call("tasks.list", { limit: 1000 });
  return Object.fromEntries(tasks.map(({ id, state }) => [id, state]));
}

async function claim(pipeline: Pipeline, taskId: string, sessionId: string): Promise<void> {
  await pipeline.call("tasks.claim", { taskId, sessionId, register: true });
}

describe.each(driverNames)("bulk over %s", (driver) => {
  test(
    "a filter cancels what it finds, and only what can be cancelled",
    on(driver, async (pipeline) => {
      const [a, b, c] = await create(pipeline, 3, { labels: ["old"] });
      const [other] = await create(pipeline, 1);
      await claim(pipeline, c!, "s");
      await pipeline.call("tasks.cancel", { taskId: a! });
      const input = { action: "cancel", filter: { label: "old" }, reason: "too old" } as const;
      const preview = await pipeline.call("tasks.bulk", { ...input, dryRun: true });
      const about = { success: true, action: "cancel", matched: 2, taskIds: [b, c] };
      expect(preview).toEqual({ ...nothing, ...about, dryRun: true });
      expect(await states(pipeline)).toMatchObject({ [b!]: "queued", [c!]: "claimed" });
      expect(await pipeline.call("tasks.bulk", input)).toEqual({
        ...nothing,
        ...about,
        dryRun: false,
        done: 2,
      });
      expect(await states(pipeline)).toEqual({
        [a!]: "cancelled",
        [b!]: "cancelled",
        [c!]: "cancelled",
        [other!]: "queued",
      });
      const { events } = await pipeline.call("tasks.events", { taskId: c! });
      expect(events.at(-1)).toMatchObject({ type: "task:cancelled", data: { reason: "too old" } });
    }),
  );

  test(
    "each task has its own refusal, in a dry run as in earnest",
    on(driver, async (pipeline) => {
      const [a, b] = await create(pipeline, 2);
      await pipeline.call("tasks.cancel", { taskId: a! });
      const input = { action: "cancel" as const, taskIds: [a!, b!, "nothing", b!] };
      const refused = [
        { project: "demo", taskId: a, error: "TASK_NOT_CANCELLABLE", message: expect.any(String) },
        { project: "demo", taskId: "nothing", error: "TASK_NOT_FOUND", message: expect.any(String) },
      ];
      const about = { matched: 3, refusedCount: 2, refused, taskIds: [a, b, "nothing"], more: false };
      expect(await pipeline.call("tasks.bulk", { ...input, dryRun: true })).toMatchObject({
        ...about,
        done: 0,
      });
      expect(await pipeline.call("tasks.bulk", input)).toMatchObject({ ...about, done: 1 });
    }),
  );

  test(
    "children that go with their parent are not refused",
    on(driver, async (pipeline) => {
      const [parent] = await create(pipeline, 1, { type: "group", title: "all of it" });
      const children = await create(pipeline, 2, { parentId: parent });
      const answer = await pipeline.call("tasks.bulk", {
        action: "cancel",
        filter: {},
        all: true,
        cascade: true,
      });
      expect(answer).toMatchObject({ matched: 3, done: 3, refusedCount: 0 });
      expect(new Set(answer.taskIds)).toEqual(new Set([parent, ...children]));
    }),
  );

  test(
    "what a session holds is released by force, and only that",
    on(driver, async (pipeline) => {
      const [a, b, c] = await create(pipeline, 4);
      await claim(pipeline, a!, "s");
      await claim(pipeline, b!, "t");
      await claim(pipeline, c!, "s");
      await pipeline.call("tasks.ask", { taskId: c!, sessionId: "s", question: "which?" });
      const input = { action: "release", filter: { sessionId: "s" } } as const;
      const leader = { role: "leader" } as const;
      expect(await pipeline.call("tasks.bulk", input, leader)).toMatchObject({ done: 2, taskIds: [a, c] });
      expect(await states(pipeline)).toMatchObject({
        [a!]: "queued",
        [b!]: "claimed",
        [c!]: "awaiting_response",
      });
      // Nobody holds the one that waits for its answer: there is nothing to release any more.
      expect(await pipeline.call("tasks.bulk", { action: "release", filter: {}, all: true })).toMatchObject({
        done: 1,
        taskIds: [b],
      });
    }),
  );

  test(
    "retry takes failed and cancelled tasks, update all that are not completed",
    on(driver, async (pipeline) => {
      const [a, b, c, d] = await create(pipeline, 4);
      for (const id of [a, d]) await claim(pipeline, id!, "s");
      await pipeline.call("tasks.complete", { taskId: d!, sessionId: "s", result: "done" });
      await pipeline.call("tasks.fail", { taskId: a!, sessionId: "s", error: "no", retryable: false });
      await pipeline.call("tasks.cancel", { taskId: b! });
      const failed = { action: "retry", filter: { state: "error" } } as const;
      expect(await pipeline.call("tasks.bulk", failed)).toMatchObject({ done: 1, taskIds: [a] });
      const changes = { priority: "p1" as const, labels: ["now"], assignee: null };
      const update = { action: "update", filter: {}, all: true, changes } as const;
      expect(await pipeline.call("tasks.bulk", update)).toMatchObject({ done: 3, taskIds: [a, b, c] });
      const { tasks } = await pipeline.call("tasks.list", { label: "now" });
      expect(tasks.map(({ id, priority }) => [id, priority])).toEqual([
        [a, 100],
        [b, 100],
        [c, 100],
      ]);
    }),
  );

  test(
    "labels come and go, and every task keeps its others",
    on(driver, async (pipeline) => {
      const [a] = await create(pipeline, 1, { labels: ["ui", "old"] });
      const [b] = await create(pipeline, 1, { labels: ["api, v2"] });
      const many = Array.from({ length: 50 }, (_, no) => `l${no}`);
      const [full] = await create(pipeline, 1, { labels: many });
      const changes = { addLabels: ["night", "night"], removeLabels: ["old"] };
      const update = { action: "update", filter: {}, all: true, changes } as const;
      for (const dryRun of [true, false]) {
        expect(await pipeline.call("tasks.bulk", { ...update, dryRun })).toMatchObject({
          done: dryRun ? 0 : 2,
          refused: [
            { taskId: full, error: "VALIDATION_FAILED", message: expect.stringContaining("51 labels") },
          ],
        });
      }
      const labelsOf = async (taskId: string) => (await pipeline.call("tasks.get", { taskId })).task.labels;
      expect(await labelsOf(a!)).toEqual(["ui", "night"]);
      expect(await labelsOf(b!)).toEqual(["api, v2", "night"]);
      const { events } = await pipeline.call("tasks.events", { taskId: b! });
      expect(events.at(-1)).toMatchObject({ type: "task:updated", data: { changed: ["labels"] } });
      const before = events.length;
      await pipeline.call("tasks.update", { taskId: b!, addLabels: ["night"], removeLabels: ["nothing"] });
      expect((await pipeline.call("tasks.events", { taskId: b! })).events).toHaveLength(before);
      await pipeline.call("tasks.update", { taskId: b!, labels: ["new"], addLabels: ["more"] });
      expect(await labelsOf(b!)).toEqual(["new", "more"]);
    }),
  );

  test(
    "at most a thousand at once, and a cursor to go on",
    on(driver, async (pipeline) => {
      await create(pipeline, 1100);
      const input = { action: "update", filter: { state: "queued" }, changes: { phase: "test" } } as const;
      const first: Answer = await pipeline.call("tasks.bulk", input);
      expect(first).toMatchObject({ matched: 1000, done: 1000, more: true });
      expect(first.taskIds).toHaveLength(1000);
      const cursor = first.nextCursor!;
      expect(await pipeline.call("tasks.bulk", { ...input, cursor })).toMatchObject({
        matched: 100,
        done: 100,
        more: false,
      });
    }),
  );

  test(
    "all projects at once",
    on(driver, async (pipeline) => {
      await pipeline.call("projects.create", { id: "side" });
      await create(pipeline, 1);
      await pipeline.call("tasks.create", { prompt: "do it", project: "side" });
      const input = { action: "cancel", filter: { q: "do" } } as const;
      expect(await pipeline.call("tasks.bulk", { ...input, project: "*" })).toMatchObject({
        done: 2,
        taskIds: ["0001", "0001"],
      });
    }),
  );

  test(
    "an idempotency key answers a repeated call like the first",
    on(driver, async (pipeline) => {
      const ids = await create(pipeline, 2);
      const input = { action: "cancel", taskIds: ids } as const;
      const key = { idempotencyKey: "k" };
      const first = await pipeline.call("tasks.bulk", input, {}, key);
      expect(first).toMatchObject({ done: 2 });
      expect(await pipeline.call("tasks.bulk", input, {}, key)).toEqual(first);
      await expect(pipeline.call("tasks.bulk", { ...input, reason: "other" }, {}, key)).rejects.toMatchObject(
        {
          code: "IDEMPOTENCY_MISMATCH",
        },
      );
    }),
  );

  test(
    "what is not said clearly is refused, and workers are",
    on(driver, async (pipeline) => {
      const unclear = [
        { action: "cancel" },
        { action: "cancel", filter: {} },
        { action: "cancel", filter: { label: undefined } },
        { action: "cancel", filter: { label: "x" }, taskIds: ["a"] },
        { action: "cancel", taskIds: [] },
        { action: "cancel", taskIds: ["a"], project: "*" },
        { action: "cancel", filter: { colour: "red" } },
        { action: "cancel", filter: { label: "x" }, changes: { priority: 1 } },
        { action: "update", filter: { label: "x" } },
        { action: "update", filter: { label: "x" }, changes: {} },
        { action: "update", filter: { label: "x" }, changes: { parentId: "a" } },
        { action: "burn", filter: { label: "x" } },
      ];
      for (const input of unclear) {
        const call = pipeline.call("tasks.bulk", input as never);
        await expect(call, JSON.stringify(input)).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
      }
      const input = { action: "cancel", filter: { label: "x" } } as const;
      await expect(pipeline.call("tasks.bulk", input, { role: "worker" })).rejects.toMatchObject({
        code: "FORBIDDEN",
      });
      await expect(pipeline.call("tasks.bulk", { ...input, project: "ghost" })).rejects.toMatchObject({
        code: "PROJECT_NOT_FOUND",
      });
    }),
  );
});
