// What tests with real files and processes share.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const patienceMs = 40_000;
const cleanups: (() => unknown)[] = [];

/** Runs after the test, the latest first. */
export function afterwards(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** All of them, also after one that fails: what they leave would be there for the next file. */
export async function cleanUp(): Promise<void> {
  const troubles: unknown[] = [];
  for (const cleanup of cleanups.splice(0).reverse()) {
    try {
      await cleanup();
    } catch (trouble) {
      troubles.push(trouble);
    }
  }
  if (troubles.length > 0) throw troubles[0];
}

export function tempDir(): string {
  const directory = mkdtempSync(join(tmpdir(), "dibs-test-"));
  afterwards(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Looks until it is so. */
export async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await sleep(10);
  }
}
