// A task is done when its change is on the target branch: what is submitted, who moves it, and what comes back.

import { describe, expect } from "vitest";
import type { Command } from "../../core/command.js";
import { type Hold as LandingHold, leaseOf, submissionOf, submittedCount } from "../../core/landing.js";
import {
  type Driver,
  type Hold,
  holderMoves,
  minute,
  project,
  resultOf,
  teller,
  type World,
} from "./harness.js";

const repository = "a".repeat(40);
const target = "main";
const place = { repository, target };
const commitOf = (number: number) => String(number).padStart(40, "c");

async function landingOn(world: World): Promise<void> {
  await world.settings({ land: { target, repository } });
}

async function submitted(world: World, input: object = {}, more: object = {}): Promise<Hold> {
  const hold = await world.hold("a", input, { start: true });
  await world.ok({ type: "submit", ...hold, commit: commitOf(1), result: resultOf("done"), ...more });
  return hold;
}

async function lander(world: World, holder = "lander-1"): Promise<number> {
  const { epoch } = await world.ok({ type: "acquire-lander", ...place, holder });
  return epoch;
}

const inLanding = (taskId: string, submission = 1, commit: string | null = commitOf(9)) => ({
  project,
  taskId,
  submission,
  commit,
});

/** Opens a landing with these tasks, its intent recorded. */
async function intended(world: World, epoch: number, ...taskIds: string[]): Promise<string> {
  const tasks = taskIds.map((taskId) => inLanding(taskId));
  const { id } = await world.ok({ type: "open-landing", ...place, epoch, tasks, commit: commitOf(9) });
  return id;
}

async function landed(world: World, ...taskIds: string[]): Promise<void> {
  const epoch = await lander(world);
  await world.ok({ type: "land", id: await intended(world, epoch, ...taskIds), epoch });
}

async function returned(world: World, taskId: string, submission = 1): Promise<void> {
  const epoch = await lander(world);
  const { id } = await world.ok({
    type: "open-landing",
    ...place,
    epoch,
    tasks: [inLanding(taskId, submission)],
  });
  await world.ok({ type: "return", id, epoch, taskId, submission, reason: "conflict", detail: "a.ts" });
}

async function holds(world: World): Promise<LandingHold[]> {
  return world.read((view) => leaseOf(view, place)?.holds ?? []);
}

const unread = async (world: World, type: string) =>
  (await world.notifications()).filter((each) => each.type === type && each.readAt === null);

export function landing(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: landing, what is submitted`, () => {
    it("without a target, complete completes, and nothing can be submitted", async (world) => {
      const hold = await world.hold("a");
      await world.refused("INVALID_STATE", {
        type: "submit",
        ...hold,
        commit: commitOf(1),
        result: resultOf("x"),
      });
      await world.complete(hold);
      expect(await world.look(hold.taskId)).toMatchObject({
        now: "completed",
        submission: null,
        landed: null,
      });
      expect(await world.eventTypes(hold.taskId)).not.toContain("task:submitted");
    });

    it("complete submits, ends the claim, and unblocks nothing", async (world) => {
      await landingOn(world);
      const hold = await world.hold("a", {}, { start: true });
      const dependent = await world.task({ dependsOn: [hold.taskId] });
      const result = { ...resultOf("did it"), commit: commitOf(1), branch: "dibs/0001" };
      const answer = await world.ok({ type: "complete", ...hold, result });
      expect(answer).toEqual({ unblocked: [], unblockedCount: 0 });
      const task = await world.look(hold.taskId);
      expect(task).toMatchObject({
        now: "submitted",
        endedAt: null,
        submission: { number: 1, commit: commitOf(1) },
      });
      expect(await world.attemptOf(hold)).toMatchObject({ end: "submit", result });
      expect(await world.whyNot(dependent)).toEqual(["WAITING_ON_DEPENDENCIES"]);
      expect(await world.read((view) => submissionOf(view, task))).toMatchObject({
        branch: "dibs/0001",
        summary: "did it",
        submittedBy: "a",
        end: null,
      });
    });

    it("release as completed submits as well", async (world) => {
      await landingOn(world);
      const hold = await world.hold("a");
      await world.ok({ type: "release", ...hold, reason: "completed", spread: 0 });
      expect(await world.stateOf(hold.taskId)).toBe("submitted");
    });

    it("retries and losses before it are forgotten", async (world) => {
      await world.settings({ retry: { delayMs: 0 }, land: { target, repository } });
      const first = await world.hold("a");
      await world.ok({ type: "fail", ...first, error: "it broke", quick: false, spread: 0 });
      world.clock.advance(minute);
      const epoch = await world.claim(first.taskId, "a");
      await world.ok({ type: "submit", ...first, epoch, commit: commitOf(1), result: resultOf("") });
      expect(await world.look(first.taskId)).toMatchObject({ retryCount: 0, lostCount: 0 });
    });

    it("a commit is named by its whole id: a branch, a short id and a text with lines are refused", async (world) => {
      await landingOn(world);
      const hold = await world.hold("a", {}, { start: true });
      for (const commit of [
        "HEAD",
        "feature",
        "abc1234",
        `${commitOf(1)}\nupdate refs/heads/main ${commitOf(2)}`,
      ]) {
        const result = { ...resultOf("done"), commit };
        const { details } = await world.refused("VALIDATION_FAILED", { type: "complete", ...hold, result });
        expect(details).toMatchObject({ issues: [{ path: "result.commit" }] });
      }
      expect(await world.look(hold.taskId)).toMatchObject({ now: "running", submission: null });
    });

    it("a commit that is its own base, or none, hands in nothing", async (world) => {
      await landingOn(world);
      const same = await submitted(world, {}, { base: commitOf(1) });
      const none = await world.hold("b");
      await world.complete(none);
      for (const { taskId } of [same, none])
        expect((await world.look(taskId)).submission).toMatchObject({ commit: null });
    });

    it("a repeated complete or submit answers like the first time", async (world) => {
      await landingOn(world);
      const hold = await submitted(world);
      await world.unchanged(async () => {
        expect(
          await world.ok({ type: "submit", ...hold, commit: commitOf(2), result: resultOf("again") }),
        ).toEqual({ number: 1 });
        await world.complete(hold);
        await world.ok({ type: "release", ...hold, reason: "completed", spread: 0 });
      });
    });

    it("open subtasks keep it from being submitted", async (world) => {
      await landingOn(world);
      const hold = await world.hold("a");
      await world.task({ parentId: hold.taskId });
      await world.refused("CHILDREN_OPEN", {
        type: "submit",
        ...hold,
        commit: commitOf(1),
        result: resultOf(""),
      });
    });

    it("complete without a commit is refused where a runner hands in the worktree", async (world) => {
      await landingOn(world);
      const hold = await world.hold("a", {}, { start: true, metadata: { runner: { pid: 1 } } });
      await world.refused("INVALID_STATE", { type: "complete", ...hold, result: resultOf("done") });
      await world.ok({ type: "submit", ...hold, result: resultOf("done") });
    });

    it("without a remote, a commit of another machine is refused", async (world) => {
      await landingOn(world);
      await world.ok({ type: "acquire-lander", ...place, holder: "lander", host: "here" });
      const hold = await world.hold("a");
      const submit = { type: "submit", ...hold, commit: commitOf(1), result: resultOf("") } as const;
      await world.refused("REMOTE_REQUIRED", { ...submit, host: "there" });
      await world.settings({ land: { remote: "origin" } });
      await world.ok({ ...submit, host: "there" });
    });

    it("what comes after the lease is refused and kept on the attempt", async (world) => {
      await landingOn(world);
      const hold = await world.hold("a", {}, { start: true, ttlMs: minute });
      world.clock.advance(2 * minute);
      await world.refused("CLAIM_EXPIRED", {
        type: "submit",
        ...hold,
        commit: commitOf(1),
        result: resultOf("late"),
      });
      expect((await world.attemptOf(hold)).lateResult?.result?.output).toBe("late");
    });
  });

  describe(`${driver.name}: landing, while submitted`, () => {
    for (const [move, command] of Object.entries(holderMoves).filter(([move]) => move !== "complete"))
      it(`${move} is refused as TASK_NOT_CLAIMED`, async (world) => {
        await landingOn(world);
        const hold = await submitted(world);
        await world.refused("TASK_NOT_CLAIMED", { ...command, ...hold });
      });

    it("a forced release names withdraw", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      const refusal = await world.refused("TASK_NOT_CLAIMED", {
        type: "release",
        taskId,
        force: true,
        spread: 0,
      });
      expect(refusal.hint).toContain(`dibs withdraw ${taskId}`);
    });

    it("only priority and labels can be edited, it gets no subtasks, and it cannot be claimed or retried", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      await world.ok({ type: "update", taskId, patch: { priority: 90, addLabels: ["x"] } });
      await world.refused("INVALID_STATE", { type: "update", taskId, patch: { title: "other" } });
      await world.refused("INVALID_STATE", { type: "update", taskId, patch: { dependsOn: [] } });
      const tasks = [{ prompt: "part", parentId: taskId }];
      await world.refused("INVALID_STATE", { type: "create", correlationId: "c", tasks });
      await world.refused("TASK_NOT_CLAIMABLE", { type: "claim", taskId, sessionId: "b", register: {} });
      await world.refused("TASK_NOT_RETRYABLE", { type: "retry", taskId });
      expect(await world.next("b")).toBeNull();
      expect(await world.look(taskId)).toMatchObject({ now: "submitted", priority: 90, labels: ["x"] });
    });

    it("its timeout has stopped", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world, { timeoutMs: minute });
      world.clock.advance(60 * minute);
      await world.sweep();
      expect(await world.stateOf(taskId)).toBe("submitted");
    });

    it("a subtask that is submitted is open", async (world) => {
      await landingOn(world);
      const group = await world.task({ type: "group", title: "all", prompt: "all" });
      const { taskId } = await submitted(world, { parentId: group });
      expect((await world.look(group)).openChildren).toBe(1);
      await landed(world, taskId);
      expect(await world.stateOf(group)).toBe("completed");
    });

    it("withdraw queues it in its old place, and what was handed in is kept", async (world) => {
      await landingOn(world);
      const before = await world.task();
      const { readyAt } = await world.look(before);
      const hold = { taskId: before, sessionId: "a", epoch: await world.claim(before, "a", { start: true }) };
      await world.ok({ type: "submit", ...hold, commit: commitOf(1), result: resultOf("") });
      world.clock.advance(minute);
      await world.ok({ type: "withdraw", taskId: before, reason: "not yet" });
      const task = await world.look(before);
      expect(task).toMatchObject({ now: "queued", readyAt, returnCount: 0 });
      expect(await world.read((view) => submissionOf(view, task, 1))).toMatchObject({
        commit: commitOf(1),
        end: { as: "withdrawn", reason: "not yet" },
      });
      await world.refused("INVALID_STATE", { type: "withdraw", taskId: before });
      expect(await world.next("b")).toBe(before);
    });

    it("cancel keeps what was handed in", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      await world.ok({ type: "cancel", taskId });
      const task = await world.look(taskId);
      expect(task.now).toBe("cancelled");
      expect(await world.read((view) => submissionOf(view, task))).toMatchObject({
        end: { as: "cancelled" },
      });
      expect(await world.read((view) => submittedCount(view, project))).toBe(0);
    });

    it("the target cannot change", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      const change = { type: "update-project", settings: { land: { target: "next" } } } as const;
      await world.refused("INVALID_STATE", change);
      await world.ok({ type: "update-project", settings: { land: { batchMax: 2 } } });
      await world.ok({ type: "withdraw", taskId });
      await world.ok(change);
    });

    it("a second submission has the next number, and keeps the first one's time", async (world) => {
      await landingOn(world);
      const first = await submitted(world);
      const { firstSubmittedAt } = (await world.look(first.taskId)).submission!;
      await returned(world, first.taskId);
      world.clock.advance(minute);
      const epoch = await world.claim(first.taskId, "b", { start: true });
      const again = { taskId: first.taskId, sessionId: "b", epoch };
      await world.ok({ type: "submit", ...again, commit: commitOf(2), result: resultOf("") });
      expect((await world.look(first.taskId)).submission).toMatchObject({ number: 2, firstSubmittedAt });
    });
  });

  describe(`${driver.name}: landing, where a returned task is offered`, () => {
    const host = (machine: string, boot = "boot") => ({ pid: 7, host: `${boot}/1/${machine}` });

    /** A task with labels whose change was handed in on one machine, and came back. */
    async function returnedFrom(world: World, machine: string): Promise<string> {
      await world.session("first", host(machine));
      const hold = await world.hold("first", { labels: ["x"] }, { start: true });
      await world.ok({ type: "submit", ...hold, commit: commitOf(1), result: resultOf("") });
      await returned(world, hold.taskId);
      return hold.taskId;
    }

    it("without a remote, only on its machine, also after a reboot", async (world) => {
      await landingOn(world);
      const taskId = await returnedFrom(world, "one");
      await world.session("other", host("two"));
      await world.session("again", host("one", "rebooted"));
      expect(await world.next("other")).toBeNull();
      expect(await world.next("other", { labels: ["x"] })).toBeNull();
      expect(await world.whyNot(taskId, "other")).toEqual(["ON_OTHER_HOST"]);
      await world.refused("TASK_NOT_CLAIMABLE", { type: "claim", taskId, sessionId: "other" });
      expect(await world.whyNot(taskId, "again")).toEqual([]);
      expect(await world.next("again", { labels: ["x"] })).toBe(taskId);
    });

    it("a session without a host fits, and a failed attempt changes nothing", async (world) => {
      await landingOn(world);
      const taskId = await returnedFrom(world, "one");
      await world.session("person");
      await world.session("other", host("two"));
      expect(await world.next("person")).toBe(taskId);
      await world.ok({ type: "release", taskId, sessionId: "person", spread: 0 });
      expect(await world.next("other")).toBeNull();
    });

    it("with a remote, with landing off, or without a change, anywhere", async (world) => {
      await landingOn(world);
      const taskId = await returnedFrom(world, "one");
      await world.session("other", host("two"));
      await world.settings({ land: { target, repository, remote: "origin" } });
      expect(await world.next("other")).toBe(taskId);
      await world.ok({ type: "release", taskId, sessionId: "other", spread: 0 });
      await world.settings({ land: { target: null, remote: null } });
      expect(await world.whyNot(taskId, "other")).toEqual([]);
      await landingOn(world);
      expect(await world.whyNot(taskId, "other")).toEqual(["ON_OTHER_HOST"]);
      const empty = await world.hold("first", {}, { start: true });
      await world.ok({ type: "submit", ...empty, result: resultOf("") });
      await world.ok({ type: "withdraw", taskId: empty.taskId });
      expect(await world.whyNot(empty.taskId, "other")).toEqual([]);
    });

    it("what is handed in on another machine than the last lander's is refused", async (world) => {
      await landingOn(world);
      const acquire = { type: "acquire-lander", ...place, holder: "lander-1", host: "boot/1/one" } as const;
      const { epoch } = await world.ok(acquire);
      await world.ok({ type: "release-lander", ...place, epoch });
      await world.session("far", host("two"));
      await world.session("near", host("one", "rebooted"));
      const far = await world.hold("far", {}, { start: true });
      const change = { commit: commitOf(1), result: resultOf("") };
      await world.refused("REMOTE_REQUIRED", { type: "submit", ...far, ...change });
      await world.ok({ type: "submit", ...far, result: resultOf("nothing to change") });
      const near = await world.hold("near", {}, { start: true });
      await world.ok({ type: "submit", ...near, ...change });
    });
  });

  describe(`${driver.name}: landing, the lander`, () => {
    it("one lander works; another takes over when the lease has expired, under a new epoch", async (world) => {
      await landingOn(world);
      const epoch = await lander(world);
      expect(await lander(world)).toBe(epoch);
      await world.refused("SESSION_BUSY", { type: "acquire-lander", ...place, holder: "lander-2" });
      world.clock.advance(2 * minute);
      expect(await lander(world, "lander-2")).toBe(epoch + 1);
      const { taskId } = await submitted(world);
      const open = { type: "open-landing", ...place, commit: commitOf(9) } as const;
      const tasks = [inLanding(taskId)];
      await world.refused("STALE_EPOCH", { ...open, tasks, epoch });
      await world.ok({ ...open, tasks, epoch: epoch + 1 });
    });

    it("a lander without a name gets one, by which it renews", async (world) => {
      await landingOn(world);
      const acquire = { type: "acquire-lander", ...place } as const;
      const first = await world.ok(acquire);
      expect(first.holder).toMatch(/./);
      await world.refused("SESSION_BUSY", acquire);
      const renewed = await world.ok({ ...acquire, holder: first.holder! });
      expect(renewed.epoch).toBe(first.epoch);
    });

    it("a holder that is known to have ended is replaced, unless it was moving the target", async (world) => {
      await landingOn(world);
      const epoch = await lander(world);
      const second = { type: "acquire-lander", ...place, holder: "lander-2" } as const;
      await world.refused("SESSION_BUSY", { ...second, replaces: "lander-9" });
      const { taskId } = await submitted(world);
      const tasks = [inLanding(taskId)];
      const open = { type: "open-landing", ...place, tasks } as const;
      await world.ok({ ...open, epoch });
      expect((await world.ok({ ...second, replaces: "lander-1" })).epoch).toBe(epoch + 1);
      await world.refused("STALE_EPOCH", { ...open, epoch });
      await world.ok({ ...open, epoch: epoch + 1, commit: commitOf(9) });
      await world.refused("SESSION_BUSY", {
        type: "acquire-lander",
        ...place,
        holder: "lander-3",
        replaces: "lander-2",
      });
    });

    it("a lander that stops gives its lease back", async (world) => {
      await landingOn(world);
      const epoch = await lander(world);
      await world.ok({ type: "release-lander", ...place, epoch });
      await world.refused("STALE_EPOCH", { type: "release-lander", ...place, epoch });
      expect(await lander(world, "lander-2")).toBe(epoch + 1);
    });

    it("the first lander binds the project to its repository", async (world) => {
      await world.settings({ land: { target } });
      const { taskId } = await submitted(world);
      expect(await unread(world, "LANDING_HELD")).toHaveLength(1);
      await lander(world);
      expect(await unread(world, "LANDING_HELD")).toEqual([]);
      const other = { type: "acquire-lander", repository: "b".repeat(40), target, holder: "x" } as const;
      await world.refused("INVALID_STATE", other);
      expect(await world.whyNot(taskId)).toEqual(["WAITING_TO_LAND"]);
    });

    it("a landing completes its tasks, unblocks dependents, and counts for the author", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      const dependent = await world.task({ dependsOn: [taskId] });
      const epoch = await lander(world);
      const id = await intended(world, epoch, taskId);
      const answer = await world.ok({ type: "land", id, epoch });
      expect(answer).toMatchObject({ unblocked: [dependent], unblockedCount: 1 });
      expect(await world.look(taskId)).toMatchObject({
        now: "completed",
        noChange: false,
        landed: { commit: commitOf(9), target },
      });
      expect(await world.eventTypes(taskId)).toEqual(
        expect.arrayContaining(["task:landed", "task:completed"]),
      );
      expect((await world.read((view) => view.record(project, "a")))?.completed).toBe(1);
      await world.unchanged(() => world.ok({ type: "land", id, epoch }));
      expect(await world.next("b")).toBe(dependent);
    });

    it("a change that has no commit of its own has landed with the tip", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      const epoch = await lander(world);
      const tasks = [inLanding(taskId, 1, null)];
      const { id } = await world.ok({ type: "open-landing", ...place, epoch, tasks, commit: commitOf(9) });
      await world.ok({ type: "land", id, epoch });
      expect(await world.look(taskId)).toMatchObject({ noChange: false, landed: { commit: commitOf(9) } });
      await world.refused("INVALID_STATE", { type: "record-checks", id, epoch, tasks, checks: [] });
    });

    it("a landing without a change is not what landed last: the tip is not the lander's", async (world) => {
      await landingOn(world);
      const one = await submitted(world);
      await landed(world, one.taskId);
      const empty = await submitted(world, {}, { commit: undefined });
      const epoch = await lander(world);
      const tasks = [inLanding(empty.taskId, 1, null)];
      const { id } = await world.ok({ type: "open-landing", ...place, epoch, tasks, commit: commitOf(8) });
      await world.ok({ type: "land", id, epoch });
      expect(await world.look(empty.taskId)).toMatchObject({ now: "completed", noChange: true });
      expect(await world.read((view) => leaseOf(view, place)?.lastLanded)).toMatchObject({
        commit: commitOf(9),
      });
    });

    it("a submission without a change completes as such", async (world) => {
      await landingOn(world);
      const hold = await world.hold("a");
      await world.complete(hold);
      const epoch = await lander(world);
      const tasks = [inLanding(hold.taskId, 1, null)];
      const { id } = await world.ok({ type: "open-landing", ...place, epoch, tasks, commit: commitOf(9) });
      await world.ok({ type: "land", id, epoch });
      expect(await world.look(hold.taskId)).toMatchObject({ now: "completed", noChange: true, landed: null });
    });

    it("from the intent until it is settled, nothing else moves the task", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      const parent = await world.task({ type: "group", title: "all", prompt: "all" });
      const child = await submitted(world, { parentId: parent });
      const epoch = await lander(world);
      const id = await intended(world, epoch, taskId, child.taskId);
      await world.unchanged(async () => {
        await world.refused("LANDING_NOW", { type: "withdraw", taskId });
        await world.refused("LANDING_NOW", { type: "cancel", taskId });
        await world.refused("LANDING_NOW", { type: "cancel", taskId: parent, cascade: true });
        await world.refused("LANDING_NOW", { type: "open-landing", ...place, epoch, tasks: [] });
      });
      await world.ok({ type: "drop-landing", id, epoch });
      await world.ok({ type: "withdraw", taskId });
    });

    it("an intent names what is submitted, by its number, and nothing else", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      const open = await world.task();
      const epoch = await lander(world);
      const intend = (tasks: ReturnType<typeof inLanding>[]) =>
        ({ type: "open-landing", ...place, epoch, tasks, commit: commitOf(9) }) as const;
      await world.refused("INVALID_STATE", intend([inLanding(taskId, 2)]));
      await world.refused("INVALID_STATE", intend([inLanding(taskId), inLanding(open)]));
      await world.refused("TASK_NOT_FOUND", intend([inLanding("none")]));
      await world.refused("VALIDATION_FAILED", intend([inLanding(taskId), inLanding(taskId)]));
      const { id } = await world.ok({ type: "open-landing", ...place, epoch, tasks: [inLanding(taskId)] });
      await world.refused("INVALID_STATE", { type: "land", id, epoch });
      await world.ok({ type: "withdraw", taskId });
      const tasks = [inLanding(taskId)];
      await world.refused("INVALID_STATE", {
        type: "intend-landing",
        id,
        epoch,
        commit: commitOf(9),
        tree: null,
        tasks,
      });
      expect(await world.stateOf(taskId)).toBe("queued");
    });

    it("an earlier submission of a task cannot land", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      await returned(world, taskId);
      const again = { taskId, sessionId: "b", epoch: await world.claim(taskId, "b", { start: true }) };
      await world.ok({ type: "submit", ...again, commit: commitOf(2), result: resultOf("") });
      const epoch = await lander(world);
      const open = { type: "open-landing", ...place, epoch, commit: commitOf(9) } as const;
      await world.refused("INVALID_STATE", { ...open, tasks: [inLanding(taskId, 1)] });
      await world.ok({ ...open, tasks: [inLanding(taskId, 2)] });
    });

    it("the next lander finds the intent of the one before, and finishes it", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      const first = await lander(world);
      const id = await intended(world, first, taskId);
      world.clock.advance(2 * minute);
      const lease = await world.ok({ type: "acquire-lander", ...place, holder: "lander-2" });
      expect(lease).toMatchObject({ landing: id, epoch: first + 1 });
      await world.refused("STALE_EPOCH", { type: "land", id, epoch: first });
      await world.ok({ type: "land", id, epoch: lease.epoch });
      expect(await world.stateOf(taskId)).toBe("completed");
    });

    it("what the lander before was only checking is begun again", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      const epoch = await lander(world);
      const { id } = await world.ok({ type: "open-landing", ...place, epoch, tasks: [inLanding(taskId)] });
      world.clock.advance(2 * minute);
      const lease = await world.ok({ type: "acquire-lander", ...place, holder: "lander-2" });
      expect(lease.landing).toBeNull();
      await world.refused("NOT_FOUND", { type: "land", id, epoch: lease.epoch });
    });

    it("a paused project lands nothing new, but an intent is finished", async (world) => {
      await landingOn(world);
      const one = await submitted(world);
      const two = await submitted(world);
      const epoch = await lander(world);
      const id = await intended(world, epoch, one.taskId);
      await world.ok({ type: "update-project", paused: true });
      await world.ok({ type: "land", id, epoch });
      const tasks = [inLanding(two.taskId)];
      await world.refused("INVALID_STATE", {
        type: "open-landing",
        ...place,
        epoch,
        tasks,
        commit: commitOf(9),
      });
    });

    it("checks are kept with the submission, the last run of each", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      const epoch = await lander(world);
      const { id } = await world.ok({ type: "open-landing", ...place, epoch, tasks: [inLanding(taskId)] });
      const check = {
        name: "test",
        state: "failed" as const,
        exitCode: 1,
        durationMs: 5,
        tree: "t1",
        ranBy: "lander-1",
        logTail: "no",
      };
      const tasks = [inLanding(taskId)];
      for (const again of [check, { ...check, state: "flaky" as const, exitCode: 0 }])
        await world.ok({ type: "record-checks", id, epoch, tasks, checks: [again] });
      const task = await world.look(taskId);
      const submission = await world.read((view) => submissionOf(view, task));
      expect(submission?.checks).toEqual([{ ...check, state: "flaky", exitCode: 0 }]);
    });
  });

  describe(`${driver.name}: landing, what comes back`, () => {
    it("a returned task is queued in its old place, with the reason, and costs no retry", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world, { maxRetries: 0 });
      const { readyAt } = await world.look(taskId);
      await returned(world, taskId);
      const task = await world.look(taskId);
      expect(task).toMatchObject({ now: "queued", readyAt, returnCount: 1, retryCount: 0 });
      expect(await world.read((view) => submissionOf(view, task))).toMatchObject({
        end: { as: "returned", reason: "conflict", detail: "a.ts" },
      });
      expect(await world.next("b")).toBe(taskId);
    });

    it("a repeated return changes nothing", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      await returned(world, taskId);
      const epoch = await lander(world);
      const { id } = await world.ok({ type: "open-landing", ...place, epoch, tasks: [] });
      const again: Command = {
        type: "return",
        id,
        epoch,
        project,
        taskId,
        submission: 1,
        reason: "conflict",
      };
      await world.unchanged(() => world.ok(again));
    });

    for (const [answer, state] of [
      ["try again", "queued"],
      ["use the other table", "queued"],
      ["Cancel", "cancelled"],
    ] as const)
      it(`after too many returns a person is asked once; '${answer}' makes it ${state}`, async (world) => {
        await world.settings({ land: { target, repository, returnsMax: 1 } });
        const { taskId } = await submitted(world);
        await returned(world, taskId);
        const epoch = await world.claim(taskId, "b", { start: true });
        const submit = { type: "submit", taskId, sessionId: "b", epoch, commit: commitOf(2) } as const;
        await world.ok({ ...submit, result: resultOf("") });
        await returned(world, taskId, 2);
        const task = await world.look(taskId);
        expect(task).toMatchObject({ now: "awaiting_response", returnCount: 2 });
        expect(task.question?.options).toEqual(["try again", "cancel"]);
        expect(await unread(world, "TASK_AWAITING_RESPONSE")).toHaveLength(1);
        await world.ok({ type: "respond", taskId, response: answer });
        expect(await world.look(taskId)).toMatchObject({ now: state, returnCount: 0 });
      });
  });

  describe(`${driver.name}: landing, holds`, () => {
    const red = { reason: "TARGET_RED", message: "Check test fails on main.", fix: "dibs check run" };

    it("a hold is shown once, explained, and gone when it has ended", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      const epoch = await lander(world);
      const { id } = await world.ok({ type: "open-landing", ...place, epoch, tasks: [] });
      const hold = (holds: (typeof red)[]) => world.ok({ type: "hold-landing", id, epoch, holds });
      await hold([red]);
      await hold([red]);
      expect(await unread(world, "LANDING_HELD")).toHaveLength(1);
      expect(await world.explain(taskId)).toMatchObject([{ code: "LANDING_HELD", fix: "dibs check run" }]);
      const [note] = await unread(world, "LANDING_HELD");
      await world.refused("INVALID_STATE", { type: "read-notification", id: note!.id });
      await hold([]);
      expect(await unread(world, "LANDING_HELD")).toEqual([]);
      expect(await world.whyNot(taskId)).toEqual(["WAITING_TO_LAND"]);
    });

    it("a hold of one submission holds no other, and ends with it", async (world) => {
      await landingOn(world);
      const one = await submitted(world);
      const two = await submitted(world);
      const epoch = await lander(world);
      const tasks = [{ project, taskId: one.taskId }];
      const dirty = { reason: "CHECKOUT_DIRTY", message: "a.ts has changes in the checkout.", tasks };
      const { id } = await world.ok({ type: "open-landing", ...place, epoch, tasks: [] });
      await world.ok({ type: "hold-landing", id, epoch, holds: [dirty] });
      expect(await world.whyNot(one.taskId)).toEqual(["LANDING_HELD"]);
      expect(await world.whyNot(two.taskId)).toEqual(["WAITING_TO_LAND"]);
      await landed(world, one.taskId);
      expect(await holds(world)).toEqual([]);
      expect(await unread(world, "LANDING_HELD")).toEqual([]);
    });

    for (const type of ["withdraw", "cancel"] as const) {
      it(`${type} ends the task's hold and removes its inbox item`, async (world) => {
        await landingOn(world);
        const one = await submitted(world);
        const two = await submitted(world);
        const epoch = await lander(world);
        const names = [one, two].map(({ taskId }) => ({ project, taskId }));
        const only = { reason: "COMMIT_MISSING", message: "Commit missing.", tasks: [names[0]!] };
        const both = { reason: "TARGET_RED", message: "The target is red.", tasks: names };
        const { id } = await world.ok({ type: "open-landing", ...place, epoch, tasks: [] });
        await world.ok({ type: "hold-landing", id, epoch, holds: [only, both] });
        await world.ok({ type, taskId: one.taskId });
        expect(await holds(world)).toMatchObject([{ reason: "TARGET_RED", tasks: [names[1]] }]);
        expect(await unread(world, "LANDING_HELD")).toHaveLength(1);
      });
    }

    it("explain tells a submitted task's place in the order of landing, and what is ahead", async (world) => {
      await landingOn(world);
      const ids: string[] = [];
      for (const priority of [50, 90, 50, 50, 50]) ids.push((await submitted(world, { priority })).taskId);
      const [one = "", urgent = "", three = "", four = "", five = ""] = ids;
      const epoch = await lander(world);
      const said = async (id: string) => (await world.explain(id))[0];
      const waits = "It waits to land on main";
      expect(await said(urgent)).toMatchObject({ message: `${waits}: 1st in line.`, taskIds: [], count: 0 });
      expect(await said(one)).toMatchObject({
        message: `${waits}: 2nd in line; ahead: ${urgent}.`,
        count: 1,
      });
      expect(await said(five)).toMatchObject({
        message: `${waits}: 5th in line; ahead: ${urgent}, ${one}, ${three} and 1 more.`,
        taskIds: [urgent, one, three],
        count: 4,
      });
      // What is being landed is ahead of everything else.
      const id = await intended(world, epoch, four);
      expect((await said(four))?.message).toBe(`It is being landed on main by ${id}.`);
      expect(await said(urgent)).toMatchObject({ taskIds: [four], count: 1 });
      await world.ok({ type: "land", id, epoch });
      expect(await said(urgent)).toMatchObject({ count: 0 });
    });

    it("without a lander, an inbox item says so, and explain names the command", async (world) => {
      await landingOn(world);
      const { taskId } = await submitted(world);
      const other = await submitted(world);
      expect(await unread(world, "LANDING_HELD")).toHaveLength(1);
      expect(await world.explain(taskId)).toMatchObject([{ code: "NO_LANDER", fix: "dibs land" }]);
      const [note] = await unread(world, "LANDING_HELD");
      await world.refused("INVALID_STATE", { type: "read-notification", id: note!.id });
      for (const id of [taskId, other.taskId]) await world.ok({ type: "withdraw", taskId: id });
      expect(await unread(world, "LANDING_HELD")).toEqual([]);
    });

    it("a lander that is gone leaves an inbox item, once, until another comes", async (world) => {
      await landingOn(world);
      const note = () => world.ok({ type: "note-missing-lander" });
      await lander(world);
      await submitted(world);
      await note();
      expect(await unread(world, "LANDING_HELD")).toEqual([]);
      world.clock.advance(2 * minute);
      await note();
      await note();
      expect(await unread(world, "LANDING_HELD")).toHaveLength(1);
      await lander(world, "lander-2");
      expect(await unread(world, "LANDING_HELD")).toEqual([]);
    });

    for (const end of ["land", "return"] as const) {
      it(`a lander that was missed only by a clock set back is missed again, after its ${end}`, async (world) => {
        await landingOn(world);
        const startedAt = world.clock.now();
        const epoch = await lander(world);
        world.clock.set(startedAt - 5 * minute);
        const { taskId } = await submitted(world);
        expect(await unread(world, "LANDING_HELD")).toHaveLength(1);
        world.clock.set(startedAt);
        if (end === "land") await world.ok({ type: "land", id: await intended(world, epoch, taskId), epoch });
        else {
          const { id } = await world.ok({
            type: "open-landing",
            ...place,
            epoch,
            tasks: [inLanding(taskId)],
          });
          await world.ok({ type: "return", id, epoch, taskId, submission: 1, reason: "conflict" });
        }
        expect(await unread(world, "LANDING_HELD")).toEqual([]);
        world.clock.advance(2 * minute);
        await submitted(world);
        expect(await unread(world, "LANDING_HELD")).toHaveLength(1);
      });
    }
  });
}
