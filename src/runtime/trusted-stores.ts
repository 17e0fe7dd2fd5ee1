// The stores that this user has created or trusted: one private file each in `~/.dibs/stores`, so that any number of processes can add
// theirs at once. A store that the user created is known by its id, wherever it is: a repository cannot know that id. One that the user
// trusts is known by id and path: everybody who can read its repository knows the id.

import { createHash } from "node:crypto";
import { chmodSync, existsSync, lstatSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { makeDirectory } from "./directory.js";
import { readPrivate, removePrivate, writePrivate } from "./private-file.js";

export interface TrustedStore {
  id: string;
  /** Where it was then. */
  path: string;
  /** This user created it. */
  isOwn: boolean;
  /** It is trusted while git tracks it, too. */
  isTracked: boolean;
}

/** Without a home directory there is no record: a relative one would be in the repository. */
export function trustDirectory(home = homedir()): string {
  if (!isAbsolute(home)) throw new Error("the home directory is not known (HOME)");
  return join(home, ".dibs", "stores");
}

/** Beyond this, stores that are gone are forgotten, and then the oldest. */
const storesMax = 4096;

const fileName = /^([0-9a-f]{32})(-[0-9a-f]{16})?$/;

type Key = Pick<TrustedStore, "id" | "path" | "isOwn">;

function nameOf({ id, path, isOwn }: Key): string {
  return isOwn ? id : `${id}-${createHash("sha256").update(path).digest("hex").slice(0, 16)}`;
}

export const ownStore = (id: string): TrustedStore | null => read(nameOf({ id, path: "", isOwn: true }));

export function storeTrustedAt(id: string, path: string): TrustedStore | null {
  const found = read(nameOf({ id, path, isOwn: false }));
  return found?.path === path ? found : null;
}

function read(name: string): TrustedStore | null {
  const [, id, place] = fileName.exec(name) ?? [];
  if (id === undefined) return null;
  try {
    const { path, isTracked } = JSON.parse(readPrivate(join(trustDirectory(), name)) ?? "null");
    return { id, path: String(path), isOwn: place === undefined, isTracked: isTracked === true };
  } catch {
    return null;
  }
}

export function trustedStores(): TrustedStore[] {
  if (!isAbsolute(homedir())) return [];
  return namesIn(trustDirectory()).flatMap((name) => read(name) ?? []);
}

function namesIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory).filter((name) => fileName.test(name)) : [];
}

export function rememberStore(store: TrustedStore): void {
  const directory = trustDirectory();
  if (!existsSync(directory)) {
    makeDirectory(directory);
    chmodSync(directory, 0o700);
  }
  const { path, isTracked } = store;
  writePrivate(join(directory, nameOf(store)), `${JSON.stringify({ path, isTracked })}\n`);
  keepBounded(directory);
}

export function forgetStore(store: Key): void {
  forget(nameOf(store));
}

function forget(name: string): void {
  if (fileName.test(name)) removePrivate(join(trustDirectory(), name));
}

function keepBounded(directory: string): void {
  const names = namesIn(directory);
  if (names.length <= storesMax) return;
  const ageOf = (name: string) => lstatSync(join(directory, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const all = names.map((name) => ({ name, at: ageOf(name), isGone: !existsSync(read(name)?.path ?? "") }));
  all.sort((a, b) => Number(b.isGone) - Number(a.isGone) || a.at - b.at);
  // A quarter at once, so that the next stores need no search.
  const surplus = names.length - storesMax * 0.75;
  for (const { name } of all.slice(0, surplus)) forget(name);
}
