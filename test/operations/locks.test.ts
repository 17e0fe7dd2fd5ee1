import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { driverNames, pipelines } from "./world.js";

const on = await pipelines();

describe.each(driverNames)("locks over %s", (driver) => {
  test(
    "a lock is held while its process lives, and free at once when it is gone",
    on(driver, async (pipeline) => {
      const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], {
        stdio: ["pipe", "ignore", "ignore"],
      });
      await once(child, "spawn");
      const pid = child.pid!;
      const { lock } = await pipeline.call("locks.acquire", { name: "deploy", pid, metadata: { tmux: "x" } });
      expect(lock).toEqual({
        name: "deploy",
        pid,
        host: expect.any(String),
        processStartedAt: expect.any(String),
        sessionId: null,
        owner: null,
        acquiredAt: new Date(pipeline.clock.now()).toISOString(),
        expiresAt: null,
        holderAlive: true,
        metadata: { tmux: "x" },
      });
      expect(await pipeline.call("locks.get", { name: "deploy" })).toEqual({ lock });
      expect(await pipeline.call("locks.list", {})).toEqual({ locks: [lock], nextCursor: null });
      await expect(
        pipeline.call("locks.acquire", { name: "deploy", pid: process.pid }),
      ).rejects.toMatchObject({
        code: "SESSION_BUSY",
        details: { lock: { pid, acquiredAt: lock.acquiredAt, holderAlive: true }, holderAlive: true },
      });
      child.kill("SIGKILL");
      await once(child, "exit");
      expect(await pipeline.call("locks.get", { name: "deploy" })).toEqual({ lock: null });
      expect((await pipeline.call("locks.list", {})).locks).toEqual([]);
      const taken = await pipeline.call("locks.acquire", { name: "deploy", pid: process.pid });
      expect(taken.lock.pid).toBe(process.pid);
    }),
  );

  test(
    "a release names its process in words of a URL; force is for leaders",
    on(driver, async (pipeline) => {
      await pipeline.call("locks.acquire", { name: "deploy", pid: process.pid });
      const worker = { role: "worker" } as const;
      await expect(
        pipeline.call("locks.release", { name: "deploy", force: "true" }, worker),
      ).rejects.toMatchObject({
        code: "FORBIDDEN",
      });
      const pid = String(process.pid);
      expect(await pipeline.call("locks.release", { name: "deploy", pid }, worker)).toEqual({
        success: true,
        released: true,
      });
      expect(await pipeline.call("locks.release", { name: "deploy", pid })).toEqual({
        success: true,
        released: false,
      });
      await expect(pipeline.call("locks.acquire", { name: "../up" })).rejects.toMatchObject({
        code: "VALIDATION_FAILED",
      });
    }),
  );

  test(
    "locks that were left behind are tidied up",
    on(driver, async (pipeline) => {
      await pipeline.call("locks.acquire", { name: "old", sessionId: "a", ttlMs: 1000 });
      pipeline.clock.advance(1000);
      // Another process, whose first look is at all of them.
      await pipeline.again().call("locks.acquire", { name: "new", sessionId: "a" });
      expect(await pipeline.store.read("default", (view) => view.document("lock", "old"))).toBeUndefined();
    }),
  );

  test(
    "a lock taken under a clock one year ahead is free after its own length",
    on(driver, async (pipeline) => {
      const year = 365 * 24 * 60 * 60_000;
      pipeline.clock.advance(year);
      await pipeline.call("locks.acquire", { name: "deploy", sessionId: "a", ttlMs: 600_000 });
      pipeline.clock.advance(-year);
      const other = { name: "deploy", sessionId: "b" };
      await expect(pipeline.call("locks.acquire", other)).rejects.toMatchObject({ code: "SESSION_BUSY" });
      pipeline.clock.advance(600_000);
      expect(await pipeline.call("locks.acquire", other)).toMatchObject({ lock: { sessionId: "b" } });
    }),
  );

  test(
    "a key used under a clock one year ahead does not answer a new request",
    on(driver, async (pipeline) => {
      const year = 365 * 24 * 60 * 60_000;
      const create = () => pipeline.call("tasks.create", { prompt: "x" }, {}, { idempotencyKey: "k" });
      const first = await create();
      pipeline.clock.advance(60_000);
      expect(await create()).toEqual(first);
      pipeline.clock.advance(year);
      const ahead = await create();
      pipeline.clock.advance(-year);
      const back = await create();
      expect(back.task.id).not.toBe(ahead.task.id);
      expect(await create()).toEqual(back);
    }),
  );
});
