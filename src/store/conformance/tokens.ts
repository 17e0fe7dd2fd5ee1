import { describe, expect } from "vitest";
import { type Driver, holderMoveNames, holderMoves, minute, org, teller, type World } from "./harness.js";

async function token(world: World, id: string, more: { expiresInMs?: number } = {}) {
  return world.ok({
    type: "create-token",
    id,
    name: `for ${id}`,
    role: "worker",
    hash: `hash-${id}`,
    ...more,
  });
}

async function tokenIds(world: World): Promise<string[]> {
  const found = await world.read((view) => view.documents({ kind: "token", limit: 100 }));
  return found.map(({ key }) => key);
}

/** A session of token `mine`, and another token. */
async function owned(world: World, more: Record<string, unknown> = {}): Promise<void> {
  await token(world, "mine");
  await token(world, "theirs");
  await world.session("a", { owner: "mine", ...more });
}

export function tokens(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: tokens`, () => {
    it("a token is kept with its hash, and its event tells who made it, but not the hash", async (world) => {
      const made = await world.ok(
        {
          type: "create-token",
          id: "t1",
          name: "build server",
          role: "leader",
          hash: "abc",
          expiresInMs: minute,
        },
        "user:ann",
      );
      const now = world.clock.now();
      expect(made).toEqual({
        id: "t1",
        name: "build server",
        role: "leader",
        hash: "abc",
        createdAt: now,
        createdBy: "user:ann",
        expiresAt: now + minute,
      });
      expect(await world.read((view) => view.document("token", "t1"))).toEqual(made);
      expect(await world.events()).toEqual([
        {
          seq: 1,
          type: "token:created",
          at: now,
          org,
          project: null,
          taskId: null,
          sessionId: null,
          epoch: null,
          actor: "user:ann",
          data: { id: "t1", name: "build server", role: "leader", expiresAt: now + minute },
        },
      ]);
    });

    it("a revoked token is gone, and cannot be revoked twice", async (world) => {
      await token(world, "t1");
      await world.ok({ type: "revoke-token", id: "t1" }, "user:ann");
      expect(await world.read((view) => view.document("token", "t1"))).toBeUndefined();
      expect((await world.events()).at(-1)).toMatchObject({
        type: "token:revoked",
        actor: "user:ann",
        data: { id: "t1", name: "for t1", role: "worker" },
      });
      await world.unchanged(() => world.refused("NOT_FOUND", { type: "revoke-token", id: "t1" }));
    });

    it("an id is taken once", async (world) => {
      await token(world, "t1");
      await world.refused("ID_TAKEN", {
        type: "create-token",
        id: "t1",
        name: "n",
        role: "viewer",
        hash: "h",
      });
      expect(await world.read((view) => view.document("token", "t1"))).toMatchObject({ role: "worker" });
    });

    it("a token that is over cannot be revoked, and only such tokens are dropped", async (world) => {
      await token(world, "brief", { expiresInMs: minute });
      await token(world, "longer", { expiresInMs: minute + 1 });
      await token(world, "endless");
      world.clock.advance(minute);
      await world.refused("NOT_FOUND", { type: "revoke-token", id: "brief" });
      await world.ok({ type: "drop-tokens", ids: ["brief", "longer", "endless", "unknown"] });
      expect(await tokenIds(world)).toEqual(["endless", "longer"]);
    });
  });

  describe(`${driver.name}: a session belongs to the token that registered it`, () => {
    for (const move of holderMoveNames) {
      it(`${move} for a session of another token is forbidden`, async (world) => {
        await owned(world);
        const hold = await world.hold("a");
        const told = { ...holderMoves[move], ...hold };
        await world.unchanged(async () => {
          const refusal = await world.refused("FORBIDDEN", told, "theirs");
          expect(refusal).toMatchObject({ details: { sessionId: "a" } });
          expect(refusal.hint).toBeTruthy();
        });
        await world.ok(told, undefined, "mine");
      });
    }

    it("nobody else claims, reports, registers or ends as that session", async (world) => {
      await owned(world);
      const taskId = await world.task();
      const forbidden = [
        { type: "claim", taskId, sessionId: "a", register: { owner: "theirs" } },
        { type: "claim-next", sessionId: "a", register: { owner: "theirs" } },
        { type: "session-heartbeat", sessionId: "a" },
        { type: "register-session", session: { id: "a", owner: "theirs", pid: 7, host: "h" } },
        { type: "end-session", sessionId: "a", reason: "session_ended" },
      ] as const;
      await world.unchanged(async () => {
        for (const told of forbidden) await world.refused("FORBIDDEN", told, "theirs");
      });
      for (const told of forbidden) await world.ok(told, undefined, "mine");
    });

    it("it is forbidden before anything else is judged", async (world) => {
      await owned(world);
      await world.refused("FORBIDDEN", { type: "start", taskId: "nothing", sessionId: "a" }, "theirs");
    });

    it("claims register their session for the token", async (world) => {
      await token(world, "mine");
      await token(world, "theirs");
      const register = { owner: "mine" };
      const claim = { type: "claim", taskId: await world.task(), sessionId: "a", register } as const;
      await world.ok(claim, undefined, "mine");
      await world.ok({ type: "claim-next", sessionId: "b", register }, undefined, "mine");
      for (const id of ["a", "b"]) {
        expect((await world.sessionOf(id)).owner).toBe("mine");
        await world.refused("FORBIDDEN", { type: "session-heartbeat", sessionId: id }, "theirs");
      }
    });

    it("a session without an owner is open to all and stays so", async (world) => {
      await token(world, "mine");
      await world.session("a");
      await world.ok({ type: "register-session", session: { id: "a", owner: "mine" } }, undefined, "mine");
      expect((await world.sessionOf("a")).owner).toBeNull();
      await world.ok({ type: "session-heartbeat", sessionId: "a" }, undefined, "theirs");
    });

    it("a caller that is not bound to its token acts for any session, and does not become its owner", async (world) => {
      await owned(world);
      await world.ok({ type: "session-heartbeat", sessionId: "a" });
      await world.session("a", { capacity: 2 });
      await world.session("a", { capacity: 3, owner: "theirs" });
      expect(await world.sessionOf("a")).toMatchObject({ owner: "mine", capacity: 3 });
    });

    it("an id whose session is over may be taken by another token", async (world) => {
      await owned(world);
      await world.ok({ type: "end-session", sessionId: "a", reason: "session_ended" }, undefined, "mine");
      await world.ok(
        { type: "register-session", session: { id: "a", owner: "theirs" } },
        undefined,
        "theirs",
      );
      await world.refused("FORBIDDEN", { type: "session-heartbeat", sessionId: "a" }, "mine");
    });

    it("usage of an ended session is reported with its token", async (world) => {
      await owned(world);
      const held = await world.hold("a");
      await world.complete(held);
      await world.ok({ type: "end-session", sessionId: "a", reason: "session_ended" }, undefined, "mine");
      await world.refused("FORBIDDEN", { type: "report-usage", ...held, usd: 9 }, "theirs");
      await world.ok({ type: "report-usage", ...held, usd: 1 }, undefined, "mine");
      await world.ok({ type: "report-usage", ...held, usd: 2 });
    });

    it("the same id in another project is another session", async (world) => {
      await owned(world);
      await world.ok({ type: "create-project", id: "side" });
      const session = { id: "a", owner: "theirs" };
      await world.ok({ type: "register-session", project: "side", session }, undefined, "theirs");
      await world.ok({ type: "session-heartbeat", project: "side", sessionId: "a" }, undefined, "theirs");
    });

    for (const end of ["revoked", "expired"]) {
      it(`when its token is ${end}, another one goes on with the session and owns it then`, async (world) => {
        await token(world, "old", { expiresInMs: minute });
        await token(world, "fresh");
        await token(world, "third");
        await world.session("a", { owner: "old" });
        const hold = await world.hold("a", {}, { start: true });
        await world.refused("FORBIDDEN", { type: "heartbeat", ...hold }, "fresh");
        if (end === "revoked") await world.ok({ type: "revoke-token", id: "old" });
        else world.clock.advance(minute);
        await world.ok({ type: "heartbeat", ...hold }, undefined, "fresh");
        await world.ok(
          { type: "register-session", session: { id: "a", owner: "fresh" } },
          undefined,
          "fresh",
        );
        expect(await world.sessionOf("a")).toMatchObject({ owner: "fresh", incarnation: 1 });
        await world.refused("FORBIDDEN", { type: "heartbeat", ...hold }, "third");
      });
    }
  });
}
