// Disks and files that are not as they should be: one clear refusal each, and the file as it was.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, type TestContext, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { afterwards, Child, checkStore, open, openStore, refusalOf, tempDir, tempFile } from "./support.js";

const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const hash = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex");

/** A healthy store of some hundred kilobytes, closed, in a directory of its own. */
async function healthyStore(): Promise<string> {
  const source = tempFile();
  const dibs = await openDibs({ path: source });
  await dibs.tasks.batch({
    tasks: Array.from({ length: 300 }, (_, n) => ({ prompt: `task ${n} ${"x".repeat(500)}` })),
  });
  await dibs.close();
  // A copy has an inode on which this process never had a connection.
  const copy = tempFile();
  writeFileSync(copy, readFileSync(source));
  return copy;
}

function mount(context: TestContext, options: string): string {
  const directory = tempDir();
  const run = spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", directory], { encoding: "utf8" });
  const reason = run.error?.message ?? run.stderr;
  if (run.status !== 0 && isRoot) throw new Error(`root cannot mount a tmpfs: ${reason}`);
  context.skip(run.status !== 0, `only root can mount a small disk: ${reason}`); // needs root
  afterwards(() => spawnSync("umount", ["-l", directory]));
  return directory;
}

describe("a file that is no intact store is refused and stays as it is:", () => {
  const damages: [what: string, damage: (file: string) => unknown, message: RegExp][] = [
    [
      "garbage",
      (file) => writeFileSync(file, Buffer.alloc(50_000, "no database at all ")),
      /not a Dibs database/,
    ],
    ["a short text", (file) => writeFileSync(file, "hello\n"), /not a Dibs database/],
    ["an empty file", (file) => writeFileSync(file, ""), /empty/],
    [
      "half of a store",
      (file) => truncateSync(file, Math.floor(readFileSync(file).length / 2 / 4096) * 4096),
      /./,
    ],
    [
      "a store cut in the middle of a page",
      (file) => truncateSync(file, readFileSync(file).length - 1000),
      /./,
    ],
    ["pages overwritten in the middle", (file) => overwrite(file, 0.4, 0.5), /./],
    ["its first page overwritten behind the header", (file) => overwrite(file, 0, 0, 100, 4096), /./],
    ["another program's database", (file) => otherProgram(file, "DELETE"), /another program/],
    [
      "another program's database with a write-ahead log",
      (file) => otherProgram(file, "WAL"),
      /another program/,
    ],
    ["an empty database", (file) => otherProgram(file, "DELETE", ""), /another program/],
  ];

  test.each(damages)("%s", async (_what, damage, message) => {
    const file = await healthyStore();
    damage(file);
    const before = hash(file);
    const refusal = await refusalOf(openDibs({ path: file }));
    expect(refusal.code).toBe("STORE_CORRUPT");
    expect(refusal.message).toContain(file);
    expect(refusal.message).toMatch(message);
    expect(refusal.hint).toBeTruthy();
    expect(hash(file)).toBe(before);
    // The second look must say the same.
    expect((await refusalOf(openDibs({ path: file }))).code).toBe("STORE_CORRUPT");
    expect(hash(file)).toBe(before);
  });

  function overwrite(file: string, from: number, to: number, fromByte = 0, toByte = 0): void {
    const bytes = readFileSync(file);
    const page = (part: number) => Math.floor((bytes.length * part) / 4096) * 4096;
    bytes.fill(0xa5, page(from) + fromByte, page(to) + toByte);
    writeFileSync(file, bytes);
  }

  function otherProgram(file: string, mode: string, sql = "CREATE TABLE song (title TEXT)"): void {
    rmSync(file);
    const db = new DatabaseSync(file);
    db.exec(`PRAGMA journal_mode = ${mode}; PRAGMA user_version = 1; ${sql}`);
    db.close();
  }
});

describe("a store of a newer program", () => {
  test("is refused and stays as it is", async () => {
    const file = await healthyStore();
    const db = new DatabaseSync(file);
    db.exec("PRAGMA user_version = 999");
    db.close();
    const before = hash(file);
    const refusal = await refusalOf(openDibs({ path: file }));
    expect(refusal).toMatchObject({ code: "STORE_TOO_NEW", message: expect.stringContaining("999") });
    expect(refusal.hint).toMatch(/update/i);
    expect(hash(file)).toBe(before);
  });

  test("is refused also by who has it open while it becomes one", async () => {
    const path = tempFile();
    const dibs = await open({ path });
    await dibs.tasks.create({ id: "before", prompt: "x" });
    const newer = new DatabaseSync(path);
    newer.exec("PRAGMA user_version = 999");
    for (const call of [
      () => dibs.tasks.create({ id: "after", prompt: "x" }),
      () => dibs.tasks.list(),
      () => dibs.tasks.claimNext({ sessionId: "a", register: true, waitMs: 60_000 }),
    ]) {
      expect(await refusalOf(call())).toMatchObject({
        code: "STORE_TOO_NEW",
        message: expect.stringContaining("999"),
      });
    }
    expect(newer.prepare("SELECT id FROM task").all()).toEqual([{ id: "before" }]);
    newer.close();
  });
});

test("tables that somebody has changed are a store that is not intact", async () => {
  const path = tempFile();
  const dibs = await open({ path });
  const other = new DatabaseSync(path);
  other.exec("DROP TABLE attempt");
  other.close();
  expect(await refusalOf(work(dibs))).toMatchObject({
    code: "STORE_CORRUPT",
    message: expect.stringContaining("attempt"),
  });

  async function work({ tasks }: typeof dibs): Promise<void> {
    const { task } = await tasks.create({ prompt: "x" });
    const { claim } = await tasks.claim({ taskId: task.id, sessionId: "a", register: true });
    await tasks.complete({ taskId: task.id, sessionId: "a", epoch: claim.epoch });
  }
});

test("a row of the queue whose task is over hands out nothing, wherever it stands", async () => {
  for (const place of [3, 20]) {
    const path = tempFile();
    const tasks = Array.from({ length: 40 }, (_, n) => ({ id: `t${n}`, prompt: "x" }));
    const dibs = await open({ path });
    await dibs.tasks.batch({ tasks });
    const db = new DatabaseSync(path);
    const row = db.prepare("SELECT * FROM ready WHERE id = ?").get(`t${place}`) as Record<string, string>;
    const { claim } = await dibs.tasks.claim({ taskId: `t${place}`, sessionId: "a", register: true });
    await dibs.tasks.complete({ taskId: `t${place}`, sessionId: "a", epoch: claim.epoch });
    const columns = Object.keys(row);
    db.prepare(`INSERT INTO ready (${columns}) VALUES (${columns.map(() => "?")})`).run(
      ...Object.values(row),
    );
    db.close();
    await dibs.sessions.register({ id: "b", capacity: 100 });
    const claims = await Promise.allSettled(tasks.map(() => dibs.tasks.claimNext({ sessionId: "b" })));
    const refused = claims.filter((each) => each.status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: "INTERNAL" });
    expect((await dibs.tasks.get({ taskId: `t${place}` })).task).toMatchObject({
      state: "completed",
      epoch: 1,
    });
  }
});

test("a clock that is none is refused, and a finer one is rounded", async () => {
  for (const time of [Number.NaN, Number.POSITIVE_INFINITY, -1, "soon", 1e300]) {
    expect(await refusalOf(openDibs({ path: tempFile(), clock: () => time as number }))).toMatchObject({
      code: "VALIDATION_FAILED",
      message: expect.stringContaining(String(time)),
    });
  }
  const dibs = await open({ path: tempFile(), clock: () => Date.UTC(2026, 0, 1) + 0.75 });
  expect((await dibs.tasks.create({ prompt: "x" })).task.createdAt).toBe("2026-01-01T00:00:00.000Z");
});

describe("a place for a store", () => {
  test("that is a directory is refused", async () => {
    const path = tempDir();
    const refusal = await refusalOf(openDibs({ path }));
    expect(refusal).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("directory"),
    });
    expect(readdirSync(path)).toEqual([]);
  });

  test("whose directory is missing is made", async () => {
    const path = join(tempDir(), "a", "b", "c", "dibs.db");
    const dibs = await open({ path });
    await dibs.tasks.create({ prompt: "x" });
    await dibs.close();
    expect((await checkStore(path)).tasks).toHaveLength(1);
  });

  test("below a file is refused", async () => {
    const file = join(tempDir(), "file");
    writeFileSync(file, "text");
    const refusal = await refusalOf(openDibs({ path: join(file, "dibs.db") }));
    expect(refusal).toMatchObject({ code: "STORE_UNAVAILABLE", message: expect.stringContaining(file) });
  });

  test("with a NUL in its name is refused", async () => {
    const refusal = await refusalOf(openDibs({ path: join(tempDir(), "a\u0000b.db") }));
    expect(refusal.code).toMatch(/^(VALIDATION_FAILED|STORE_UNAVAILABLE)$/);
  });

  // In a process of its own: Node 20's recursive mkdir turns for ever on such a place.
  test("where nothing can be made is refused", async () => {
    const child = new Child("opener.mjs", { path: "/proc/dibs-test/dibs.db" });
    await child.said("ready");
    child.send("go");
    const { error } = await child.said("refused");
    expect(error).toMatchObject({ name: "DibsError", code: "STORE_UNAVAILABLE" });
    expect(error.message).toContain("/proc/dibs-test");
  });
});

describe("without the right to write", () => {
  /** How it ends for a user who is not root. */
  async function openAsNobody(context: TestContext, path: string) {
    context.skip(!isRoot, "only root can become another user, and we are somebody already"); // needs root
    const child = new Child("opener.mjs", { path, uid: nobody });
    await child.said("ready");
    child.send("go");
    return child.said("refused");
  }

  test("a read-only file is refused as such", async (context) => {
    const file = await healthyStore();
    const before = hash(file);
    const directory = join(file, "..");
    if (isRoot) chownSync(directory, nobody, nobody);
    chmodSync(file, 0o444);
    const { error } = await openAsNobody(context, file);
    expect(error).toMatchObject({ name: "DibsError", code: "STORE_READ_ONLY" });
    expect(error.message).toContain(file);
    expect(error.hint).toMatch(/permission/);
    expect(hash(file)).toBe(before);
  });

  test("a directory that may not be written is refused", async (context) => {
    const file = await healthyStore();
    const before = hash(file);
    chmodSync(join(file, ".."), 0o755);
    chmodSync(file, 0o644);
    const { error } = await openAsNobody(context, file);
    expect(error.name).toBe("DibsError");
    expect(error.code).toMatch(/^STORE_(READ_ONLY|UNAVAILABLE)$/);
    expect(error.message).toContain(file);
    expect(error.hint).toMatch(/director/);
    expect(hash(file)).toBe(before);
  });

  test("a store cannot be made in a directory that may not be written", async (context) => {
    const directory = tempDir();
    chmodSync(directory, 0o755);
    for (const path of [join(directory, "dibs.db"), join(directory, "new", "dibs.db")]) {
      const { error } = await openAsNobody(context, path);
      expect(error.name).toBe("DibsError");
      expect(error.code).toMatch(/^STORE_(READ_ONLY|UNAVAILABLE)$/);
      expect(error.message).toContain(path);
    }
    expect(readdirSync(directory)).toEqual([]);
  });

  test("a file that may not be read is refused", async (context) => {
    const file = await healthyStore();
    chmodSync(join(file, ".."), 0o755);
    chmodSync(file, 0o600);
    const { error } = await openAsNobody(context, file);
    expect(error).toMatchObject({ name: "DibsError", code: "STORE_UNAVAILABLE" });
    expect(error.message).toContain(file);
  });

  test("a disk mounted read-only is refused, with a store and without", async (context) => {
    const directory = mount(context, "size=4m");
    const path = join(directory, "dibs.db");
    writeFileSync(path, readFileSync(await healthyStore()));
    expect(spawnSync("mount", ["-o", "remount,ro", directory]).status).toBe(0);
    const before = hash(path);
    for (const each of [path, join(directory, "other.db"), join(directory, "new", "other.db")]) {
      const refusal = await refusalOf(openDibs({ path: each }));
      expect(refusal.code).toBe("STORE_READ_ONLY");
      expect(refusal.message).toContain(each);
      expect(refusal.hint).toBeTruthy();
    }
    expect(hash(path)).toBe(before);
  });
});

describe("a full disk", () => {
  test("refuses with STORE_FULL, keeps what was acknowledged, and goes on when there is space", async (context) => {
    const directory = mount(context, "size=2m");
    const path = join(directory, "dibs.db");
    const filler = join(directory, "filler");
    writeFileSync(filler, Buffer.alloc(700_000));
    const dibs = await open({ path });
    const { session } = await dibs.sessions.register({});
    const first = (await dibs.tasks.create({ prompt: "first", priority: "critical" })).task.id;
    const { claim } = await dibs.tasks.claim({ taskId: first, sessionId: session.id });

    const acknowledged = [first];
    const fill = async () => {
      for (;;) acknowledged.push((await dibs.tasks.create({ prompt: "x".repeat(10_000) })).task.id);
    };
    const refusal = await refusalOf(fill());
    expect(refusal).toMatchObject({ code: "STORE_FULL", retryable: true });
    expect(refusal.message).toContain(path);
    expect(refusal.hint).toMatch(/space/);
    expect(acknowledged.length).toBeGreaterThan(5);
    // It stays so, for large and grouped writes alike, and reading goes on.
    const many = Array.from({ length: 20 }, () => dibs.tasks.create({ prompt: "y".repeat(20_000) }));
    for (const each of many) expect((await refusalOf(each)).code).toBe("STORE_FULL");
    expect(await ids()).toEqual(acknowledged);

    rmSync(filler);
    acknowledged.push((await dibs.tasks.create({ prompt: "there is space" })).task.id);
    const { task } = await dibs.tasks.complete({ taskId: first, sessionId: session.id, epoch: claim.epoch });
    expect(task.state).toBe("completed");
    expect(await ids()).toEqual(acknowledged);
    await dibs.close();
    expect((await checkStore(path)).tasks.map(({ id }) => id)).toEqual(acknowledged);

    async function ids(): Promise<string[]> {
      return (await dibs.tasks.list({ limit: 1_000 })).tasks.map(({ id }) => id);
    }
  });

  test("has no half-made store afterwards", async (context) => {
    const directory = mount(context, "size=1m");
    mkdirSync(join(directory, "full"));
    const filler = join(directory, "filler");
    writeFileSync(filler, Buffer.alloc(1024 * 1024 - 8 * 4096));
    const path = join(directory, "full", "dibs.db");
    expect(await refusalOf(openDibs({ path }))).toMatchObject({ code: "STORE_FULL" });
    expect(readdirSync(join(directory, "full"))).toEqual([]);
    rmSync(filler);
    const dibs = await open({ path });
    await dibs.tasks.create({ prompt: "x" });
    await dibs.close();
    expect((await checkStore(path)).tasks).toHaveLength(1);
  });
});

describe("a store whose file is lost", () => {
  test("is refused while its log is still there, instead of being filled from it", async () => {
    const path = tempFile();
    const child = new Child("client.mjs", { path });
    await child.call("tasks.create", { prompt: "kept in the log only" });
    await child.kill();
    rmSync(path);
    const refusal = await refusalOf(openDibs({ path }));
    expect(refusal).toMatchObject({ code: "STORE_CORRUPT", message: expect.stringContaining("-wal") });
    expect(existsSync(path)).toBe(false);
  });

  test("a store, what SQLite keeps next to it, and a backup can be read by their owner only", async () => {
    const file = tempFile();
    const store = await openStore(file);
    const path = join(tempDir(), "backup.db");
    await store.backup(path);
    const modes = [file, `${file}-wal`, `${file}-shm`, path].map((each) => statSync(each).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600, 0o600]);
  });

  test("a backup does not replace a file that exists", async () => {
    const path = tempFile();
    const store = await openStore(path);
    await expect(store.backup(path)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(await store.check()).toEqual([]);
  });
});
