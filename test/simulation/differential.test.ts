// Random scripts on the reference model and on SQLite, side by side. Again with the same numbers: DIBS_SEED=… (and
// DIBS_PATH=… to go straight to the failing script); longer: DIBS_RUNS=20000. DIBS_COVERAGE=1 prints what was reached.

import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { commandTypes } from "./commands.js";
import { Coverage } from "./coverage.js";
import { Rig } from "./rig.js";
import { script } from "./script.js";

const seed = Number(process.env.DIBS_SEED ?? Math.floor(Math.random() * 2 ** 31));
const numRuns = Number(process.env.DIBS_RUNS ?? 300);
const path = process.env.DIBS_PATH;
/** After a failure, this long is spent on making it smaller. */
const shrinkMs = Number(process.env.DIBS_SHRINK_MS ?? 60_000);

const coverage = new Coverage();
let directory = "";
let run = 0;

/** A closed database keeps its files open until its statements are collected: in a long run, see to it. */
const collectEvery = 200;
setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** The file is never synced to a disk where there is memory to be had: durability is tested elsewhere. */
const scratch = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

beforeAll(async () => {
  directory = mkdtempSync(join(scratch, "dibs-simulation-"));
  const store = await openSqliteStore(join(directory, "empty.db"), { now: () => 0 });
  await store.close();
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function runScript(steps: Parameters<Rig["run"]>[0]): Promise<void> {
  const place = mkdtempSync(join(directory, `${run++}-`));
  try {
    copyFileSync(join(directory, "empty.db"), join(place, "dibs.db"));
    await new Rig(place, coverage).run(steps);
  } finally {
    rmSync(place, { recursive: true, force: true });
    if (run % collectEvery === 0) await collectAll();
  }
}

/** Twice, with a turn of the event loop after each: statements are let go in the first, their databases in the second. */
async function collectAll(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("memory and SQLite", () => {
  test(
    "answer alike and stay alike, whatever happens",
    async () => {
      console.log(`simulation: DIBS_SEED=${seed} DIBS_RUNS=${numRuns}`);
      let failedAt: number | null = null;
      const property = fc.asyncProperty(script, async (steps) => {
        if (failedAt !== null && performance.now() - failedAt > shrinkMs) return;
        try {
          await runScript(steps);
        } catch (error) {
          failedAt ??= performance.now();
          throw error;
        }
      });
      const details = await fc.check(property, { seed, numRuns, ...(path ? { path } : {}) });
      if (process.env.DIBS_COVERAGE) console.log(String(coverage));
      if (!details.failed) return;
      const error = details.errorInstance;
      const again = `DIBS_SEED=${details.seed} DIBS_PATH=${details.counterexamplePath} npx vitest run test/simulation`;
      expect.fail(
        `after ${details.numRuns} scripts and ${details.numShrinks} shrinks; again: ${again}\n\n${
          error instanceof Error ? error.message : String(error)
        }`,
      );
    },
    24 * 60 * 60 * 1000,
  );

  test("were asked everything", () => {
    if (numRuns < 200 || path) return;
    const never = commandTypes.filter((type) => coverage.of(type, "ok") === 0);
    expect(never).toEqual([]);
    expect(coverage.codes().size).toBeGreaterThan(20);
  });
});
