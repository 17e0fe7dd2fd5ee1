import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  forgetStore,
  ownStore,
  rememberStore,
  storeTrustedAt,
  trustDirectory,
  trustedStores,
} from "./trusted-stores.js";

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
  const store = { id: idOf(1), path: "/shop/.dibs/dibs.db", isOwn: true, isTracked: false };
  rememberStore(store);
  expect(ownStore(idOf(1))).toEqual(store);
  expect(trustedStores()).toEqual([store]);
  const directory = trustDirectory(home);
  expect([statSync(directory).mode & 0o777, statSync(join(directory, idOf(1))).mode & 0o777]).toEqual([
    0o700, 0o600,
  ]);
  forgetStore(store);
  expect(ownStore(idOf(1))).toBeNull();
});

test("a store that was trusted is so at its path; other records of the same id stay", () => {
  ownHome();
  const own = { id: idOf(1), path: "/own/.dibs/dibs.db", isOwn: true, isTracked: false };
  const one = { ...own, path: "/one/.dibs/dibs.db", isOwn: false, isTracked: true };
  const two = { ...one, path: "/two/.dibs/dibs.db", isTracked: false };
  for (const store of [own, one, two]) rememberStore(store);
  expect(trustedStores()).toHaveLength(3);
  expect(storeTrustedAt(idOf(1), one.path)).toEqual(one);
  expect(storeTrustedAt(idOf(1), "/three/.dibs/dibs.db")).toBeNull();
  forgetStore(one);
  expect(storeTrustedAt(idOf(1), one.path)).toBeNull();
  expect([ownStore(idOf(1)), storeTrustedAt(idOf(1), two.path)]).toEqual([own, two]);
});

test("an id that is no id names no file, and a file that others can read is not believed", () => {
  ownHome();
  rememberStore({ id: idOf(1), path: "/x", isOwn: true, isTracked: false });
  expect(ownStore(`../stores/${idOf(1)}`)).toBeNull();
  chmodSync(join(trustDirectory(), idOf(1)), 0o644);
  expect(ownStore(idOf(1))).toBeNull();
});

test("the record is bounded: stores that are gone go first", () => {
  const home = ownHome();
  const directory = trustDirectory(home);
  mkdirSync(directory, { recursive: true });
  for (let n = 0; n < 4096; n++) {
    const path = n < 1000 ? home : join(home, "gone");
    writeFileSync(join(directory, idOf(n)), JSON.stringify({ path, isTracked: false }), {
      mode: 0o600,
    });
  }
  rememberStore({ id: idOf(5000), path: home, isOwn: true, isTracked: false });
  expect(readdirSync(directory)).toHaveLength(3072);
  const kept = trustedStores().filter(({ path }) => path === home);
  expect(kept).toHaveLength(1001);
});
