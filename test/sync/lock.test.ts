// The lock that any program can take: who has it, who waits how long, and what becomes of those that are left behind.

import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { describe, expect, test } from "vitest";
import { FileLock, type LockOptions } from "../../src/bridges/tasks-json/lock.js";
import { eventually, machine, openScene, type Scene, told } from "./support.js";

const usual = { machine, timeoutMs: 5_000, staleMs: 60_000 };
const lockOf = (scene: Scene) => `${scene.file}.lock`;

/** Time passes only while somebody waits. */
function patience(): Pick<LockOptions, "now" | "pause"> & { waited(): number } {
  const start = Date.now();
  let now = start;
  return {
    now: () => now,
    pause: async (ms) => {
      now += ms;
    },
    waited: () => now - start,
  };
}

/** The pid of a process that is over. */
const deadPid = () => spawnSync(process.execPath, ["-e", "0"]).pid;

describe("the lock", () => {
  test("one has it, others wait five seconds and are told who has it", async () => {
    const path = lockOf(await openScene());
    const lock = await FileLock.acquire(path, usual);
    expect(readFileSync(path, "utf8")).toMatch(new RegExp(`^${process.pid} `));
    const { waited, ...time } = patience();
    await expect(FileLock.acquire(path, { ...usual, ...time })).rejects.toMatchObject({
      code: "STORE_BUSY",
      message: expect.stringContaining(`process ${process.pid}`),
    });
    expect(waited()).toBeGreaterThanOrEqual(5_000);
    expect(waited()).toBeLessThan(5_100);
    lock.release();
    (await FileLock.acquire(path, usual)).release();
    expect(existsSync(path)).toBe(false);
  });

  test("of twenty that want it, one at a time has it", async () => {
    const path = lockOf(await openScene());
    let inside = 0;
    let most = 0;
    const one = async () => {
      const lock = await FileLock.acquire(path, {
        ...usual,
        timeoutMs: 60_000,
        pause: () => new Promise(setImmediate),
      });
      most = Math.max(most, ++inside);
      await new Promise(setImmediate);
      inside--;
      lock.release();
    };
    await Promise.all(Array.from({ length: 20 }, one));
    expect(most).toBe(1);
  });

  test.each([
    ["whose process is dead", (path: string) => writeFileSync(path, `${deadPid()}\n`)],
    [
      "whose pid is another process by now",
      (path: string) => writeFileSync(path, `${process.pid} 1 ${machine.hostId}\n`),
    ],
    ["older than a minute", (path: string) => old(path, () => writeFileSync(path, `${process.pid}\n`))],
    ["older than a minute, without a pid", (path: string) => old(path, () => writeFileSync(path, ""))],
    ["older than a minute, a directory", (path: string) => old(path, () => mkdirSync(path))],
  ])("one %s is nobody's", async (_, leave) => {
    const scene = await openScene();
    leave(lockOf(scene));
    const { waited, ...time } = patience();
    const lock = await FileLock.acquire(lockOf(scene), { ...usual, ...time });
    expect(waited()).toBeLessThan(100);
    lock.release();
    expect(readdirSync(scene.directory)).toEqual([]);
  });

  function old(path: string, make: () => void): void {
    make();
    utimesSync(path, new Date(Date.now() - 61_000), new Date(Date.now() - 61_000));
  }

  test.each([
    ["of a live process", (path: string) => writeFileSync(path, `${process.pid}\n`)],
    ["of another host", (path: string) => writeFileSync(path, `${deadPid()} 1 another-host\n`)],
    ["of a shell that wrote nothing", (path: string) => writeFileSync(path, "")],
    ["that is a directory", (path: string) => mkdirSync(path)],
    ["that is a link", (path: string) => symlinkSync("/etc/passwd", path)],
  ])("one %s is respected", async (_, make) => {
    const path = lockOf(await openScene());
    make(path);
    await expect(FileLock.acquire(path, { ...usual, ...patience() })).rejects.toMatchObject({
      code: "STORE_BUSY",
    });
    rmSync(path, { recursive: true });
  });

  test("whoever recovers a stale lock does not take a fresh one with it", async () => {
    const path = lockOf(await openScene());
    const pid = deadPid();
    for (let round = 0; round < 20; round++) {
      writeFileSync(path, `${pid}\n`);
      let inside = 0;
      const one = async () => {
        const lock = await FileLock.acquire(path, {
          ...usual,
          timeoutMs: 60_000,
          pause: () => new Promise(setImmediate),
        });
        expect(++inside).toBe(1);
        await new Promise(setImmediate);
        expect(lock.isOurs).toBe(true);
        inside--;
        lock.release();
      };
      await Promise.all(Array.from({ length: 5 }, one));
    }
  });
});

describe("a sync and the lock", () => {
  test("while somebody else has it, the file is neither read nor written", async () => {
    const scene = await openScene();
    await scene.create("One");
    await scene.sync();
    const before = scene.text;
    writeFileSync(lockOf(scene), `${process.pid}\n`);
    await scene.create("Two");
    await expect(scene.sync({ timings: { lockMs: 50 } })).rejects.toMatchObject({ code: "STORE_BUSY" });
    expect(scene.text).toBe(before);
    rmSync(lockOf(scene));
    await scene.sync();
    expect(scene.entries).toHaveLength(2);
  });

  test("while it watches, it says so once and goes on when it is free", async () => {
    const scene = await openScene();
    const sync = await scene.start({ timings: { lockMs: 20, debounceMs: 1, pollMs: 20 } });
    await eventually(() => existsSync(scene.file)).toBe(true);
    writeFileSync(lockOf(scene), `${process.pid}\n`);
    await scene.create("One");
    await eventually(() => told(scene.news, "trouble")).toHaveLength(1);
    rmSync(lockOf(scene));
    await eventually(() => scene.entries.length).toBe(1);
    await sync.stop();
    expect(told(scene.news, "whole")).toHaveLength(1);
  });

  test("two syncs of one file are one too many", async () => {
    const scene = await openScene();
    const sync = await scene.start();
    await expect(scene.sync()).rejects.toMatchObject({
      code: "SESSION_BUSY",
      message: expect.stringContaining(`process ${process.pid}`),
    });
    await sync.stop();
    expect(await scene.isClean()).toBe(true);
  });

  test("one that was stopped for too long notices that another took over", async () => {
    const scene = await openScene();
    const sync = await scene.start();
    const guard = `${scene.directory}/.tasks.json.dibs-sync`;
    // It keeps its guard young while it runs.
    utimesSync(guard, new Date(0), new Date(0));
    await eventually(() => statSync(guard).mtimeMs).toBeGreaterThan(Date.now() - 60_000);
    rmSync(guard);
    writeFileSync(guard, "1 1 another-host\n");
    await expect(sync.ended).rejects.toMatchObject({ message: expect.stringContaining("Another process") });
    expect(existsSync(guard)).toBe(true);
  });
});
