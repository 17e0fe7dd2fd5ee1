// Whatever happened, the recorder's counts are those of the tasks themselves: after random scripts, for any size of its steps.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { DibsEvent } from "../../src/core/event.js";
import { isNotLanded, returnReasons, submissionsOf } from "../../src/core/landing.js";
import { isArchival, moveOf } from "../../src/core/moves.js";
import { type Bucket, type BucketPlace, Tally, type Totals, wholeOrg } from "../../src/core/tally.js";
import { stateOf } from "../../src/core/task.js";
import type { Reads } from "../../src/core/view.js";
import { bucketKind, storedTotals, totalsKind } from "../../src/operations/metrics/documents.js";
import { catchUp, runOnce } from "../../src/operations/metrics/recorder.js";
import { TestClock } from "../../src/store/conformance/harness.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import { beginning } from "../simulation/beginning.js";
import { clockAfter } from "../simulation/clock-steps.js";
import { type Plan, perform, planOf } from "../simulation/jobs.js";
import { Picker } from "../simulation/picker.js";
import { all } from "../simulation/scene.js";
import { type Script, script } from "../simulation/script.js";
import { executorOn, org } from "./support.js";

const chunks = [1, 3, 17, 1000];

class Planned extends Error {}

class World {
  readonly clock = new TestClock();
  readonly store = openMemoryStore(this.clock);
  readonly executor = executorOn(this.store);
  private readonly history: Plan[] = [];
  private furthest = 0;
  private recorded = 0;

  async run({ world, steps }: Script): Promise<void> {
    await this.store.open(org, "demo");
    await this.store.commit(
      org,
      beginning(world).map((plan) => (transaction) => perform(transaction, plan)),
    );
    for (const step of steps) {
      if (step.step === "commit") await this.commit(step.ops, step.fails);
      else if (step.step === "clock") await this.moveClock(step.picks);
      else await this.record();
    }
    await this.record();
  }

  private async commit(
    ops: Extract<Script["steps"][number], { step: "commit" }>["ops"],
    fails: number | null,
  ) {
    const plans = await this.store.read(org, (view, now) =>
      ops.map((op) => planOf(op, { view, now }, this.history)),
    );
    await this.store.commit(
      org,
      plans.map((plan, index) => (transaction) => {
        if (plan.do !== "command") return;
        perform(transaction, plan);
        if (index === fails) throw new Planned();
        this.history.push(plan);
      }),
    );
  }

  private async moveClock(picks: number[]): Promise<void> {
    const before = this.clock.now();
    this.furthest = Math.max(this.furthest, before);
    this.clock.set(
      await this.store.read(org, (view) => clockAfter(new Picker(picks), view, before, this.furthest)),
    );
  }

  private async record(): Promise<void> {
    await runOnce(this.executor, org, chunks[this.recorded++ % chunks.length]);
    await this.store.read(org, (view) => {
      for (const name of [...view.projects().map(({ id }) => id), wholeOrg]) {
        const counted = stated(storedTotals(view, name)?.states ?? {});
        expect(counted, name).toEqual(stated(view.taskCounts(name === wholeOrg ? null : name)));
      }
    });
  }

  documents(): Promise<unknown> {
    return this.store.read(org, (view) =>
      [totalsKind, bucketKind.minute, bucketKind.hour].map((kind) => view.documents({ kind, limit: all })),
    );
  }
}

function stated(counts: Record<string, number>) {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
}

/** All figures from the whole log, told in steps of this size. */
function foldedBy(chunk: number, events: readonly DibsEvent[]) {
  const totals = new Map<string, Totals>();
  const buckets = new Map<string, Bucket>();
  const key = ({ step, at, project }: BucketPlace) => `${step} ${at} ${project}`;
  for (let from = 0; from < events.length; from += chunk) {
    const tally = new Tally({
      totals: (project) => totals.get(project),
      bucket: (place) => buckets.get(key(place)),
    });
    for (const event of events.slice(from, from + chunk)) tally.count(event);
    expect(tally.isExact).toBe(true);
    for (const [project, each] of tally.totals) totals.set(project, each);
    for (const each of tally.buckets.values()) buckets.set(key(each), each.bucket);
  }
  return { totals, buckets };
}

async function checked(steps: Script): Promise<void> {
  const world = new World();
  await world.run(steps);
  const { executor, store } = world;
  const before = await world.documents();
  const { submitted } = executor;
  await runOnce(executor, org, 1);
  await catchUp(executor, org);
  expect(executor.submitted).toBe(submitted);
  expect(await world.documents()).toEqual(before);
  const events = await store.read(org, (view) => view.events({ after: 0, limit: all }));
  const whole = foldedBy(events.length, events);
  for (const chunk of [1, 7]) expect(foldedBy(chunk, events)).toEqual(whole);
  await store.read(org, (view) => {
    sameAs(view, whole.totals);
    checkMoves(view, events);
    checkLanding(view, events);
  });
}

function sameAs(view: Reads, totals: Map<string, Totals>): void {
  for (const [project, each] of totals) expect(storedTotals(view, project), project).toEqual(each);
}

/** Each event moves its task on from where the one before has left it. */
function checkMoves(view: Reads, events: readonly DibsEvent[]): void {
  const states = new Map<string, string | null>();
  for (const event of events) {
    const move = moveOf(event);
    if (!move) continue;
    const key = `${event.project}/${event.taskId}`;
    const before = states.get(key) ?? null;
    if (before !== move.from)
      expect.fail(`${event.type} ${event.seq} moves ${key} from ${move.from}, not ${before}`);
    states.set(key, move.to);
  }
  for (const task of view.tasks({ project: null, afterOrdinal: 0, limit: all })) {
    const key = `${task.project}/${task.id}`;
    const state = stateOf(task, view.claim(task.project, task.id));
    if (states.get(key) !== state) expect.fail(`${key} is ${state}, its events say ${states.get(key)}`);
  }
}

/** The figures of landing are those of the tasks and their submissions, unless some were archived. */
function checkLanding(view: Reads, events: readonly DibsEvent[]): void {
  if (events.some(isArchival)) return;
  const tasks = view.tasks({ project: null, afterOrdinal: 0, limit: all });
  const ends = tasks.flatMap((task) => submissionsOf(view, task)).map(({ end }) => end);
  const returned = (reason: string) =>
    ends.filter((end) => end?.as === "returned" && end.reason === reason).length;
  const completed = tasks.filter(({ state }) => state === "completed");
  const totals = storedTotals(view, wholeOrg);
  expect(totals?.submissions ?? 0).toBe(ends.length);
  expect(totals?.landings ?? 0).toBe(ends.filter((end) => end?.as === "landed").length);
  for (const reason of returnReasons) expect(totals?.returns[reason] ?? 0, reason).toBe(returned(reason));
  // A task that was returned, and completed after landing was turned off, promises nothing.
  const promised = completed.filter((task) => submissionsOf(view, task).at(-1)?.end?.as === "landed");
  expect(totals?.notLanded ?? 0).toBe(promised.filter(isNotLanded).length);
  expect(totals?.landingWaits.counts.reduce((sum, count) => sum + count, 0) ?? 0).toBe(totals?.landings ?? 0);
}

test("the counts by state are those of the tasks, in steps of any size, and counting twice changes nothing", async () => {
  const seed = Number(process.env.DIBS_SEED ?? 20_261_115);
  await fc.assert(fc.asyncProperty(script, checked), {
    seed,
    numRuns: Number(process.env.DIBS_RUNS ?? 150),
  });
});
