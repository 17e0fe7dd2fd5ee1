// The stores between which data is moved: every pair of them, and each with itself. Another store is one more line.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Driver, TestClock } from "../../src/store/conformance/index.js";
import { openMemoryStore } from "../../src/store/memory/store.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import type { Store } from "../../src/store/store.js";
import { fakeDriver } from "../dynamodb/support.js";
import { cloneDatabase } from "../postgres/database.js";

/** The files are never synced to a disk where there is memory to be had: durability is tested elsewhere. */
const scratch = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export function scratchDirectory(): { directory: string; dispose(): void } {
  const directory = mkdtempSync(join(scratch, "dibs-transfer-"));
  return { directory, dispose: () => rmSync(directory, { recursive: true, force: true }) };
}

export const drivers: Driver[] = [
  { name: "memory", open: async (clock) => ({ store: openMemoryStore(clock) }) },
  {
    name: "SQLite",
    async open(clock) {
      const { directory, dispose } = scratchDirectory();
      return { store: await openSqliteStore(join(directory, "dibs.db"), clock), dispose };
    },
  },
  {
    name: "PostgreSQL",
    async open(clock) {
      const { url, drop } = await cloneDatabase();
      return { store: await openPostgresStore(url, clock), dispose: drop };
    },
  },
  fakeDriver,
];

export const pairs = drivers.flatMap((from) => drivers.map((to) => ({ from, to })));

/** Fresh stores by one clock, for the length of a story. */
export async function withStores<T>(
  chosen: Driver[],
  story: (stores: Store[], clock: TestClock) => Promise<T>,
): Promise<T> {
  const clock = new TestClock();
  const opened = await Promise.all(chosen.map((driver) => driver.open(clock)));
  try {
    return await story(
      opened.map(({ store }) => store),
      clock,
    );
  } finally {
    // Together: stores that close in the same turn share one garbage collection.
    await Promise.all(opened.map(({ store }) => store.close()));
    for (const { dispose } of opened) await dispose?.();
  }
}
