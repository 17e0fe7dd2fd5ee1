import { describe, expect } from "vitest";
import { type Changes, type Document, documentKey, noChanges } from "../../core/changes.js";
import { Draft } from "../../core/draft.js";
import type { DocumentPage } from "../../core/view.js";
import type { Job, JobResult } from "../store.js";
import { type Driver, org, project, teller, type World } from "./harness.js";

type Value = Document["value"];

const put = (kind: string, key: string, value: Value): Changes => ({
  ...noChanges(),
  documents: new Map([[documentKey(kind, key), { kind, key, value }]]),
});

const write =
  (kind: string, key: string, value: Value): Job<unknown> =>
  ({ apply }) =>
    apply(put(kind, key, value));

const look =
  (kind: string, key: string): Job<unknown> =>
  ({ view }) =>
    view.document(kind, key) ?? null;

/** The values of jobs that must not fail. */
async function commit(world: World, ...jobs: Job<unknown>[]): Promise<unknown[]> {
  const results: JobResult<unknown>[] = await world.store.commit(org, jobs);
  return results.map((result) => {
    if (!result.ok) throw result.error;
    return result.value;
  });
}

const documentOf = (world: World, kind: string, key: string) =>
  world.read((view) => view.document(kind, key) ?? null);

const keysOf = (world: World, page: DocumentPage) =>
  world.read((view) => view.documents(page).map(({ key }) => key));

/** Raises the number below which events go. */
const archive =
  (below: number): Job<unknown> =>
  (transaction) => {
    const draft = new Draft(transaction.view, { now: transaction.now, actor: "system" });
    draft.archiveEvents(below);
    transaction.apply(draft.changes);
  };

const seqs = async (world: World, after = 0) => (await world.events(after)).map(({ seq }) => seq);

export function documents(driver: Driver): void {
  const it = teller(driver);
  const everything = { kind: "log", limit: 1000 };

  describe(`${driver.name}: documents`, () => {
    it("are not there before they are written", async (world) => {
      expect(await commit(world, look("log", "a"))).toEqual([null]);
      expect(await keysOf(world, everything)).toEqual([]);
    });

    it("are seen by the job that wrote them, and by a list after the commit", async (world) => {
      const [seen] = await commit(world, ({ view, apply }) => {
        const before = view.document("log", "a") ?? null;
        apply(put("log", "a", { n: 1 }));
        return [before, view.document("log", "a")];
      });
      expect(seen).toEqual([null, { n: 1 }]);
      const listed = await world.read((view) => view.documents(everything));
      expect(listed).toEqual([{ key: "a", value: { n: 1 } }]);
    });

    it("are seen by the next job of the commit", async (world) => {
      const [, row] = await commit(world, write("log", "a", { n: 1 }), look("log", "a"));
      expect(row).toEqual({ n: 1 });
    });

    it("are seen by the next commit, by a read, by a snapshot and after opening again", async (world) => {
      const value = { text: "ünï — 日本 🎉 \u0000", deep: [1, { two: null }], z: true, a: 0.5 };
      await commit(world, write("log", "a", value));
      expect(await commit(world, look("log", "a"))).toEqual([value]);
      expect(await documentOf(world, "log", "a")).toEqual(value);
      const snapshot = await world.store.snapshot(org);
      await commit(world, write("log", "a", { n: 2 }));
      expect(await snapshot.read((view) => view.documents(everything))).toEqual([{ key: "a", value }]);
      await snapshot.close();
      await world.reopen();
      expect(await documentOf(world, "log", "a")).toEqual({ n: 2 });
      expect(await commit(world, look("log", "a"))).toEqual([{ n: 2 }]);
    });

    it("are replaced as a whole", async (world) => {
      await commit(world, write("log", "a", { first: 1 }));
      await commit(world, write("log", "a", { second: 2 }));
      expect(await documentOf(world, "log", "a")).toEqual({ second: 2 });
      expect(await keysOf(world, everything)).toEqual(["a"]);
    });

    it("are what was written last, when several jobs of a commit write one", async (world) => {
      const jobs = [1, 2, 3].map((n) => write("log", "a", { n }));
      await commit(world, ...jobs);
      expect(await documentOf(world, "log", "a")).toEqual({ n: 3 });
    });

    it("may be empty", async (world) => {
      await commit(world, write("log", "a", {}));
      expect(await documentOf(world, "log", "a")).toEqual({});
    });

    it("can be removed, and written anew", async (world) => {
      await commit(world, write("log", "a", { n: 1 }));
      const [, row] = await commit(world, write("log", "a", null), look("log", "a"));
      expect(row).toBeNull();
      expect(await documentOf(world, "log", "a")).toBeNull();
      await world.reopen();
      expect(await keysOf(world, everything)).toEqual([]);
      await commit(world, write("log", "a", { n: 2 }));
      expect(await documentOf(world, "log", "a")).toEqual({ n: 2 });
    });

    it("can be removed where none is", async (world) => {
      await commit(world, write("log", "a", null));
      expect(await documentOf(world, "log", "a")).toBeNull();
    });

    it("can be removed by the job that wrote them", async (world) => {
      await commit(world, write("log", "kept", { n: 1 }));
      const [seen] = await commit(world, ({ view, apply }) => {
        apply(put("log", "a", { n: 1 }));
        apply(put("log", "a", null));
        apply(put("log", "b", { n: 1 }));
        const before = view.document("log", "b");
        apply(put("log", "b", null));
        return [before, view.document("log", "b") ?? null];
      });
      expect(seen).toEqual([{ n: 1 }, null]);
      expect(await keysOf(world, everything)).toEqual(["kept"]);
    });

    it("stay as they were when the job throws, and its neighbours do not notice", async (world) => {
      await commit(world, write("log", "a", { n: 1 }), write("log", "b", { n: 1 }));
      const results = await world.store.commit<unknown>(org, [
        write("log", "c", { n: 1 }),
        ({ view, apply }) => {
          apply(put("log", "a", { n: 2 }));
          apply(put("log", "b", null));
          apply(put("log", "d", { n: 2 }));
          expect(view.document("log", "d")).toEqual({ n: 2 });
          throw new Error("broken job");
        },
        look("log", "a"),
        look("log", "b"),
        look("log", "d"),
      ]);
      expect(results.map((result) => result.ok && result.value)).toEqual([
        undefined,
        false,
        { n: 1 },
        { n: 1 },
        null,
      ]);
      expect(await keysOf(world, everything)).toEqual(["a", "b", "c"]);
    });

    it("are written together with everything else of the commit", async (world) => {
      const id = await world.task();
      await commit(world, write("lock", id, { by: "a" }));
      await world.finish(id);
      expect(await documentOf(world, "lock", id)).toEqual({ by: "a" });
    });

    it("tell whoever listens", async (world) => {
      let stop = () => {};
      const heard = new Promise<void>((resolve) => {
        stop = world.store.onChange(org, () => resolve());
      });
      await commit(world, write("log", "a", { n: 1 }));
      await heard.finally(stop);
    });

    it("come in pages, between two keys that are not part of them", async (world) => {
      const keys = ["a", "b", "c", "d", "e"];
      await commit(world, ...keys.map((key) => write("log", key, { key })));
      const kind = "log";
      expect(await keysOf(world, { kind, limit: 2 })).toEqual(["a", "b"]);
      expect(await keysOf(world, { kind, afterKey: "b", limit: 2 })).toEqual(["c", "d"]);
      expect(await keysOf(world, { kind, afterKey: "d", limit: 2 })).toEqual(["e"]);
      expect(await keysOf(world, { kind, afterKey: "e", limit: 2 })).toEqual([]);
      expect(await keysOf(world, { kind, beforeKey: "c", limit: 9 })).toEqual(["a", "b"]);
      expect(await keysOf(world, { kind, afterKey: "a", beforeKey: "e", limit: 9 })).toEqual(["b", "c", "d"]);
      expect(await keysOf(world, { kind, afterKey: "a", beforeKey: "e", limit: 1 })).toEqual(["b"]);
      expect(await keysOf(world, { kind, afterKey: "bb", beforeKey: "cc", limit: 9 })).toEqual(["c"]);
      expect(await keysOf(world, { kind, afterKey: "d", beforeKey: "b", limit: 9 })).toEqual([]);
      expect(await keysOf(world, { kind, afterKey: "", limit: 1 })).toEqual(["a"]);
    });

    it("have keys of any text, in the order of its bytes", async (world) => {
      const ordered = ['"{\\,}', "B", "a", "a b", "a%", "a/b", "a_", "aa", "zß", "ü", "日本", "～", "🎉"];
      await commit(world, ...[...ordered].reverse().map((key) => write("log", key, { key })));
      for (const key of ordered) expect(await documentOf(world, "log", key)).toEqual({ key });
      expect(await keysOf(world, everything)).toEqual(ordered);
      for (const [at, key] of ordered.entries()) {
        expect(await keysOf(world, { ...everything, afterKey: key })).toEqual(ordered.slice(at + 1));
        expect(await keysOf(world, { ...everything, beforeKey: key })).toEqual(ordered.slice(0, at));
      }
      await commit(world, ...ordered.map((key) => write("log", key, null)));
      expect(await keysOf(world, everything)).toEqual([]);
    });

    it("of different kinds do not mix", async (world) => {
      await commit(world, write("log", "a", { of: "log" }), write("lock", "a", { of: "lock" }));
      expect(await documentOf(world, "log", "a")).toEqual({ of: "log" });
      expect(await keysOf(world, { kind: "lo", limit: 9 })).toEqual([]);
      await commit(world, write("log", "a", null));
      expect(await documentOf(world, "lock", "a")).toEqual({ of: "lock" });
      expect(await keysOf(world, { kind: "lock", limit: 9 })).toEqual(["a"]);
    });

    it("of different orgs do not mix", async (world) => {
      const { store } = world;
      await store.open("other", project);
      await commit(world, write("log", "a", { of: org }));
      await store.commit("other", [write("log", "a", { of: "other" }), write("log", "b", { of: "other" })]);
      expect(await keysOf(world, everything)).toEqual(["a"]);
      await commit(world, write("log", "a", null), write("log", "b", null));
      const seen = await store.read("other", (view) => view.documents(everything));
      expect(seen).toEqual(["a", "b"].map((key) => ({ key, value: { of: "other" } })));
    });

    it("may be large", async (world) => {
      const value = { lines: Array.from({ length: 5000 }, (_, n) => `${n} ${"ü🎉x".repeat(10)}`) };
      expect(JSON.stringify(value).length).toBeGreaterThan(300_000 / 2);
      expect(Buffer.byteLength(JSON.stringify(value))).toBeGreaterThan(300_000);
      const keys = ["a", "b", "c", "d", "e"];
      await commit(world, ...keys.map((key) => write("log", key, value)));
      for (let round = 0; round < 3; round++) await commit(world, write("log", "c", { round, ...value }));
      await world.reopen();
      expect(await documentOf(world, "log", "c")).toEqual({ round: 2, ...value });
      const page = await world.read((view) => view.documents(everything));
      expect(page.map(({ key }) => key)).toEqual(keys);
      expect(page[4]!.value).toEqual(value);
      expect(await world.store.check()).toEqual([]);
    });
  });

  describe(`${driver.name}: archived events`, () => {
    it("are gone, and the others stay and are numbered on", async (world) => {
      const first = await world.task();
      await world.finish(first);
      const last = (await seqs(world)).at(-1)!;
      const kept = (await world.events()).filter(({ seq }) => seq >= 3);
      await commit(world, archive(3));
      expect(await world.events()).toEqual(kept);
      await world.task();
      expect(await seqs(world)).toEqual(Array.from({ length: last }, (_, at) => at + 3));
    });

    it("leave the number of the first one, also after opening again", async (world) => {
      await world.finish(await world.task());
      await commit(world, archive(4));
      await world.reopen();
      const { eventMin, eventSeq } = await world.read((view) => view.org());
      expect(eventMin).toBe(4);
      const left = await seqs(world);
      expect([left[0], left.at(-1)]).toEqual([4, eventSeq]);
      await commit(world, archive(5));
      await world.reopen();
      expect(await seqs(world)).toEqual(left.slice(1));
    });

    it("are skipped by a feed that comes from below them", async (world) => {
      const id = await world.task();
      await world.finish(id);
      await commit(world, archive(4));
      for (const after of [0, 1, 3]) expect((await seqs(world, after))[0]).toBe(4);
      expect((await seqs(world, 4))[0]).toBe(5);
      const ofTask = await world.read((view) => view.events({ after: 0, limit: 100, project, taskId: id }));
      expect(ofTask.every(({ seq }) => seq >= 4)).toBe(true);
      expect(ofTask.length).toBeGreaterThan(0);
    });

    it("may be all there are", async (world) => {
      await world.finish(await world.task());
      const { eventSeq } = await world.read((view) => view.org());
      await commit(world, archive(eventSeq + 1));
      expect(await seqs(world)).toEqual([]);
      await world.reopen();
      await world.task();
      expect((await seqs(world))[0]).toBe(eventSeq + 1);
    });

    it("may be of the same commit", async (world) => {
      await world.task();
      const [, seen] = await commit(
        world,
        (transaction) => {
          const draft = new Draft(transaction.view, { now: transaction.now, actor: "system" });
          for (let n = 0; n < 4; n++) draft.emit("task:updated", { project });
          transaction.apply(draft.changes);
        },
        (transaction) => {
          archive(4)(transaction);
          const early = transaction.view.org().eventMin;
          archive(5)(transaction);
          return [early, transaction.view.org().eventMin];
        },
      );
      expect(seen).toEqual([4, 5]);
      expect(await seqs(world)).toEqual([5, 6]);
    });

    it("come back when the job throws", async (world) => {
      await world.finish(await world.task());
      const before = await world.events();
      await world.store.commit(org, [
        (transaction) => {
          archive(4)(transaction);
          expect(transaction.view.org().eventMin).toBe(4);
          throw new Error("broken job");
        },
      ]);
      expect(await world.events()).toEqual(before);
      await world.task();
      expect((await seqs(world)).slice(0, before.length)).toEqual(before.map(({ seq }) => seq));
    });

    it("are those of one org", async (world) => {
      await world.task();
      await world.store.open("other", project);
      await world.store.commit("other", [
        (transaction) => {
          const draft = new Draft(transaction.view, { now: transaction.now, actor: "system" });
          for (let n = 0; n < 4; n++) draft.emit("task:updated", { project });
          transaction.apply(draft.changes);
        },
        archive(3),
      ]);
      expect((await seqs(world))[0]).toBe(1);
      const others = await world.store.read("other", (view) => view.events({ after: 0, limit: 9 }));
      expect(others.map(({ seq }) => seq)).toEqual([3, 4]);
    });
  });

  describe(`${driver.name}: the owner of a session`, () => {
    it("is kept, in rows and lists and after opening again", async (world) => {
      await world.session("a", { owner: "tok-1" });
      await world.session("b");
      const look = () =>
        world.read((view) => [
          view.session(project, "a")?.owner,
          ...view.sessions({ project, live: true, limit: 9 }).map(({ owner }) => owner),
        ]);
      expect(await look()).toEqual(["tok-1", "tok-1", null]);
      await world.ok({ type: "session-heartbeat", sessionId: "a", contextPercent: 10 });
      await world.reopen();
      expect(await look()).toEqual(["tok-1", "tok-1", null]);
    });
  });
}
