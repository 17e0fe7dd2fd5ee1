// A follower of the log, over a store in which a commit arrives at the worst moment.

import { expect, onTestFinished, test, vi } from "vitest";
import { carryOut } from "../../src/core/decide.js";
import { followEvents } from "../../src/operations/event-feed.js";
import { TestClock } from "../../src/store/conformance/index.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import type { Store } from "../../src/store/store.js";

const org = "default";
const project = "demo";

async function create(store: Store): Promise<void> {
  const tasks = [{ prompt: "do it" }];
  const [result] = await store.commit(org, [
    (transaction) => carryOut(transaction, { type: "create", project, correlationId: "c", tasks }, "system"),
  ]);
  expect(result).toMatchObject({ ok: true, value: { ok: true } });
}

test("what is committed while a follower reads is found without waiting for the next look", async () => {
  const inner = openMemoryStore(new TestClock());
  await inner.open(org, project);
  let reads = 0;
  const store: Store = Object.assign(Object.create(inner), {
    read: async (...args: Parameters<Store["read"]>) => {
      const found = await inner.read(...args);
      if (++reads === 1) await create(inner);
      return found;
    },
  });
  // The follower looks every few seconds anyway: here that time never comes.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const seen: number[] = [];
  const ending = new AbortController();
  const following = (async () => {
    const options = { after: 0, project: null, signal: ending.signal };
    for await (const { seq } of followEvents(store, org, options)) seen.push(seq);
  })();
  for (let turns = 0; turns < 1_000 && seen.length < 2; turns++) await new Promise(setImmediate);
  ending.abort();
  await following;
  expect(seen).toEqual([1, 2]);
});
