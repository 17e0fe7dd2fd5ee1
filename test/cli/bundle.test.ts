// The program as it is built: quick where its bytecode can be kept, the same program where it cannot, and packed without what
// earlier builds left.

import { type SpawnSyncOptions, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
let scratch: string;
let copy: string;

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "dibs-bundle-test-"));
  copy = join(scratch, "package");
  const program = join(root, "dist/cli/program.cjs");
  if (!existsSync(program)) throw new Error("The bundle is missing: run `npm run build` first.");
  const isNeeded = (path: string) => !/[\\/]dist[\\/]web$|\.map$/.test(path);
  cpSync(join(root, "dist"), join(copy, "dist"), { recursive: true, filter: isNeeded });
  cpSync(join(root, "package.json"), join(copy, "package.json"));
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"), "junction");
});

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const cli = () => join(copy, "dist", "cli");
const kept = () => readdirSync(cli()).filter((file) => file.endsWith(".cache"));
const keptFile = () => join(cli(), kept()[0]!);

function dibs(args: string[], flags: string[] = [], options: SpawnSyncOptions = {}) {
  const { NODE_OPTIONS: _, ...inherited } = process.env;
  const env = { ...inherited, DIBS_DATABASE_URL: join(scratch, "dibs.db"), DIBS_SESSION: "agent" };
  const bin = join(copy, "dist", "bin.js");
  const run = spawnSync(process.execPath, [...flags, bin, ...args], {
    cwd: scratch,
    env,
    ...options,
    encoding: "utf8",
  });
  return { code: run.status, out: run.stdout, err: run.stderr };
}

const list = { code: 0, err: "", out: expect.stringContaining("one") };

describe("bytecode", () => {
  beforeEach(() => {
    for (const file of kept()) rmSync(join(cli(), file), { recursive: true });
    dibs(["add", "one"]);
  });

  test("is kept by the first run of a command, and then left alone", () => {
    const first = readFileSync(keptFile());
    expect(dibs(["list"])).toEqual(list);
    const second = readFileSync(keptFile());
    expect(second.equals(first)).toBe(false);
    expect(dibs(["list"])).toEqual(list);
    expect(readFileSync(keptFile()).equals(second)).toBe(true);
    expect(readdirSync(cli()).filter((file) => /\.cache\./.test(file))).toEqual([]);
  });

  test("of another build is not believed", () => {
    writeFileSync(
      keptFile(),
      readFileSync(keptFile(), "latin1").replace(/"[0-9a-f]{32}"/, `"${"0".repeat(32)}"`),
      "latin1",
    );
    expect(dibs(["list"])).toEqual(list);
    expect(readFileSync(keptFile(), "latin1").slice(0, 40)).not.toContain("0".repeat(32));
  });

  test.each([0, 20, 60, 5_000, 100_000])("that ends after %i bytes is not believed", (length) => {
    const whole = readFileSync(keptFile());
    writeFileSync(keptFile(), whole.subarray(0, length));
    expect(dibs(["list"])).toEqual(list);
    expect(readFileSync(keptFile()).length).toBeGreaterThan(length);
  });

  test("is of one version of Node and one set of flags: each has a file of its own", () => {
    const usual = `${process.version}-${process.arch}.cache`;
    expect(kept()).toEqual([usual]);
    const before = readFileSync(keptFile());
    const flags = ["--no-opt", "--stack-size=900"];
    expect(dibs(["list"], flags)).toEqual(list);
    const [other] = kept().filter((file) => file !== usual);
    expect(other).toMatch(new RegExp(`^${process.version}-${process.arch}-\\d+\\.cache$`));
    const made = readFileSync(join(cli(), other!));
    expect(dibs(["list"], flags)).toEqual(list);
    expect(readFileSync(join(cli(), other!)).equals(made)).toBe(true);
    expect(readFileSync(join(cli(), usual)).equals(before)).toBe(true);
  });

  test("is not needed where nothing can be written", () => {
    const [file] = kept();
    rmSync(keptFile());
    mkdirSync(join(cli(), file!, "in the way"), { recursive: true });
    expect(dibs(["list"])).toEqual(list);
    expect(dibs(["list"])).toEqual(list);
  });

  test("is not even made where the package belongs to somebody else", () => {
    for (const file of kept()) rmSync(join(cli(), file));
    const watch = join(scratch, "watch.cjs");
    writeFileSync(
      watch,
      `const { Script } = require("node:vm"); const { createCachedData } = Script.prototype;
Script.prototype.createCachedData = function () { console.error("made"); return createCachedData.call(this); };`,
    );
    // For the superuser every directory can be written.
    const somebody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    chmodSync(scratch, 0o755);
    chmodSync(cli(), 0o555);
    try {
      const run = () => dibs(["completion", "bash"], ["--require", watch], somebody);
      expect(run()).toMatchObject({ code: 0, err: "", out: expect.stringContaining("_dibs") });
      expect(kept()).toEqual([]);
      chmodSync(cli(), 0o777);
      expect(run().err).toContain("made");
      expect(kept()).toHaveLength(1);
    } finally {
      chmodSync(cli(), 0o755);
    }
  });
});

test("what is packed is the present build, without what earlier ones left and without bytecode", () => {
  dibs(["list"]);
  writeFileSync(join(cli(), "base-older000.cjs"), "of an earlier build");
  const pack = spawnSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: copy,
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  const [{ files }] = JSON.parse(pack.stdout) as [{ files: { path: string }[] }];
  const packed = files.flatMap(({ path }) => (path.startsWith("dist/cli/") ? [path.slice(9)] : []));
  expect(packed).toContain("LICENSES.txt");
  const chunks = new Set(["program.cjs"]);
  for (const chunk of chunks) {
    const text = readFileSync(join(cli(), chunk), "utf8");
    for (const [, name] of text.matchAll(/require\("\.\/([\w-]+\.cjs)"\)/g)) chunks.add(name!);
  }
  expect(packed.filter((file) => file !== "LICENSES.txt").sort()).toEqual([...chunks].sort());
});

test("without the bundle the modules answer the same", () => {
  const before = dibs(["list", "--json"]);
  rmSync(cli(), { recursive: true });
  expect(dibs(["list", "--json"])).toEqual(before);
});
