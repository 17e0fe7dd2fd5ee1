// The program as it is built: quick where its bytecode can be kept, and the same program where it cannot.

import { spawnSync } from "node:child_process";
import {
  cpSync,
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
  const build = spawnSync(process.execPath, [join(root, "scripts/ensure.mjs")], { encoding: "utf8" });
  expect(build.status, build.stderr).toBe(0);
  cpSync(join(root, "dist"), join(copy, "dist"), { recursive: true });
  cpSync(join(root, "package.json"), join(copy, "package.json"));
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"), "junction");
}, 120_000);

afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const cli = () => join(copy, "dist", "cli");
const kept = () => readdirSync(cli()).filter((file) => file.endsWith(".cache"));
const keptFile = () => join(cli(), kept()[0]!);

function dibs(args: string[], flags: string[] = []) {
  const env = { ...process.env, DIBS_DATABASE_URL: join(scratch, "dibs.db"), DIBS_SESSION: "agent" };
  const bin = join(copy, "dist", "bin.js");
  const run = spawnSync(process.execPath, [...flags, bin, ...args], { cwd: scratch, env, encoding: "utf8" });
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

  test("made under other flags is neither used nor replaced", () => {
    const before = readFileSync(keptFile());
    expect(dibs(["list"], ["--no-opt", "--stack-size=900"])).toEqual(list);
    expect(readFileSync(keptFile()).equals(before)).toBe(true);
  });

  test("is not needed where nothing can be written", () => {
    const [file] = kept();
    rmSync(keptFile());
    mkdirSync(join(cli(), file!, "in the way"), { recursive: true });
    expect(dibs(["list"])).toEqual(list);
    expect(dibs(["list"])).toEqual(list);
  });
});

test("without the bundle the modules answer the same", () => {
  const before = dibs(["list", "--json"]);
  rmSync(cli(), { recursive: true });
  expect(dibs(["list", "--json"])).toEqual(before);
});
