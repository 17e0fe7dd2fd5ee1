// Several processes on one file, all alive.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { describe, expect, test } from "vitest";
import { brokenInvariants } from "../../src/core/invariants.js";
import { applicationId, migrations } from "../../src/store/sqlite/schema.js";
import { Child, checkStore, open, openStore, readEverything, tempDir, tempFile, until } from "./support.js";

describe("eight processes on one file", () => {
  test("2 000 tasks are each claimed exactly once, nobody starves, nobody is told of a lock", {
    timeout: 300_000,
  }, async () => {
    const least: number[] = [];
    // The best of three: a process that the machine lets stand still meanwhile gets nothing.
    while (least.length < 3 && !(Math.max(...least) > 10)) least.push(await leastShare());
    // A fair share is 250.
    expect(Math.max(...least)).toBeGreaterThan(10);
  });

  /** How many tasks that process got that got the fewest. */
  async function leastShare(): Promise<number> {
    const path = tempFile();
    const dibs = await open({ path });
    const tasks = Array.from({ length: 2_000 }, (_, n) => ({ prompt: `task ${n}` }));
    const created = await dibs.tasks.batch({ tasks });
    await dibs.close();

    const children = Array.from({ length: 8 }, () => new Child("drain.mjs", { path, loops: 3 }));
    await Promise.all(children.map((child) => child.said("ready")));
    for (const child of children) child.send("go");
    const reports = await Promise.all(children.map((child) => child.said("done")));

    expect(reports.flatMap(({ errors }) => errors)).toEqual([]);
    const claims: { taskId: string; epoch: number }[] = reports.flatMap((report) => report.claims);
    expect(claims.map(({ taskId }) => taskId).sort()).toEqual(created.tasks.map(({ id }) => id).sort());
    expect(claims.every(({ epoch }) => epoch === 1)).toBe(true);
    const all = await checkStore(path);
    expect(all.tasks.every((task) => task.state === "completed")).toBe(true);
    expect(all.events.filter((event) => event.type === "task:claimed")).toHaveLength(2_000);
    expect(all.claims).toEqual([]);
    return Math.min(...reports.map((report) => report.claims.length));
  }
});

describe("the process that made a store", () => {
  test("sees what others write, and they see what it writes", async () => {
    const path = tempFile();
    const maker = await open({ path });
    const other = new Child("client.mjs", { path });
    await other.said("ready");
    const ids: string[] = [];
    for (let round = 0; round < 20; round++) {
      ids.push((await maker.tasks.create({ prompt: "by the maker" })).task.id);
      ids.push((await other.call("tasks.create", { prompt: "by the other" })).task.id);
      expect((await maker.tasks.list()).tasks.map(({ id }) => id)).toEqual(ids);
    }
    expect(new Set(ids).size).toBe(40);
    await other.kill();
    await maker.close();
    expect((await checkStore(path)).tasks.map(({ id }) => id)).toEqual(ids);
  });
});

describe("ten processes that open a path which does not exist yet", () => {
  test.each([1, 2, 3])("all succeed on the same store (round %i)", async () => {
    const directory = tempDir();
    const path = join(directory, "shop", ".dibs", "dibs.db");
    const children = Array.from({ length: 10 }, () => new Child("opener.mjs", { path }));
    await Promise.all(children.map((child) => child.said("ready")));
    for (const child of children) child.send("go");
    await Promise.all(children.map((child) => child.exited));

    expect(children.flatMap((child) => child.of("refused"))).toEqual([]);
    const opened = children.map((child) => child.of("opened")[0]);
    expect(new Set(opened.map((each) => each?.project)).size).toBe(1);
    expect(opened.every((each) => each?.isDefault)).toBe(true);
    expect(new Set(opened.map((each) => each?.wrote)).size).toBe(10);

    const db = new DatabaseSync(path);
    const applied = db.prepare("SELECT version, name FROM migration ORDER BY version").all();
    db.close();
    expect(applied).toEqual(migrations.map(({ version, name }) => ({ version, name })));
    const all = await checkStore(path);
    expect(all.tasks.map(({ id }) => id)).toEqual(opened.map((each) => each!.wrote as string).sort());
    expect(readdirSync(join(directory, "shop", ".dibs")).filter((name) => name.includes(".new-"))).toEqual(
      [],
    );
  });
});

describe("ten processes that open a store of the first version", () => {
  test.each([1, 2])("all succeed, and each migration is applied once (round %i)", async () => {
    const path = tempFile();
    const old = new DatabaseSync(path);
    old.exec(`PRAGMA application_id = ${applicationId}; PRAGMA journal_mode = WAL; ${migrations[0]!.sql}
      CREATE TABLE migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_by INTEGER NOT NULL) STRICT;
      INSERT INTO migration VALUES (1, '${migrations[0]!.name}', 1); PRAGMA user_version = 1`);
    old.close();
    const children = Array.from({ length: 10 }, () => new Child("opener.mjs", { path }));
    await Promise.all(children.map((child) => child.said("ready")));
    for (const child of children) child.send("go");
    await Promise.all(children.map((child) => child.exited));
    expect(children.flatMap((child) => child.of("refused"))).toEqual([]);
    expect(new Set(children.map((child) => child.of("opened")[0]?.wrote)).size).toBe(10);
    const db = new DatabaseSync(path);
    const applied = db.prepare("SELECT version, name FROM migration ORDER BY version").all();
    db.close();
    expect(applied).toEqual(migrations.map(({ version, name }) => ({ version, name })));
  });
});

describe("a live backup", () => {
  test("taken while two processes write is a whole store of one instant", async () => {
    const path = tempFile();
    // Several megabytes, so that the copy takes many steps while others commit between them.
    const dibs = await open({ path });
    const tasks = Array.from({ length: 3_000 }, () => ({ prompt: "x".repeat(4_000), priority: 0 }));
    await dibs.tasks.batch({ tasks });
    await dibs.close();
    const store = await openStore(path);
    const writers = [new Child("busy.mjs", { path }), new Child("busy.mjs", { path })];
    const completed = () => writers.map((writer) => writer.of("completed").length);
    await until("both writers are at it", () => completed().every((count) => count > 5));

    for (const number of [1, 2, 3]) {
      const acknowledged = writers.flatMap((writer) => writer.of("completed").map(({ taskId }) => taskId));
      const before = completed();
      const copy = join(tempDir(), `backup-${number}.db`);
      await store.backup(copy);
      const backup = await openStore(copy);
      const all = await readEverything(backup);
      expect(await backup.check()).toEqual([]);
      expect(brokenInvariants(all)).toEqual([]);
      const done = new Set(all.tasks.filter((task) => task.state === "completed").map(({ id }) => id));
      expect(acknowledged.filter((id) => !done.has(id))).toEqual([]);
      await until("the writers went on", () => completed().every((count, index) => count > before[index]!));
    }
    expect(writers.flatMap((writer) => writer.of("trouble"))).toEqual([]);
    for (const writer of writers) writer.send("stop");
    await Promise.all(writers.map((writer) => writer.exited));
    await store.close();
    await checkStore(path);
  });
});
