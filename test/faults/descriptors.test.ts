// A closed store holds no file. Linux tells which files a process has open.

import { existsSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { tempDir } from "../support.js";

beforeAll(() => {
  process.env.TEST_COLLECT_ALWAYS = "1";
});
afterAll(() => {
  delete process.env.TEST_COLLECT_ALWAYS;
});

const onLinux = test.skipIf(!existsSync("/proc/self/fd"));

function openFilesIn(directory: string): string[] {
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`);
      return path.startsWith(directory) ? [path] : [];
    } catch {
      return [];
    }
  });
}

onLinux("fifty stores that were opened and closed hold no file", async () => {
  const directory = tempDir();
  for (let round = 0; round < 50; round++) {
    const dibs = await openDibs({ path: join(directory, "dibs.db") });
    await dibs.tasks.create({ title: "one", prompt: "x" });
    await dibs.tasks.list();
    await dibs.close();
    expect(openFilesIn(directory)).toEqual([]);
  }
});

onLinux("snapshots and backups of a store leave no more files open than one of them", async () => {
  const directory = tempDir();
  const store = await openSqliteStore(join(directory, "dibs.db"), { now: () => 1 });
  await store.open("default", "demo");
  const copy = async (name: string) => {
    const snapshot = await store.snapshot("default");
    await snapshot.read((view) => view.projects());
    await snapshot.close();
    await expect(store.snapshot("no such org")).rejects.toThrow();
    await store.backup!(join(directory, name));
  };
  await copy("first.db");
  // SQLite keeps one descriptor to use again: closing it would drop the locks of the open store.
  const afterOne = openFilesIn(directory);
  for (let round = 0; round < 5; round++) await copy(`${round}.db`);
  expect(openFilesIn(directory)).toEqual(afterOne);
  await store.close();
  expect(openFilesIn(directory)).toEqual([]);
});

onLinux("files that are refused are not held", async () => {
  const directory = tempDir();
  const foreign = join(directory, "foreign.db");
  const db = new DatabaseSync(foreign);
  db.exec("CREATE TABLE other (a)");
  db.close();
  const broken = join(directory, "broken.db");
  writeFileSync(broken, "this is no database at all, but it is long enough to have a header".repeat(100));
  for (const file of [foreign, broken]) {
    await expect(openSqliteStore(file, { now: () => 1 })).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  }
  expect(openFilesIn(directory)).toEqual([]);
});
