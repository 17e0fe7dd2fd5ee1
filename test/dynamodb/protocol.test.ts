// Each rule of the commit protocol, by what happens without it.

import { randomBytes } from "node:crypto";
import { afterEach, describe, expect, test, vi } from "vitest";
import { documentKey, noChanges } from "../../src/core/changes.js";
import { TestClock, type World } from "../../src/store/conformance/index.js";
import { DynamoError } from "../../src/store/dynamodb/client.js";
import type { Store } from "../../src/store/store.js";
import { eventually } from "../eventually.js";
import type { FakeDynamo } from "./fake.js";
import {
  expectWhole,
  Held,
  isApply,
  isLogPut,
  isQueryOf,
  keysIn,
  newService,
  openOn,
  processOn,
  tables,
} from "./support.js";
import { intercepted, unreliable } from "./unreliable.js";

const org = "default";
const hour = 60 * 60 * 1000;
/** Is not shorter when compressed. */
const incompressible = (bytes: number) => randomBytes(bytes).toString("base64");

const metaOf = (fake: FakeDynamo) => {
  const item = fake.contents(tables.log).find(({ SK }) => SK.S === "META");
  return item as unknown as { applied: { N: string }; step: { N: string } };
};
const applied = (fake: FakeDynamo) => Number(metaOf(fake).applied.N);
const versions = (fake: FakeDynamo) => keysIn(fake, "log", "LOG#").length;
/** All rows of the log are in the tables. */
const isApplied = (fake: FakeDynamo) => eventually(() => versions(fake) - applied(fake)).toBe(0);

const opened: Store[] = [];
const process = async (client: Parameters<typeof processOn>[0], clock?: TestClock): Promise<World> => {
  const world = await processOn(client, clock);
  opened.push(world.store);
  return world;
};
/** Its calls never return: it can't be closed. */
const dead = ({ store }: World) => opened.splice(opened.indexOf(store), 1);

afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  for (const store of opened.splice(0)) await store.close();
});

async function finish(fake: FakeDynamo, clock: TestClock): Promise<void> {
  const world = await expectWhole(fake, clock);
  await world.store.close();
}

describe("a process that dies", () => {
  test("after the chunks of a large commit has changed nothing", async () => {
    const fake = await newService();
    const held = new Held(fake.client());
    const dying = await process(held.client);
    const isHeld = held.hold("before", isLogPut);
    const tasks = Array.from({ length: 4 }, () => ({ prompt: incompressible(190_000) }));
    void dying.ok({ type: "create", correlationId: "c", tasks });
    await isHeld;
    dead(dying);
    expect(keysIn(fake, "log", "CHUNK#")).toHaveLength(2);
    const other = await process(fake.client(), dying.clock);
    expect(await other.next("a")).toBeNull();
    const id = await other.task();
    expect(await other.next("a")).toBe(id);
    await finish(fake, dying.clock);
  });

  test("after its put has committed: the next one has its rows, and brings them into the tables", async () => {
    const fake = await newService();
    const held = new Held(fake.client());
    const dying = await process(held.client);
    await isApplied(fake);
    const isHeld = held.hold("after", isLogPut);
    void dying.task();
    await isHeld;
    dead(dying);
    const other = await process(fake.client(), dying.clock);
    expect(await other.next("a")).toBe("0001");
    await isApplied(fake);
    await finish(fake, dying.clock);
  });

  test("between two steps of bringing its rows into the tables leaves them to the next one", async () => {
    const fake = await newService();
    const held = new Held(fake.client());
    const dying = await process(held.client);
    await isApplied(fake);
    let steps = 0;
    const isHeld = held.hold("before", (name, args) => isApply(name, args) && ++steps === 3);
    const tasks = Array.from({ length: 100 }, () => ({ prompt: "x" }));
    await dying.ok({ type: "create", correlationId: "c", tasks });
    await isHeld;
    dead(dying);
    expect(metaOf(fake).step.N).toBe("2");
    const other = await process(fake.client(), dying.clock);
    const found = await other.everything();
    expect(found.tasks).toHaveLength(100);
    expect(await other.next("a")).toBe("0001");
    await isApplied(fake);
    expect(keysIn(fake, "tasks", "TASK#")).toHaveLength(100);
    await finish(fake, dying.clock);
  });
});

describe("two processes", () => {
  test("never hold one task both, whoever is first", async () => {
    const fake = await newService();
    const clock = new TestClock();
    const worlds = await Promise.all(
      [1, 2, 3].map((seed) => process(unreliable(fake.client(), { seed }), clock)),
    );
    const tasks = Array.from({ length: 30 }, () => ({ prompt: "x" }));
    await worlds[0]!.ok({ type: "create", correlationId: "c", tasks });
    const claimed = await Promise.all(
      worlds.flatMap((world, process) =>
        Array.from({ length: 10 }, (_, nth) => world.next(`${process}-${nth}`, { capacity: 1 })),
      ),
    );
    expect(new Set(claimed).size).toBe(30);
    expect(claimed).not.toContain(null);
    await finish(fake, clock);
  });

  test("take turns: the one that has just won, and has seen the other's commit, lets it go first", async () => {
    const fake = await newService();
    const one = await process(fake.client());
    const two = await process(fake.client(), one.clock);
    await one.task();
    await two.task();
    await one.everything();
    vi.spyOn(Math, "random").mockReturnValue(0.99);
    const [later, sooner] = await Promise.all([one.task(), two.task()]);
    expect([sooner, later]).toEqual(["0003", "0004"]);
    await finish(fake, one.clock);
  });

  test("a refusal counts only if the log has not moved: what another process has acknowledged is seen", async () => {
    const fake = await newService();
    const one = await process(fake.client());
    const two = await process(fake.client(), one.clock);
    expect(await one.next("a")).toBeNull();
    const id = await two.task();
    expect(await one.next("a")).toBe(id);
    expect(await two.next("b")).toBeNull();
  });
});

describe("an applier", () => {
  test("that comes late brings back no queue row of a claimed task", async () => {
    const fake = await newService();
    const held = new Held(fake.client());
    const slow = await process(held.client);
    await isApplied(fake);
    const isHeld = held.hold("before", isApply);
    const id = await slow.task();
    await isHeld;
    const quick = await process(fake.client(), slow.clock);
    expect(await quick.next("a")).toBe(id);
    await isApplied(fake);
    expect(keysIn(fake, "queue", "QUEUE#")).toEqual([]);
    held.release();
    // Waits for its applier, and reads nothing of what the other has committed.
    await slow.store.close();
    expect(keysIn(fake, "queue", "QUEUE#")).toEqual([]);
    expect(await quick.next("b")).toBeNull();
    await finish(fake, slow.clock);
  });

  test("does not tear the reads of its own process", async () => {
    const fake = await newService();
    const held = new Held(fake.client());
    const world = await process(held.client);
    await world.task();
    await isApplied(fake);
    const isHeld = held.hold("after", isQueryOf(" "));
    const seen = world.read((view, now) => ({
      claims: view.openClaims({ project: null, limit: 10 }).length,
      ready: view.readyCounts(null, now).reduce((sum, { ready }) => sum + ready, 0),
    }));
    await isHeld;
    await world.next("a");
    await isApplied(fake);
    held.release();
    const { claims, ready } = await seen;
    expect(claims + ready).toBe(1);
  });

  test("of another process does not tear a claim: the task is not claimed twice", async () => {
    const fake = await newService();
    const setter = await process(fake.client());
    await setter.task();
    await isApplied(fake);
    const held = new Held(fake.client());
    const slow = await process(held.client, setter.clock);
    const isHeld = held.hold("after", isQueryOf("QUEUE#"));
    const claimed = slow.next("slow");
    await isHeld;
    expect(await setter.next("quick")).toBe("0001");
    await isApplied(fake);
    held.release();
    expect(await claimed).toBeNull();
    await finish(fake, setter.clock);
  });
});

describe("a writer that sleeps", () => {
  test("does not commit into a place whose record was emptied meanwhile", async () => {
    let skew = 0;
    const clock = () => Date.now() + skew;
    const fake = await newService({ clock });
    const held = new Held(fake.client());
    const sleeper = await process(held.client);
    await isApplied(fake);
    const isHeld = held.hold("before", isLogPut);
    const slept = sleeper.task({ prompt: "late" });
    await isHeld;
    const other = await process(fake.client(), sleeper.clock);
    for (let n = 0; n < 3; n++) await other.task();
    await isApplied(fake);
    skew = 26 * hour;
    const trimmer = await process(fake.client(), sleeper.clock);
    await trimmer.task();
    const whole = () => fake.contents(tables.log).filter((item) => "packed" in item && "token" in item);
    await eventually(() => whole().length).toBe(1);
    held.release();
    await slept;
    const { tasks, events } = await (await process(fake.client(), sleeper.clock)).everything();
    expect(tasks).toHaveLength(5);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    await finish(fake, sleeper.clock);
  });

  test("reads the log again before a put when its head is older than a minute", async () => {
    const fake = await newService();
    const calls: string[] = [];
    const counted = intercepted(fake.client(), (name, args, run) => {
      calls.push(isLogPut(name, args) ? "put" : name);
      return run(...args);
    });
    const sleeper = await process(counted);
    await sleeper.session("a");
    await isApplied(fake);
    await sleeper.store.read(org, () => null);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 31 * 24 * hour });
    calls.length = 0;
    await sleeper.ok({ type: "session-heartbeat", sessionId: "a", contextPercent: 10 });
    expect(calls.slice(0, 3)).toEqual(["getItem", "query", "put"]);
  });

  test("continues after its place in the log was emptied and the stubs are gone", async () => {
    let skew = 0;
    const clock = () => Date.now() + skew;
    const fake = await newService({ clock });
    const sleeper = await process(fake.client());
    await sleeper.task();
    const other = await process(fake.client(), sleeper.clock);
    await other.task();
    await isApplied(fake);
    skew = 26 * hour;
    const trimmer = await process(fake.client(), sleeper.clock);
    await trimmer.task();
    await isApplied(fake);
    await eventually(() => keysIn(fake, "log", "TRIM")).toEqual(["TRIM"]);
    skew = 40 * 24 * hour;
    fake.expire();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + skew });
    skew = 0;
    expect(keysIn(fake, "log", "LOG#")).toHaveLength(1);
    await sleeper.task();
    expect((await sleeper.everything()).tasks).toHaveLength(4);
    await finish(fake, sleeper.clock);
  });
});

describe("the network", () => {
  test("loses the answer to a put: the same bytes are put again, and the commit is there once", async () => {
    const fake = await newService();
    const puts: string[] = [];
    let isLosing = false;
    const losing = intercepted(fake.client(), async (name, args, run) => {
      if (!isLogPut(name, args)) return run(...args);
      puts.push(JSON.stringify(args));
      if (!isLosing) return run(...args);
      isLosing = false;
      await run(...args);
      throw new DynamoError("lost", "the connection was lost");
    });
    const world = await process(losing);
    puts.length = 0;
    isLosing = true;
    await world.task();
    expect(puts).toHaveLength(2);
    expect(puts[0]).toBe(puts[1]);
    expect((await world.everything()).tasks).toHaveLength(1);
    await finish(fake, world.clock);
  });

  for (const seed of [1, 2, 3]) {
    test(`throttles, loses and delays everything, and nothing is lost or doubled (${seed})`, async () => {
      const fake = await newService();
      const clock = new TestClock();
      const troubles = { throttled: 0.1, lostRequest: 0.05, lostAnswer: 0.05, late: 0.05, partial: 0.3 };
      const clients = [1, 2, 3].map((nth) =>
        unreliable(fake.client(), { seed: 10 * seed + nth, ...troubles }),
      );
      const worlds = await Promise.all(clients.map((client) => process(client, clock)));
      const done: string[] = [];
      await Promise.all(
        worlds.map(async (world, nth) => {
          for (let round = 0; round < 4; round++) {
            await world.task();
            const hold = { sessionId: `s${nth}-${round}`, taskId: "" };
            hold.taskId = (await world.next(hold.sessionId)) ?? "";
            if (hold.taskId === "") continue;
            const { epoch } = await world.claimOf(hold.taskId);
            await world.complete({ ...hold, epoch });
            done.push(hold.taskId);
          }
        }),
      );
      await Promise.all(clients.map((client) => client.settle()));
      expect(new Set(done).size).toBe(done.length);
      const { tasks, events } = await worlds[0]!.everything();
      expect(tasks).toHaveLength(12);
      expect(tasks.filter(({ state }) => state === "completed").map(({ id }) => id)).toEqual(done.sort());
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
      for (const store of opened.splice(0)) await store.close();
      await Promise.all(clients.map((client) => client.settle()));
      await finish(fake, clock);
    });
  }
});

describe("time", () => {
  test("is the service's: two hosts whose clocks differ do not move it to and fro", async () => {
    const real = Date.UTC(2026, 5, 1);
    const fake = await newService({ clock: () => real });
    const hosts = await Promise.all(
      [-120_000, 120_000].map(async (skew) => {
        const clock = () => real + skew;
        const store = await openOn(fake.client(clock), null, clock);
        opened.push(store);
        await store.open(org, "demo");
        return store;
      }),
    );
    const seen: number[] = [];
    for (const store of [...hosts, ...hosts]) seen.push(await store.read(org, (_view, now) => now));
    for (const now of seen) expect(Math.abs(now - real)).toBeLessThanOrEqual(1_000);
    const [behind, ahead] = await Promise.all(hosts.map((store) => store.check()));
    expect(behind!.join()).toMatch(/119 s behind|120 s behind/);
    expect(ahead!.join()).toMatch(/119 s ahead of|120 s ahead of/);
  });
});

describe("a row", () => {
  test("that is too large for an item is in several, and one again when it is shorter", async () => {
    const fake = await newService();
    const world = await process(fake.client());
    const store = async (text: string) => {
      const written = { kind: "large", key: "k", value: { text } };
      const documents = new Map([[documentKey("large", "k"), written]]);
      await world.store.commit(org, [({ apply }) => apply({ ...noChanges(), documents })]);
      await isApplied(fake);
    };
    const found = async () => {
      const reader = await process(fake.client(), world.clock);
      return reader.read((view) => view.document("large", "k")?.text);
    };
    for (const bytes of [900_000, 900_000, 1_500_000, 100_000, 10]) {
      const text = incompressible(bytes);
      await store(text);
      expect((await found()) === text).toBe(true);
    }
  });

  test("of a task with a long label has a key that is valid Unicode", async () => {
    const fake = await newService();
    const world = await process(fake.client());
    await isApplied(fake);
    // Its 100th code unit is half of a character.
    const labels = [`a${"😀".repeat(63)}`];
    await world.task({ labels, requires: ["x".repeat(100)] });
    await isApplied(fake);
    const keys = keysIn(fake, "queue", "LANE#");
    expect(keys).toHaveLength(2);
    expect(keys.filter((key) => !key.isWellFormed())).toEqual([]);
  });

  test("of another program is named, and the others can be read", async () => {
    const fake = await newService();
    const world = await process(fake.client());
    const [one, two] = [await world.task(), await world.task()];
    await isApplied(fake);
    const rows = fake.contents(tables.tasks);
    const damaged = rows.map((item) =>
      item.SK.S === `TASK#demo/${one}` ? { ...item, data: { S: "{" } } : item,
    );
    fake.restore(tables.tasks, damaged);
    const reader = await process(fake.client(), world.clock);
    expect((await reader.look(two)).id).toBe(two);
    await expect(reader.look(one)).rejects.toThrow(`Row demo/${one} of table task is unreadable.`);
    expect(await reader.store.check(org)).toEqual([`Row demo/${one} of table task is unreadable.`]);
  });
});

describe("a store", () => {
  test("whose table is missing says how to create it", async () => {
    const fake = await newService();
    const world = await process(fake.client());
    fake.dropTable(tables.log);
    await expect(world.store.read(org, () => null)).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      hint: expect.stringContaining("dibs db create"),
    });
  });

  test("of a newer layout is refused", async () => {
    const fake = await newService();
    await process(fake.client());
    const items = fake.contents(tables.log);
    fake.restore(
      tables.log,
      items.map((item) => (item.SK.S === "META" ? { ...item, layout: { N: "2" } } : item)),
    );
    const store = await openOn(fake.client(), new TestClock());
    opened.push(store);
    await expect(store.open(org, "demo")).rejects.toMatchObject({
      code: "STORE_TOO_NEW",
      hint: "Update Dibs; nothing was changed.",
    });
  });

  test("reports the commits of other processes", async () => {
    const fake = await newService();
    const one = await process(fake.client());
    const two = await process(fake.client(), one.clock);
    const reported: boolean[] = [];
    const stop = two.store.onChange(org, ({ mayFree }) => reported.push(mayFree));
    await one.session("a");
    await eventually(() => reported.length).toBe(1);
    await one.task();
    await eventually(() => reported.at(-1)).toBe(true);
    stop();
  });
});
