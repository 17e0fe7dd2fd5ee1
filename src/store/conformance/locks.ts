import { describe, expect } from "vitest";
import type { LockHolder } from "../../core/lock.js";
import { type Driver, minute, project, teller, type World } from "./harness.js";

const here = "host-1";
const nobody: LockHolder = {
  pid: null,
  host: null,
  processStartedAt: null,
  project,
  sessionId: null,
  owner: null,
};
const process = (pid: number, more: Partial<LockHolder> = {}): LockHolder => ({
  ...nobody,
  pid,
  host: here,
  processStartedAt: `t${pid}`,
  ...more,
});
const session = (sessionId: string, more: Partial<LockHolder> = {}): LockHolder => ({
  ...nobody,
  sessionId,
  ...more,
});

const acquire = (holder: LockHolder, more: { ttlMs?: number; here?: string; name?: string } = {}) =>
  ({ type: "acquire-lock", name: "deploy", here, holder, ...more }) as const;
const release = (holder: LockHolder, more: { force?: boolean; here?: string } = {}) =>
  ({ type: "release-lock", name: "deploy", here, holder, ...more }) as const;

async function lockOf(world: World) {
  return world.read((view) => view.document("lock", "deploy"));
}

export function locks(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: locks`, () => {
    it("one holds it, the others hear who", async (world) => {
      await world.ok(acquire(process(7, { sessionId: "a" })));
      expect(await lockOf(world)).toEqual({
        name: "deploy",
        ...process(7, { sessionId: "a" }),
        acquiredAt: world.clock.now(),
        renewedAt: world.clock.now(),
        ttlMs: null,
        metadata: null,
      });
      const refusal = await world.refused("SESSION_BUSY", acquire(process(8)));
      expect(refusal.details).toEqual({
        lock: {
          name: "deploy",
          pid: 7,
          host: here,
          processStartedAt: "t7",
          sessionId: "a",
          acquiredAt: world.clock.now(),
          expiresAt: null,
          holderAlive: true,
        },
        holderAlive: true,
      });
      await world.ok(acquire(process(8), { name: "other" }));
    });

    for (const [what, other] of Object.entries({
      pid: process(8, { processStartedAt: "t7" }),
      host: process(7, { host: "host-2" }),
      "start time": process(7, { processStartedAt: "later" }),
      token: process(7, { owner: "theirs" }),
      "kind, a session": session("a"),
    })) {
      it(`another ${what} is another holder`, async (world) => {
        await world.ok(acquire(process(7, { sessionId: "a", owner: "mine" })));
        await world.refused("SESSION_BUSY", acquire({ ...other, owner: other.owner ?? "mine" }));
      });
    }

    it("its holder renews it by acquiring it again", async (world) => {
      for (const holder of [process(7), session("a")]) {
        const { acquiredAt } = await world.ok(acquire(holder, { ttlMs: minute }));
        world.clock.advance(minute - 1);
        expect(await world.ok(acquire(holder))).toMatchObject({
          acquiredAt,
          renewedAt: world.clock.now(),
          ttlMs: minute,
        });
        world.clock.advance(minute - 1);
        await world.refused("SESSION_BUSY", acquire(process(9)));
        expect(await world.ok(release(holder))).toEqual({ released: true });
      }
    });

    it("a process of this host holds it for as long as it lives", async (world) => {
      await world.ok(acquire(process(7)));
      world.clock.advance(30 * 24 * 60 * minute);
      await world.refused("SESSION_BUSY", acquire(process(8)));
    });

    for (const [what, holder] of Object.entries({
      "a process of another host": process(7, { host: "host-2" }),
      "a session": session("a"),
      "somebody without a name": nobody,
    })) {
      it(`${what} has a lease of half an hour, or of the length it asked for`, async (world) => {
        for (const ttlMs of [undefined, 1000]) {
          await world.ok(acquire(holder, ttlMs === undefined ? {} : { ttlMs }));
          world.clock.advance((ttlMs ?? 30 * minute) - 1);
          await world.refused("SESSION_BUSY", acquire(process(8)));
          world.clock.advance(1);
          await world.ok(acquire(process(8)));
          await world.ok(release(process(8)));
        }
      });
    }

    it("a process of this host has a lease, too, if it asked for one", async (world) => {
      await world.ok(acquire(process(7), { ttlMs: 1000 }));
      world.clock.advance(1000);
      await world.ok(acquire(process(8)));
    });

    it("seen from another host, or after a boot, a process has a lease", async (world) => {
      await world.ok(acquire(process(7)));
      world.clock.advance(30 * minute);
      await world.ok(acquire(process(8, { host: "host-2" }), { here: "host-2" }));
    });

    it("a lock of a session is free when the session is over", async (world) => {
      await world.session("a");
      await world.ok(acquire(session("a")));
      await world.refused("SESSION_BUSY", acquire(session("b")));
      await world.ok({ type: "end-session", sessionId: "a", reason: "session_ended" });
      await world.ok(acquire(session("b")));
    });

    it("only its holder releases it, or a leader by force", async (world) => {
      await world.ok(acquire(process(7, { sessionId: "a" })));
      for (const other of [process(8), process(7, { processStartedAt: "later" }), session("b"), nobody]) {
        await world.refused("SESSION_BUSY", release(other));
      }
      expect(await world.ok(release(nobody, { force: true }))).toEqual({ released: true });
      expect(await lockOf(world)).toBeUndefined();
      for (const holder of [process(7, { processStartedAt: null }), session("a")]) {
        await world.ok(acquire(process(7, { sessionId: "a" })));
        expect(await world.ok(release(holder))).toEqual({ released: true });
      }
      expect(await world.ok(release(process(7)))).toEqual({ released: false });
    });

    it("what nobody in particular holds is given back by whoever knows it, and taken by nobody", async (world) => {
      await world.ok(acquire(nobody));
      await world.refused("SESSION_BUSY", acquire(nobody));
      await world.ok(release(nobody));
      await world.ok(acquire(nobody));
    });

    it("a lock that is over is gone and was not released", async (world) => {
      await world.ok(acquire(session("a")));
      world.clock.advance(30 * minute);
      expect(await world.ok(release(session("a")))).toEqual({ released: false });
      expect(await lockOf(world)).toBeUndefined();
    });

    it("the lock of a process that is gone is freed, unless another has taken it since", async (world) => {
      await world.ok(acquire(process(7)));
      const free = (gone: LockHolder) =>
        ({ type: "free-locks", locks: [{ name: "deploy", gone }], here }) as const;
      await world.ok(free(process(6)));
      await world.refused("SESSION_BUSY", acquire(process(8)));
      await world.ok(free(process(7)));
      await world.ok(acquire(process(8)));
      await world.ok(free(process(7)));
      await world.refused("SESSION_BUSY", acquire(process(7)));
    });

    it("a lock taken under a clock one year ahead lasts as long as any other, once somebody asks for it", async (world) => {
      const cut = { type: "free-locks", locks: [{ name: "deploy" }], here } as const;
      world.clock.advance(365 * 24 * 60 * minute);
      await world.ok(acquire(session("a"), { ttlMs: 10 * minute }));
      world.clock.advance(-365 * 24 * 60 * minute);
      await world.ok(cut);
      const { details } = await world.refused("SESSION_BUSY", acquire(session("b")));
      expect(details?.lock).toMatchObject({
        acquiredAt: world.clock.now(),
        expiresAt: world.clock.now() + 10 * minute,
      });
      world.clock.advance(9 * minute);
      await world.ok(cut);
      await world.refused("SESSION_BUSY", acquire(session("b")));
      world.clock.advance(minute);
      await world.ok(acquire(session("b")));
    });

    it("names of the program's own are for the program", async (world) => {
      const server = { ...acquire(process(7)), name: "dibs.server" };
      await world.refused("FORBIDDEN", server);
      await world.ok(server, "system");
      await world.refused("FORBIDDEN", { ...release(process(7), { force: true }), name: "dibs.server" });
      await world.ok({ ...release(process(7)), name: "dibs.server" }, "system");
    });

    it("a lock is not taken in the name of a session of another token", async (world) => {
      await world.ok({ type: "create-token", id: "mine", name: "m", role: "worker", hash: "h" });
      await world.session("a", { owner: "mine" });
      const holder = session("a", { owner: "theirs" });
      await world.refused("FORBIDDEN", { ...acquire(holder), sessionId: "a" }, "theirs");
    });
  });
}
