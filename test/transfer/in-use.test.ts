import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { TestClock, World } from "../../src/store/conformance/index.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { exportOrg } from "../../src/transfer/export.js";
import { importOrg } from "../../src/transfer/import.js";
import { drivers, scratchDirectory, withStores } from "./drivers.js";
import { org } from "./history.js";
import { again, collected, exported, smallPages } from "./lines.js";

/** So much is done during one export: without a bound each export would be twice as long as the one before. */
const stepsMax = 60;

/** A fleet with something of everything, and what it does next: with events and without. */
async function fleet(world: World): Promise<() => Promise<unknown>> {
  await world.store.open(org, "demo");
  for (let n = 0; n < 8; n++) await world.task({ priority: 10 * n });
  const hold = await world.hold("steady", {}, { start: true });
  await world.finish(await world.task());
  const late = await world.hold("late");
  await world.ok({ type: "release", taskId: late.taskId, force: true, spread: 0 });
  let n = 0;
  const moves = [
    () => world.ok({ type: "heartbeat", ...hold }),
    () => world.ok({ type: "session-heartbeat", sessionId: "steady", contextPercent: n % 100 }),
    () =>
      world.attempt({
        type: "complete",
        ...late,
        result: { output: `${n}`, filesCreated: [], filesModified: [] },
      }),
    () => world.ok({ type: "reserve-id" }),
    () => world.next(`w${n}`),
    () => world.task({ dependsOn: [hold.taskId] }),
  ];
  return async () => {
    world.clock.advance(1000);
    await moves[n++ % moves.length]!();
  };
}

describe.each(drivers)("an export of $name while the fleet works", (driver) => {
  test("is the org as it was when the export began", async () => {
    await withStores([driver], async ([store], clock) => {
      const world = new World(store!, clock);
      const work = await fleet(world);
      for (let round = 0; round < 6; round++) {
        const before = await exported(store!);
        const lines = exportOrg(store!, org, smallPages);
        const seen = [(await lines.next()).value as string];
        for (let step = await lines.next(); !step.done; step = await lines.next()) {
          seen.push(step.value);
          if (seen.length <= stepsMax) await work();
        }
        expect(seen).toEqual(before);
        expect(await exported(store!)).not.toEqual(before);
      }
      await world.checkInvariants();
    });
  });

  test("can be given up at any line, and the store closes", async () => {
    await withStores([driver], async ([store], clock) => {
      await fleet(new World(store!, clock));
      for await (const line of exportOrg(store!, org)) if (line.includes("task")) break;
      const open = exportOrg(store!, org);
      await open.next();
      await store!.close();
      await expect(collected(open)).rejects.toMatchObject({ code: "STORE_CLOSED" });
    });
  });
});

test("another process' writes do not get into an export of SQLite either", async () => {
  const { directory, dispose } = scratchDirectory();
  const clock = new TestClock();
  const file = join(directory, "dibs.db");
  const [writer, reader] = [await openSqliteStore(file, clock), await openSqliteStore(file, clock)];
  try {
    const work = await fleet(new World(writer, clock));
    const working = async () => {
      for (let step = 0; step < stepsMax; step++) await work();
    };
    for (let round = 0; round < 5; round++) {
      const [lines] = await Promise.all([collected(exportOrg(reader, org, smallPages)), working()]);
      const copy = openMemoryStore(clock);
      await importOrg(copy, org, again(lines));
      await new World(copy, clock).checkInvariants();
      expect(await exported(copy)).toEqual(lines);
    }
  } finally {
    await writer.close();
    await reader.close();
    dispose();
  }
});
