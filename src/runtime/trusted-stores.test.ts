import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { forgetStore, rememberStore, trustDirectory, trustedStore, trustedStores } from "./trusted-stores.js";

function ownHome(): string {
  const home = mkdtempSync(join(tmpdir(), "dibs-home-"));
  const before = process.env.HOME;
  process.env.HOME = home;
  onTestFinished(() => {
    process.env.HOME = before;
    rmSync(home, { recursive: true, force: true });
  });
  return home;
}

const idOf = (n: number) => n.toString(16).padStart(32, "0");

test("a store is remembered in a private file, and forgotten", () => {
  const home = ownHome();
  expect(trustedStores()).toEqual([]);
  const store = { id: idOf(1), path: "/shop/.dibs/dibs.db", isOwn: false, isTracked: true };
  rememberStore(store);
  expect(trustedStore(idOf(1))).toEqual(store);
  expect(trustedStores()).toEqual([store]);
  const directory = trustDirectory(home);
  expect([statSync(directory).mode & 0o777, statSync(join(directory, idOf(1))).mode & 0o777]).toEqual([
    0o700, 0o600,
  ]);
  forgetStore(idOf(1));
  expect(trustedStore(idOf(1))).toBeNull();
});

test("an id that is no id names no file, and a file that others can read is not believed", () => {
  ownHome();
  rememberStore({ id: idOf(1), path: "/x", isOwn: true, isTracked: false });
  expect(trustedStore(`../stores/${idOf(1)}`)).toBeNull();
  chmodSync(join(trustDirectory(), idOf(1)), 0o644);
  expect(trustedStore(idOf(1))).toBeNull();
});

test("the record is bounded: stores that are gone go first", () => {
  const home = ownHome();
  const directory = trustDirectory(home);
  mkdirSync(directory, { recursive: true });
  for (let n = 0; n < 4096; n++) {
    const path = n < 1000 ? home : join(home, "gone");
    writeFileSync(join(directory, idOf(n)), JSON.stringify({ path, isOwn: true, isTracked: false }), {
      mode: 0o600,
    });
  }
  rememberStore({ id: idOf(5000), path: home, isOwn: true, isTracked: false });
  expect(readdirSync(directory)).toHaveLength(3072);
  const kept = trustedStores().filter(({ path }) => path === home);
  expect(kept).toHaveLength(1001);
});
