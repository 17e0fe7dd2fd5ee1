// A store that was found in a directory may have come with a clone: its tasks would be run, and its tokens would be valid. So a store
// that was found, and not named by a flag or variable, is used only if this user has created it or trusted it (ADR 21).

import { existsSync, lstatSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { DibsError } from "./contract/error.js";
import { trackedOf } from "./runtime/git-index.js";
import { forgetServer, isServerTrusted, rememberServer, trustedServers } from "./runtime/trusted-servers.js";
import {
  forgetStore,
  ownStore,
  rememberStore,
  storeTrustedAt,
  trustedStores,
} from "./runtime/trusted-stores.js";
import type { Contents } from "./store/sqlite/identity.js";

export { forgetServer as distrustServer, isServerTrusted, trustedServers, trustedStores };

/** What SQLite reads along with the database: a program that can replace the log can replace any row. */
const databaseFiles = (database: string) =>
  ["", "-wal", "-shm", "-journal"].map((end) => `${database}${end}`);

export interface Found {
  /** The id of the store that a server has open; else the file is asked. */
  storeId?: string | undefined;
  /** DIBS_TRUST=1. */
  isTrusted: boolean;
}

/** Throws STORE_NOT_TRUSTED. The file is only read, and nothing of it is believed but its id. */
export async function refuseUntrusted(database: string, { storeId, isTrusted }: Found): Promise<void> {
  refuseLinks(database);
  if (isTrusted || !lstatSync(database, { throwIfNoEntry: false })) return;
  const id = storeId ?? (await idOf(database));
  const trusted = id === null ? null : recordOf(id, database);
  if (!trusted) {
    const why = "it came from another user, or from a version of Dibs that kept no record";
    throw notTrusted(database, why, "Run: dibs trust (only if it is yours, or if you trust its author)");
  }
  const tracked = trusted.isTracked ? null : trackedName(database);
  if (tracked === null) return;
  const hint = `Run: git rm --cached ${quoted(tracked)} (or dibs trust, if you trust everyone who can push)`;
  throw notTrusted(database, `git tracks ${tracked}, and a pull can replace it`, hint);
}

/** What this user said about the store at this place, or else that it is their own. */
const recordOf = (id: string, database: string) => storeTrustedAt(id, realpathSync(database)) ?? ownStore(id);

const notTrusted = (database: string, why: string, hint: string) =>
  new DibsError("STORE_NOT_TRUSTED", `Store ${database} is not trusted: ${why}.`, { hint });

/** For a shell: the author of the repository may have chosen the name of the directory. */
const quoted = (path: string) => (/^[\w./@:+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

async function idOf(database: string): Promise<string | null> {
  try {
    const { storeIdOf } = await import("./store/sqlite/identity.js");
    return await storeIdOf(database);
  } catch (error) {
    throw await translated(error);
  }
}

async function translated(error: unknown): Promise<unknown> {
  return (await import("./operations/execute.js")).asDibsError(error);
}

/** By the nearest repository around it. A `.dibs` that is a submodule is one name in the index. */
function trackedName(database: string): string | null {
  const directory = dirname(realpathSync(database));
  const files = databaseFiles(join(directory, basename(database)));
  for (let root = dirname(directory); ; root = dirname(root)) {
    const names = [directory, ...files].map((path) => relative(root, path).replaceAll(sep, "/"));
    if (existsSync(join(root, ".git"))) return trackedOf(root, names);
    if (root === dirname(root)) return null;
  }
}

/** A link in a clone must not make us write elsewhere. */
export function refuseLinks(database: string): void {
  const directory = dirname(database);
  for (const path of [
    directory,
    database,
    ...["init.json", "worktrees"].map((name) => join(directory, name)),
  ]) {
    if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) continue;
    throw new DibsError(
      "STORE_NOT_TRUSTED",
      `${path} is a symbolic link, and Dibs does not write through it.`,
      {
        hint: "Remove the link, or name the database with --db.",
      },
    );
  }
}

/** Opening brings it up to date, and refuses what is not a store. */
export async function trustStore(database: string): Promise<Contents> {
  refuseLinks(database);
  const [{ openSqliteStore }, { contentsOf }] = await Promise.all([
    import("./store/sqlite/store.js"),
    import("./store/sqlite/identity.js"),
  ]);
  try {
    await (await openSqliteStore(database, { now: Date.now })).close();
    const contents = await contentsOf(database);
    remember(contents.id, database);
    return contents;
  } catch (error) {
    throw await translated(error);
  }
}

function remember(id: string, database: string): void {
  const path = realpathSync(database);
  recorded(() => rememberStore({ id, path, isOwn: false, isTracked: trackedName(path) !== null }));
}

export function trustServer(address: string): void {
  recorded(() => rememberServer(address));
}

function recorded(write: () => void): void {
  try {
    write();
  } catch (error) {
    throw new DibsError(
      "STORE_READ_ONLY",
      `The record of trusted stores and servers cannot be written: ${(error as Error).message}`,
      {
        hint: "Fix the permissions of ~/.dibs, or set DIBS_TRUST=1 in the environment.",
        cause: error,
      },
    );
  }
}

/** False: it was not trusted. */
export async function distrustStore(database: string): Promise<boolean> {
  refuseLinks(database);
  const id = await idOf(database);
  const known = id === null ? null : recordOf(id, database);
  if (known) forgetStore(known);
  return known !== null;
}
