import { describe, expect } from "vitest";
import { type Driver, resultOf, teller } from "./harness.js";

export function hierarchy(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: parents and children`, () => {
    it("a task with open children cannot be claimed", async (world) => {
      const parent = await world.task();
      const child = await world.task({ parentId: parent });
      await world.session("a");
      await world.refused("TASK_NOT_CLAIMABLE", { type: "claim", taskId: parent, sessionId: "a" });
      expect(await world.explain(parent)).toMatchObject([{ code: "WAITING_ON_CHILDREN", taskIds: [child] }]);
      expect((await world.finish(child)).unblocked).toEqual([parent]);
      expect(await world.eventTypes(parent)).toEqual(["task:created", "task:queued", "task:unblocked"]);
      expect(await world.next("a")).toBe(parent);
    });

    it("a holder that split its task cannot complete before the parts are done", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const parts = [
        await world.task({ parentId: hold.taskId }),
        await world.task({ parentId: hold.taskId }),
      ];
      const tell = { type: "complete" as const, ...hold, result: resultOf("done") };
      expect(await world.refused("CHILDREN_OPEN", tell)).toMatchObject({ details: { openChildren: 2 } });
      await world.refused("CHILDREN_OPEN", { type: "release", ...hold, reason: "completed", spread: 0 });
      await world.finish(parts[0]!, "b");
      await world.ok({ type: "cancel", taskId: parts[1]! });
      await world.ok(tell);
    });

    it("a failed child is open", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const child = await world.task({ parentId: hold.taskId, maxRetries: 0 });
      await world.claim(child, "b");
      await world.ok({ type: "fail", taskId: child, sessionId: "b", error: "x", spread: 0 });
      await world.refused("CHILDREN_OPEN", { type: "complete", ...hold, result: resultOf("done") });
      await world.ok({ type: "release", ...hold, spread: 0 });
      const [reason] = await world.explain(hold.taskId);
      expect(reason).toMatchObject({ code: "WAITING_ON_CHILDREN", fix: `dibs retry ${child}` });
      await world.ok({ type: "retry", taskId: child });
      await world.finish(child, "b");
      await world.finish(hold.taskId, "c");
    });

    it("a released task with open parts is handed out again when they are done", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const part = await world.task({ parentId: hold.taskId });
      await world.ok({ type: "release", ...hold, spread: 0 });
      expect(await world.next("b")).toBe(part);
      await world.complete({ taskId: part, sessionId: "b", epoch: 1 });
      expect(await world.next("b")).toBe(hold.taskId);
    });

    it("cancelling the last open part frees the whole", async (world) => {
      const parent = await world.task();
      const part = await world.task({ parentId: parent });
      await world.ok({ type: "cancel", taskId: part });
      expect(await world.eventTypes(parent)).toContain("task:unblocked");
      expect(await world.next("a")).toBe(parent);
    });

    for (const end of ["completed", "failed", "cancelled"] as const) {
      it(`a child under a ${end} parent is refused`, async (world) => {
        const hold = await world.hold("a", { maxRetries: 0 });
        if (end === "completed") await world.complete(hold);
        if (end === "failed") await world.ok({ type: "fail", ...hold, error: "x", spread: 0 });
        if (end === "cancelled") await world.ok({ type: "cancel", taskId: hold.taskId });
        await world.refused("INVALID_STATE", {
          type: "create",
          correlationId: "c",
          tasks: [{ prompt: "x", parentId: hold.taskId }],
        });
      });
    }

    it("a hierarchy has a bounded depth", async (world) => {
      let parentId = await world.task();
      for (let depth = 1; depth <= 32; depth++) parentId = await world.task({ parentId });
      const tasks = [{ prompt: "x", parentId }];
      await world.refused("VALIDATION_FAILED", { type: "create", correlationId: "c", tasks });
      await world.ok({ type: "cancel", taskId: "0001", cascade: true });
    });
  });

  describe(`${driver.name}: groups`, () => {
    it("a group needs only a title and is never claimable", async (world) => {
      const group = await world.task({ type: "group", prompt: undefined, title: "Release 1.0" });
      await world.session("a");
      expect(await world.next("a")).toBeNull();
      const refusal = await world.refused("TASK_NOT_CLAIMABLE", {
        type: "claim",
        taskId: group,
        sessionId: "a",
      });
      expect(refusal.details?.reasons).toMatchObject([{ code: "IS_GROUP" }]);
      expect(await world.stateOf(group)).toBe("queued");
    });

    it("it completes by itself when no child is open and one completed", async (world) => {
      const group = await world.task({ type: "group" });
      const [done, dropped] = [await world.task({ parentId: group }), await world.task({ parentId: group })];
      const after = await world.task({ dependsOn: [group] });
      await world.finish(done);
      expect(await world.stateOf(group)).toBe("queued");
      await world.ok({ type: "cancel", taskId: dropped });
      expect(await world.look(group)).toMatchObject({ now: "completed", endedAt: world.clock.now() });
      expect(await world.eventTypes(group)).toEqual(["task:created", "task:queued", "task:completed"]);
      expect(await world.next("a")).toBe(after);
    });

    it("completing the last child unblocks what waits for the group", async (world) => {
      const group = await world.task({ type: "group" });
      const child = await world.task({ parentId: group });
      const after = await world.task({ dependsOn: [group] });
      expect(await world.finish(child)).toEqual({ unblocked: [after], unblockedCount: 1 });
    });

    it("it is cancelled when all its children are", async (world) => {
      const group = await world.task({ type: "group" });
      const children = [await world.task({ parentId: group }), await world.task({ parentId: group })];
      for (const taskId of children) await world.ok({ type: "cancel", taskId });
      expect(await world.stateOf(group)).toBe("cancelled");
      expect(await world.eventTypes(group)).toEqual(["task:created", "task:queued", "task:cancelled"]);
    });

    it("a failed child keeps it open", async (world) => {
      const group = await world.task({ type: "group" });
      const child = await world.task({ parentId: group, maxRetries: 0 });
      await world.finish(await world.task({ parentId: group }));
      await world.claim(child, "a");
      await world.ok({ type: "fail", taskId: child, sessionId: "a", error: "x", spread: 0 });
      expect(await world.stateOf(group)).toBe("queued");
    });

    it("groups in groups end from the inside out", async (world) => {
      const outer = await world.task({ type: "group" });
      const middle = await world.task({ type: "group", parentId: outer });
      const inner = await world.task({ type: "group", parentId: middle });
      const leaf = await world.task({ parentId: inner });
      const after = await world.task({ dependsOn: [outer] });
      expect((await world.finish(leaf)).unblocked).toEqual([after]);
      const ended = (await world.events()).filter((event) => event.type === "task:completed");
      expect(ended.map((event) => event.taskId)).toEqual([leaf, inner, middle, outer]);
    });

    it("a task above a group waits for it", async (world) => {
      const top = await world.task();
      const group = await world.task({ type: "group", parentId: top });
      const leaf = await world.task({ parentId: group });
      expect((await world.finish(leaf)).unblocked).toEqual([top]);
    });

    it("it completes also when an edit takes away the last thing it waited for", async (world) => {
      const other = await world.task();
      const group = await world.task({ type: "group", dependsOn: [other] });
      await world.finish(await world.task({ parentId: group }));
      await world.attempt({ type: "update", taskId: group, patch: { dependsOn: [] } });
      expect(await world.stateOf(group)).toBe("completed");
    });
  });

  describe(`${driver.name}: cancelling and retrying in a hierarchy`, () => {
    it("without cascade, the children go on", async (world) => {
      const parent = await world.task();
      const child = await world.task({ parentId: parent });
      expect(await world.ok({ type: "cancel", taskId: parent })).toEqual({ cancelled: [parent] });
      expect(await world.stateOf(child)).toBe("queued");
      await world.finish(child);
      expect(await world.stateOf(parent)).toBe("cancelled");
    });

    it("with cascade, all open descendants are cancelled, and their holders are told", async (world) => {
      const top = await world.task();
      const child = await world.task({ parentId: top });
      const done = await world.task({ parentId: child });
      await world.finish(done);
      const hold = { taskId: await world.task({ parentId: child }), sessionId: "a", epoch: 1 };
      await world.claim(hold.taskId, "a", { start: true });
      expect(await world.ok({ type: "cancel", taskId: top, cascade: true })).toEqual({
        cancelled: [top, child, hold.taskId],
      });
      for (const id of [top, child, hold.taskId]) expect(await world.stateOf(id)).toBe("cancelled");
      expect(await world.stateOf(done)).toBe("completed");
      await world.refused("TASK_CANCELLED", { type: "heartbeat", ...hold });
    });

    it("cascade reaches open descendants below one that is over already", async (world) => {
      const top = await world.task();
      const child = await world.task({ parentId: top });
      const grandchild = await world.task({ parentId: child });
      await world.ok({ type: "cancel", taskId: child });
      expect(await world.stateOf(grandchild)).toBe("queued");
      await world.ok({ type: "cancel", taskId: top, cascade: true });
      expect(await world.stateOf(grandchild)).toBe("cancelled");
    });

    it("cascade on a cancelled task cancels the descendants that are still open, and only those", async (world) => {
      const top = await world.task();
      const child = await world.task({ parentId: top });
      const grandchild = await world.task({ parentId: child });
      await world.ok({ type: "cancel", taskId: top });
      await world.refused("TASK_NOT_CANCELLABLE", { type: "cancel", taskId: top });
      expect(await world.ok({ type: "cancel", taskId: top, cascade: true })).toEqual({
        cancelled: [child, grandchild],
      });
      for (const id of [child, grandchild]) expect(await world.stateOf(id)).toBe("cancelled");
      await world.refused("TASK_NOT_CANCELLABLE", { type: "cancel", taskId: top, cascade: true });
    });

    it("cancelling a group with cascade ends each task once", async (world) => {
      const outer = await world.task({ type: "group" });
      const inner = await world.task({ type: "group", parentId: outer });
      const leaves = [await world.task({ parentId: inner }), await world.task({ parentId: inner })];
      await world.ok({ type: "cancel", taskId: inner, cascade: true });
      for (const id of [outer, inner, ...leaves]) {
        expect((await world.eventTypes(id)).filter((type) => type === "task:cancelled")).toHaveLength(1);
      }
    });

    it("retrying a cancelled child brings its cancelled groups back", async (world) => {
      const outer = await world.task({ type: "group" });
      const inner = await world.task({ type: "group", parentId: outer });
      const child = await world.task({ parentId: inner });
      await world.ok({ type: "cancel", taskId: child });
      expect(await world.stateOf(outer)).toBe("cancelled");
      await world.ok({ type: "retry", taskId: child });
      for (const id of [outer, inner, child]) expect(await world.stateOf(id)).toBe("queued");
      expect((await world.eventTypes(outer)).at(-1)).toBe("task:retried");
      await world.finish(child);
      for (const id of [outer, inner, child]) expect(await world.stateOf(id)).toBe("completed");
    });

    it("retrying a cancelled child makes its parent wait again", async (world) => {
      const parent = await world.task();
      const child = await world.task({ parentId: parent });
      await world.ok({ type: "cancel", taskId: child });
      await world.ok({ type: "retry", taskId: child });
      expect(await world.whyNot(parent)).toEqual(["WAITING_ON_CHILDREN"]);
      expect(await world.next("a")).toBe(child);
      expect(await world.next("b")).toBeNull();
    });

    it("a cancelled child of a parent that is over cannot be retried before it", async (world) => {
      const parent = await world.task();
      const child = await world.task({ parentId: parent });
      await world.ok({ type: "cancel", taskId: parent, cascade: true });
      await world.refused("TASK_NOT_RETRYABLE", { type: "retry", taskId: child });
      await world.ok({ type: "retry", taskId: parent });
      await world.ok({ type: "retry", taskId: child });
      expect(await world.whyNot(parent)).toEqual(["WAITING_ON_CHILDREN"]);
    });

    it("a cancelled child of a completed group cannot be retried", async (world) => {
      const group = await world.task({ type: "group" });
      const dropped = await world.task({ parentId: group });
      await world.finish(await world.task({ parentId: group }));
      await world.ok({ type: "cancel", taskId: dropped });
      expect(await world.stateOf(group)).toBe("completed");
      await world.refused("TASK_NOT_RETRYABLE", { type: "retry", taskId: dropped });
    });
  });
}
