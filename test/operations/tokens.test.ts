import { describe, expect, onTestFinished, test, vi } from "vitest";
import { dispatch } from "../../src/operations/dispatch.js";
import { verifyToken } from "../../src/operations/tokens.js";
import { driverNames, org, Pipeline, pipelines } from "./world.js";

const on = await pipelines();

const refusedWith = (code: string) => expect.objectContaining({ code });

/** Everything an export would hold, as text. */
async function stored({ store }: Pipeline): Promise<string> {
  return store.read(org, (view) =>
    JSON.stringify([
      view.events({ after: 0, limit: 1000 }),
      view.idempotencyRecords({ limit: 1000 }),
      view.documents({ kind: "token", limit: 1000 }),
    ]),
  );
}

describe.each(driverNames)("tokens over %s", (driver) => {
  test(
    "the text is shown once, lets its bearer in, and is stored nowhere",
    on(driver, async (pipeline) => {
      const { token, success, ...shown } = await pipeline.call("tokens.create", {
        name: "ci",
        role: "worker",
      });
      expect(success).toBe(true);
      expect(shown).toEqual({
        id: expect.any(String),
        name: "ci",
        role: "worker",
        createdAt: new Date(pipeline.clock.now()).toISOString(),
        createdBy: "user:test",
        expiresAt: null,
      });
      expect(token).toMatch(new RegExp(`^dibs~default~${shown.id}~[A-Za-z0-9_-]{43}$`));
      expect(await verifyToken(pipeline.executor, token!)).toEqual({
        org,
        id: shown.id,
        name: "ci",
        role: "worker",
      });
      expect(await stored(pipeline)).not.toContain(token!.split("~")[3]);
      expect(await pipeline.call("tokens.list", {})).toEqual({ tokens: [shown], nextCursor: null });
    }),
  );

  test(
    "a field that is not understood makes no token: it might have been its end or its role",
    on(driver, async (pipeline) => {
      for (const more of [{ expiresAt: "2030-01-01T00:00:00.000Z" }, { rol: "viewer" }]) {
        await expect(pipeline.call("tokens.create", { name: "ci", ...more } as object)).rejects.toThrow(
          refusedWith("VALIDATION_FAILED"),
        );
      }
      expect(await pipeline.call("tokens.list", {})).toEqual({ tokens: [], nextCursor: null });
    }),
  );

  test(
    "a repeated create makes no second token and does not show it",
    on(driver, async (pipeline) => {
      const input = { name: "ci", role: "worker" } as const;
      const key = { idempotencyKey: "k" };
      const first = await pipeline.call("tokens.create", input, {}, key);
      const again = await pipeline.call("tokens.create", input, {}, key);
      expect(first.token).toContain(first.id);
      expect(again).toEqual({ ...first, token: null });
      expect(await stored(pipeline)).not.toContain(first.token!.split("~")[3]);
      expect((await pipeline.call("tokens.list", {})).tokens).toHaveLength(1);
    }),
  );

  test(
    "what is not a token of ours lets nobody in, and makes no org",
    on(driver, async (pipeline) => {
      const { token } = await pipeline.call("tokens.create", { name: "ci", role: "worker" });
      const [, , id, key] = token!.split("~") as [string, string, string, string];
      const others = [
        "",
        "secret",
        `${token} `,
        `dibs~${org}~${id}~${key.slice(1)}A`,
        `dibs~${org}~${id}~${key.slice(1)}`,
        `dibs~${org}~t-unknown~${key}`,
        `dibs~nobody~${id}~${key}`,
        `dibs~../up~${id}~${key}`,
        `dibs~${org}~${id}\u0000~${key}`,
        `DIBS~${org}~${id}~${key}`,
      ];
      for (const text of others) expect(await verifyToken(pipeline.executor, text), text).toBeNull();
      await expect(pipeline.store.read("nobody", (view) => view.org())).rejects.toThrow("nobody");
    }),
  );

  test(
    "an expired token lets nobody in, is not shown, and is tidied up by the next list",
    on(driver, async (pipeline) => {
      const { token, id } = await pipeline.call("tokens.create", {
        name: "brief",
        role: "viewer",
        expiresInMs: 1000,
      });
      pipeline.clock.advance(1000);
      expect(await verifyToken(pipeline.executor, token!)).toBeNull();
      await expect(pipeline.call("tokens.revoke", { id: id })).rejects.toEqual(refusedWith("NOT_FOUND"));
      expect((await pipeline.call("tokens.list", {})).tokens).toEqual([]);
      expect(await pipeline.store.read(org, (view) => view.document("token", id))).toBeUndefined();
    }),
  );

  test(
    "revocation takes effect at once in this process, also for a token that was just let in",
    on(driver, async (pipeline) => {
      const { token, id } = await pipeline.call("tokens.create", { name: "ci", role: "worker" });
      expect(await verifyToken(pipeline.executor, token!)).not.toBeNull();
      expect(await pipeline.call("tokens.revoke", { id: id })).toEqual({ success: true });
      expect(await verifyToken(pipeline.executor, token!)).toBeNull();
    }),
  );

  test(
    "a look that overlaps with the revocation is not remembered",
    on(driver, async (pipeline) => {
      const { token, id } = await pipeline.call("tokens.create", { name: "ci", role: "worker" });
      const { store } = pipeline;
      const read = store.read.bind(store);
      let revoked: Promise<unknown> | undefined;
      store.read = async (of, job) => {
        const found = await read(of, job);
        revoked ??= pipeline.call("tokens.revoke", { id: id });
        await revoked;
        return found;
      };
      await verifyToken(pipeline.executor, token!);
      store.read = read;
      expect(await verifyToken(pipeline.executor, token!)).toBeNull();
    }),
  );

  test(
    "a token that is bound to another ends with it, also when it was just let in",
    on(driver, async (pipeline) => {
      const parent = await pipeline.call("tokens.create", { name: "laptop", role: "admin" });
      const by = { token: parent.id };
      const bound = await pipeline.call("tokens.create", { name: "dashboard", bound: true }, by);
      const free = await pipeline.call("tokens.create", { name: "ci" }, by);
      const grandchild = await pipeline.call(
        "tokens.create",
        { name: "tab", bound: true },
        { token: bound.id },
      );
      for (const { token } of [bound, free, grandchild]) {
        expect(await verifyToken(pipeline.executor, token!)).not.toBeNull();
      }
      await pipeline.call("tokens.revoke", { id: parent.id });
      expect(await verifyToken(pipeline.executor, bound.token!)).toBeNull();
      expect(await verifyToken(pipeline.executor, grandchild.token!)).toBeNull();
      expect(await verifyToken(pipeline.executor, free.token!)).not.toBeNull();
    }),
  );

  test(
    "tokens are for admins, and lists come in pages",
    on(driver, async (pipeline) => {
      const leader = { role: "leader" } as const;
      await expect(pipeline.call("tokens.list", {}, leader)).rejects.toEqual(refusedWith("FORBIDDEN"));
      await expect(pipeline.call("tokens.create", { name: "x", role: "viewer" }, leader)).rejects.toEqual(
        refusedWith("FORBIDDEN"),
      );
      const ids = new Set<string>();
      for (const name of ["a", "b", "c"]) {
        ids.add((await pipeline.call("tokens.create", { name, role: "viewer" })).id);
      }
      const first = await pipeline.call("tokens.list", { limit: 2 });
      const second = await pipeline.call("tokens.list", { limit: "2", cursor: first.nextCursor! });
      expect(second.nextCursor).toBeNull();
      expect(new Set([...first.tokens, ...second.tokens].map(({ id }) => id))).toEqual(ids);
    }),
  );

  test(
    "workers speak only for sessions of their own token, leaders for all",
    on(driver, async (pipeline) => {
      const made = async (role: "worker" | "leader") => {
        const { id } = await pipeline.call("tokens.create", { name: role, role });
        return { role, token: id, actor: `token:${id}` };
      };
      const [mine, theirs, leader] = [await made("worker"), await made("worker"), await made("leader")];
      await pipeline.call("sessions.register", { id: "a" }, mine);
      await pipeline.call("tasks.create", { prompt: "do it" });
      await pipeline.call("tasks.claimNext", { sessionId: "b", register: true }, mine);
      for (const sessionId of ["a", "b"]) {
        await expect(pipeline.call("sessions.heartbeat", { sessionId }, theirs)).rejects.toEqual(
          refusedWith("FORBIDDEN"),
        );
        await pipeline.call("sessions.heartbeat", { sessionId }, leader);
        await pipeline.call("sessions.heartbeat", { sessionId }, mine);
      }
      await expect(pipeline.call("sessions.register", { id: "a" }, theirs)).rejects.toEqual(
        refusedWith("FORBIDDEN"),
      );
    }),
  );
});

test("another process's revocation is noticed within seconds: what was seen is not trusted for ever", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  await on("memory", async (pipeline) => {
    const { token, id } = await pipeline.call("tokens.create", { name: "ci", role: "worker" });
    const other = new Pipeline(pipeline.store, pipeline.clock);
    expect(await verifyToken(other.executor, token!)).not.toBeNull();
    await dispatch(
      pipeline.executor,
      "tokens.revoke",
      { id: id },
      { org, project: "demo", actor: "user:test", role: "admin" },
      {},
    );
    expect(await verifyToken(other.executor, token!)).not.toBeNull();
    vi.advanceTimersByTime(10_000);
    expect(await verifyToken(other.executor, token!)).toBeNull();
  })();
});
