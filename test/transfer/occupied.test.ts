import { describe, expect, test } from "vitest";
import { carryOut } from "../../src/core/decide.js";
import { World } from "../../src/store/conformance/index.js";
import type { Store } from "../../src/store/store.js";
import { importOrg, type Lines } from "../../src/transfer/import.js";
import { drivers, withStores } from "./drivers.js";
import { org } from "./history.js";
import { again, exported, smallBatches } from "./lines.js";

const memory = drivers[0]!;

async function someLines(tasks = 3): Promise<string[]> {
  return withStores([memory], async ([store], clock) => {
    await store!.open(org, "demo");
    const world = new World(store!, clock);
    for (let n = 0; n < tasks; n++) await world.finish(await world.task());
    await world.hold("a");
    return exported(store!);
  });
}

async function look(store: Store) {
  return store.read(org, (view) => ({
    org: view.org(),
    projects: view.projects(),
    tasks: view.wholeTasks({ afterOrdinal: 0, limit: 1000 }),
  }));
}

describe.each(drivers)("an org of $name", (driver) => {
  const it = (sentence: string, story: (store: Store, world: World) => Promise<void>) =>
    test(sentence, () => withStores([driver], ([store], clock) => story(store!, new World(store!, clock))));

  it("that is opened already, but empty, takes an import", async (store) => {
    await store.open(org, "demo");
    const lines = await someLines();
    await importOrg(store, org, again(lines));
    expect(await exported(store)).toEqual(lines);
  });

  it("that has tasks refuses it, and stays as it was", async (store, world) => {
    await store.open(org, "demo");
    await world.task();
    const before = await look(store);
    await expect(importOrg(store, org, again(await someLines()))).rejects.toMatchObject({
      code: "ID_TAKEN",
      message: expect.stringMatching(/^Org default of .* is not empty. It has 2 events already.$/),
      hint: "Import into a new store, or into an organization that has not been used.",
    });
    expect(await look(store)).toEqual(before);
  });

  it("that has only a session, or only a reserved id, refuses it", async (store, world) => {
    await store.open(org, "demo");
    await world.ok({ type: "reserve-id" });
    await expect(importOrg(store, org, again(await someLines()))).rejects.toMatchObject({ code: "ID_TAKEN" });
    await world.session("a");
    await expect(importOrg(store, org, again(await someLines()))).rejects.toMatchObject({ code: "ID_TAKEN" });
  });

  it("that was opened with a project of its own refuses it", async (store) => {
    await store.open(org, "mine");
    await expect(importOrg(store, org, again(await someLines()))).rejects.toMatchObject({
      code: "ID_TAKEN",
      message: expect.stringMatching(/project mine, which the export does not have/),
    });
  });

  it("that was imported refuses to be imported again", async (store) => {
    const lines = await someLines();
    await importOrg(store, org, again(lines));
    await expect(importOrg(store, org, again(lines))).rejects.toMatchObject({ code: "ID_TAKEN" });
    expect(await exported(store)).toEqual(lines);
  });

  it("takes the export of an org of another name, beside others", async (store, world) => {
    const lines = await someLines();
    await store.open(org, "demo");
    await world.task();
    await importOrg(store, "second", again(lines));
    const events = await store.read("second", (view) => view.events({ after: 0, limit: 3 }));
    expect(events.map((event) => [event.org, event.seq])).toEqual([
      ["second", 1],
      ["second", 2],
      ["second", 3],
    ]);
    expect(await world.events()).toHaveLength(2);
  });

  /** Breaks off after so many lines of the second reading. */
  const brokenOff = (lines: string[], after: number): Lines => {
    let reads = 0;
    return async function* () {
      const first = reads++ === 0;
      for (const [index, line] of lines.entries()) {
        if (!first && index === after) throw new Error("the disk is gone");
        yield line;
      }
    };
  };

  it("whose import broke off says so, and refuses another", async (store) => {
    const lines = await someLines();
    for (const after of [smallBatches.rows + 2, lines.length - 2]) {
      const target = `org-${after}`;
      await expect(importOrg(store, target, brokenOff(lines, after), smallBatches)).rejects.toThrow(
        "the disk is gone",
      );
      await expect(importOrg(store, target, again(lines))).rejects.toMatchObject({
        code: "ID_TAKEN",
        message: expect.stringMatching(/did not finish/),
      });
    }
  });

  it("that fits into one batch is imported whole or not at all", async (store) => {
    const lines = await someLines();
    await expect(importOrg(store, org, brokenOff(lines, lines.length - 2))).rejects.toThrow();
    await importOrg(store, org, again(lines));
    expect(await exported(store)).toEqual(lines);
  });

  it("to which somebody else writes meanwhile stops the import", async (store) => {
    const lines = await someLines();
    let reads = 0;
    const disturbed: Lines = async function* () {
      const first = reads++ === 0;
      for (const [index, line] of lines.entries()) {
        if (!first && index === 2 * smallBatches.rows + 2) {
          const session = { id: "early" };
          await store.commit(org, [
            (open) => carryOut(open, { type: "register-session", project: "demo", session }, "user:test"),
          ]);
        }
        yield line;
      }
    };
    await expect(importOrg(store, org, disturbed, smallBatches)).rejects.toMatchObject({
      code: "ID_TAKEN",
      message: expect.stringMatching(/Another process wrote to it during the import/),
    });
  });

  it("takes one of two imports at once", async (store) => {
    const lines = await someLines();
    const both = [undefined, smallBatches].map((max) => importOrg(store, org, again(lines), max));
    const results = await Promise.allSettled(both);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(results.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: "ID_TAKEN" },
    });
    expect(await exported(store)).toEqual(lines);
  });

  it("of thousands of tasks is moved in several batches", async (store) => {
    const lines = await someLines(900);
    const counts = await importOrg(store, org, again(lines));
    expect(counts).toMatchObject({ task: 901, attempt: 900, claim: 1 });
    expect(lines.length).toBeGreaterThan(5000);
    expect(await exported(store)).toEqual(lines);
  });
});
