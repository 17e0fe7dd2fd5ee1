// Idempotency keys belong to the token they came with.

import { expect, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { databaseOf } from "./security-support.js";
import { on, storeNames, type World } from "./support.js";

const key = { "idempotency-key": "the same" };

async function tokenOf(world: World, name: string): Promise<{ token: string; id: string }> {
  return (await world.post("/api/tokens", { name, role: "leader" })).body;
}

test.each(storeNames)("two tokens that use the same key act once each, on %s", (store) =>
  on(store, async (world) => {
    const [ann, bob] = [await tokenOf(world, "ann"), await tokenOf(world, "bob")];
    const create = async ({ token }: { token: string }, prompt = "x") =>
      (await world.post("/api/tasks", { prompt }, { token, headers: key })).body;
    const first = await create(ann);
    const second = await create(bob);
    expect(second.task.id).not.toBe(first.task.id);
    expect(await create(ann)).toEqual(first);
    expect(await create(bob)).toEqual(second);
    expect((await create(bob, "y")).error).toBe("IDEMPOTENCY_MISMATCH");
    expect((await create({ token: world.token })).task.id).not.toBe(first.task.id);
    expect((await world.get("/api/tasks")).body.tasks).toHaveLength(3);

    // Also what takes several transactions, and at the same time.
    const cancel = (taskId: string, { token }: { token: string }) =>
      world.post(
        "/api/tasks/bulk",
        { action: "cancel", taskIds: [taskId] },
        { token, headers: { "idempotency-key": "b" } },
      );
    const answers = await Promise.all([cancel(first.task.id, ann), cancel(second.task.id, bob)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect((await cancel(first.task.id, ann)).body).toEqual(answers[0]!.body);
  })(),
);

test.each(storeNames)("a token that was revoked and created again is another token, on %s", (store) =>
  on(store, async (world) => {
    const create = async (token: string) =>
      (await world.post("/api/tasks", { prompt: "x" }, { token, headers: key })).body.task.id;
    const before = await tokenOf(world, "ann");
    const first = await create(before.token);
    await world.delete(`/api/tokens/${before.id}`);
    const again = await tokenOf(world, "ann");
    expect(await create(again.token)).not.toBe(first);
  })(),
);

test("a call that moves from the server to its file under the same key acts once", () =>
  on("sqlite", async (world) => {
    const first = (await world.post("/api/tasks", { prompt: "x" }, { headers: key })).body;
    const clock = () => world.clock.now();
    const dibs = await openDibs({ path: databaseOf(world), project: "demo", clock });
    const repeated = await dibs.tasks.create({ prompt: "x" }, { idempotencyKey: "the same" });
    expect(repeated.task.id).toBe(first.task.id);
    await dibs.close();
  })());
