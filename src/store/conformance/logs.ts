import { describe, expect } from "vitest";
import { limits } from "../../core/limits.js";
import { type Driver, type Hold, minute, project, teller, type World } from "./harness.js";

const kib = 1024;

async function append(world: World, hold: Hold, text: string) {
  return world.ok({ type: "append-log", ...hold, text });
}

async function logOf(world: World, { taskId, epoch }: Hold) {
  return world.read((view) => view.document("log", `${project}/${taskId}/${epoch}`));
}

export function logs(driver: Driver): void {
  const it = teller(driver);

  describe(`${driver.name}: logs`, () => {
    it("each attempt has its own", async (world) => {
      const first = await world.hold("a");
      await append(world, first, "one\n");
      world.clock.advance(1000);
      expect(await append(world, first, "two\n")).toEqual({ epoch: 1, truncatedBytes: 0 });
      await world.ok({ type: "release", ...first, spread: 0 });
      const second = { ...first, epoch: await world.claim(first.taskId, "a") };
      await append(world, second, "again\n");
      expect(await logOf(world, first)).toEqual({
        text: "one\ntwo\n",
        truncatedBytes: 0,
        updatedAt: world.clock.now(),
      });
      expect(await logOf(world, second)).toMatchObject({ text: "again\n" });
      expect(await world.read((view) => view.document("log", `${project}/${first.taskId}`))).toEqual({
        epoch: 2,
      });
    });

    it("it is written in every state of a holder, without an event and without renewing the lease", async (world) => {
      const hold = await world.hold("a");
      for (const move of [null, { type: "start" }, { type: "ask", question: "which?" }] as const) {
        if (move) await world.ok({ ...move, ...hold });
        world.clock.advance(1000);
        const { expiresAt, startBy } = await world.claimOf(hold.taskId);
        await world.unchanged(() => append(world, hold, "."));
        expect(await world.claimOf(hold.taskId)).toMatchObject({ expiresAt, startBy });
      }
      expect(await logOf(world, hold)).toMatchObject({ text: "..." });
    });

    it("it is the holder's alone, and refused in the order of every holder's call", async (world) => {
      const hold = await world.hold("a");
      await world.session("b");
      const told = { type: "append-log", text: "x", ...hold } as const;
      await world.refused("TASK_NOT_FOUND", { ...told, taskId: "nothing" });
      await world.refused("SESSION_NOT_FOUND", { ...told, sessionId: "nobody" });
      await world.refused("NOT_CLAIM_OWNER", { ...told, sessionId: "b" });
      await world.refused("STALE_EPOCH", { ...told, epoch: 7 });
      world.clock.advance(30 * minute);
      await world.refused("CLAIM_EXPIRED", told);
      const other = await world.hold("a");
      await world.complete(other);
      await world.refused("TASK_NOT_CLAIMED", { ...told, ...other });
      const third = await world.hold("a");
      await world.ok({ type: "cancel", taskId: third.taskId });
      await world.refused("TASK_CANCELLED", { ...told, ...third });
      expect(await logOf(world, hold)).toBeUndefined();
    });

    it("at most 64 KiB are taken at once", async (world) => {
      const hold = await world.hold("a");
      await append(world, hold, "é".repeat(32 * kib));
      await world.refused("PAYLOAD_TOO_LARGE", {
        type: "append-log",
        ...hold,
        text: `${"é".repeat(32 * kib)}a`,
      });
      expect(await logOf(world, hold)).toMatchObject({ text: "é".repeat(32 * kib) });
    });

    it("the last 256 KiB are kept, cut between characters, and what was cut is counted", async (world) => {
      const hold = await world.hold("a");
      const part = "🎉".repeat(16 * kib);
      for (let n = 0; n < 4; n++) await append(world, hold, part);
      expect(await append(world, hold, "abcdé")).toEqual({ epoch: 1, truncatedBytes: 8 });
      const log = (await logOf(world, hold)) as { text: string };
      expect(log).toMatchObject({ truncatedBytes: 8 });
      expect(log.text).toBe(`${"🎉".repeat(64 * kib - 2)}abcdé`);
      expect(await append(world, hold, "x".repeat(64 * kib))).toEqual({
        epoch: 1,
        truncatedBytes: 8 + 64 * kib,
      });
      expect(new TextEncoder().encode(((await logOf(world, hold)) as { text: string }).text).length).toBe(
        limits.logBytesMax - 2,
      );
    });

    it("what no store can keep is replaced", async (world) => {
      const hold = await world.hold("a");
      await append(world, hold, "\u001b[31mred\u001b[0m \u0000 \ud83c 'quoted' \\u0000 \u2028 🎉");
      expect(await logOf(world, hold)).toMatchObject({
        text: "\u001b[31mred\u001b[0m \ufffd \ufffd 'quoted' \\u0000 \u2028 🎉",
      });
    });
  });

  describe(`${driver.name}: old events`, () => {
    const archive = (below: number) => ({ type: "archive-events", below }) as const;

    it("they go up to a number, once", async (world) => {
      for (let n = 0; n < 3; n++) await world.task();
      expect(await world.ok(archive(4))).toEqual({ archived: 3 });
      expect((await world.events()).map(({ seq }) => seq)).toEqual([4, 5, 6]);
      expect(await world.ok(archive(4))).toEqual({ archived: 0 });
      expect(await world.ok(archive(2))).toEqual({ archived: 0 });
      expect(await world.ok(archive(1000))).toEqual({ archived: 3 });
      await world.task();
      expect((await world.events()).map(({ seq }) => seq)).toEqual([7, 8]);
    });
  });
}
