// The stores that this user has created or trusted: one private file per id in `~/.dibs/stores`, so that any number of processes can
// add theirs at once. A repository cannot add to it, and cannot know the id of another store.

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

const isId = (id: string) => /^[0-9a-f]{32}$/.test(id);

export function trustedStore(id: string): TrustedStore | null {
  if (!isId(id)) return null;
  try {
    const { path, isOwn, isTracked } = JSON.parse(readPrivate(join(trustDirectory(), id)) ?? "null");
    return { id, path: String(path), isOwn: isOwn === true, isTracked: isTracked === true };
  } catch {
    return null;
  }
}

export function trustedStores(): TrustedStore[] {
  if (!isAbsolute(homedir())) return [];
  return namesIn(trustDirectory()).flatMap((id) => trustedStore(id) ?? []);
}

const namesIn = (directory: string) => (existsSync(directory) ? readdirSync(directory).filter(isId) : []);

export function rememberStore({ id, path, isOwn, isTracked }: TrustedStore): void {
  const directory = trustDirectory();
  if (!existsSync(directory)) {
    makeDirectory(directory);
    chmodSync(directory, 0o700);
  }
  writePrivate(join(directory, id), `${JSON.stringify({ path, isOwn, isTracked })}\n`);
  keepBounded(directory);
}

export function forgetStore(id: string): void {
  if (isId(id)) removePrivate(join(trustDirectory(), id));
}

function keepBounded(directory: string): void {
  const names = namesIn(directory);
  if (names.length <= storesMax) return;
  const ageOf = (id: string) => lstatSync(join(directory, id), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const all = names.map((id) => ({ id, at: ageOf(id), isGone: !existsSync(trustedStore(id)?.path ?? "") }));
  all.sort((a, b) => Number(b.isGone) - Number(a.isGone) || a.at - b.at);
  // A quarter at once, so that the next stores need no search.
  const surplus = names.length - storesMax * 0.75;
  all.slice(0, surplus).forEach(({ id }) => {
    forgetStore(id);
  });
}
