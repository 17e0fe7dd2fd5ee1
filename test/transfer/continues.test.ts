import { describe, expect, test } from "vitest";
import { noChanges } from "../../src/core/changes.js";
import { type Driver, type TestClock, World } from "../../src/store/conformance/index.js";
import { importOrg } from "../../src/transfer/import.js";
import { drivers, withStores } from "./drivers.js";
import { org } from "./history.js";
import { again, exported } from "./lines.js";

const minute = 60_000;
const project = "demo";
const memory = drivers[0]!;

/** A fleet at work, moved; both stores go by the same clock. */
async function moved(
  to: Driver,
  prepare: (world: World) => Promise<void>,
  story: (worlds: Worlds) => Promise<void>,
) {
  await withStores([memory, to], async ([from, target], clock) => {
    await from!.open(org, project);
    const original = new World(from!, clock);
    await prepare(original);
    await importOrg(target!, org, again(await exported(from!)));
    const copy = new World(target!, clock);
    await story({ original, copy, clock });
    await copy.checkInvariants();
  });
}

interface Worlds {
  original: World;
  copy: World;
  clock: TestClock;
}

describe.each(drivers)("after an import into $name", (to) => {
  test("claim-next hands out what the original would have, one after the other", async () => {
    const prepare = async (world: World) => {
      await world.task({ id: "low", priority: 10 });
      await world.task({ id: "labelled", priority: 60, labels: ["ui"] });
      await world.task({ id: "for-ann", priority: 90, assignee: "ann" });
      await world.task({ id: "gpu", priority: 95, requires: ["gpu"] });
      await world.task({ id: "later", priority: 100, notBefore: world.clock.now() + 2 * minute });
      await world.task({ id: "parent", priority: 99 });
      await world.task({ id: "part", parentId: "parent", priority: 70 });
      await world.task({ id: "after-part", dependsOn: ["part"], priority: 100 });
      await world.hold("busy", { id: "held", priority: 100 });
    };
    await moved(to, prepare, async ({ original, copy, clock }) => {
      const next = async (sessionId: string, more: object = {}) => {
        const ids = [await original.next(sessionId, more), await copy.next(sessionId, more)];
        expect(ids[0]).toBe(ids[1]);
        return ids[1];
      };
      expect(await next("u", { labels: ["ui"] })).toBe("labelled");
      expect(await next("ann")).toBe("for-ann");
      const worker = { taskId: "part", sessionId: "a", epoch: 1 };
      expect(await next("a")).toBe("part");
      expect(await next("b")).toBe("low");
      expect(await next("c")).toBeNull();
      const { unblocked } = await copy.complete(worker);
      expect(unblocked).toEqual((await original.complete(worker)).unblocked);
      expect(unblocked.sort()).toEqual(["after-part", "parent"]);
      clock.advance(2 * minute);
      expect([await next("d"), await next("e"), await next("f")].sort()).toEqual([
        "after-part",
        "later",
        "parent",
      ]);
    });
  });

  test("a held lease is renewed and completed with its old epoch, and with no other", async () => {
    const prepare = async (world: World) => {
      const id = await world.task({ id: "job" });
      await world.claim(id, "before");
      await world.ok({ type: "release", taskId: id, sessionId: "before", spread: 0 });
      await world.claim(id, "holder", { start: true });
      await world.task({ id: "waits", dependsOn: ["job"] });
    };
    await moved(to, prepare, async ({ copy, clock }) => {
      const hold = { taskId: "job", sessionId: "holder", epoch: 2 };
      const { expiresAt } = await copy.claimOf("job");
      clock.advance(4 * minute);
      await copy.ok({ type: "heartbeat", ...hold });
      expect((await copy.claimOf("job")).expiresAt).toBe(expiresAt + 4 * minute);
      await copy.refused("STALE_EPOCH", { type: "heartbeat", ...hold, epoch: 1 });
      await copy.refused("NOT_CLAIM_OWNER", { type: "heartbeat", ...hold, sessionId: "before" });
      await copy.refused("TASK_ALREADY_CLAIMED", {
        type: "claim",
        taskId: "job",
        sessionId: "other",
        register: {},
      });
      expect(await copy.complete(hold)).toEqual({ unblocked: ["waits"], unblockedCount: 1 });
      expect((await copy.read((view) => view.attempts(project, "job", 9))).map(({ epoch }) => epoch)).toEqual(
        [2, 1],
      );
      expect(await copy.read((view) => view.record(project, "holder"))).toMatchObject({ completed: 1 });
    });
  });

  test("a lease that nobody renews is over at its old time, and its task is free again", async () => {
    await moved(
      to,
      async (world) => void (await world.hold("gone", { id: "job" }, { start: true })),
      async ({ copy, clock }) => {
        const { expiresAt } = await copy.claimOf("job");
        expect(await copy.read((view, now) => view.nextDue(now))).toBe(expiresAt);
        clock.set(expiresAt - 1);
        expect(await copy.next("other")).toBeNull();
        clock.set(expiresAt);
        expect(await copy.next("other")).toBe("job");
        expect((await copy.claimOf("job")).epoch).toBe(2);
        expect(await copy.attemptOf({ taskId: "job", epoch: 1 })).toMatchObject({ end: "expire" });
      },
    );
  });

  test("a question is still open, its lease stands still, and its answer arrives", async () => {
    const prepare = async (world: World) => {
      const hold = await world.hold("asker", { id: "job" }, { start: true });
      await world.ok({ type: "ask", ...hold, question: "Which?", options: ["a", "b"] });
    };
    await moved(to, prepare, async ({ original, copy, clock }) => {
      clock.advance(600 * minute);
      expect(await copy.sweep()).toEqual([]);
      expect(await copy.look("job")).toEqual(await original.look("job"));
      await copy.ok({ type: "respond", taskId: "job", response: "b" });
      expect(await copy.stateOf("job")).toBe("running");
      await copy.complete({ taskId: "job", sessionId: "asker", epoch: 1 });
    });
  });

  test("the inbox is the same: what was unread is unread, what was read is read", async () => {
    const prepare = async (world: World) => {
      for (let n = 0; n < 3; n++) {
        const hold = await world.hold("a", { maxRetries: 0 });
        await world.ok({ type: "fail", ...hold, error: `error ${n}`, spread: 0 });
      }
      await world.ok({ type: "read-notification", id: "n2" });
    };
    await moved(to, prepare, async ({ original, copy }) => {
      expect(await copy.notifications()).toEqual(await original.notifications());
      expect(await copy.read((view) => view.unreadCount(project))).toBe(2);
      const hold = await copy.hold("a", { maxRetries: 0 });
      await copy.ok({ type: "fail", ...hold, error: "one more", spread: 0 });
      expect((await copy.notifications())[0]).toMatchObject({ id: "n4", readAt: null });
    });
  });

  test("ids, events and creation order go on where they were", async () => {
    const prepare = async (world: World) => {
      const top = await world.task();
      await world.task({ parentId: top });
      await world.ok({ type: "reserve-id" });
      await world.ok({ type: "reserve-id", parentId: top });
      await world.finish(await world.task());
    };
    await moved(to, prepare, async ({ original, copy }) => {
      const before = await original.events();
      expect(await copy.events()).toEqual(before);
      expect(await copy.task()).toBe("0004");
      expect(await copy.task({ parentId: "0001" })).toBe("0001_t3");
      expect((await copy.look("0004")).ordinal).toBe(4);
      const added = (await copy.events()).slice(before.length);
      expect(added[0]!.seq).toBe(before.at(-1)!.seq + 1);
      expect(await copy.read((view) => view.events({ after: before.at(-1)!.seq, limit: 100 }))).toEqual(
        added,
      );
    });
  });

  test("a call is not done twice: its key still knows its answer", async () => {
    const record = (createdAt: number) => ({ key: "once", request: "r", answer: '{"a":1}', createdAt });
    const prepare = async ({ store, clock }: World) => {
      await store.commit(org, [
        ({ apply }) => apply({ ...noChanges(), idempotency: record(clock.now()) }),
        ({ apply }) =>
          apply({ ...noChanges(), idempotency: { ...record(clock.now()), key: "old", createdAt: 0 } }),
      ]);
    };
    await moved(to, prepare, async ({ copy, clock }) => {
      expect(await copy.read((view) => view.idempotency("once"))).toEqual(record(clock.now()));
      expect(await copy.read((view) => view.idempotency("old"))).toBeUndefined();
    });
  });

  test("a project keeps its settings, its order and its pause; the default project is the same", async () => {
    const prepare = async (world: World) => {
      await world.settings({ order: "depth-first", maxRetries: 7 });
      await world.ok({ type: "create-project", id: "side", settings: { claim: { defaultTtlMs: 90_000 } } });
      await world.ok({ type: "update-project", project: "side", paused: true });
      await world.task({ id: "shallow" });
      await world.task({ id: "group", type: "group" });
      await world.task({ id: "deep", parentId: "group", priority: 1 });
    };
    await moved(to, prepare, async ({ original, copy }) => {
      const projects = await original.read((view) => view.projects());
      expect(await copy.read((view) => view.projects())).toEqual(projects);
      expect(await copy.store.open(org, "another")).toBe(project);
      expect(await copy.next("a")).toBe("deep");
    });
  });

  test("sessions that have ended are still known, with what they did", async () => {
    const prepare = async (world: World) => {
      await world.session("a", { heartbeats: true, capacity: 3, capabilities: ["gpu"], pid: 7, host: "h" });
      await world.ok({ type: "session-heartbeat", sessionId: "a", contextPercent: 12.5, score: 3 });
      await world.finish(await world.task(), "a");
      await world.ok({ type: "end-session", sessionId: "a", reason: "session_ended" });
    };
    await moved(to, prepare, async ({ original, copy }) => {
      expect(await copy.sessionOf("a")).toEqual(await original.sessionOf("a"));
      const record = await original.read((view) => view.record(project, "a"));
      expect(await copy.read((view) => view.record(project, "a"))).toEqual(record);
      await copy.session("a");
      expect((await copy.sessionOf("a")).incarnation).toBe(2);
    });
  });

  test("ids of tasks that were archived are not given again, and whoever asks learns when they went", async () => {
    const prepare = async (world: World) => {
      for (const id of ["old", "older"]) await world.finish(await world.task({ id }));
      await world.finish(await world.task({ id: "young" }));
      world.clock.advance(minute);
      const tasks = ["old", "older"].map((id) => ({ project, id }));
      await world.ok({ type: "archive-tasks", tasks, before: world.clock.now() });
      world.clock.advance(minute);
    };
    await moved(to, prepare, async ({ original, copy }) => {
      const create = (id: string) => ({
        type: "create" as const,
        correlationId: "corr-test",
        tasks: [{ prompt: "x", id }],
      });
      for (const world of [original, copy]) {
        for (const id of ["old", "older", "young"]) await world.refused("ID_TAKEN", create(id));
        const gone = await world.refused("TASK_NOT_FOUND", { type: "retry", taskId: "old" });
        expect(gone.details).toEqual({ taskId: "old", archivedAt: world.clock.now() - minute });
      }
      expect(await exported(copy.store)).toEqual(await exported(original.store));
    });
  });

  test("a plan that is loaded again updates what it created before the move", async () => {
    const loading = (priority: number) => ({
      type: "load-plan" as const,
      plan: "docs/plan.md",
      tasks: [
        { key: "a", prompt: "x", priority, metadata: { z: 1, a: [2] } },
        { key: "b", prompt: "y", dependsOn: ["a"] },
      ],
      mayEdit: true,
      correlationId: "corr-test",
    });
    const prepare = async (world: World) => {
      await world.ok(loading(50));
    };
    await moved(to, prepare, async ({ original, copy }) => {
      for (const world of [original, copy]) {
        expect((await world.ok(loading(50))).plan.counts).toMatchObject({ new: 0, unchanged: 2 });
        expect((await world.ok(loading(60))).plan.counts).toMatchObject({ new: 0, changed: 1 });
      }
      expect(await exported(copy.store)).toEqual(await exported(original.store));
    });
  });

  test("events that were archived stay archived, and the numbers go on", async () => {
    await withStores([memory, to], async ([from, target], clock) => {
      await from!.open(org, project);
      const original = new World(from!, clock);
      for (let n = 0; n < 3; n++) await original.task();
      const lines = (await exported(from!))
        .map((line) => JSON.parse(line))
        .filter(({ kind, row }) => kind !== "event" || row.seq > 4)
        .map((line) => {
          if (line.kind === "org") line.row.eventMin = 5;
          if (line.kind === "end") line.counts.event -= 4;
          return JSON.stringify(line);
        });
      await importOrg(target!, org, again(lines));
      const copy = new World(target!, clock);
      expect((await copy.events()).map(({ seq }) => seq)).toEqual([5, 6]);
      await copy.task();
      expect((await copy.events(5)).map(({ seq }) => seq)).toEqual([6, 7, 8]);
    });
  });
});
