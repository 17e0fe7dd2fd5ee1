// No submitted task waits for something that nobody can do, without an inbox item that says so: after random histories, on the
// reference model, once somebody has looked into the inbox.

import fc from "fast-check";
import { expect, test } from "vitest";
import { carryOut } from "../../src/core/decide.js";
import {
  holdOf,
  isLeaseLive,
  landingPlace,
  leaseOf,
  submissionOf,
  withoutLander,
} from "../../src/core/landing.js";
import { isForAgents, waitsForReview, withoutReviewer } from "../../src/core/review.js";
import type { Reads } from "../../src/core/view.js";
import { TestClock } from "../../src/store/conformance/harness.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import type { Store } from "../../src/store/store.js";
import { report } from "../proof/figures.js";
import { beginning } from "./beginning.js";
import { clockAfter } from "./clock-steps.js";
import { type Plan, perform, planOf } from "./jobs.js";
import { Picker } from "./picker.js";
import { type Script, script } from "./script.js";

const org = "default";
const numRuns = Number(process.env.DIBS_RUNS ?? 200);
const seed = Number(
  process.env.DIBS_SEED ?? (process.env.DIBS_RUNS ? Math.floor(Math.random() * 2 ** 31) : 2_026),
);

async function live(store: Store, clock: TestClock, { world, steps }: Script): Promise<void> {
  const history: Plan[] = [];
  let furthest = clock.now();
  await store.commit(
    org,
    beginning(world).map((plan) => (transaction) => perform(transaction, plan)),
  );
  for (const step of steps) {
    if (step.step === "clock") {
      furthest = Math.max(furthest, clock.now());
      clock.set(
        await store.read(org, (view) => clockAfter(new Picker(step.picks), view, clock.now(), furthest)),
      );
    }
    if (step.step !== "commit") continue;
    for (const op of step.ops) {
      const plan = await store.read(org, (view, now) => planOf(op, { view, now }, history));
      await store.commit(org, [(transaction) => perform(transaction, plan)]);
      if (plan.do === "command") history.push(plan);
    }
  }
}

/** What reading the inbox does first. */
async function lookIntoInbox(store: Store): Promise<void> {
  const found = await store.read(org, (view, now) => ({
    projects: withoutLander(view, now),
    tasks: withoutReviewer(view, now),
  }));
  const commands = [
    ...found.projects.map(({ id }) => ({ type: "note-missing-lander" as const, project: id })),
    ...found.tasks.map(({ project, id }) => ({ type: "ask-for-review" as const, project, taskId: id })),
  ];
  for (const command of commands) await store.commit(org, [(each) => carryOut(each, command, "system")]);
}

const isUnread = (view: Reads, id: string | null | undefined) =>
  id != null && view.notification(id)?.readAt === null;

/** Submitted tasks that nobody and nothing will move, and no unread item of the inbox names. */
function unattended(view: Reads, now: number): string[] {
  const lost: string[] = [];
  for (const task of view.tasks({ project: null, states: ["submitted"], afterOrdinal: 0, limit: 1000 })) {
    const project = view.project(task.project)!;
    const place = landingPlace(project);
    const submission = submissionOf(view, task)!;
    const lease = place && leaseOf(view, place);
    const isWaiting = waitsForReview(view, project, submission, now) && !task.submission?.landing;
    const isAsked = isUnread(view, submission.reviewNotice) || isForAgents(view, project, submission, now);
    const isAttended =
      isLeaseLive(lease, now) ||
      isUnread(view, lease?.missingId) ||
      isUnread(view, holdOf(view, task, project)?.notificationId);
    if (isWaiting ? !isAsked : !isAttended) lost.push(`${task.project}/${task.id}`);
  }
  return lost;
}

test("whatever happened, no submitted task waits unnoticed", async () => {
  let submitted = 0;
  const property = fc.asyncProperty(script, async (history) => {
    const clock = new TestClock();
    const store = openMemoryStore(clock);
    await store.open(org, "demo");
    await live(store, clock, history);
    await lookIntoInbox(store);
    submitted += await store.read(org, (view) => view.taskCounts(null).submitted ?? 0);
    expect(await store.read(org, unattended)).toEqual([]);
    // Agents that never come: ten minutes later a person is asked.
    clock.advance(11 * 60_000);
    await lookIntoInbox(store);
    expect(await store.read(org, (view, now) => withoutReviewer(view, now))).toEqual([]);
    expect(await store.read(org, unattended)).toEqual([]);
    await store.close();
  });
  await fc.assert(property, { seed, numRuns });
  report("simulation", { schedules: numRuns });
  expect(submitted).toBeGreaterThan(0);
}, 1_200_000);
