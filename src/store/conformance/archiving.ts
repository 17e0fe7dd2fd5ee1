// Old tasks go, and leave nothing behind but their ids. What somebody may still need, or what hangs on it, keeps a task.

import { describe, expect } from "vitest";
import { archivedAt } from "../../core/archive.js";
import { carryOut } from "../../core/decide.js";
import { moveOf } from "../../core/moves.js";
import type { Reads } from "../../core/view.js";
import type { Job } from "../store.js";
import { type Driver, minute, org, project, resultOf, teller, type World } from "./harness.js";

const all = 1_000_000;
const day = 24 * 60 * minute;

const ids = (view: Reads) => view.tasks({ project: null, afterOrdinal: 0, limit: all }).map(({ id }) => id);
const left = (world: World) => world.read(ids);

/** All tasks are considered, by default those that ended before now; answers how many went. */
async function archive(world: World, before?: number): Promise<number> {
  const tasks = await world.read((view) => view.tasks({ project: null, afterOrdinal: 0, limit: all }));
  const keys = tasks.map((task) => ({ project: task.project, id: task.id }));
  const at = before ?? world.clock.now();
  return (await world.ok({ type: "archive-tasks", tasks: keys, before: at })).archived;
}

/** A task that ended a day ago. */
async function oldTask(world: World, input: Parameters<World["task"]>[0] = {}): Promise<string> {
  const id = await world.task(input);
  await world.finish(id);
  world.clock.advance(day);
  return id;
}

const archivingJob =
  (ids: string[], before: number): Job<unknown> =>
  (transaction) => {
    const tasks = ids.map((id) => ({ project, id }));
    const outcome = carryOut(transaction, { type: "archive-tasks", tasks, before }, "system");
    return outcome.ok ? outcome.value : outcome;
  };

const creating = (id: string) => ({
  type: "create" as const,
  correlationId: "corr-test",
  tasks: [{ prompt: "x", id }],
});

export function archiving(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: archived tasks`, () => {
    it("those that were completed or cancelled go, and those that failed or are open stay", async (world) => {
      const cancelled = await world.task();
      await world.ok({ type: "cancel", taskId: cancelled });
      const failed = await world.hold("a");
      await world.ok({ type: "fail", ...failed, error: "broken", retryable: false, spread: 0 });
      const held = await world.hold("b");
      const queued = await world.task();
      await oldTask(world);
      expect(await archive(world)).toBe(2);
      expect(await left(world)).toEqual([failed.taskId, held.taskId, queued]);
      expect(await archive(world)).toBe(0);
    });

    it("only those that ended before the instant go", async (world) => {
      const first = await world.task();
      await world.finish(first);
      const endedAt = world.clock.now();
      world.clock.advance(1);
      const second = await world.task();
      await world.finish(second);
      expect(await archive(world, endedAt)).toBe(0);
      expect(await archive(world, endedAt + 1)).toBe(1);
      expect(await left(world)).toEqual([second]);
    });

    it("only those that are named are looked at, however often, and those that are not there do not matter", async (world) => {
      const first = await oldTask(world);
      const second = await oldTask(world);
      const tasks = [first, "missing", first].map((id) => ({ project, id }));
      tasks.push({ project: "nowhere", id: second });
      expect(await world.ok({ type: "archive-tasks", tasks, before: world.clock.now() })).toEqual({
        archived: 1,
      });
      expect(await left(world)).toEqual([second]);
    });

    it("a chain goes from its end, in one step", async (world) => {
      const first = await world.task();
      const second = await world.task({ dependsOn: [first] });
      const third = await world.task({ dependsOn: [first, second] });
      for (const id of [first, second, third]) await world.finish(id);
      world.clock.advance(day);
      expect(await archive(world)).toBe(3);
      expect(await left(world)).toEqual([]);
      expect(await world.read((view) => view.dependents(project, first))).toEqual([]);
    });

    it("what a task that is left depends on stays, with all before it", async (world) => {
      const first = await world.task();
      const second = await world.task({ dependsOn: [first] });
      const open = await world.task({ dependsOn: [second] });
      const young = await world.task({ dependsOn: [first] });
      for (const id of [first, second]) await world.finish(id);
      world.clock.advance(day);
      await world.finish(young);
      expect(await archive(world)).toBe(0);
      await world.finish(open);
      world.clock.advance(day);
      const after = world.clock.now() - day;
      expect(await archive(world, after)).toBe(0);
      expect(await archive(world)).toBe(4);
    });

    it("what was made to depend on a later task goes, and that one the next time", async (world) => {
      const early = await world.task();
      const late = await world.task();
      await world.ok({ type: "update", taskId: early, patch: { dependsOn: [late] } });
      for (const id of [late, early]) await world.finish(id);
      world.clock.advance(day);
      expect(await archive(world)).toBe(1);
      expect(await left(world)).toEqual([late]);
      expect(await world.read((view) => view.dependents(project, late))).toEqual([]);
      expect(await archive(world)).toBe(1);
    });

    it("a tree goes when its root has ended, from its leaves", async (world) => {
      const root = await world.task();
      const group = await world.task({ parentId: root, type: "group" });
      const leaves = [await world.task({ parentId: group }), await world.task({ parentId: group })];
      await world.finish(leaves[0]!);
      await world.ok({ type: "cancel", taskId: leaves[1]! });
      world.clock.advance(day);
      // The group is over, and its leaves may go; it waits for its own parent.
      expect(await world.stateOf(group)).toBe("completed");
      expect(await archive(world)).toBe(2);
      expect(await left(world)).toEqual([root, group]);
      expect(await world.read((view) => view.children(project, group))).toEqual([]);
      await world.finish(root);
      expect(await archive(world)).toBe(0);
      world.clock.advance(day);
      expect(await archive(world)).toBe(2);
      expect(await left(world)).toEqual([]);
    });

    it("a child that failed keeps its parents", async (world) => {
      const root = await world.task({ type: "group" });
      const child = await world.task({ parentId: root });
      const hold = { taskId: child, sessionId: "a", epoch: await world.claim(child, "a") };
      await world.ok({ type: "fail", ...hold, error: "broken", retryable: false, spread: 0 });
      await world.ok({ type: "cancel", taskId: root });
      world.clock.advance(day);
      expect(await archive(world)).toBe(0);
    });

    it("the completed children of a group are remembered when it is tried again", async (world) => {
      const group = await world.task({ type: "group" });
      const done = await world.task({ parentId: group });
      const dropped = await world.task({ parentId: group });
      const waiting = await world.task({ dependsOn: [group] });
      await world.finish(done);
      await world.ok({ type: "cancel", taskId: group, cascade: true });
      world.clock.advance(day);
      expect(await archive(world)).toBe(2);
      expect(await left(world)).toEqual([group, waiting]);
      await world.ok({ type: "retry", taskId: group });
      expect(await world.stateOf(group)).toBe("completed");
      expect(await world.whyNot(waiting)).toEqual([]);
      expect((await world.refused("TASK_NOT_FOUND", { type: "retry", taskId: dropped })).hint).toContain(
        "archived at",
      );
    });

    it("texts, attempts and logs go along, and those of others stay", async (world) => {
      const hold = await world.hold("a");
      await world.ok({ type: "append-log", ...hold, text: "one" });
      await world.ok({ type: "release", ...hold, spread: 0 });
      const again = { ...hold, epoch: await world.claim(hold.taskId, "a") };
      await world.ok({ type: "append-log", ...again, text: "two" });
      await world.complete(again);
      const other = await world.hold("a");
      await world.ok({ type: "append-log", ...other, text: "three" });
      world.clock.advance(minute);
      expect(await archive(world)).toBe(1);
      await world.reopen();
      const { taskId } = hold;
      expect(
        await world.read((view) => [
          view.task(project, taskId),
          view.text(project, taskId),
          view.attempt(project, taskId, 2),
          ...view.attempts(project, taskId, 10),
          view.claim(project, taskId),
        ]),
      ).toEqual([undefined, undefined, undefined, undefined]);
      const logs = await world.read((view) => view.documents({ kind: "log", limit: 10 }));
      expect(logs.map(({ key }) => key)).toEqual([
        `${project}/${other.taskId}`,
        `${project}/${other.taskId}/1`,
      ]);
      const whole = await world.read((view) => view.wholeTasks({ afterOrdinal: 0, limit: 10 }));
      expect(whole.map(({ task }) => task.id)).toEqual([other.taskId]);
      expect(await world.read((view) => view.text(project, other.taskId)?.prompt)).toBe("do it");
      expect(await world.store.check()).toEqual([]);
    });

    it("no id is used again: neither one that was given, nor one that was brought", async (world) => {
      const parent = await world.task({ id: "mine" });
      const child = await world.task({ id: "mine_t1", parentId: parent });
      const given = await world.task();
      for (const id of [child, parent, given]) await world.finish(id);
      world.clock.advance(day);
      expect(await archive(world)).toBe(3);
      await world.reopen();
      for (const id of [parent, child, given]) {
        const { details } = await world.refused("ID_TAKEN", creating(id));
        expect(details).toEqual({ taskId: id, archivedAt: world.clock.now() });
      }
      expect(await world.task()).toBe("0002");
      await world.ok({ type: "create-project", id: "other" });
      await world.ok({ ...creating("mine"), project: "other" });
    });

    it("a number under a parent is not used again either, if the child went first", async (world) => {
      const parent = await world.task({ type: "group" });
      const child = await world.task({ id: `${parent}_t2`, parentId: parent });
      const keeper = await world.task({ dependsOn: [parent] });
      await world.ok({ type: "cancel", taskId: child });
      world.clock.advance(day);
      expect(await archive(world)).toBe(1);
      await world.ok({ type: "retry", taskId: parent });
      expect(await world.task({ parentId: parent })).toBe(`${parent}_t1`);
      expect(await world.task({ parentId: parent })).toBe(`${parent}_t3`);
      expect(await left(world)).toContain(keeper);
    });

    it("people who ask for one learn when it went; whoever would hold it is told that it is not there", async (world) => {
      const taskId = await oldTask(world);
      await archive(world);
      const at = world.clock.now();
      expect(await world.read((view) => archivedAt(view, project, taskId))).toBe(world.clock.now());
      for (const told of [
        { type: "retry", taskId },
        { type: "cancel", taskId },
        { type: "update", taskId, patch: { title: "x" } },
        { type: "respond", taskId, response: "x" },
      ] as const) {
        expect((await world.refused("TASK_NOT_FOUND", told)).details).toEqual({ taskId, archivedAt: at });
      }
      await world.refused("TASK_NOT_FOUND", { type: "claim", taskId, sessionId: "worker" });
      const late = { taskId, sessionId: "worker", epoch: 1, result: resultOf("late") };
      await world.refused("TASK_NOT_FOUND", { type: "complete", ...late });
      await world.refused("DEPENDENCY_NOT_FOUND", {
        type: "create",
        correlationId: "c",
        tasks: [{ prompt: "x", dependsOn: [taskId] }],
      });
    });

    it("each is told once, with the state that it leaves, and its other events stay in the log", async (world) => {
      const taskId = await oldTask(world);
      const before = await world.events();
      await archive(world);
      const [event, ...more] = await world.events(before.length);
      expect(more).toEqual([]);
      expect(event).toMatchObject({
        type: "task:updated",
        taskId,
        project,
        actor: "system",
        data: { archived: true, from: "completed" },
      });
      expect(moveOf(event!)).toEqual({ from: "completed", to: null });
      expect((await world.events()).slice(0, -1)).toEqual(before);
      expect(await world.read((view) => view.events({ after: 0, limit: 9, project, taskId }))).toEqual([]);
    });

    it("counts and lists are without them", async (world) => {
      await oldTask(world, { labels: ["ui"] });
      const queued = await world.task({ labels: ["ui"] });
      await archive(world);
      await world.read((view) => {
        expect(view.taskCounts(null)).toEqual({ queued: 1 });
        expect(view.tasks({ project, label: "ui", afterOrdinal: 0, limit: 9 }).map(({ id }) => id)).toEqual([
          queued,
        ]);
      });
    });

    it("the jobs after it in the commit see that they are gone, also in lists", async (world) => {
      const group = await world.task({ type: "group" });
      const child = await world.task({ parentId: group });
      const first = await world.task();
      const second = await world.task({ dependsOn: [first] });
      for (const id of [child, first, second]) await world.finish(id);
      world.clock.advance(day);
      const before = world.clock.now();
      const seen = await world.store.commit(org, [
        // What is known already must be forgotten.
        ({ view }) =>
          [child, second].map((id) => [view.text(project, id), view.attempts(project, id, 9)]).length,
        ({ view }) => view.attempt(project, second, 1)?.epoch,
        archivingJob([child, second], before),
        ({ view }) => [
          view.task(project, second) ?? null,
          view.text(project, second) ?? null,
          view.attempt(project, second, 1) ?? null,
          view.attempts(project, second, 9),
          view.children(project, group),
          view.dependents(project, first),
        ],
        archivingJob([group, first], before),
        ({ view }) => [view.task(project, group) ?? null, view.children(project, group)],
      ]);
      expect(seen.map((result) => (result.ok ? result.value : result.error))).toEqual([
        2,
        1,
        { archived: 2 },
        [null, null, null, [], [], []],
        { archived: 2 },
        [null, []],
      ]);
      expect(await left(world)).toEqual([]);
    });

    it("a task may be made, done and archived in one commit", async (world) => {
      await world.session("a");
      const hold = { taskId: "quick", sessionId: "a" };
      const outcomes = await world.together([
        creating("quick"),
        { type: "claim", ...hold, start: true },
        { type: "append-log", ...hold, text: "x" },
        { type: "complete", ...hold, result: resultOf("done") },
        {
          type: "archive-tasks",
          tasks: [{ project, id: "quick" }],
          before: world.clock.now() + 1,
        },
        { type: "retry", taskId: "quick" },
        creating("quick"),
      ]);
      expect(outcomes.map((outcome) => (outcome.ok ? "ok" : outcome.code))).toEqual([
        ...Array.from({ length: 5 }, () => "ok"),
        "TASK_NOT_FOUND",
        "ID_TAKEN",
      ]);
      expect(await left(world)).toEqual([]);
      expect(await world.read((view) => view.documents({ kind: "log", limit: 9 }))).toEqual([]);
      expect(await world.read((view) => view.claimsOf(project, "a"))).toEqual([]);
      await world.reopen();
      expect(await world.next("a")).toBeNull();
    });

    it("they come back when the job throws", async (world) => {
      const first = await world.task();
      const second = await world.task({ dependsOn: [first] });
      for (const id of [first, second]) await world.finish(id);
      world.clock.advance(day);
      const whole = () => world.read((view) => view.wholeTasks({ afterOrdinal: 0, limit: 9 }));
      const before = await whole();
      await world.unchanged(() =>
        world.store.commit(org, [
          (transaction) => {
            archivingJob([first, second], world.clock.now())(transaction);
            expect(transaction.view.task(project, first)).toBeUndefined();
            throw new Error("broken job");
          },
        ]),
      );
      expect(await whole()).toEqual(before);
      expect(await world.read((view) => view.dependents(project, first))).toEqual([second]);
      expect(await archive(world)).toBe(2);
    });

    it("those of one org go", async (world) => {
      await world.store.open("other", project);
      const id = await oldTask(world);
      const [elsewhere] = await world.store.commit("other", [archivingJob([id], world.clock.now())]);
      expect(elsewhere).toEqual({ ok: true, value: { archived: 0 } });
      expect(await left(world)).toEqual([id]);
    });
  });
}
