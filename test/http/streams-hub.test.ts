// What readers of the stream pull from, with a store whose reads the test holds back.

import { expect, test } from "vitest";
import { carryOut } from "../../src/core/decide.js";
import { EventHub } from "../../src/operations/event-hub.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import type { Store } from "../../src/store/store.js";
import { until } from "../support.js";

const org = "default";
const project = "demo";

async function storeWith(tasks: number): Promise<Store> {
  const store = openMemoryStore(new TestClock());
  await store.open(org, project);
  if (tasks > 0) await create(store, tasks);
  return store;
}

/** Two events each. */
async function create(store: Store, count: number, prompt = "do it"): Promise<void> {
  const tasks = Array.from({ length: count }, () => ({ prompt }));
  const [result] = await store.commit(org, [
    (transaction) => carryOut(transaction, { type: "create", project, correlationId: "c", tasks }, "system"),
  ]);
  expect(result).toMatchObject({ ok: true, value: { ok: true } });
}

async function archive(store: Store, below: number): Promise<void> {
  await store.commit(org, [
    (transaction) => carryOut(transaction, { type: "archive-events", below }, "system"),
  ]);
}

const hubOver = (store: Store) => new EventHub(store, (event) => [event.seq]);
const everything = { project: null, signal: new AbortController().signal };

test("a reader whose next events were archived meanwhile is not given later ones as if nothing were missing", async () => {
  const store = await storeWith(1_000);
  const hub = hubOver(store);
  try {
    const slow = hub.read(org, { ...everything, after: 0 });
    const inTime = hub.read(org, { ...everything, after: 1_500 });
    const first = (await slow.next()).value!.flat();
    expect(first[0]).toBe(1);
    await archive(store, 1_500);
    await expect(slow.next()).rejects.toThrow(/no longer kept/);
    expect((await inTime.next()).value!.flat()[0]).toBe(1_501);
    await inTime.return();
  } finally {
    hub.close();
    await store.close();
  }
});

test("what is committed between a reader's look and the follower's is not waited for", async () => {
  const inner = await storeWith(1);
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let reads = 0;
  const store: Store = Object.assign(Object.create(inner), {
    // The follower's first look; that of the reader comes after it, and is answered before it.
    read: async (...args: Parameters<Store["read"]>) => {
      if (++reads === 1) await held;
      return inner.read(...args);
    },
  });
  const hub = hubOver(store);
  try {
    const reader = hub.read(org, { ...everything, after: 2 });
    const next = reader.next();
    await until("the reader looks", () => reads >= 2);
    await create(inner, 1);
    release();
    expect(await next).toMatchObject({ value: [[3], [4]] });
    await reader.return();
  } finally {
    hub.close();
    await inner.close();
  }
});

test("readers of long events get them in small batches, all of them, from the store and from memory", async () => {
  const store = await storeWith(0);
  const text = "x".repeat(20_000);
  const hub = new EventHub(store, (event) => `${event.seq} ${text}`);
  const fromMemory = hub.read(org, { ...everything, after: 0 });
  try {
    const waiting = fromMemory.next();
    for (let at = 0; at < 300; at++) await create(store, 1);
    const fromStore = hub.read(org, { ...everything, after: 0 });
    for (const [reader, begun] of [
      [fromMemory, waiting],
      [fromStore, fromStore.next()],
    ] as const) {
      const seen: number[] = [];
      for (let batch = (await begun).value!; ; batch = (await reader.next()).value!) {
        expect(batch.join("").length).toBeLessThan(100_000);
        seen.push(...batch.map((each) => Number.parseInt(each, 10)));
        if (seen.length >= 600) break;
      }
      expect(seen).toEqual(Array.from({ length: 600 }, (_, at) => at + 1));
      await reader.return();
    }
  } finally {
    hub.close();
    await store.close();
  }
});
