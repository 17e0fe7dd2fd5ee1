import { expect, test } from "vitest";
import { openDibs, type Store } from "../../src/index.js";
import { openMemoryStore } from "../../src/store/memory/store.js";

function ownStore(): Store & { closed: number } {
  const store = openMemoryStore({ now: () => 1_000_000 });
  return Object.assign(Object.create(store), {
    closed: 0,
    close() {
      this.closed++;
      return store.close();
    },
  });
}

test("a store of the caller is used, by several clients, and stays open", async () => {
  const store = ownStore();
  const first = await openDibs({ store, project: "demo" });
  const second = await openDibs({ store, project: "demo" });
  await first.tasks.create({ prompt: "do it" });
  await first.close();
  const { claim } = await second.tasks.claimNext({ sessionId: "a", register: true });
  expect(claim).toMatchObject({ claimedAt: new Date(1_000_000).toISOString() });
  await second.close();
  expect(store.closed).toBe(0);
});

test("a store comes with its clock, and instead of a path", async () => {
  const store = ownStore();
  await expect(openDibs({ store, clock: () => 1 })).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  await expect(openDibs({ store, memory: true })).rejects.toMatchObject({
    message: expect.stringMatching(/a store, and only one of them/),
  });
});
