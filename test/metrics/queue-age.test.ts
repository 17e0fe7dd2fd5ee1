// How old the queue was, worked out afterwards from who left it: told in stories on every store, and compared with a queue that is
// kept beside it.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { documentKey, noChanges } from "../../src/core/changes.js";
import type { Bucket } from "../../src/core/tally.js";
import { bucketKind } from "../../src/operations/metrics/documents.js";
import { TestClock } from "../../src/store/conformance/harness.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import type { Store } from "../../src/store/store.js";
import { drivers, withStores } from "../transfer/drivers.js";
import { org, project, result, Teller } from "./support.js";

const minute = 60_000;
const hour = 60 * minute;
const at = (time: number) => new Date(time).toISOString();

type Points = { at: string; oldestReadyMs: number | null; byAgent: Record<string, object> }[];

const pointsOf = async (teller: Teller, input: object): Promise<Points> =>
  (await teller.call("metrics.history", input)).points;

/** In minutes. */
const agesOf = (points: Points) =>
  points.map(({ oldestReadyMs }) => (oldestReadyMs === null ? null : oldestReadyMs / minute));

describe.each(drivers)("$name", (driver) => {
  const story = (tell: (teller: Teller, clock: TestClock, store: Store) => Promise<void>) => () =>
    withStores([driver], async ([store], clock) => {
      await store!.open(org, project);
      await tell(new Teller(store!), clock, store!);
    });

  test(
    "a queue ages while nothing happens, until its oldest task is claimed or cancelled",
    story(async (teller, clock, store) => {
      const start = clock.now();
      const ages = async (from: number, more: object = {}) =>
        agesOf(await pointsOf(teller, { from: at(start + from * minute), ...more }));
      clock.advance(10 * minute);
      await teller.create(1);
      clock.advance(5 * minute);
      expect(await ages(9)).toEqual([null, 1, 2, 3, 4, 5, 5]);
      clock.advance(minute / 2);
      await teller.create(1);
      await teller.call("tasks.create", { prompt: "waits", dependsOn: ["0002"] });
      clock.advance(4.5 * minute);
      await teller.call("tasks.complete", { ...(await teller.claim("a")), result });
      clock.advance(2 * minute);
      expect(await ages(13)).toEqual([4, 5, 6, 7, 8, 9, 10, 10, 6.5, 6.5]);
      clock.advance(3 * minute);
      for (const taskId of ["0002", "0003"]) await teller.call("tasks.cancel", { taskId });
      clock.advance(2 * minute);
      const whole = await ages(9);
      expect(whole).toEqual([null, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 6.5, 7.5, 8.5, 9.5, 9.5, null, null]);
      expect(await ages(9, { project: "*" })).toEqual(whole);
      for (const to of [10, 12, 20, 21, 25]) {
        expect(await ages(9, { to: at(start + to * minute) })).toEqual(whole.slice(0, to - 9));
      }
      const told = await store.read(org, (view) => view.events({ after: 0, limit: 100 }));
      const waits = told.filter(({ type }) => type === "task:cancelled").map(({ data }) => data.waitedMs);
      expect(waits).toEqual([9.5 * minute, undefined]);
    }),
  );

  test(
    "over hours, from whenever one looks, with what is scheduled waiting from its time on",
    story(async (teller, clock) => {
      const start = clock.now();
      const ages = async (more: object = {}) =>
        agesOf(await pointsOf(teller, { from: at(start), step: "hour", ...more }));
      clock.advance(30 * minute);
      await teller.create(1);
      await teller.call("tasks.create", { prompt: "later", notBefore: at(start + 4 * hour) });
      clock.advance(29 * hour);
      await teller.call("tasks.complete", { ...(await teller.claim("a")), result });
      clock.advance(2 * hour);
      const risen = Array.from({ length: 29 }, (_, hours) => 60 * hours + 30);
      expect(await ages()).toEqual([...risen, 29 * 60, 60 * 26 + 60, 60 * 27 + 30]);
      expect(await ages({ to: at(start + 3 * hour) })).toEqual([30, 90, 150]);
      // The end of its day lies in the same hour, and in many later ones.
      const early = { from: at(start + 31 * minute), to: at(start + 33 * minute), step: "minute" };
      expect(agesOf(await pointsOf(teller, early))).toEqual([2, 3]);
    }),
  );

  test(
    "what an older program counted is read as far as it goes, and counted on",
    story(async (teller, clock, store) => {
      const from = at(clock.now());
      await teller.create(2);
      clock.advance(2 * minute);
      const hold = await teller.claim("a");
      const before = await pointsOf(teller, { from });
      expect(agesOf(before)).toEqual([1, 2, 2]);
      await makeOld(store);
      const { byAgent, oldestReadyMs } = (await pointsOf(teller, { from })).at(-1)!;
      expect(byAgent.a).toEqual({
        claimed: 1,
        completed: 0,
        failed: 0,
        lost: 0,
        avgClaimWaitMs: null,
        avgDurationMs: null,
        avgQuestionWaitMs: null,
        answered: 0,
      });
      expect(oldestReadyMs).toBe(2 * minute);
      clock.advance(1000);
      await teller.call("tasks.complete", { ...hold, result });
      await teller.claim("a");
      const last = (await pointsOf(teller, { from })).at(-1)!;
      expect(last).toMatchObject({ oldestReadyMs: 2 * minute + 1000, byAgent: { a: { claimed: 2 } } });
      expect(last.byAgent.a).toMatchObject({ avgDurationMs: 1000, avgClaimWaitMs: 2 * minute + 1000 });
    }),
  );
});

/** Takes from the buckets what was not counted once. */
async function makeOld(store: Store): Promise<void> {
  const documents = await store.read(org, (view) =>
    [bucketKind.minute, bucketKind.hour].flatMap((kind) =>
      view.documents({ kind, limit: 100 }).map(({ key, value }) => {
        const { oldestSince, longestWaitMs, ...rest } = value as unknown as Bucket;
        const byAgent = Object.fromEntries(
          Object.entries(rest.byAgent).map(([name, { claimed, completed, failed, lost }]) => [
            name,
            { claimed, completed, failed, lost },
          ]),
        );
        return { kind, key, value: { ...rest, byAgent } };
      }),
    ),
  );
  const changed = new Map(documents.map((each) => [documentKey(each.kind, each.key), each]));
  await store.commit(org, [({ apply }) => apply({ ...noChanges(), documents: changed as never })]);
}

async function inMemory() {
  const clock = new TestClock();
  const store = openMemoryStore(clock);
  await store.open(org, project);
  return { clock, teller: new Teller(store) };
}

test("a pause is waiting, too, and changes nothing about the past", async () => {
  const { clock, teller } = await inMemory();
  const from = at(clock.now());
  await teller.create(1);
  clock.advance(2 * minute);
  await teller.call("projects.pause", { id: project });
  clock.advance(minute);
  const shown = await teller.call("metrics.history", { from });
  expect(shown.oldestReadyMs).toBeNull();
  expect(agesOf(shown.points)).toEqual([1, 2, 3, 3]);
  await teller.call("projects.resume", { id: project });
  expect((await teller.call("metrics.history", { from })).points).toEqual(shown.points);
});

test("where nothing was queued nothing waited, also if a task came back that had been held then", async () => {
  const { clock, teller } = await inMemory();
  const from = at(clock.now());
  await teller.create(1);
  clock.advance(minute);
  const hold = await teller.claim("a", { start: true });
  clock.advance(2 * minute);
  await teller.call("tasks.release", hold);
  expect(agesOf(await pointsOf(teller, { from }))).toEqual([1, 1, null, 3]);
});

test("waits and times are told by agent", async () => {
  const { clock, teller } = await inMemory();
  await teller.create(3);
  clock.advance(4000);
  const ada = await teller.claim("ada", { start: true });
  clock.advance(2000);
  const bo = await teller.claim("bo", { start: true });
  await teller.call("tasks.ask", { ...ada, question: "which?" });
  clock.advance(8000);
  await teller.call("tasks.respond", { taskId: ada.taskId, response: "this" });
  await teller.call("tasks.complete", { ...ada, result });
  await teller.call("tasks.fail", { ...bo, error: "broken", retryable: false });
  const [point] = await pointsOf(teller, {}).then((points) => points.slice(-1));
  const none = { claimed: 1, completed: 0, failed: 0, lost: 0, answered: 0 };
  expect(point!.byAgent).toEqual({
    ada: {
      ...none,
      completed: 1,
      answered: 1,
      avgClaimWaitMs: 4000,
      avgDurationMs: 10_000,
      avgQuestionWaitMs: 8000,
    },
    bo: { ...none, failed: 1, avgClaimWaitMs: 6000, avgDurationMs: null, avgQuestionWaitMs: null },
  });
});

interface Stay {
  id: string;
  since: number;
  left: number | null;
}

/** The longest wait in the time from `begin` to `end`, by looking at everybody who was ever in the queue. */
function longestWait(stays: readonly Stay[], begin: number, end: number, now: number): number | null {
  const waits = stays.flatMap(({ since, left }) => {
    if (since >= end || since > now || (left !== null && (left < begin || left < since))) return [];
    return Math.min(left ?? now, end, now) - since;
  });
  return waits.length === 0 ? null : Math.max(...waits);
}

const step = fc.record({
  act: fc.constantFrom("create", "schedule", "claim", "claim", "cancel", "rest"),
  which: fc.nat(),
  pauseMs: fc.oneof(fc.constant(0), fc.nat(20_000), fc.nat(12 * minute)),
});

test("the history is that of a queue at which somebody had looked all the time", async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.nat(), async (steps, chosen) => {
    const { clock, teller } = await inMemory();
    const start = clock.now();
    const stays: Stay[] = [];
    for (const { act, which, pauseMs } of steps) {
      await perform(teller, clock.now(), stays, act, which);
      clock.advance(pauseMs);
    }
    const now = clock.now();
    const to = start + 1 + (chosen % (now - start + 1));
    for (const asked of [
      { from: at(start), step: "minute" },
      { from: at(start), step: "hour" },
      { from: at(start), to: at(to), step: "minute" },
    ]) {
      const size = asked.step === "minute" ? minute : hour;
      for (const { at: begins, oldestReadyMs } of await pointsOf(teller, asked)) {
        const begin = Date.parse(begins);
        expect(oldestReadyMs, begins).toBe(longestWait(stays, begin, begin + size, now));
      }
    }
  });
  await fc.assert(property, { seed: 20_261_115, numRuns: 60 });
});

async function perform(teller: Teller, now: number, stays: Stay[], act: string, which: number) {
  const inIt = stays.filter(({ left }) => left === null);
  if (act === "create" || act === "schedule") {
    const since = act === "create" ? now : now + (which % (15 * minute));
    const { task } = await teller.call("tasks.create", {
      prompt: "x",
      priority: which % 3,
      ...(act === "create" ? {} : { notBefore: at(since) }),
    });
    stays.push({ id: task.id, since, left: null });
  } else if (act === "claim" && inIt.some(({ since }) => since <= now)) {
    const hold = await teller.claim("a");
    inIt.find(({ id }) => id === hold.taskId)!.left = now;
    await teller.call("tasks.complete", { ...hold, result });
  } else if (act === "cancel" && inIt.length > 0) {
    const stay = inIt[which % inIt.length]!;
    await teller.call("tasks.cancel", { taskId: stay.id });
    stay.left = now;
  }
}
