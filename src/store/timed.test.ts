import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { TestClock } from "./conformance/index.js";
import { openSqliteStore } from "./sqlite/store.js";
import { timed } from "./timed.js";

test("what an embedded store does before its call returns is part of how long it took", async () => {
  const directory = mkdtempSync(join(tmpdir(), "dibs-timed-"));
  const took = { commit: 0, read: 0 };
  const sqlite = await openSqliteStore(join(directory, "dibs.db"), new TestClock());
  const store = timed(sqlite, (operation, ms) => {
    took[operation] = ms;
  });
  onTestFinished(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
  await store.open("default", "one");
  const work = () => {
    const begun = performance.now();
    let spent = 0;
    while (spent < 3) spent = performance.now() - begun;
    return spent;
  };
  const read = await store.read("default", work);
  expect(took.read).toBeGreaterThanOrEqual(read);
  const [committed] = await store.commit("default", [work]);
  expect(committed).toMatchObject({ ok: true });
  if (committed!.ok) expect(took.commit).toBeGreaterThanOrEqual(committed!.value);
});
