// The stores that this user has created or trusted: one private file per id in `~/.dibs/stores`, so that any number of processes can
// add theirs at once. A repository cannot add to it, and cannot know the id of another store.

import { chmodSync, existsSync, lstatSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { makeDirectory } from "./directory.js";
import { readPrivate, removePrivate, writePrivate } from "./private-file.js";

export interface TrustedStore {
  id: string;
  /** Where it was then. */
  path: string;
  /** Also while git tracks it. */
  tracked: boolean;
}

export const trustDirectory = (home = homedir()) => join(home, ".dibs", "stores");

/** Beyond this, stores that are gone are forgotten, and then the oldest. */
const storesMax = 4096;

const isId = (id: string) => /^[0-9a-f]{32}$/.test(id);

export function trustedStore(id: string): TrustedStore | null {
  if (!isId(id)) return null;
  try {
    const { path, tracked } = JSON.parse(readPrivate(join(trustDirectory(), id)) ?? "null");
    return { id, path: String(path), tracked: tracked === true };
  } catch {
    return null;
  }
}

export function trustedStores(): TrustedStore[] {
  return namesIn(trustDirectory()).flatMap((id) => trustedStore(id) ?? []);
}

const namesIn = (directory: string) => (existsSync(directory) ? readdirSync(directory).filter(isId) : []);

export function rememberStore({ id, path, tracked }: TrustedStore): void {
  const directory = trustDirectory();
  if (!existsSync(directory)) {
    makeDirectory(directory);
    chmodSync(directory, 0o700);
  }
  writePrivate(join(directory, id), `${JSON.stringify({ path, tracked })}\n`);
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
  // A quarter at once: the next stores do not have to look again.
  const surplus = names.length - storesMax * 0.75;
  all.slice(0, surplus).forEach(({ id }) => {
    forgetStore(id);
  });
}
