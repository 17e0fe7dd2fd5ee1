// A plan that is loaded again updates what it created. Identity, what may be changed and what is left are the core's; a store
// keeps the record of the plan, in the same transaction as the tasks.

import { describe, expect } from "vitest";
import type { LoadPlanCommand, PlanTask } from "../../core/command.js";
import { type PlanChange, planEntries } from "../../core/plan.js";
import { type Driver, minute, project, resultOf, teller, type World } from "./harness.js";

const name = "docs/plan.md";
const day = 24 * 60 * minute;

type More = Partial<Omit<LoadPlanCommand, "tasks">>;

const loading = (tasks: PlanTask[], more: More = {}) => ({
  type: "load-plan" as const,
  plan: name,
  tasks: tasks.map((task) => ({ prompt: task.title ?? "do it", ...task })),
  mayEdit: true,
  correlationId: "corr-test",
  ...more,
});

const load = (world: World, tasks: PlanTask[], more?: More) => world.ok(loading(tasks, more));

/** `new A`, `changed B: prompt`, in the order of the answer. */
const told = ({ plan }: { plan: { changes: PlanChange[] } }) =>
  plan.changes.map(({ change, title, fields, notApplied, reason }) => {
    const more = [...fields, ...notApplied.map((field) => `not ${field}`), ...(reason ? [reason] : [])];
    return `${change} ${title}${more.length > 0 ? `: ${more.join(", ")}` : ""}`;
  });

const titles = (world: World) =>
  world.read((view) => view.tasks({ project, afterOrdinal: 0, limit: 1000 }).map(({ title }) => title));

const record = (world: World) => world.read((view) => planEntries(view, project, name));

const A = { title: "A" };
const B = { title: "B", dependsOn: ["A"] };
const C = { title: "C" };

export function plans(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: plans`, () => {
    it("the same plan loaded again creates nothing and changes nothing", async (world) => {
      const first = await load(world, [A, B]);
      expect(first.plan).toMatchObject({ isNew: true, counts: { new: 2, unchanged: 0 } });
      const before = await record(world);
      await world.unchanged(async () => {
        const again = await load(world, [A, B]);
        expect(again.ids).toEqual(first.ids);
        expect(again.plan).toMatchObject({ isNew: false, changes: [], counts: { new: 0, unchanged: 2 } });
      });
      expect(await record(world)).toEqual(before);
    });

    it("an edited plan creates what is new, updates what changed, and lists what is gone", async (world) => {
      const { ids } = await load(world, [A, B, C]);
      const edited = await load(world, [{ ...A, prompt: "do A well", priority: 80 }, B, { title: "D" }]);
      expect(told(edited)).toEqual(["changed A: priority, prompt", "new D", "gone C"]);
      expect(edited.plan.counts).toMatchObject({ new: 1, changed: 1, unchanged: 1, gone: 1 });
      expect(edited.ids.slice(0, 2)).toEqual(ids.slice(0, 2));
      expect(await titles(world)).toEqual(["A", "B", "C", "D"]);
      expect(await world.look(ids[0]!)).toMatchObject({ priority: 80 });
      expect(await world.read((view) => view.text(project, ids[0]!)?.prompt)).toBe("do A well");
      expect(await world.stateOf(ids[2]!)).toBe("queued");
      expect(told(await load(world, [A, B, { title: "D" }]))).toEqual([
        "changed A: priority, prompt",
        "gone C",
      ]);
      expect(await world.look(ids[0]!)).toMatchObject({ priority: 50 });
    });

    it("a dry run answers the same difference and changes nothing", async (world) => {
      await load(world, [A, B, C]);
      const edited = [{ ...A, priority: 80 }, { ...B, dependsOn: ["D"] }, { title: "D" }];
      const before = await record(world);
      let dry: Awaited<ReturnType<typeof load>> | undefined;
      await world.unchanged(async () => {
        dry = await load(world, edited, { dryRun: true, prune: true, mayEdit: false });
      });
      expect(await record(world)).toEqual(before);
      expect(dry!.plan.changes[2]).toMatchObject({ change: "new", title: "D", taskId: null });
      const real = await load(world, edited, { prune: true });
      expect(told(dry!)).toEqual(told(real));
      expect(told(real)).toEqual(["changed A: priority", "changed B: dependsOn", "new D", "cancelled C"]);
      expect(dry!.plan.counts).toEqual(real.plan.counts);
    });

    it("two loads in one commit create the plan once", async (world) => {
      const outcomes = await world.together([loading([A, B]), loading([A, B])]);
      expect(outcomes.map(({ ok }) => ok)).toEqual([true, true]);
      expect(await titles(world)).toEqual(["A", "B"]);
    });

    it("plans of other names and projects are apart, and a batch without a plan knows none", async (world) => {
      await world.ok({ type: "create-project", id: "other" });
      await load(world, [A]);
      expect(told(await load(world, [A], { plan: "docs/plan.md0" }))).toEqual(["new A"]);
      expect(told(await load(world, [A], { project: "other" }))).toEqual(["new A"]);
      await world.task(A);
      expect(await titles(world)).toEqual(["A", "A", "A"]);
    });

    it("a title that changed is one task gone and another new, unless the plan names an identity", async (world) => {
      await load(world, [A, { title: "B", identity: "b" }]);
      const renamed = await load(world, [{ title: "A2" }, { title: "B2", prompt: "B", identity: "b" }]);
      expect(told(renamed)).toEqual(["new A2", "changed B2: title", "gone A"]);
    });

    it("dependencies between old and new tasks are changed together, and cycles are found across both", async (world) => {
      const { ids } = await load(world, [A, B]);
      const turned = [
        { ...A, dependsOn: ["B"] },
        { ...B, dependsOn: [] },
      ];
      expect(told(await load(world, turned))).toEqual(["changed A: dependsOn", "changed B: dependsOn"]);
      expect((await world.look(ids[0]!)).dependsOn).toEqual([ids[1]]);
      expect(await world.next("w")).toBe(ids[1]);
      const cycle = [{ ...A, dependsOn: ["N"] }, { title: "N", dependsOn: ["A"] }, B];
      await world.unchanged(() => world.refused("DEPENDENCY_CYCLE", loading(cycle)));
    });

    it("what runs, waits for an answer or is over is left alone, and follows the plan once it is queued again", async (world) => {
      const { ids } = await load(world, [A, B, C]);
      const epoch = await world.claim(ids[0]!, "w");
      await world.finish(ids[2]!, "x");
      const edited = [{ ...A, priority: 90 }, B, { ...C, prompt: "more" }];
      expect(told(await load(world, edited))).toEqual([
        "untouched A: not priority",
        "untouched C: not prompt",
      ]);
      expect((await world.look(ids[0]!)).priority).toBe(50);
      await world.ok({ type: "release", taskId: ids[0]!, sessionId: "w", epoch, spread: 0 });
      expect(told(await load(world, edited))).toEqual(["changed A: priority", "untouched C: not prompt"]);
    });

    it("a lease that is over holds nothing back, whether or not a sweeper has run", async (world) => {
      const { ids } = await load(world, [A]);
      await world.claim(ids[0]!, "w");
      world.clock.advance(day);
      expect(told(await load(world, [{ ...A, priority: 90 }]))).toEqual(["changed A: priority"]);
    });

    it("an edit in the store stays until the plan says something else about the same field", async (world) => {
      const { ids } = await load(world, [A]);
      await world.ok({ type: "update", taskId: ids[0]!, patch: { priority: 10, labels: ["ui"] } });
      expect((await load(world, [A])).plan.counts).toMatchObject({ unchanged: 1, changed: 0 });
      const edited = await load(world, [{ ...A, priority: 70, phase: "test" }]);
      expect(edited.plan.changes).toMatchObject([
        { fields: ["phase", "priority"], overwritten: ["priority"] },
      ]);
      expect(await world.look(ids[0]!)).toMatchObject({ priority: 70, labels: ["ui"] });
    });

    it("an item that is checked off is not created, and does not end a task that is open", async (world) => {
      const { ids } = await load(world, [A, B, { ...C, done: true }]);
      expect(ids[2]).toBeNull();
      expect(told(await load(world, [{ ...A, done: true }, B]))).toEqual(["checked A"]);
      expect(await world.whyNot(ids[1]!)).toContain("WAITING_ON_DEPENDENCIES");
      await world.finish(ids[0]!);
      expect((await load(world, [{ ...A, done: true }, B])).plan.counts).toMatchObject({ unchanged: 2 });
      const reopened = await load(world, [A, { ...B, dependsOn: ["A", "C"] }, C]);
      expect(told(reopened)).toEqual(["changed B: dependsOn", "new C"]);
    });

    it("a task that was archived is done, not new", async (world) => {
      const { ids } = await load(world, [A, C]);
      await world.finish(ids[0]!);
      world.clock.advance(day);
      const tasks = [{ project, id: ids[0]! }];
      await world.ok({ type: "archive-tasks", tasks, before: world.clock.now() });
      const again = await load(world, [A, C, B]);
      expect(told(again)).toEqual(["new B"]);
      expect((await world.look(again.ids[2]!)).dependsOn).toEqual([]);
    });

    it("prune cancels what was never attempted, and nothing that another task needs", async (world) => {
      const first = [A, C, { title: "G", type: "group" as const, key: "g" }, { title: "P", parentId: "g" }];
      const { ids } = await load(world, [...first, { title: "T" }, { title: "K" }]);
      const [a, c, g, p, t, k] = ids as string[];
      const epoch = await world.claim(t!, "w");
      await world.ok({ type: "release", taskId: t!, sessionId: "w", epoch, spread: 0 });
      await world.claim(k!, "w");
      await world.task({ prompt: "mine", dependsOn: [c!] });
      const pruned = await load(world, [A], { prune: true });
      expect(told(pruned)).toEqual([
        "gone C: 0006 waits for it",
        "cancelled G",
        "cancelled P",
        "gone T: attempted",
        "gone K: claimed",
      ]);
      const states = await Promise.all([a, c, g, p, t, k].map((id) => world.stateOf(id!)));
      expect(states).toEqual(["queued", "queued", "cancelled", "cancelled", "queued", "claimed"]);
      expect(told(await load(world, [A]))).toEqual(["gone C", "gone T", "gone K"]);
      expect(told(await load(world, [A, { title: "P" }]))).toEqual(["new P", "gone C", "gone T", "gone K"]);
    });

    it("a new part of a group that is over gets the group again; of a task that is over, it stands alone", async (world) => {
      const group = { title: "G", key: "g", type: "group" as const };
      const parent = { title: "T", key: "t" };
      const part = { title: "P", key: "p", parentId: "g" };
      const { ids } = await load(world, [group, part, parent]);
      await world.finish(ids[1]!);
      await world.finish(ids[2]!);
      expect(await world.stateOf(ids[0]!)).toBe("completed");
      const more = [group, part, parent, { title: "Q", parentId: "g" }, { title: "R", parentId: "t" }];
      const again = await load(world, more);
      expect(told(again)).toEqual(["new G", "new Q", "new R"]);
      expect(again.ids[0]).not.toBe(ids[0]);
      expect((await world.look(again.ids[3]!)).parentId).toBe(again.ids[0]);
      expect((await world.look(again.ids[4]!)).parentId).toBeNull();
      expect(told(await load(world, more))).toEqual([]);
    });

    it("a new subtask of a held task is created next to it: the work under way can be completed", async (world) => {
      const parent = { title: "T", key: "t" };
      const { ids } = await load(world, [parent]);
      const epoch = await world.claim(ids[0]!, "w", { start: true });
      const again = await load(world, [parent, { title: "P", parentId: "t" }]);
      expect(told(again)).toEqual(["new P"]);
      expect((await world.look(again.ids[1]!)).parentId).toBeNull();
      await world.ok({ type: "complete", taskId: ids[0]!, sessionId: "w", epoch, result: resultOf("done") });
      expect(await world.stateOf(ids[0]!)).toBe("completed");
    });

    it("a parent that changed is listed and not applied: a task keeps its place", async (world) => {
      const keyed = { title: "P", key: "p" };
      const { ids } = await load(world, [
        { title: "G", key: "g" },
        { title: "H", key: "h" },
        { ...keyed, parentId: "g" },
      ]);
      const moved = [
        { title: "G", key: "g" },
        { title: "H", key: "h" },
        { ...keyed, parentId: "h" },
      ];
      for (let times = 0; times < 2; times++)
        expect(told(await load(world, moved))).toEqual(["untouched P: not parentId"]);
      expect((await world.look(ids[2]!)).parentId).toBe(ids[0]);
    });

    it("whoever may not edit can load a plan and add to it, but neither change nor cancel tasks", async (world) => {
      const worker = { mayEdit: false };
      await load(world, [A], worker);
      await load(world, [A, C], worker);
      await world.unchanged(async () => {
        await world.refused("FORBIDDEN", loading([{ ...A, priority: 90 }, C, { title: "D" }], worker));
        await world.refused("FORBIDDEN", loading([A], { ...worker, prune: true }));
      });
    });

    it("an identity that comes twice is refused", async (world) => {
      await world.refused("VALIDATION_FAILED", loading([A, { ...A, prompt: "other" }]));
    });

    it("the record survives reopening, and goes with the last of its tasks", async (world) => {
      await load(world, [A, C]);
      await world.reopen();
      expect((await load(world, [A, C])).plan.counts).toMatchObject({ new: 0, unchanged: 2 });
      await load(world, [{ title: "D", done: true }], { prune: true });
      expect(await record(world)).toBeUndefined();
    });
  });
}
