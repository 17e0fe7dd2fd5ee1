// What the fault tests of PostgreSQL share.

import { expect } from "vitest";
import { brokenInvariants, type Everything } from "../../src/core/invariants.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { randomFrom, readEverything } from "../faults/support.js";

/** Everything in the database, read by a store of its own; all invariants hold. */
export async function stored(url: string): Promise<Everything> {
  const store = await openPostgresStore(url, null);
  try {
    const all = await readEverything(store);
    expect(brokenInvariants(all)).toEqual([]);
    return all;
  } finally {
    await store.close();
  }
}

export function seeded(file: string): () => number {
  const seed = Number(process.env.DIBS_SEED) || Math.floor(Math.random() * 2 ** 31);
  console.info(`${file}: seed ${seed} (set DIBS_SEED to repeat)`);
  return randomFrom(seed);
}
