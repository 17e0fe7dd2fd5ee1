import { describe, expect } from "vitest";
import type { NewTask } from "../../core/command.js";
import { type Driver, minute, project, teller } from "./harness.js";

const batch = (tasks: Partial<NewTask>[]) => ({
  type: "create" as const,
  correlationId: "corr-test",
  tasks: tasks.map((task) => ({ prompt: "do it", ...task })),
});

export function dependencies(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: dependencies`, () => {
    it("a task waits until all it depends on is completed", async (world) => {
      const first = await world.task();
      const second = await world.task();
      const waiting = await world.task({ dependsOn: [first, second, first] });
      expect(await world.look(waiting)).toMatchObject({ dependsOn: [first, second], readyAt: null });
      await world.session("a");
      await world.refused("TASK_NOT_CLAIMABLE", { type: "claim", taskId: waiting, sessionId: "a" });
      expect(await world.finish(first)).toEqual({ unblocked: [], unblockedCount: 0 });
      await world.refused("TASK_NOT_CLAIMABLE", { type: "claim", taskId: waiting, sessionId: "a" });
      expect(await world.finish(second)).toEqual({ unblocked: [waiting], unblockedCount: 1 });
      expect(await world.eventTypes(waiting)).toEqual(["task:created", "task:queued", "task:unblocked"]);
      expect(await world.next("a")).toBe(waiting);
    });

    it("depending on what is completed already blocks nothing", async (world) => {
      const done = await world.task();
      await world.finish(done);
      const id = await world.task({ dependsOn: [done] });
      expect(await world.whyNot(id)).toEqual([]);
      expect(await world.eventTypes(id)).toEqual(["task:created", "task:queued"]);
    });

    it("a task that is still scheduled is not unblocked yet", async (world) => {
      const first = await world.task();
      const waiting = await world.task({ dependsOn: [first], notBefore: world.clock.now() + minute });
      expect(await world.finish(first)).toEqual({ unblocked: [], unblockedCount: 0 });
      expect(await world.eventTypes(waiting)).toEqual(["task:created", "task:queued"]);
      expect(await world.whyNot(waiting)).toEqual(["SCHEDULED"]);
      world.clock.advance(minute);
      expect(await world.next("a")).toBe(waiting);
    });

    for (const end of ["failed", "cancelled"] as const) {
      it(`a ${end} dependency keeps its dependents blocked, visibly, and a retry heals them`, async (world) => {
        const broken = await world.hold("a", { maxRetries: 0 });
        const waiting = await world.task({ dependsOn: [broken.taskId] });
        if (end === "failed") await world.ok({ type: "fail", ...broken, error: "x", spread: 0 });
        else await world.ok({ type: "cancel", taskId: broken.taskId });
        expect(await world.next("a")).toBeNull();
        const [reason] = await world.explain(waiting);
        expect(reason).toMatchObject({
          code: "WAITING_ON_DEPENDENCIES",
          taskIds: [broken.taskId],
          fix: `dibs retry ${broken.taskId}`,
        });
        expect(reason?.message).toContain(`${broken.taskId} (${end})`);
        await world.ok({ type: "retry", taskId: broken.taskId });
        await world.finish(broken.taskId, "a");
        expect(await world.next("a")).toBe(waiting);
      });
    }

    it("a task with many dependents unblocks all, and lists a hundred", async (world) => {
      const gate = await world.task();
      const { ids } = await world.ok(batch(Array.from({ length: 150 }, () => ({ dependsOn: [gate] }))));
      const answer = await world.finish(gate);
      expect(answer.unblockedCount).toBe(150);
      expect(answer.unblocked).toHaveLength(100);
      expect(ids).toEqual(expect.arrayContaining(answer.unblocked));
      const events = await world.read((view) =>
        view.events({ after: 0, limit: 1000, types: ["task:unblocked"] }),
      );
      expect(new Set(events.map((event) => event.taskId))).toEqual(new Set(ids));
      expect(await world.read((view) => view.dependents(project, gate))).toEqual([...ids].sort());
    });

    it("a chain and a diamond are freed step by step", async (world) => {
      const { ids } = await world.ok(
        batch([
          { key: "top" },
          { key: "left", dependsOn: ["top"] },
          { key: "right", dependsOn: ["top"] },
          { key: "bottom", dependsOn: ["left", "right"] },
        ]),
      );
      const [top, left, right, bottom] = ids as [string, string, string, string];
      expect((await world.finish(top)).unblocked).toEqual([left, right]);
      expect((await world.finish(right)).unblocked).toEqual([]);
      expect((await world.finish(left)).unblocked).toEqual([bottom]);
    });

    it("an edit adds and removes dependencies while the task is queued", async (world) => {
      const [one, two, id] = [await world.task(), await world.task(), await world.task()];
      await world.ok({ type: "update", taskId: id, patch: { dependsOn: [one] } });
      expect(await world.whyNot(id)).toEqual(["WAITING_ON_DEPENDENCIES"]);
      await world.ok({ type: "update", taskId: id, patch: { dependsOn: [two] } });
      expect(
        await world.read((view) => [view.dependents(project, one), view.dependents(project, two)]),
      ).toEqual([[], [id]]);
      await world.finish(one);
      expect(await world.whyNot(id)).toEqual(["WAITING_ON_DEPENDENCIES"]);
      await world.ok({ type: "update", taskId: id, patch: { dependsOn: [] } });
      expect((await world.eventTypes(id)).slice(-2)).toEqual(["task:updated", "task:unblocked"]);
      expect(await world.whyNot(id)).toEqual([]);
    });

    it("a dependency that does not exist is refused", async (world) => {
      const id = await world.task();
      const refusal = await world.refused("DEPENDENCY_NOT_FOUND", batch([{ dependsOn: [id, "nowhere"] }]));
      expect(refusal.details).toMatchObject({ dependency: "nowhere" });
      await world.refused("DEPENDENCY_NOT_FOUND", {
        type: "update",
        taskId: id,
        patch: { dependsOn: ["nowhere"] },
      });
    });

    it("dependencies do not cross projects", async (world) => {
      const id = await world.task({ id: "here" });
      await world.ok({ type: "create-project", id: "other" });
      await world.refused("DEPENDENCY_NOT_FOUND", { ...batch([{ dependsOn: [id] }]), project: "other" });
    });

    it("an id that the new task itself is about to get does not exist yet", async (world) => {
      await world.refused("DEPENDENCY_NOT_FOUND", batch([{ dependsOn: ["0001"] }]));
      await world.refused("DEPENDENCY_NOT_FOUND", batch([{}, { dependsOn: ["0001"] }]));
    });
  });

  describe(`${driver.name}: cycles`, () => {
    it("a batch that waits for itself is refused with the cycle written out", async (world) => {
      const refusal = await world.refused(
        "DEPENDENCY_CYCLE",
        batch([
          { id: "x", dependsOn: ["y"] },
          { id: "y", dependsOn: ["z"] },
          { id: "z", dependsOn: ["x"] },
        ]),
      );
      expect(refusal.details?.cycle).toEqual(["x", "y", "z", "x"]);
      expect(refusal.message).toContain("x → y → z → x");
    });

    it("a task cannot depend on itself", async (world) => {
      const refusal = await world.refused("DEPENDENCY_CYCLE", batch([{ key: "me", dependsOn: ["me"] }]));
      expect(refusal.message).toContain("me → me");
      const id = await world.task();
      await world.refused("DEPENDENCY_CYCLE", { type: "update", taskId: id, patch: { dependsOn: [id] } });
    });

    it("an edit cannot close a cycle", async (world) => {
      const one = await world.task();
      const two = await world.task({ dependsOn: [one] });
      const three = await world.task({ dependsOn: [two] });
      const refusal = await world.refused("DEPENDENCY_CYCLE", {
        type: "update",
        taskId: one,
        patch: { dependsOn: [three] },
      });
      expect(refusal.message).toContain(`${one} → ${three} → ${two} → ${one}`);
      expect((await world.look(one)).dependsOn).toEqual([]);
    });

    it("a child cannot depend on its parent or grandparent", async (world) => {
      const top = await world.task();
      const child = await world.task({ parentId: top });
      const onParent = await world.refused(
        "DEPENDENCY_CYCLE",
        batch([{ parentId: child, dependsOn: [child] }]),
      );
      expect(onParent.message).toContain(`${child}.1 → ${child} → ${child}.1`);
      const onTop = await world.refused("DEPENDENCY_CYCLE", batch([{ parentId: child, dependsOn: [top] }]));
      expect(onTop.message).toContain(`${child}.1 → ${top} → ${child} → ${child}.1`);
      await world.refused("DEPENDENCY_CYCLE", { type: "update", taskId: child, patch: { dependsOn: [top] } });
    });

    it("a child cannot depend on what waits for its parent", async (world) => {
      const parent = await world.task();
      const after = await world.task({ dependsOn: [parent] });
      await world.refused("DEPENDENCY_CYCLE", batch([{ parentId: parent, dependsOn: [after] }]));
    });

    it("a child cannot come to depend on its grandparent while its parent is cancelled", async (world) => {
      const top = await world.task();
      const child = await world.task({ parentId: top });
      const grandchild = await world.task({ parentId: child });
      await world.ok({ type: "cancel", taskId: child });
      await world.refused("DEPENDENCY_CYCLE", {
        type: "update",
        taskId: grandchild,
        patch: { dependsOn: [top] },
      });
    });

    it("a parent may depend on its own child", async (world) => {
      const parent = await world.task();
      const child = await world.task({ parentId: parent });
      await world.ok({ type: "update", taskId: parent, patch: { dependsOn: [child] } });
      expect((await world.finish(child)).unblocked).toEqual([parent]);
    });
  });

  describe(`${driver.name}: batches`, () => {
    it("references are keys, titles and ids, and stored as ids", async (world) => {
      const known = await world.task();
      const { ids } = await world.ok(
        batch([
          { key: "a", title: "Design" },
          { key: "b", title: "Build", dependsOn: ["a", known] },
          { title: "Ship", dependsOn: ["Build", "Design"] },
        ]),
      );
      const [a, b, c] = ids as [string, string, string];
      expect((await world.look(b)).dependsOn).toEqual([a, known]);
      expect((await world.look(c)).dependsOn).toEqual([b, a]);
    });

    it("a batch can name what comes later in it", async (world) => {
      const { ids } = await world.ok(batch([{ dependsOn: ["later"] }, { key: "later" }]));
      expect((await world.look(ids[0]!)).dependsOn).toEqual([ids[1]]);
    });

    it("an ambiguous title is refused, a key of the same name is not", async (world) => {
      await world.refused(
        "VALIDATION_FAILED",
        batch([{ title: "Same" }, { title: "Same" }, { dependsOn: ["Same"] }]),
      );
      await world.ok(batch([{ title: "Same", key: "Same" }, { title: "Same" }, { dependsOn: ["Same"] }]));
    });

    it("a key used twice is refused", async (world) => {
      await world.refused("VALIDATION_FAILED", batch([{ key: "k" }, { key: "k" }]));
    });

    it("all or nothing: one bad task, and none is created, no number used", async (world) => {
      const bad: Partial<NewTask>[] = [
        { dependsOn: ["nowhere"] },
        { prompt: "  " },
        { id: "../x" },
        { parentId: "nowhere" },
        { prompt: "x".repeat(256 * 1024 + 1) },
      ];
      const codes = [
        "DEPENDENCY_NOT_FOUND",
        "VALIDATION_FAILED",
        "VALIDATION_FAILED",
        "TASK_NOT_FOUND",
        "PAYLOAD_TOO_LARGE",
      ] as const;
      for (const [index, task] of bad.entries()) {
        await world.unchanged(() => world.refused(codes[index]!, batch([{}, {}, task])));
      }
      expect(await world.task()).toBe("0001");
    });

    it("parents are named by key, in any order", async (world) => {
      const { ids } = await world.ok(
        batch([{ parentId: "p" }, { key: "p" }, { key: "q", parentId: "p" }, { parentId: "q" }]),
      );
      expect(ids).toEqual(["0001_t1", "0001", "0001_t2", "0001_t2.1"]);
      await world.refused(
        "DEPENDENCY_CYCLE",
        batch([
          { key: "p", parentId: "q" },
          { key: "q", parentId: "p" },
        ]),
      );
    });
  });
}
