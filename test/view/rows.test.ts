import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { TaskIndex, type TaskIndexOptions } from "../../src/client/view/rows.js";
import { type Dibs, openDibs } from "../../src/index.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { archiveFinished } from "../archive.js";
import { tempDir } from "../support.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Rows = Dibs["tasks"]["rows"];

/** A store, and an index of it whose readings go through `around`. */
async function setUp(
  around: (rows: Rows) => Rows = (rows) => rows,
  { fill, ...options }: TaskIndexOptions & { fill?: (dibs: Dibs) => Promise<unknown> } = {},
) {
  const dibs = await openDibs({ memory: true, project: "shop" });
  cleanups.push(() => dibs.close());
  await dibs.projects.create({ id: "barn" });
  await fill?.(dibs);
  const calls: Parameters<Rows>[0][] = [];
  const rows = around(dibs.tasks.rows);
  const seen: Dibs = {
    ...dibs,
    tasks: {
      ...dibs.tasks,
      rows: (input, call) => {
        calls.push(input);
        return rows(input, call);
      },
    },
  };
  const index = new TaskIndex(seen, options);
  cleanups.push(() => index.close());
  return { dibs, index, calls };
}

const eventually = (check: () => unknown) => vi.waitFor(check, { timeout: 90_000, interval: 5 });
const complete = (index: TaskIndex) => eventually(() => expect(index.progress.complete).toBe(true));

/** Every event goes to the index, as a view would have it. */
function follow(dibs: Dibs, index: TaskIndex, project = "*") {
  const ending = new AbortController();
  const events = dibs.events.follow({ project, signal: ending.signal });
  const done = (async () => {
    for await (const event of events) index.apply(event);
  })();
  cleanups.push(async () => {
    ending.abort();
    await done;
  });
}

async function finish(dibs: Dibs, taskId: string) {
  await dibs.tasks.claim({ taskId, sessionId: "a7", register: true });
  await dibs.tasks.complete({ taskId, sessionId: "a7", result: "done" });
}

/** A gate that holds back answers while it is shut. */
function gate() {
  let open = () => {};
  let isOpen = Promise.resolve();
  return {
    shut() {
      isOpen = new Promise((resolve) => {
        open = resolve;
      });
    },
    open: () => open(),
    around:
      (rows: Rows): Rows =>
      async (input, call) => {
        const waiting = isOpen;
        const answer = await rows(input, call);
        await waiting;
        return answer;
      },
  };
}

describe("an index of tasks", () => {
  test("reads what is open first, then what is over, and shows all in the order of creation", async () => {
    const { index, calls } = await setUp(undefined, {
      fill: async (dibs) => {
        await dibs.tasks.batch({
          tasks: Array.from({ length: 1100 }, (_, at) => ({ prompt: `task ${at}` })),
        });
        for (const taskId of ["0001", "0500"]) await dibs.tasks.cancel({ taskId });
      },
    });
    await complete(index);
    expect(index.progress).toEqual({ loaded: 1100, complete: true, error: null });
    expect(index.rows().map(({ id }) => id)).toEqual(
      Array.from({ length: 1100 }, (_, at) => String(at + 1).padStart(4, "0")),
    );
    expect(calls.map((call) => [call?.state?.length, call?.cursor !== undefined])).toEqual([
      [6, false],
      [6, true],
      [2, false],
    ]);
  });

  test("drops what was archived", async () => {
    const path = join(tempDir(), "dibs.db");
    const clock = new TestClock();
    const dibs = await openDibs({ path, project: "shop", clock });
    cleanups.push(() => dibs.close());
    for (const prompt of ["old", "open"]) await dibs.tasks.create({ prompt });
    await finish(dibs, "0001");
    clock.advance(60_000);
    const index = new TaskIndex(dibs);
    cleanups.push(() => index.close());
    await complete(index);
    follow(dibs, index);
    expect(index.rows().map(({ id }) => id)).toEqual(["0001", "0002"]);
    expect(await archiveFinished(path, clock)).toBe(1);
    await eventually(() => expect(index.rows().map(({ id }) => id)).toEqual(["0002"]));
    expect(index.progress).toMatchObject({ loaded: 1, error: null });
  });

  test("follows events: what is added, claimed, freed and completed, and what a task is part of", async () => {
    const { dibs, index } = await setUp();
    follow(dibs, index);
    await dibs.tasks.create({ prompt: "first" });
    await dibs.tasks.create({ prompt: "other" });
    await dibs.tasks.create({ prompt: "waits for both", dependsOn: ["0001", "0002"] });
    await dibs.tasks.create({ title: "all", type: "group" });
    await dibs.tasks.create({ prompt: "a part", parentId: "0004" });
    await eventually(() => expect(index.get("shop", "0004")?.openChildren).toBe(1));
    await dibs.tasks.claim({ taskId: "0001", sessionId: "a7", register: true });
    await eventually(() => expect(index.get("shop", "0001")?.claim?.sessionId).toBe("a7"));
    // One of two dependencies: nothing is said about the one that still waits.
    await finish(dibs, "0001");
    await eventually(() => expect(index.get("shop", "0003")?.pendingDependencies).toBe(1));
    await finish(dibs, "0002");
    await eventually(() => expect(index.get("shop", "0003")?.pendingDependencies).toBe(0));
    await finish(dibs, "0004_t1");
    await eventually(() => expect(index.get("shop", "0004")?.state).toBe("completed"));
  });

  test("a burst of events becomes few requests, one at a time", async () => {
    let underWay = 0;
    const { dibs, index, calls } = await setUp((rows) => async (input, call) => {
      expect(++underWay).toBe(1);
      const answer = await rows(input, call);
      underWay--;
      return answer;
    });
    await complete(index);
    follow(dibs, index);
    const before = calls.length;
    await Promise.all(Array.from({ length: 250 }, (_, at) => dibs.tasks.create({ prompt: `task ${at}` })));
    await eventually(() => expect(index.rows()).toHaveLength(250));
    const sizes = calls.slice(before).map((call) => call?.taskIds?.length ?? 0);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100);
    expect(sizes.length).toBeLessThan(12);
  });

  test("a page that was read before an event and arrives after it does not win", async () => {
    const { shut, open, around } = gate();
    shut();
    const { dibs, index, calls } = await setUp(around, {
      fill: (dibs) => dibs.tasks.create({ prompt: "t" }),
    });
    await eventually(() => expect(calls).toHaveLength(1));
    follow(dibs, index);
    await dibs.tasks.claim({ taskId: "0001", sessionId: "a7", register: true });
    open();
    await eventually(() => expect(index.get("shop", "0001")?.claim?.sessionId).toBe("a7"));
    await complete(index);
    expect(index.get("shop", "0001")?.state).toBe("claimed");
  });

  test("a task that moved from the unread pages to the read ones is not missing", async () => {
    const { shut, open, around } = gate();
    const { dibs, index, calls } = await setUp(around, {
      fill: async (dibs) => {
        await dibs.tasks.create({ prompt: "t" });
        await dibs.tasks.cancel({ taskId: "0001" });
        shut();
      },
    });
    await eventually(() => expect(calls).toHaveLength(1));
    follow(dibs, index);
    await dibs.tasks.retry({ taskId: "0001" });
    open();
    await eventually(() => expect(index.get("shop", "0001")?.state).toBe("queued"));
  });

  test("reading anew keeps what is known until it is replaced, and drops what is gone", async () => {
    let gone: string | null = null;
    const { dibs, index } = await setUp(
      (rows) => async (input, call) => {
        const answer = await rows(input, call);
        return { ...answer, rows: answer.rows.filter(({ id }) => id !== gone) };
      },
      { fill: (dibs) => dibs.tasks.batch({ tasks: [{ prompt: "one" }, { prompt: "two" }] }) },
    );
    await complete(index);
    const [, second] = index.rows();
    gone = "0001";
    await dibs.tasks.create({ prompt: "three" });
    index.reset();
    expect(index.rows()).toHaveLength(2);
    expect(index.progress.complete).toBe(false);
    await eventually(() => expect(index.rows().map(({ id }) => id)).toEqual(["0002", "0003"]));
    expect(index.rows()[0]).toBe(second);
  });

  test("the array stays the same until something changes, and listeners hear of it once", async () => {
    const { dibs, index } = await setUp(undefined, { fill: (dibs) => dibs.tasks.create({ prompt: "t" }) });
    await complete(index);
    const [before, version] = [index.rows(), index.version];
    index.apply({ project: "shop", taskId: "0001" });
    index.apply({ project: "barn", taskId: "0001" });
    const told = vi.fn();
    const stop = index.subscribe(told);
    follow(dibs, index);
    await dibs.tasks.create({ prompt: "u" });
    await eventually(() => expect(index.rows()).toHaveLength(2));
    await eventually(() => expect(told).toHaveBeenCalled());
    expect(index.version).toBeGreaterThan(version);
    expect(index.rows()).not.toBe(before);
    expect(index.rows()[0]).toBe(before[0]);
    expect(index.rows()).toBe(index.rows());
    stop();
  });

  test("one project of several, or all", async () => {
    const fill = async (dibs: Dibs) => {
      await dibs.tasks.create({ prompt: "here" });
      await dibs.tasks.create({ prompt: "there", project: "barn" });
    };
    const barn = await setUp(undefined, { project: "barn", fill });
    const all = await setUp(undefined, { project: "*", fill });
    for (const { dibs, index } of [barn, all]) {
      await complete(index);
      follow(dibs, index);
      await dibs.tasks.claim({ taskId: "0001", sessionId: "a7", register: true });
      await dibs.tasks.claim({ taskId: "0001", sessionId: "b2", register: true, project: "barn" });
      await eventually(() => expect(index.get("barn", "0001")?.claim?.sessionId).toBe("b2"));
    }
    expect(barn.index.rows().map(({ title }) => title)).toEqual(["there"]);
    await eventually(() => expect(all.index.get("shop", "0001")?.claim?.sessionId).toBe("a7"));
    expect(all.index.facts().projects.toSorted()).toEqual(["barn", "shop"]);
    expect(all.index.facts().agents.toSorted()).toEqual(["a7", "b2", "cli"]);
  });

  test("trouble is told, and reading goes on when it is over", async () => {
    let isBroken = true;
    const { dibs, index } = await setUp(
      (rows) => (input, call) => (isBroken ? Promise.reject(new Error("no network")) : rows(input, call)),
    );
    await eventually(() => expect(index.progress.error?.message).toBe("no network"));
    await dibs.tasks.create({ prompt: "t" });
    isBroken = false;
    await complete(index);
    expect(index.progress.error).toBeNull();
    expect(index.rows()).toHaveLength(1);
  });

  test("what is in flight is read again every ten seconds, but only while somebody looks", async () => {
    let time = Date.now();
    const waiting = new Map<object, { act: () => void; at: number }>();
    const timers = {
      now: () => time,
      set(act: () => void, ms: number) {
        const key = {};
        waiting.set(key, { act, at: time + ms });
        return key;
      },
      clear: (key: unknown) => waiting.delete(key as object),
    };
    const { dibs, index, calls } = await setUp(undefined, {
      timers,
      fill: async (dibs) => {
        await dibs.tasks.create({ prompt: "t" });
        await dibs.tasks.create({ prompt: "u" });
        await dibs.tasks.claim({ taskId: "0001", sessionId: "a7", register: true });
      },
    });
    const pass = async (ms: number) => {
      const until = time + ms;
      for (; time < until; time += 50) {
        for (const [key, { act, at }] of [...waiting]) if (at <= time && waiting.delete(key)) act();
        await new Promise(setImmediate);
      }
    };
    await pass(1_000);
    expect(index.progress.complete).toBe(true);
    const loaded = calls.length;
    await dibs.tasks.heartbeat({ taskId: "0001", sessionId: "a7" });
    await pass(10_000);
    expect(calls.slice(loaded)).toEqual([{ taskIds: ["0001"] }]);
    index.setActive(false);
    await pass(60_000);
    expect(calls).toHaveLength(loaded + 1);
    index.setActive(true);
    await pass(1_000);
    expect(calls).toHaveLength(loaded + 2);
    index.close();
    expect(waiting.size).toBe(0);
  });
});
