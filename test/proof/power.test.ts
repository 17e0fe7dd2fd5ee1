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
import { checkStore, open, tempDir } from "../faults/support.js";
import { seeded } from "../postgres/support.js";
import { amount, report } from "./figures.js";
import { type History, impossible } from "./history.js";
import { addResource, Storm } from "./storm.js";

const cuts = amount("CUTS", 2);
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

const notKept = (name: string) => name.startsWith(".") || name.endsWith("-shm");

/** A directory with a store, and one with what of it was synced. */
class Disk {
  readonly live = tempDir();
  readonly synced = tempDir();

  get path(): string {
    return join(this.live, "dibs.db");
  }

  get environment(): Record<string, string> {
    return { LD_PRELOAD: build(), POWER_FROM: this.live, POWER_TO: this.synced };
  }

  /** All that is there has reached the disk. */
  settle(): void {
    for (const name of readdirSync(this.live)) copyFileSync(join(this.live, name), join(this.synced, name));
  }

  cutPower(): void {
    for (const name of readdirSync(this.live)) rmSync(join(this.live, name));
    for (const name of readdirSync(this.synced).filter((each) => !notKept(each))) {
      copyFileSync(join(this.synced, name), join(this.live, name));
    }
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

/** Workers on a disk that loses its power again and again; what all of them have seen, and what is left. */
async function lose(
  what: string,
  children?: string,
): Promise<{ history: History; storm: Storm; path: string }> {
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
    environment,
    ...more,
  });
  for (let cut = 0; cut < cuts; cut++) {
    await storm.startWorkers();
    await storm.progress(20 + Math.floor(random() * 60));
    await storm.killAll();
    disk.cutPower();
  }
  const dibs = await open({ path });
  return { history: await storm.end(dibs), storm, path };
}

powerTest("a store that loses its power has all that was acknowledged, once", async () => {
  const { history, storm, path } = await lose("as it is");
  expect(impossible(history)).toEqual([]);
  await checkStore(path);
  report("power cuts", { ...storm.figures, cuts });
});

powerTest("the rig sees what is lost with synchronous=NORMAL", async () => {
  const { history } = await lose("control", programWith("FULL", "NORMAL"));
  expect(impossible(history)).not.toEqual([]);
});
