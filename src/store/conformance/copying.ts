import { describe, expect } from "vitest";
import { noChanges } from "../../core/changes.js";
import type { IdempotencyRecord, Reads, WholeTask } from "../../core/view.js";
import { type Driver, minute, org, project, resultOf, teller, type World } from "./harness.js";

/** All rows of a listing, in pages of two. */
async function pages<T>(
  world: World,
  look: (view: Reads, last: T | undefined, limit: number) => T[],
): Promise<T[]> {
  const found: T[] = [];
  for (let page = [] as T[], last: T | undefined; ; last = page.at(-1)) {
    page = await world.read((view) => look(view, last, 2));
    expect(page.length).toBeLessThanOrEqual(2);
    found.push(...page);
    if (page.length < 2) return found;
  }
}

const keyed = (key: string, createdAt: number): IdempotencyRecord => ({
  key,
  request: "fingerprint",
  answer: "{}",
  createdAt,
});

/** What a whole copy of an org rests on: a state that stands still, and listings of everything. */
export function copying(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: snapshots`, () => {
    it("show the org as it was, whatever happens since", async (world) => {
      const hold = await world.hold("a", {}, { start: true });
      const look = (view: Reads, now: number) => ({
        org: view.org(),
        tasks: view.wholeTasks({ afterOrdinal: 0, limit: 10 }),
        sessions: view.sessions({ project, live: false, limit: 10 }),
        counters: view.counters({ project, limit: 10 }),
        events: view.events({ after: 0, limit: 100 }),
        due: view.due(now + 60 * minute, 10),
        now,
      });
      const snapshot = await world.store.snapshot(org);
      const before = await world.read(look);
      world.clock.advance(minute);
      await world.ok({ type: "heartbeat", ...hold });
      expect(await snapshot.read(look)).toEqual(before);
      await world.complete(hold);
      await world.next("b");
      await world.task();
      await world.ok({ type: "end-session", sessionId: "a", reason: "session_ended" });
      expect(await snapshot.read(look)).toEqual(before);
      await snapshot.close();
      const later = await world.store.snapshot(org);
      expect(await later.read(look)).toEqual(await world.read(look));
      await later.close();
    });

    it("are over when they are closed, and may be closed twice", async (world) => {
      const snapshot = await world.store.snapshot(org);
      await snapshot.close();
      await snapshot.close();
      await expect(snapshot.read(() => null)).rejects.toMatchObject({ code: "STORE_CLOSED" });
      await world.task();
    });

    it("end with their store", async (world) => {
      const before = await world.everything();
      const snapshot = await world.store.snapshot(org);
      await world.store.close();
      await expect(snapshot.read(() => null)).rejects.toMatchObject({ code: "STORE_CLOSED" });
      await expect(world.store.snapshot(org)).rejects.toMatchObject({ code: "STORE_CLOSED" });
      world.everything = async () => before;
    });

    it("a look that throws does not end them", async (world) => {
      const snapshot = await world.store.snapshot(org);
      const fail = () => {
        throw new Error("broken look");
      };
      await expect(snapshot.read(fail)).rejects.toThrow("broken look");
      expect(await snapshot.read((view) => view.org().org)).toBe(org);
      await snapshot.close();
    });
  });

  describe(`${driver.name}: listings of everything`, () => {
    it("whole tasks: each with its text, its open claim and its attempts, oldest first", async (world) => {
      const tried = await world.task({ prompt: "try", metadata: { a: 1 } });
      for (const sessionId of ["a", "b"]) {
        await world.claim(tried, sessionId);
        await world.ok({ type: "release", taskId: tried, sessionId, spread: 0 });
      }
      const held = await world.hold("c");
      await world.ok({ type: "create-project", id: "other" });
      const tasks = [{ prompt: "x", id: "there" }];
      await world.ok({ type: "create", project: "other", correlationId: "c", tasks });
      const done = await world.task();
      await world.finish(done);
      const found = await pages<WholeTask>(world, (view, last, limit) =>
        view.wholeTasks({ afterOrdinal: last?.task.ordinal ?? 0, limit }),
      );
      const told = found.map(({ task, text, claim, attempts }) => ({
        id: task.id,
        prompt: text?.prompt,
        holder: claim?.sessionId,
        attempts: attempts.map(({ epoch, sessionId }) => [epoch, sessionId]),
      }));
      const nobody = { holder: undefined, attempts: [] };
      expect(told).toEqual([
        {
          ...nobody,
          id: tried,
          prompt: "try",
          attempts: [
            [1, "a"],
            [2, "b"],
          ],
        },
        { ...nobody, id: held.taskId, prompt: "do it", holder: "c" },
        { ...nobody, id: "there", prompt: "x" },
        { ...nobody, id: done, prompt: "do it", attempts: [[1, "worker"]] },
      ]);
      expect(found[3]!.attempts[0]!.result).toEqual(resultOf("done"));
    });

    it("counters of a project, by parent", async (world) => {
      await world.ok({ type: "create-project", id: "demo-2" });
      const top = await world.task({ id: "top" });
      const other = await world.task({ id: "other" });
      for (const parentId of [top, top, other]) await world.task({ parentId });
      for (let n = 0; n < 4; n++) await world.ok({ type: "reserve-id" });
      await world.ok({ type: "reserve-id", project: "demo-2" });
      const found = await pages(world, (view, last: { parent: string } | undefined, limit) =>
        view.counters({ project, limit, ...(last && { afterParent: last.parent }) }),
      );
      expect(found).toEqual([
        { project, parent: "", value: 4 },
        { project, parent: "other", value: 1 },
        { project, parent: "top", value: 2 },
      ]);
      const none = await world.read((view) => view.counters({ project: "nowhere", limit: 10 }));
      expect(none).toEqual([]);
    });

    it("idempotency records, by the bytes of their keys", async (world) => {
      const keys = ["b", "\u{1f600}", "a b", "\uffee", "B", "é"];
      const jobs = keys.map((key) => keyed(key, world.clock.now()));
      await world.store.commit(org, [
        ({ apply }) => {
          for (const idempotency of jobs) apply({ ...noChanges(), idempotency });
        },
      ]);
      const found = await pages<IdempotencyRecord>(world, (view, last, limit) =>
        view.idempotencyRecords({ limit, ...(last && { afterKey: last.key }) }),
      );
      expect(found.map(({ key }) => key)).toEqual(["B", "a b", "b", "é", "\uffee", "\u{1f600}"]);
      expect(found[1]).toEqual(keyed("a b", world.clock.now()));
    });

    it("a change of nothing but events is kept", async (world) => {
      const id = await world.task();
      const { eventSeq, ...counted } = await world.read((view) => view.org());
      await world.store.commit(org, [
        ({ apply }) => apply({ ...noChanges(), org: { ...counted, eventSeq: eventSeq + 1 } }),
      ]);
      const about = { org, project, taskId: id, sessionId: null, epoch: null, actor: "system", data: {} };
      const event = { ...about, seq: eventSeq + 1, type: "task:updated" as const, at: world.clock.now() };
      await world.store.commit(org, [({ apply }) => apply({ ...noChanges(), events: [event] })]);
      expect((await world.events()).at(-1)).toEqual(event);
    });
  });
}
