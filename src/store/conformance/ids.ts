import { describe, expect } from "vitest";
import { keyOf, noChanges } from "../../core/changes.js";
import { topLevelId, topLevelIdsMax } from "../../core/ids.js";
import { type Driver, org, project, teller, type World } from "./harness.js";

const withId = (id: string, parentId?: string) => ({
  type: "create" as const,
  correlationId: "corr-test",
  tasks: [{ prompt: "x", id, ...(parentId === undefined ? {} : { parentId }) }],
});

/** As if that many ids had been given out. */
async function used(world: World, value: number): Promise<void> {
  const counters = new Map([[keyOf(project, ""), { project, parent: "", value }]]);
  await world.store.commit(org, [(transaction) => transaction.apply({ ...noChanges(), counters })]);
}

export function ids(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: ids`, () => {
    it("0001 at the top, 0001_t1 under it, 0001_t1.1 and 0001_t1.1.1 below", async (world) => {
      expect(await world.task()).toBe("0001");
      expect(await world.task()).toBe("0002");
      expect(await world.task({ parentId: "0001" })).toBe("0001_t1");
      expect(await world.task({ parentId: "0001" })).toBe("0001_t2");
      expect(await world.task({ parentId: "0002" })).toBe("0002_t1");
      expect(await world.task({ parentId: "0001_t1" })).toBe("0001_t1.1");
      expect(await world.task({ parentId: "0001_t1.1" })).toBe("0001_t1.1.1");
    });

    it("numbers under a parent are decimal", async (world) => {
      const parentId = await world.task();
      for (let n = 1; n <= 11; n++) expect(await world.task({ parentId })).toBe(`0001_t${n}`);
    });

    it("each project counts for itself", async (world) => {
      await world.task();
      await world.ok({ type: "create-project", id: "other" });
      const tasks = [{ prompt: "x" }];
      const created = await world.ok({ type: "create", project: "other", correlationId: "c", tasks });
      expect(created.ids).toEqual(["0001"]);
    });

    it("no number is used again, whatever becomes of its task", async (world) => {
      const parent = await world.task();
      await world.ok({ type: "cancel", taskId: await world.task({ parentId: parent }) });
      await world.ok({ type: "cancel", taskId: parent });
      const other = await world.task();
      expect(other).toBe("0002");
      await world.finish(await world.task({ parentId: other }));
      expect(await world.task({ parentId: other })).toBe("0002_t2");
    });

    it("every tier follows the one before it, to the end", async (world) => {
      const boundaries = [
        [9_998, ["9999", "A000"]],
        [35_998, ["Z999", "AA00"]],
        [103_598, ["ZZ99", "AAA0"]],
        [279_358, ["ZZZ9", "AAAA"]],
      ] as const;
      for (const [value, expected] of boundaries) {
        await used(world, value);
        expect([await world.task(), await world.task()]).toEqual(expected);
      }
    });

    it("after ZZZZ there are no more, and nothing else stops working", async (world) => {
      await used(world, topLevelIdsMax - 1);
      const last = await world.task();
      expect(last).toBe("ZZZZ");
      const tasks = [{ prompt: "x" }];
      await world.refused("COUNTER_EXHAUSTED", { type: "create", correlationId: "c", tasks });
      await world.refused("COUNTER_EXHAUSTED", { type: "reserve-id" });
      expect(await world.task({ parentId: last })).toBe("ZZZZ_t1");
      expect(await world.task({ id: "my-own" })).toBe("my-own");
    });

    it("a caller may bring its own id", async (world) => {
      for (const id of ["task-1", "A", "fix.login_2", "0001-x", "00001", "a001", "x".repeat(128)]) {
        expect(await world.task({ id })).toBe(id);
      }
      expect(await world.task({ parentId: "task-1" })).toBe("task-1_t1");
      expect(await world.task({ parentId: "task-1_t1" })).toBe("task-1_t1.1");
      expect(await world.task()).toBe("0001");
    });

    it("an id that exists is taken, also by another task of the same batch", async (world) => {
      await world.task({ id: "mine" });
      await world.refused("ID_TAKEN", withId("mine"));
      const tasks = [
        { prompt: "x", id: "twice" },
        { prompt: "y", id: "twice" },
      ];
      await world.refused("ID_TAKEN", { type: "create", correlationId: "c", tasks });
      await world.ok({ type: "create-project", id: "other" });
      await world.ok({ ...withId("mine"), project: "other" });
    });

    it("ids differ by case", async (world) => {
      await world.task({ id: "login" });
      expect(await world.task({ id: "Login" })).toBe("Login");
    });

    const refused = {
      "is empty": "",
      "climbs out of a folder": "../x",
      "has two dots": "a..b",
      "starts with a dot": ".hidden",
      "starts with a dash": "-rf",
      "has a slash": "a/b",
      "has a blank": "a b",
      "has a letter of another alphabet": "naïve",
      "has a line end": "a\n",
      "is too long": "x".repeat(129),
      "has the generated form 0042": "0042",
      "has the generated form A000": "A000",
      "has the generated form ZZ99": "ZZ99",
      "has the generated form AAA0": "AAA0",
      "has the generated form ABCD": "ABCD",
    };
    for (const [why, id] of Object.entries(refused)) {
      it(`an id is refused that ${why}`, async (world) => {
        await world.refused("VALIDATION_FAILED", withId(id));
      });
    }

    for (const word of ["batch", "claimable", "in-flight", "claims", "claim-next"]) {
      it(`'${word}' is a word of a route and no id`, async (world) => {
        await world.refused("VALIDATION_FAILED", withId(word));
      });
    }

    it("'summary' is no id of a session, nor is a path", async (world) => {
      for (const id of ["summary", "../x", "a/b", ""]) {
        await world.refused("VALIDATION_FAILED", { type: "register-session", session: { id } });
      }
    });

    it("the allocator skips what a caller has taken", async (world) => {
      const parent = await world.task();
      await world.task({ id: `${parent}_t1` });
      await world.task({ id: `${parent}_t3` });
      expect(await world.task({ parentId: parent })).toBe(`${parent}_t2`);
      expect(await world.task({ parentId: parent })).toBe(`${parent}_t4`);
    });

    it("the allocator skips what the same batch takes further on", async (world) => {
      await world.task();
      const tasks = [
        { prompt: "x", parentId: "0001" },
        { prompt: "y", id: "0001_t1" },
      ];
      const created = await world.ok({ type: "create", correlationId: "c", tasks });
      expect(created.ids).toEqual(["0001_t2", "0001_t1"]);
    });

    it("a reserved id is never given out again", async (world) => {
      expect(await world.ok({ type: "reserve-id" })).toEqual({ id: "0001" });
      expect(await world.ok({ type: "reserve-id" })).toEqual({ id: "0002" });
      expect(await world.task()).toBe("0003");
      expect(await world.ok({ type: "reserve-id", parentId: "0003" })).toEqual({ id: "0003_t1" });
      expect(await world.task({ parentId: "0003" })).toBe("0003_t2");
      await world.refused("TASK_NOT_FOUND", { type: "reserve-id", parentId: "nowhere" });
    });

    it("whoever has reserved an id may use it, once", async (world) => {
      expect(await world.ok({ type: "reserve-id" })).toEqual({ id: "0001" });
      await world.refused("VALIDATION_FAILED", withId("0002"));
      expect(await world.task({ id: "0001" })).toBe("0001");
      await world.refused("ID_TAKEN", withId("0001"));
      expect(await world.task()).toBe("0002");
      await used(world, 36_000);
      expect(await world.task({ id: "AA00" })).toBe("AA00");
      await world.refused("VALIDATION_FAILED", withId("AA01"));
      await world.refused("VALIDATION_FAILED", withId("0000"));
    });

    it("a reserved id can have parts reserved below it, before there is a task", async (world) => {
      const reserve = (parentId?: string) =>
        world.ok({ type: "reserve-id", ...(parentId === undefined ? {} : { parentId }) });
      expect(await reserve()).toEqual({ id: "0001" });
      expect(await reserve("0001")).toEqual({ id: "0001_t1" });
      expect(await reserve("0001_t1")).toEqual({ id: "0001_t1.1" });
      expect(await reserve("0001_t1.1")).toEqual({ id: "0001_t1.1.1" });
      for (const parentId of ["0002", "0001_t2", "0001.1", "0001_t1.2", "0001_t1_t1", "0000"]) {
        await world.refused("TASK_NOT_FOUND", { type: "reserve-id", parentId });
      }
      await world.task({ id: "0001" });
      expect(await world.task({ parentId: "0001" })).toBe("0001_t2");
      expect(await world.task({ id: "0001_t1", parentId: "0001" })).toBe("0001_t1");
      expect(await world.task({ parentId: "0001_t1" })).toBe("0001_t1.2");
    });

    it("many creators in one commit get many ids", async (world) => {
      const tasks = [{ prompt: "x" }];
      const outcomes = await world.together(
        Array.from({ length: 100 }, () => ({ type: "create", correlationId: "c", tasks })),
      );
      const given = outcomes.flatMap((outcome) =>
        outcome.ok ? (outcome.value as { ids: string[] }).ids : [],
      );
      expect(given).toEqual(Array.from({ length: 100 }, (_, index) => topLevelId(index + 1)));
    });
  });
}
