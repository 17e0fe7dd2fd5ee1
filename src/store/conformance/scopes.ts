import { describe, expect } from "vitest";
import { overlapEventsOfFirst, overlapsIn } from "../../core/overlap.js";
import { type Driver, type Hold, project, resultOf, teller, type World } from "./harness.js";

const lockfile = "**/package-lock.json";

const report = (world: World, hold: Hold, ...paths: string[]) =>
  world.ok({ type: "heartbeat", ...hold, paths });

const pairs = (world: World) =>
  world.read((view) =>
    overlapsIn(view, project).map(({ tasks, paths }) => [...tasks.map(({ taskId }) => taskId), paths]),
  );

const announced = async (world: World) =>
  (await world.events())
    .filter(({ type }) => type === "task:overlap")
    .map(({ taskId, data }) => [taskId, data.with]);

/** Paths that one task at a time can change, and what tasks have really changed. */
export function scopes(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: exclusive paths`, () => {
    it("a task whose files meet one waits until no other task has it, and others pass it", async (world) => {
      await world.settings({ scopes: { exclusive: [lockfile] } });
      const first = await world.hold("a", { files: ["web/package-lock.json"] });
      const second = await world.task({ files: ["web/*"] });
      const third = await world.task({ files: ["src/main.ts"] });
      expect(await world.next("b")).toBe(third);
      expect(await world.next("c")).toBeNull();
      expect(await world.explain(second)).toMatchObject([{ code: "RESOURCE_BUSY" }]);
      expect((await world.explain(second))[0]!.message).toContain(lockfile);
      await world.complete(first);
      expect(await world.next("c")).toBe(second);
    });

    it("a submitted task keeps its path until its change has landed or come back", async (world) => {
      await world.settings({ scopes: { exclusive: [lockfile] }, land: { target: "main" } });
      const files = ["package-lock.json"];
      const first = await world.hold("a", { files });
      const second = await world.task({ files });
      const submit = (held: Hold, commit: string | null) =>
        world.ok({
          type: "submit",
          ...held,
          ...(commit && { commit, base: "b".repeat(40) }),
          result: resultOf("done"),
        });
      await submit(first, "c".repeat(40));
      expect(await world.next("b")).toBeNull();
      expect(await world.explain(second)).toMatchObject([{ code: "RESOURCE_BUSY", taskIds: [first.taskId] }]);
      await world.ok({ type: "withdraw", taskId: first.taskId });
      const again = await world.next("b");
      expect(again).toBe(first.taskId);
      const { epoch } = await world.claimOf(first.taskId);
      await submit({ taskId: first.taskId, sessionId: "b", epoch }, "d".repeat(40));
      expect(await world.next("c")).toBeNull();
      await world.ok({ type: "cancel", taskId: first.taskId });
      expect(await world.next("c")).toBe(second);
    });

    it("each glob is a scope of its own", async (world) => {
      await world.settings({ scopes: { exclusive: [lockfile, "migrations/"] } });
      await world.hold("a", { files: ["package-lock.json"] });
      const other = await world.task({ files: ["migrations/001.sql"] });
      const both = await world.task({ files: ["migrations/", "package-lock.json"] });
      expect(await world.next("b")).toBe(other);
      expect(await world.whyNot(both)).toEqual(["RESOURCE_BUSY"]);
    });

    it("an edit of its files decides again", async (world) => {
      await world.settings({ scopes: { exclusive: [lockfile] } });
      await world.hold("a", { files: ["package-lock.json"] });
      const taskId = await world.task({ files: ["package-lock.json"] });
      await world.ok({ type: "update", taskId, patch: { files: ["src/main.ts"] } });
      expect(await world.next("b")).toBe(taskId);
    });

    it("without exclusive paths nothing waits", async (world) => {
      await world.hold("a", { files: ["package-lock.json"] });
      const taskId = await world.task({ files: ["package-lock.json"] });
      expect(await world.next("b")).toBe(taskId);
    });
  });

  describe(`${driver.name}: overlaps`, () => {
    it("two tasks in flight that change one file are announced once", async (world) => {
      const [first, second] = [await world.hold("a"), await world.hold("b")];
      await report(world, first, "src/a.ts", "src/b.ts");
      await report(world, second, "src/c.ts");
      expect(await pairs(world)).toEqual([]);
      await report(world, second, "src/b.ts", "src/c.ts");
      await report(world, second, "src/a.ts", "src/b.ts");
      await report(world, first, "src/b.ts");
      expect(await pairs(world)).toEqual([[first.taskId, second.taskId, ["src/b.ts"]]]);
      expect(await announced(world)).toEqual([[second.taskId, first.taskId]]);
      const told = (await world.notifications()).filter(({ type }) => type === "TASKS_OVERLAP");
      expect(told).toMatchObject([{ taskId: second.taskId, severity: "warning" }]);
      expect(told[0]!.message).toContain("src/b.ts. Run: dibs conflicts");
    });

    it("a pair is listed with what both change now, also in later attempts, and leaves with the last path", async (world) => {
      const [first, second] = [await world.hold("a"), await world.hold("b")];
      await report(world, first, "x", "y");
      await report(world, second, "x");
      await report(world, second, "x", "y");
      expect(await pairs(world)).toEqual([[first.taskId, second.taskId, ["x", "y"]]]);
      await world.ok({ type: "release", ...second, spread: 0 });
      expect(await pairs(world)).toEqual([]);
      await world.ok({ type: "claim", taskId: second.taskId, sessionId: "c", register: {} });
      const again = {
        taskId: second.taskId,
        sessionId: "c",
        epoch: (await world.claimOf(second.taskId)).epoch,
      };
      await report(world, again, "y");
      expect(await pairs(world)).toEqual([[first.taskId, second.taskId, ["y"]]]);
      expect(await announced(world)).toHaveLength(1);
      await report(world, again, "z");
      expect(await pairs(world)).toEqual([]);
      await report(world, again, "y");
      expect(await pairs(world)).toEqual([[first.taskId, second.taskId, ["y"]]]);
      expect(await announced(world)).toHaveLength(1);
    });

    it("the one event of a pair is found from both tasks, also when they change the same files no longer", async (world) => {
      const [first, second] = [await world.hold("a"), await world.hold("b")];
      await report(world, first, "x");
      await report(world, second, "x");
      await report(world, first, "y");
      const numbers = (taskId: string) => world.read((view) => overlapEventsOfFirst(view, project, taskId));
      const [event] = (await world.events()).filter(({ type }) => type === "task:overlap");
      expect(event).toMatchObject({ taskId: second.taskId, data: { with: first.taskId } });
      expect(await numbers(first.taskId)).toEqual([event!.seq]);
      expect(await numbers(second.taskId)).toEqual([]);
    });

    it("what is handed in still counts, what has ended does not", async (world) => {
      await world.settings({ land: { target: "main", repository: "a".repeat(40) } });
      const [first, second, third] = [await world.hold("a"), await world.hold("b"), await world.hold("c")];
      await report(world, first, "x");
      await report(world, third, "y");
      await world.ok({ type: "submit", ...first, commit: "c".repeat(40), result: resultOf("done") });
      await world.ok({ type: "release", ...third, spread: 0 });
      await report(world, second, "x", "y");
      expect(await pairs(world)).toEqual([[first.taskId, second.taskId, ["x"]]]);
      await world.ok({ type: "release", ...second, spread: 0 });
      expect(await pairs(world)).toEqual([]);
    });

    it("a heartbeat without paths changes nothing about them", async (world) => {
      const [first, second] = [await world.hold("a"), await world.hold("b")];
      await report(world, first, "x");
      await world.ok({ type: "heartbeat", ...first });
      await report(world, second, "x");
      expect(await pairs(world)).toHaveLength(1);
    });
  });
}
