// Power cuts: a preloaded library (power.c) keeps of each file only what was synced. After a cut the next processes find no more
// than that. What was acknowledged before must be there.

import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { openDibs } from "../../src/index.js";
import { checkStore, open, tempDir } from "../faults/support.js";
import { seeded } from "../postgres/support.js";
import { amount, report } from "./figures.js";
import { type Call, impossible } from "./history.js";
import { addResource, contentOf, Storm } from "./storm.js";

const rounds = amount("ROUNDS", 2);
const root = resolve(import.meta.dirname, "../..");
const hasCompiler = process.platform === "linux" && spawnSync("cc", ["--version"]).status === 0;

/** Without a compiler there is nothing to preload. */
const powerTest = test.skipIf(!hasCompiler);

function build(): string {
  const library = join(tempDir(), "power.so");
  const args = ["-shared", "-fPIC", "-O1", "-o", library, join(import.meta.dirname, "power.c"), "-ldl"];
  const { status, stderr } = spawnSync("cc", args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`cc failed: ${stderr}`);
  return library;
}

/** What is on the disk after a power cut at this time: the last copy of each file. */
interface Image {
  /** In microseconds, of the clock of the calls. */
  at: number;
  files: ReadonlyMap<string, string>;
}

/** A directory with a store, and what of it was synced when. */
class Disk {
  readonly live = tempDir();
  private readonly synced = tempDir();
  private readonly library = build();

  get path(): string {
    return join(this.live, "dibs.db");
  }

  get environment(): Record<string, string> {
    return { LD_PRELOAD: this.library, POWER_FROM: this.live, POWER_TO: this.synced };
  }

  /** One in so many writes and syncs fails, and of five times as many reads: the same ones for the same seed. */
  failing(oneIn: number, seed: number): Record<string, string> {
    return {
      LD_PRELOAD: this.library,
      POWER_FROM: this.live,
      FAIL_ONE_IN: String(oneIn),
      FAIL_READ_ONE_IN: String(5 * oneIn),
      FAIL_SEED: String(seed),
    };
  }

  /** All that is there has reached the disk. */
  settle(): void {
    for (const file of readdirSync(this.synced)) rmSync(join(this.synced, file));
    for (const name of readdirSync(this.live)) {
      copyFileSync(join(this.live, name), join(this.synced, `${"0".repeat(16)}-${name}`));
    }
  }

  /** One for each time at which something was synced, and for the end. */
  images(): Image[] {
    const images: Image[] = [];
    for (const copy of readdirSync(this.synced).sort()) {
      const [, time, name] = /^(\d{16})-(.*)$/.exec(copy) ?? [];
      // The lock, and the draft of a process that was killed. SQLite makes the shared memory anew.
      if (name === undefined || name.endsWith("-shm")) continue;
      const files = new Map(images.at(-1)?.files).set(name, join(this.synced, copy));
      images.push({ at: Number(time), files });
    }
    return [...images.filter(({ at }) => at > 0), { ...images.at(-1)!, at: Number.POSITIVE_INFINITY }];
  }

  cutPower(): void {
    restore(this.images().at(-1)!, this.live);
    this.settle();
  }
}

function restore({ files }: Image, directory: string): void {
  for (const name of readdirSync(directory)) rmSync(join(directory, name));
  for (const [name, copy] of files) copyFileSync(copy, join(directory, name));
}

/** What is known at a time: of a call that had not ended, nobody knows what became of it. */
function knownAt(at: number, calls: readonly Call[]): Call[] {
  return calls
    .filter(({ start }) => start <= at)
    .map((call) => {
      if (call.end !== undefined && call.end < at) return call;
      const { process, call: name, input, start, key } = call;
      return { process, call: name, input, start, ...(key === undefined ? {} : { key }) };
    });
}

/** What is wrong with the store of a power cut at that time. */
async function lostIn(image: Image, calls: readonly Call[], directory: string): Promise<string[]> {
  restore(image, directory);
  const path = join(directory, "dibs.db");
  const dibs = await openDibs({ path });
  try {
    const broken = impossible({ ...(await contentOf(dibs)), calls: knownAt(image.at, calls), streams: [] });
    if (broken.length === 0) await checkStore(path);
    return broken;
  } finally {
    await dibs.close();
  }
}

/** The program as it is, but with another setting of SQLite. */
function programWith(from: string, to: string): string {
  const directory = tempDir();
  cpSync(join(root, "dist"), join(directory, "dist"), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
  writeFileSync(join(directory, "package.json"), '{ "type": "module" }');
  for (const folder of ["faults", "proof"]) {
    mkdirSync(join(directory, "test", folder), { recursive: true });
    const children = join("test", folder, "children");
    cpSync(join(root, children), join(directory, children), { recursive: true });
  }
  const file = join(directory, "dist/store/sqlite/connection.js");
  const text = readFileSync(file, "utf8");
  const changed = text
    .replace(`synchronous = ${from}`, `synchronous = ${to}`)
    .replace('synchronous") !== 2', 'synchronous") === 2');
  expect(changed).not.toBe(text);
  writeFileSync(file, changed);
  return join(directory, "test/proof/children");
}

/** Workers on a disk that loses its power again and again, and could have lost it whenever something was synced. */
async function losePower(what: string, children?: string) {
  const random = seeded(`power.test.ts, ${what}`);
  const disk = new Disk();
  const { path, environment } = disk;
  const first = await open({ path });
  await addResource(first);
  await first.projects.update({ settings: { maxLost: 1_000 } });
  await first.close();
  disk.settle();
  const more = children === undefined ? {} : { children };
  const storm = new Storm({
    place: () => ({ path }),
    random,
    workers: 2,
    ttlMs: 60_000,
    environment: () => environment,
    ...more,
  });
  const directory = tempDir();
  const broken: string[] = [];
  let cuts = 0;
  for (let round = 0; round < rounds && broken.length === 0; round++) {
    await storm.startWorkers();
    await storm.progress(20 + Math.floor(random() * 60));
    await storm.killAll();
    const calls = storm.calls();
    for (const image of disk.images()) {
      if (broken.length > 0) break;
      cuts++;
      broken.push(...(await lostIn(image, calls, directory)));
    }
    disk.cutPower();
  }
  const dibs = await open({ path });
  if (broken.length === 0) broken.push(...impossible(await storm.end(dibs)));
  return { broken, figures: { ...storm.figures, cuts }, path };
}

powerTest("a store that loses its power has all that was acknowledged, once", async () => {
  const { broken, figures, path } = await losePower("as it is");
  expect(broken).toEqual([]);
  await checkStore(path);
  report("power cuts", figures);
});

/** SQLite takes a file of which a part cannot be read for damaged. */
const failedRead = "STORE_CORRUPT";

powerTest("reads, writes and syncs that fail lose nothing that was acknowledged", async () => {
  const random = seeded("power.test.ts, failing disk");
  const disk = new Disk();
  const { path } = disk;
  const dibs = await open({ path });
  await addResource(dibs);
  await dibs.projects.update({ settings: { maxLost: 1_000 } });
  const place = () => ({ path });
  let seed = Math.floor(random() * 2 ** 30);
  const environment = () => disk.failing(40, ++seed);
  const storm = new Storm({ place, random, workers: 2, ttlMs: 60_000, environment });
  await storm.start();
  for (let round = 0; round < rounds; round++) {
    await storm.progress(300);
    await storm.killWorker();
  }
  expect(impossible(await storm.end(dibs))).toEqual([]);
  await checkStore(path);
  expect(storm.failed("STORE_UNAVAILABLE")).toBeGreaterThan(0);
  expect(storm.failed(failedRead)).toBeGreaterThan(0);
  report("failing disk", {
    ...storm.figures,
    "I/O errors": storm.failed("STORE_UNAVAILABLE"),
    "full disks": storm.failed("STORE_FULL"),
    "failed reads": storm.failed(failedRead),
  });
});

powerTest("the rig sees what is lost with synchronous=NORMAL", async () => {
  const { broken } = await losePower("control", programWith("FULL", "NORMAL"));
  expect(broken).not.toEqual([]);
});
