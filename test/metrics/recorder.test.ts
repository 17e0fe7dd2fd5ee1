import { describe, expect, test } from "vitest";
import { noChanges } from "../../src/core/changes.js";
import { Draft } from "../../src/core/draft.js";
import { agentsMax, otherAgents, wholeOrg } from "../../src/core/tally.js";
import type { Reads } from "../../src/core/view.js";
import { dispatch } from "../../src/operations/dispatch.js";
import { bucketIn, bucketKind, cursorIn, storedTotals } from "../../src/operations/metrics/documents.js";
import { catchUp, runOnce } from "../../src/operations/metrics/recorder.js";
import { TestClock } from "../../src/store/conformance/harness.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import type { Store } from "../../src/store/store.js";
import { drivers, withStores } from "../transfer/drivers.js";
import { executorOn, org, project, result, Teller } from "./support.js";

const minute = 60_000;
const hour = 60 * minute;

async function inMemory() {
  const clock = new TestClock();
  const store = openMemoryStore(clock);
  await store.open(org, project);
  return { clock, store, teller: new Teller(store) };
}

const states = (store: Store, name = project) =>
  store.read(org, (view) =>
    Object.fromEntries(
      Object.entries(storedTotals(view, name)?.states ?? {}).filter(([, count]) => count !== 0),
    ),
  );

describe.each(drivers)("$name", (driver) => {
  test("several recorders at once count every event exactly once", async () => {
    await withStores([driver], async ([store]) => {
      await store!.open(org, project);
      const teller = new Teller(store!);
      await teller.create(30);
      for (let at = 0; at < 10; at++) {
        const hold = await teller.claim(`s${at}`);
        await teller.call("tasks.complete", { ...hold, result });
      }
      const nodes = [executorOn(store!), executorOn(store!), executorOn(store!)];
      await Promise.all(nodes.map((node, at) => runOnce(node, org, [3, 5, 1000][at])));
      expect(await states(store!)).toEqual({ queued: 20, completed: 10 });
      expect(await states(store!, wholeOrg)).toEqual({ queued: 20, completed: 10 });
      await store!.read(org, (view) => {
        expect(storedTotals(view, project)).toMatchObject({ completions: 10, failures: 0 });
        expect(cursorIn(view)).toEqual({ cursor: view.org().eventSeq });
      });
    });
  });

  test("old minutes and hours go, whole totals stay", async () => {
    await withStores([driver], async ([store], clock) => {
      await store!.open(org, project);
      const teller = new Teller(store!);
      const kept = () =>
        store!.read(org, (view) =>
          [bucketKind.minute, bucketKind.hour].map((kind) =>
            view.documents({ kind, limit: 100 }).map(({ key }) => key),
          ),
        );
      await teller.create(1);
      await catchUp(teller.executor, org);
      expect(await kept()).toEqual([
        ["2026-01-01T00:00/*", "2026-01-01T00:00/demo"],
        ["2026-01-01T00/*", "2026-01-01T00/demo"],
      ]);
      clock.advance(49 * hour);
      await teller.create(1);
      await catchUp(teller.executor, org);
      expect((await kept())[0]).toEqual(["2026-01-03T01:00/*", "2026-01-03T01:00/demo"]);
      expect((await kept())[1]).toHaveLength(4);
      clock.advance(401 * 24 * hour);
      await teller.create(1);
      await catchUp(teller.executor, org);
      expect((await kept()).map((keys) => keys.length)).toEqual([2, 2]);
      expect(await states(store!)).toEqual({ queued: 3 });
    });
  });
});

test("whoever asks while a run is under way hears of what was committed before asking", async () => {
  const { store, teller } = await inMemory();
  const { executor } = teller;
  const { submit } = executor;
  let openGate = () => {};
  const gate = new Promise<void>((resolve) => {
    openGate = resolve;
  });
  await teller.create(1);
  // The first run has counted, but does not know it yet.
  const slow: typeof submit = async (to, job) => {
    const value = await submit(to, job);
    await gate;
    return value;
  };
  Object.assign(executor, { submit: slow });
  const first = catchUp(executor, org);
  await new Promise((resolve) => setImmediate(resolve));
  Object.assign(executor, { submit });
  await teller.create(1);
  const second = catchUp(executor, org);
  const third = catchUp(executor, org);
  openGate();
  expect(third).toBe(second);
  expect(second).not.toBe(first);
  await second;
  expect(await states(store)).toEqual({ queued: 2 });
});

test("what this process has committed is counted without reading it back; what others wrote is read", async () => {
  const { store, teller } = await inMemory();
  const seen: number[] = [];
  const read = store.read.bind(store);
  store.read = (of, job) => read(of, (view, now) => job(noting(view, seen), now));
  await teller.create(1);
  await catchUp(teller.executor, org);
  seen.length = 0;
  const hold = await teller.claim("a");
  await teller.call("tasks.complete", { ...hold, result: { ...result, output: "long ".repeat(100) } });
  await teller.create(2);
  await catchUp(teller.executor, org);
  expect(seen).toEqual([]);
  expect(await states(store)).toEqual({ queued: 2, completed: 1 });
  const other = executorOn(store);
  const before = await read(org, (view) => view.org().eventSeq);
  const caller = { org, project, actor: "user:test", role: "admin" } as const;
  await dispatch(other, "tasks.create", { prompt: "of another process" }, caller);
  const after = await read(org, (view) => view.org().eventSeq);
  await teller.create(1);
  await catchUp(teller.executor, org);
  expect(seen).toEqual(Array.from({ length: after - before }, (_, at) => before + 1 + at));
  expect(await states(store)).toEqual({ queued: 4, completed: 1 });
  expect(await states(store, wholeOrg)).toEqual({ queued: 4, completed: 1 });
});

/** A view that notes the numbers of the events that are read. */
function noting(view: Reads, seen: number[]): Reads {
  return new Proxy(view, {
    get(target, name) {
      const value = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...all: unknown[]) => {
        const found = value.apply(target, all);
        if (name === "events") seen.push(...found.map(({ seq }: { seq: number }) => seq));
        return found;
      };
    },
  });
}

test("a run that failed does not keep the next from counting", async () => {
  const { store, teller } = await inMemory();
  await teller.create(1);
  const { executor } = teller;
  const { submit } = executor;
  Object.assign(executor, { submit: () => Promise.reject(new Error("no luck")) });
  await expect(catchUp(executor, org)).rejects.toThrow("no luck");
  Object.assign(executor, { submit });
  await catchUp(executor, org);
  expect(await states(store)).toEqual({ queued: 1 });
});

test("what was archived before anybody counted it is made up for by counting the tasks", async () => {
  const { store, teller } = await inMemory();
  await teller.create(3);
  await teller.claim("a");
  await store.commit(org, [
    ({ view, now, apply }) => {
      const draft = new Draft(view, { now, actor: "system" });
      draft.archiveEvents(view.org().eventSeq + 1);
      apply(draft.changes);
    },
  ]);
  await teller.create(1);
  await runOnce(teller.executor, org, 1);
  expect(await states(store)).toEqual({ queued: 3, claimed: 1 });
  await teller.create(1);
  await catchUp(teller.executor, org);
  expect(await states(store)).toEqual({ queued: 4, claimed: 1 });
});

test("a log whose events do not tell how they moved their tasks is made up for, too", async () => {
  const { store, teller } = await inMemory();
  await teller.create(2);
  const hold = await teller.claim("a");
  await teller.call("tasks.release", hold);
  // The memory store answers with its own rows.
  await store.read(org, (view) => {
    for (const event of view.events({ after: 0, limit: 100 })) {
      for (const word of ["from", "to", "waitedMs"]) delete event.data[word];
    }
  });
  await runOnce(teller.executor, org, 2);
  expect(await states(store)).toEqual({ queued: 2 });
  expect(await store.read(org, (view) => cursorIn(view).inexact)).toBeUndefined();
});

test("beyond fifty, the sessions of a minute are counted together", async () => {
  const { store, clock, teller } = await inMemory();
  await teller.create(agentsMax + 5);
  await teller.claim("constructor");
  for (let at = 1; at < agentsMax + 5; at++) await teller.claim(`s${at}`);
  await catchUp(teller.executor, org);
  const bucket = await store.read(org, (view) =>
    bucketIn(view, { step: "minute", at: clock.now(), project }),
  );
  expect(Object.keys(bucket!.byAgent)).toHaveLength(agentsMax + 1);
  expect(bucket!.byAgent.constructor).toMatchObject({ claimed: 1 });
  expect(bucket!.byAgent[otherAgents]).toMatchObject({ claimed: 5, claimWait: { count: 5 }, completed: 0 });
});

test("the figures of one transaction are all or nothing with the cursor", async () => {
  const { store, teller } = await inMemory();
  await teller.create(2);
  const { submit } = teller.executor;
  const failing: typeof submit = async (to, job) => {
    const [done] = await store.commit(to, [
      (transaction) => {
        job(transaction);
        transaction.apply(noChanges());
        throw new Error("crash");
      },
    ]);
    if (!done!.ok) throw done!.error;
    return done!.value as never;
  };
  Object.assign(teller.executor, { submit: failing });
  await expect(catchUp(teller.executor, org)).rejects.toThrow("crash");
  expect(await states(store)).toEqual({});
  Object.assign(teller.executor, { submit });
  await catchUp(teller.executor, org);
  expect(await states(store)).toEqual({ queued: 2 });
});

test("an attempt lasts from its start, or from the claim if it was never started", async () => {
  const { store, clock, teller } = await inMemory();
  await teller.create(3);
  const last = () => store.read(org, (view) => view.events({ after: 0, limit: 100 }).at(-1)!);
  clock.advance(5000);
  const unstarted = await teller.claim("a");
  expect(await last()).toMatchObject({ type: "task:claimed", data: { waitedMs: 5000 } });
  clock.advance(2000);
  await teller.call("tasks.complete", { ...unstarted, result });
  expect(await last()).toMatchObject({ type: "task:completed", data: { durationMs: 2000 } });
  const started = await teller.claim("a");
  clock.advance(3000);
  await teller.call("tasks.start", started);
  clock.advance(1000);
  await teller.call("tasks.fail", { ...started, error: "broken" });
  expect(await last()).toMatchObject({
    type: "task:retry-scheduled",
    data: { durationMs: 1000, from: "running" },
  });
});
