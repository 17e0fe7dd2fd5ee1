// A submission lands with the approval it needs: who reviews, whose verdict counts, and who is asked when nobody comes.

import { describe, expect } from "vitest";
import type { Command } from "../../core/command.js";
import { submissionOf } from "../../core/landing.js";
import type { LandSettings } from "../../core/project.js";
import { stageOf, withoutReviewer } from "../../core/review.js";
import { type Driver, type Hold, minute, project, resultOf, teller, type World } from "./harness.js";

const repository = "a".repeat(40);
const target = "main";
const place = { repository, target };
const commitOf = (number: number) => String(number).padStart(40, "c");

async function reviewing(world: World, review: LandSettings["review"], more: Partial<LandSettings> = {}) {
  await world.settings({ land: { target, repository, review, ...more } });
}

async function submitted(world: World, sessionId = "author", input: object = {}): Promise<Hold> {
  const hold = await world.hold(sessionId, input, { start: true });
  await world.ok({ type: "submit", ...hold, commit: commitOf(1), result: resultOf("done") });
  return hold;
}

async function again(world: World, taskId: string, sessionId = "author"): Promise<void> {
  const epoch = await world.claim(taskId, sessionId);
  const hold = { taskId, sessionId, epoch };
  await world.ok({ type: "submit", ...hold, commit: commitOf(2), result: resultOf("again") });
}

const changes = { base: commitOf(8), files: [], fileCount: 1, insertions: 1, deletions: 0 };

/** What the lander records after it has merged and checked a submission alone. */
async function inspected(world: World, taskId: string, submission = 1, diff: object = {}) {
  const { epoch } = await world.ok({ type: "acquire-lander", ...place, holder: "lander" });
  const { id } = await world.ok({ type: "open-landing", ...place, epoch, tasks: [] });
  return world.ok({
    type: "record-diff",
    id,
    epoch,
    taskId,
    submission,
    diff: { ...changes, reviewPaths: [], patchId: null, ...diff },
    patch: { text: "diff --git a/x b/x\n", omitted: 0 },
  });
}

const review = (taskId: string, verdict: "approve" | "request-changes", more: object = {}) =>
  ({ type: "review", taskId, submission: 1, verdict, ...more }) as Extract<Command, { type: "review" }>;

async function claimReview(world: World, sessionId: string, ...candidates: string[]) {
  await world.ok({ type: "register-session", session: { id: sessionId } });
  return world.ok({ type: "claim-review", sessionId, candidates });
}

async function intent(world: World, taskId: string, submission = 1) {
  const { epoch } = await world.ok({ type: "acquire-lander", ...place, holder: "lander" });
  const tasks = [{ project, taskId, submission, commit: commitOf(9) }];
  return world.attempt({ type: "open-landing", ...place, epoch, tasks, commit: commitOf(9) });
}

const submission = async (world: World, taskId: string) => {
  const task = await world.look(taskId);
  return (await world.read((view) => submissionOf(view, task)))!;
};

const stage = async (world: World, taskId: string) => {
  const task = await world.look(taskId);
  return world.read((view, now) => stageOf(view, task, view.project(project)!, now));
};

const asked = async (world: World) =>
  (await world.notifications()).filter((each) => each.type === "REVIEW_NEEDED" && each.readAt === null);

export function reviews(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: reviews, whose approval is needed`, () => {
    it("without a review nothing but the lander is needed", async (world) => {
      await reviewing(world, "none");
      const { taskId } = await submitted(world);
      await inspected(world, taskId);
      expect(await stage(world, taskId)).toBe("checking");
      expect(await asked(world)).toEqual([]);
      expect(await intent(world, taskId)).toMatchObject({ ok: true });
    });

    it("nothing lands without the approval it needs", async (world) => {
      await reviewing(world, "human");
      const { taskId } = await submitted(world);
      await inspected(world, taskId);
      expect(await stage(world, taskId)).toBe("review");
      expect(await world.whyNot(taskId)).toEqual(["WAITING_FOR_REVIEW"]);
      expect(await intent(world, taskId)).toMatchObject({ ok: false, code: "INVALID_STATE" });
      await world.ok(review(taskId, "approve", { comment: "good" }));
      expect(await stage(world, taskId)).toBe("landing");
      expect(await intent(world, taskId)).toMatchObject({ ok: true });
    });

    it("is checked before anybody is asked", async (world) => {
      await reviewing(world, "human", {
        checks: [{ name: "test", run: ["true"], timeoutMs: minute, paths: [] }],
      });
      const { taskId } = await submitted(world);
      expect(await stage(world, taskId)).toBe("checking");
      expect(await asked(world)).toEqual([]);
      await inspected(world, taskId);
      expect(await asked(world)).toMatchObject([{ taskId, title: "Review needed" }]);
    });

    it("a path that checks depend on needs a person, whatever the setting", async (world) => {
      await reviewing(world, "none");
      const { taskId } = await submitted(world);
      await inspected(world, taskId, 1, { reviewPaths: ["package.json"] });
      expect(await stage(world, taskId)).toBe("review");
      const [reason] = await world.explain(taskId);
      expect(reason).toMatchObject({ code: "WAITING_FOR_REVIEW", fix: `dibs review ${taskId}` });
      expect(reason?.message).toContain("package.json");
      expect(await asked(world)).toHaveLength(1);
      await world.ok(review(taskId, "approve"));
      expect(await intent(world, taskId)).toMatchObject({ ok: true });
    });

    it("stays in the inbox until it is given, whoever has read about it", async (world) => {
      await reviewing(world, "human");
      const { taskId } = await submitted(world);
      await inspected(world, taskId);
      const [{ id } = { id: "" }] = await asked(world);
      const refusal = await world.refused("INVALID_STATE", { type: "read-notification", id });
      expect(refusal.hint).toBe(`Run: dibs review ${taskId}`);
      expect(await asked(world)).toHaveLength(1);
      await world.ok(review(taskId, "approve"));
      expect(await asked(world)).toEqual([]);
      await world.ok({ type: "read-notification", id });
    });

    it("an agent's approval does not replace a person's", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world);
      await inspected(world, taskId, 1, { reviewPaths: ["package.json"] });
      await world.ok({ type: "register-session", session: { id: "b" } });
      expect(await world.ok(review(taskId, "approve", { sessionId: "b" }))).toEqual({ approved: false });
      expect(await stage(world, taskId)).toBe("review");
      expect(await world.ok(review(taskId, "approve"))).toEqual({ approved: true });
    });

    it("an empty submission is reviewed like any other", async (world) => {
      await reviewing(world, "human");
      const hold = await world.hold("author");
      await world.complete(hold);
      await inspected(world, hold.taskId, 1, { fileCount: 0 });
      expect(await stage(world, hold.taskId)).toBe("review");
    });

    it("so is a commit that changes nothing", async (world) => {
      await reviewing(world, "human");
      const { taskId } = await submitted(world);
      for (let round = 0; round < 2; round++) {
        expect(await inspected(world, taskId, 1, { fileCount: 0 })).toEqual({ approved: false });
        expect(await stage(world, taskId)).toBe("review");
      }
    });

    it("a merge outside of Dibs ends the review", async (world) => {
      await reviewing(world, "human");
      const { taskId } = await submitted(world);
      await inspected(world, taskId);
      expect(await asked(world)).toHaveLength(1);
      for (let round = 0; round < 2; round++)
        expect(await inspected(world, taskId, 1, { fileCount: 0 })).toEqual({ approved: true });
      expect(await asked(world)).toEqual([]);
      expect(await intent(world, taskId)).toMatchObject({ ok: true });
    });
  });

  describe(`${driver.name}: reviews, verdicts`, () => {
    it("requested changes queue the task again and count as a round, and cost no retry", async (world) => {
      await reviewing(world, "human");
      const { taskId } = await submitted(world);
      await inspected(world, taskId);
      await world.ok(review(taskId, "request-changes", { comment: "rename it" }));
      expect(await world.look(taskId)).toMatchObject({ now: "queued", returnCount: 1, retryCount: 0 });
      expect((await submission(world, taskId)).end).toMatchObject({
        as: "returned",
        reason: "changes-requested",
        detail: "rename it",
      });
      expect(await asked(world)).toEqual([]);
      expect(await world.eventTypes(taskId)).toContain("task:reviewed");
    });

    it("a verdict on an old version is refused", async (world) => {
      await reviewing(world, "human");
      const { taskId } = await submitted(world);
      await world.ok(review(taskId, "request-changes", { comment: "x" }));
      const second = await world.refused("STALE_SUBMISSION", review(taskId, "approve"));
      expect(second.message).toBe(
        `Submission 1 of task ${taskId} has ended: changes were requested by user:test; task ${taskId} is queued.`,
      );
      await again(world, taskId);
      await world.refused("STALE_SUBMISSION", review(taskId, "approve"));
      await world.refused("INVALID_STATE", review(taskId, "approve", { submission: 3 }));
      await world.ok(review(taskId, "approve", { submission: 2 }));
    });

    it("the first verdict wins, and a repeated one answers the same", async (world) => {
      await reviewing(world, "any");
      const { taskId } = await submitted(world);
      await inspected(world, taskId);
      await claimReview(world, "b", taskId);
      await world.ok(review(taskId, "approve", { sessionId: "b" }));
      await world.ok(review(taskId, "approve", { sessionId: "b" }));
      const refusal = await world.refused(
        "INVALID_STATE",
        review(taskId, "request-changes", { comment: "no" }),
      );
      expect(refusal.message).toContain("agent:b");
      expect((await submission(world, taskId)).reviews).toHaveLength(1);
    });

    it("requested changes that are reported again answer the same; other words come too late", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world);
      await inspected(world, taskId);
      const { epoch } = (await claimReview(world, "b", taskId)) as { epoch: number };
      const given = review(taskId, "request-changes", { sessionId: "b", epoch, comment: "rename it" });
      expect(await world.ok(given)).toEqual({ approved: false });
      expect(await world.ok(given)).toEqual({ approved: false });
      await world.refused("STALE_SUBMISSION", { ...given, comment: "and test it" });
      expect(await world.look(taskId)).toMatchObject({ now: "queued", returnCount: 1 });
      expect((await submission(world, taskId)).reviews).toHaveLength(1);
    });

    it("so does an agent's approval where a person's is needed, too", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world);
      const { epoch } = (await claimReview(world, "b", taskId)) as { epoch: number };
      await inspected(world, taskId, 1, { reviewPaths: ["package.json"] });
      const given = review(taskId, "approve", { sessionId: "b", epoch });
      expect(await world.ok(given)).toEqual({ approved: false });
      expect(await world.ok(given)).toEqual({ approved: false });
      expect((await submission(world, taskId)).reviews).toHaveLength(1);
    });

    it("after too many rounds a person is asked once, and the answer begins again", async (world) => {
      await reviewing(world, "human", { reviewRoundsMax: 1 });
      const { taskId } = await submitted(world);
      await world.ok(review(taskId, "request-changes", { comment: "one" }));
      await again(world, taskId);
      await world.ok(review(taskId, "request-changes", { submission: 2, comment: "two" }));
      expect(await world.look(taskId)).toMatchObject({ now: "awaiting_response" });
      await world.ok({ type: "respond", taskId, response: "try again" });
      await again(world, taskId);
      await world.ok(review(taskId, "request-changes", { submission: 3, comment: "three" }));
      expect(await world.stateOf(taskId)).toBe("queued");
    });

    it("while it is being landed, no changes can be requested", async (world) => {
      await reviewing(world, "none");
      const { taskId } = await submitted(world);
      await intent(world, taskId);
      await world.refused("LANDING_NOW", review(taskId, "request-changes", { comment: "late" }));
    });

    it("agents give no verdict where a person decides", async (world) => {
      await reviewing(world, "human");
      const { taskId } = await submitted(world);
      await world.ok({ type: "register-session", session: { id: "b" } });
      await world.refused("FORBIDDEN", review(taskId, "approve", { sessionId: "b" }));
    });

    it("an approval belongs to the changes: the same ones inherit it, others do not", async (world) => {
      await reviewing(world, "human");
      const { taskId } = await submitted(world);
      await inspected(world, taskId, 1, { patchId: commitOf(5) });
      await world.ok(review(taskId, "approve"));
      await world.ok({ type: "withdraw", taskId });
      await again(world, taskId);
      expect(await inspected(world, taskId, 2, { patchId: commitOf(5) })).toEqual({ approved: true });
      expect((await submission(world, taskId)).reviews).toMatchObject([
        { verdict: "approve", inheritedFrom: 1 },
      ]);
      await world.ok({ type: "withdraw", taskId });
      await again(world, taskId);
      expect(await inspected(world, taskId, 3, { patchId: commitOf(6) })).toEqual({ approved: false });
    });

    it("an inherited approval ends a review that is open, and is not replaced by it", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world);
      await inspected(world, taskId, 1, { patchId: commitOf(5) });
      await claimReview(world, "b", taskId);
      await world.ok(review(taskId, "approve", { sessionId: "b" }));
      await world.ok({ type: "withdraw", taskId });
      await again(world, taskId);
      // No lander runs and nothing is to be checked: agents can review at once.
      world.clock.advance(10 * minute);
      const { epoch } = (await claimReview(world, "c", taskId)) as { epoch: number };
      const other = await world.task();
      expect(await inspected(world, taskId, 2, { patchId: commitOf(5) })).toEqual({ approved: true });
      await world.refused("TASK_NOT_CLAIMED", { type: "heartbeat", taskId, sessionId: "c", epoch });
      expect(await world.ok({ type: "claim-next", sessionId: "c" })).toMatchObject({ taskId: other });
      expect(await intent(world, taskId, 2)).toMatchObject({ ok: true });
    });
  });

  describe(`${driver.name}: reviews, authors`, () => {
    it("no session that worked on a task reviews it", async (world) => {
      await reviewing(world, "agent");
      const first = await world.hold("early");
      await world.ok({ type: "release", ...first, spread: 0 });
      const epoch = await world.claim(first.taskId, "author");
      const hold = { taskId: first.taskId, sessionId: "author", epoch };
      await world.ok({ type: "submit", ...hold, commit: commitOf(1), result: resultOf("done") });
      for (const sessionId of ["early", "author"]) {
        expect(await claimReview(world, sessionId, hold.taskId)).toEqual({ taskId: null });
        await world.refused("SELF_REVIEW", review(hold.taskId, "approve", { sessionId }));
      }
    });

    it("nor a second session of its process, nor of its token", async (world) => {
      await reviewing(world, "agent");
      const process = { pid: 7, host: "h", processStartedAt: "1" };
      await world.ok({ type: "register-session", session: { id: "author", ...process, owner: "t1" } });
      const { taskId } = await submitted(world);
      await world.ok({ type: "register-session", session: { id: "twin", ...process } });
      await world.ok({ type: "register-session", session: { id: "kin", owner: "t1" } });
      await world.ok({ type: "register-session", session: { id: "other", ...process, pid: 8, owner: "t2" } });
      for (const sessionId of ["twin", "kin"])
        await world.refused("SELF_REVIEW", review(taskId, "approve", { sessionId }));
      await world.ok(review(taskId, "approve", { sessionId: "other" }));
    });

    it("a person approves own work only by saying so, and it is recorded", async (world) => {
      await reviewing(world, "human");
      await world.ok({ type: "register-session", session: { id: "author", owner: "mine" } });
      const { taskId } = await submitted(world);
      await world.refused("SELF_REVIEW", review(taskId, "approve", { token: "mine" }));
      await world.ok(review(taskId, "approve", { token: "mine", own: true }));
      expect((await submission(world, taskId)).reviews).toMatchObject([{ kind: "human", own: true }]);
    });
  });

  describe(`${driver.name}: reviews by agents`, () => {
    it("a claimed review leaves the task submitted, counts against the capacity, and is claimed once", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world);
      const other = await world.task();
      expect(await claimReview(world, "b", taskId)).toEqual({
        taskId,
        submission: 1,
        epoch: 1,
        resumed: false,
      });
      expect(await world.stateOf(taskId)).toBe("submitted");
      expect(await claimReview(world, "c", taskId)).toEqual({ taskId: null });
      expect(await claimReview(world, "b", taskId)).toMatchObject({ taskId, resumed: true });
      expect(await world.ok({ type: "claim-next", sessionId: "b" })).toMatchObject({ taskId: null });
      await world.ok(review(taskId, "approve", { sessionId: "b", epoch: 1 }));
      expect(await world.ok({ type: "claim-next", sessionId: "b" })).toMatchObject({ taskId: other });
    });

    it("claim-next without a kind never gives a review", async (world) => {
      await reviewing(world, "agent");
      await submitted(world);
      await world.ok({ type: "register-session", session: { id: "b" } });
      expect(await world.ok({ type: "claim-next", sessionId: "b" })).toMatchObject({ taskId: null });
    });

    it("its lease is renewed, and its end only frees it", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world);
      await claimReview(world, "b", taskId);
      const on = { taskId, sessionId: "b", epoch: 1 };
      world.clock.advance(20 * minute);
      await world.ok({ type: "heartbeat", ...on });
      world.clock.advance(20 * minute);
      expect(await claimReview(world, "c", taskId)).toEqual({ taskId: null });
      world.clock.advance(11 * minute);
      await world.refused("TASK_NOT_CLAIMED", { type: "heartbeat", ...on });
      expect(await claimReview(world, "c", taskId)).toMatchObject({ taskId, epoch: 2 });
      await world.refused("STALE_EPOCH", review(taskId, "approve", { sessionId: "b", epoch: 2 }));
      expect(await world.stateOf(taskId)).toBe("submitted");
    });

    it("is given back by a release, and by the end of its session", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world);
      await claimReview(world, "b", taskId);
      await world.ok({ type: "release", taskId, sessionId: "b", epoch: 1, spread: 0 });
      expect(await claimReview(world, "c", taskId)).toMatchObject({ taskId, epoch: 2 });
      await world.ok({ type: "end-session", sessionId: "c", reason: "session_ended" });
      expect(await claimReview(world, "d", taskId)).toMatchObject({ taskId, epoch: 3 });
    });

    it("ends with the verdict of somebody else, and leaves the capacity free", async (world) => {
      await reviewing(world, "any");
      const { taskId } = await submitted(world);
      const other = await world.task();
      await claimReview(world, "b", taskId);
      await world.ok(review(taskId, "approve"));
      await world.refused("TASK_NOT_CLAIMED", { type: "heartbeat", taskId, sessionId: "b", epoch: 1 });
      expect(await world.ok({ type: "claim-next", sessionId: "b" })).toMatchObject({ taskId: other });
    });

    it("is no claim of the task: its reviewer is told to give a verdict", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world);
      await claimReview(world, "b", taskId);
      const complete = { taskId, sessionId: "b", epoch: 1, result: resultOf("fine") };
      const refusal = await world.refused("TASK_NOT_CLAIMED", { type: "complete", ...complete });
      expect(refusal.hint).toContain(`dibs approve ${taskId} --session b`);
    });

    it("is not given again to a session that gave it back", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world);
      await claimReview(world, "b", taskId);
      await world.ok({ type: "release", taskId, sessionId: "b", epoch: 1, spread: 0 });
      expect(await claimReview(world, "b", taskId)).toEqual({ taskId: null });
      expect(await claimReview(world, "c", taskId)).toMatchObject({ taskId });
    });

    it("three reviews without a verdict, and a person is asked", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world);
      for (const sessionId of ["b", "c", "d"]) {
        expect(await asked(world)).toEqual([]);
        const { epoch } = (await claimReview(world, sessionId, taskId)) as { epoch: number };
        await world.ok({ type: "release", taskId, sessionId, epoch, spread: 0 });
      }
      expect(await asked(world)).toMatchObject([{ taskId }]);
      expect(await claimReview(world, "e", taskId)).toEqual({ taskId: null });
      await world.ok(review(taskId, "approve"));
      expect(await asked(world)).toEqual([]);
    });

    it("a reviewer of others does not hide that nobody can review its own work", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world, "author", { priority: 100 });
      for (let count = 0; count < 3; count++) {
        const other = await submitted(world, "colleague");
        world.clock.advance(5 * minute);
        expect(await claimReview(world, "author", taskId, other.taskId)).toMatchObject({
          taskId: other.taskId,
        });
        await world.ok(review(other.taskId, "approve", { sessionId: "author" }));
      }
      expect(await world.read((view, now) => withoutReviewer(view, now).map(({ id }) => id))).toEqual([
        taskId,
      ]);
    });

    it("a paused project gives none", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world);
      await world.ok({ type: "update-project", paused: true });
      expect(await claimReview(world, "b", taskId)).toEqual({ taskId: null });
      await world.ok({ type: "update-project", paused: false });
      expect(await claimReview(world, "b", taskId)).toMatchObject({ taskId });
    });

    it("nobody has asked for reviews for ten minutes: a person is asked", async (world) => {
      await reviewing(world, "agent");
      const { taskId } = await submitted(world);
      const unattended = () => world.read((view, now) => withoutReviewer(view, now).map(({ id }) => id));
      world.clock.advance(9 * minute);
      // Somebody reviews, and is not asked for this one.
      await claimReview(world, "b");
      world.clock.advance(9 * minute);
      // The author asks in vain.
      await claimReview(world, "author", taskId);
      expect(await unattended()).toEqual([]);
      world.clock.advance(minute);
      expect(await unattended()).toEqual([taskId]);
      await world.ok({ type: "ask-for-review", taskId });
      expect(await unattended()).toEqual([]);
      expect(await asked(world)).toMatchObject([{ taskId }]);
    });
  });
}
