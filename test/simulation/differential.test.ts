// Random scripts on the reference model and on SQLite, side by side.

import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import type { Coverage } from "./coverage.js";
import { staysAlike } from "./property.js";
import { Rig } from "./rig.js";

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

async function runScript(steps: Parameters<Rig["run"]>[0], coverage: Coverage): Promise<void> {
  const place = mkdtempSync(join(directory, `${run++}-`));
  try {
    const file = join(place, "dibs.db");
    copyFileSync(join(directory, "empty.db"), file);
    await new Rig("sqlite", (clock) => openSqliteStore(file, clock, { brief: true }), coverage).run(steps);
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

staysAlike("SQLite", 300, runScript);
