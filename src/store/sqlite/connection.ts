// Opening the file: create it whole or not at all, refuse what is not ours or not intact, migrate once.
//
// A new store is built beside its place and linked into it, so that no process ever sees a half-made file and a crash
// leaves nothing that looks like a store. Never open the live file with anything but SQLite: closing another handle on it
// would drop the locks of this process.

import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { retry } from "../../common/retry.js";
import { StoreError } from "../store.js";
import { corrupt, foreign, isBusy, translate } from "./errors.js";
import { foreignObject } from "./known-schema.js";
import { finalizeStatements } from "./release.js";
import { applicationId, migrations, migrationTable, schemaVersion } from "./schema.js";

export type Database = InstanceType<typeof DatabaseSync>;

/**
 * Up to this size the whole file is checked on every open; beyond, its header, schema and tables' roots. What is damaged elsewhere is
 * found when it is read. A program that runs for one call would take longer to check a larger file than for the call.
 */
const fullCheckBytesMax = { long: 8 * 1024 * 1024, brief: 512 * 1024 };

export interface FileOptions {
  /** Opened for one call: quick to open and close. Its descriptors are freed when the process ends, or collects garbage. */
  brief?: boolean;
  /** False: a file that does not exist is refused. */
  create?: boolean;
  /** Records who creates a store: before other processes can see the file. */
  creation?: Creation;
}

export interface Creation {
  note(storeId: string): void;
  /** Another process created the file first. */
  forget(storeId: string): void;
  /** The file exists now, and this process created it. */
  done?(): void;
}

/** A lock conflict blocks the event loop for this long at most; waiting on goes on outside (`patiently`). */
const busyTimeoutMs = 5;

/** SQLite before this could corrupt a WAL database under concurrent checkpoints. */
const sqliteVersionMin = "3.51.3";

export async function openFile(
  file: string,
  { brief = false, create = true, creation }: FileOptions = {},
): Promise<Database> {
  try {
    if (!existsSync(file)) {
      refuseOrphanedLog(file);
      if (!create) throw new StoreError("STORE_NOT_FOUND", `No Dibs store at ${file}.`, "Run: dibs init");
      createFile(file, creation);
    }
    refuseEmpty(file);
    refuseForeignJournal(file);
    const db = await patiently(file, () => connect(file));
    try {
      verify(db, file, fullCheckBytesMax[brief ? "brief" : "long"]);
      await migrate(db, file);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  } catch (error) {
    if (!brief) await finalizeStatements();
    throw translate(error, file);
  }
}

/**
 * The draft is written by VACUUM INTO from memory, never opened as a database of its own: a connection to it would share
 * its wal-index with the linked file's, under another name than other processes use.
 */
function createFile(file: string, creation?: Creation): void {
  makeDirectory(dirname(file));
  const { randomUUID } = process.getBuiltinModule("node:crypto");
  const draft = `${file}.new-${randomUUID()}`;
  const model = new DatabaseSync(":memory:");
  try {
    model.exec(`PRAGMA application_id = ${applicationId}`);
    applyMigrations(model);
    createPrivate(draft);
    model.prepare("VACUUM INTO ?").run(draft);
    syncFile(draft);
    const id = idIn(model, file);
    creation?.note(id);
    if (putInPlace(draft, file)) creation?.done?.();
    else creation?.forget(id);
  } finally {
    model.close();
    rmSync(draft, { force: true });
  }
}

/** Node's own `recursive` never ends where a directory exists in which nothing can be made, such as /proc. */
function makeDirectory(directory: string): void {
  if (existsSync(directory)) return;
  if (dirname(directory) !== directory) makeDirectory(dirname(directory));
  try {
    mkdirSync(directory);
    syncDirectory(dirname(directory));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** An empty file for SQLite to fill, which only its owner can read. The files next to a database get its mode. */
export function createPrivate(file: string): void {
  closeSync(openSync(file, "wx", 0o600));
}

function syncFile(file: string, flags = "r+"): void {
  const handle = openSync(file, flags);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** So that a power cut does not take a name that was made in it. Where directories cannot be flushed, nothing is to be done. */
export function syncDirectory(directory: string): void {
  try {
    syncFile(directory, "r");
  } catch {}
}

/** False: another process was first, and its store is the one. */
function putInPlace(draft: string, file: string): boolean {
  try {
    linkSync(draft, file);
    syncDirectory(dirname(file));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    // No hard links here (FAT, some network disks): a copy that must be the first. Others may see it half-made for a moment.
    return copyIfFirst(draft, file);
  }
}

function copyIfFirst(draft: string, file: string): boolean {
  try {
    copyFileSync(draft, file, constants.COPYFILE_EXCL);
    syncFile(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

/** SQLite would replay the log of a lost database into the new one. */
function refuseOrphanedLog(file: string): void {
  const log = `${file}-wal`;
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
  // Another process may have created both since the file was found missing.
  if (existsSync(file)) return;
  throw corrupt(file, `the file is missing, but its log ${log} is there; restore the file, or delete both`);
}

export function refuseEmpty(file: string): void {
  const stats = statSync(file);
  if (stats.isDirectory()) {
    throw new StoreError(
      "STORE_UNAVAILABLE",
      `${file} is a directory.`,
      "Name a file in it, such as dibs.db.",
    );
  }
  if (stats.size === 0) throw corrupt(file, "the file is empty; delete it if you want a new store");
}

type ConnectionOptions = ConstructorParameters<typeof DatabaseSync>[1];

/** Every connection to a file: what its schema says runs no function with side effects, and nobody rewrites the schema. */
export function connectTo(file: string, options?: ConnectionOptions): Database {
  const db = new DatabaseSync(file, { timeout: busyTimeoutMs, defensive: true, ...options });
  db.exec("PRAGMA trusted_schema = OFF");
  return db;
}

const journalMagic = "d9d505f920a163d7";

/**
 * A rollback journal can end with the name of another file, which SQLite deletes when it has played the journal back. Dibs changes one
 * file at a time and never writes such a journal; one that came with a clone would delete any file of the user.
 */
function refuseForeignJournal(file: string): void {
  const journal = `${file}-journal`;
  const end = endOf(journal, journalMagic.length / 2);
  if (end?.toString("hex") === journalMagic) throw corrupt(file, `${journal} names another file; delete it`);
}

/** Null: there is no such file (any more), or it is shorter. Another process removes its journal at any moment. */
function endOf(path: string, bytes: number): Buffer | null {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size < bytes) return null;
  const end = Buffer.alloc(bytes);
  try {
    const handle = openSync(path, "r");
    try {
      readSync(handle, end, 0, bytes, size - bytes);
    } finally {
      closeSync(handle);
    }
    return end;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function connect(file: string): Database {
  const db = connectTo(file, { enableForeignKeyConstraints: false });
  try {
    refuseForeign(db, file); // First of all: setting the journal mode writes to the file.
    configure(db, file);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function configure(db: Database, file: string): void {
  const get = (sql: string) => Object.values(db.prepare(sql).get() as object)[0];
  const version = String(get("SELECT sqlite_version()"));
  if (isOlder(version, sqliteVersionMin)) {
    throw new StoreError("STORE_UNAVAILABLE", `SQLite ${version} is too old; ${sqliteVersionMin} is needed.`);
  }
  const mode = get("PRAGMA journal_mode = WAL");
  if (mode !== "wal") {
    throw new StoreError(
      "STORE_UNAVAILABLE",
      `${file} cannot use a write-ahead log (journal mode is ${mode}).`,
      "Put the store on a local disk.",
    );
  }
  db.exec("PRAGMA synchronous = FULL; PRAGMA cache_size = -32768; PRAGMA temp_store = MEMORY");
  if (get("PRAGMA synchronous") !== 2) {
    throw new StoreError(
      "STORE_UNAVAILABLE",
      `${file} refuses synchronous=FULL; a power cut could lose work.`,
    );
  }
}

function isOlder(version: string, than: string): boolean {
  const [ours, theirs] = [version, than].map((text) => text.split(".").map(Number));
  const at = ours!.findIndex((part, index) => part !== theirs![index]);
  return at >= 0 && ours![at]! < (theirs![at] ?? 0);
}

function pragma(db: Database, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() as object)[0]);
}

/** Before any row is read. Answers the version of the schema. */
export function refuseForeign(db: Database, file: string): number {
  if (pragma(db, "application_id") !== applicationId)
    throw foreign(file, "is a database of another program, not a Dibs database");
  // In one transaction: another process may be migrating the file.
  db.exec("BEGIN");
  try {
    refuseNewer(db, file);
    const version = pragma(db, "user_version");
    const foreign = foreignObject(db, version);
    if (foreign) throw corrupt(file, foreign);
    return version;
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

export function idIn(db: Database, file: string): string {
  const row = db.prepare("SELECT id FROM store").get() as { id: unknown } | undefined;
  if (typeof row?.id === "string" && /^[0-9a-f]{32}$/.test(row.id)) return row.id;
  throw corrupt(file, "its id is missing");
}

/** A newer program may migrate the file while this one has it open. */
export function refuseNewer(db: Database, file: string): void {
  const version = pragma(db, "user_version");
  if (version > schemaVersion) {
    throw new StoreError(
      "STORE_TOO_NEW",
      `${file} has schema ${version}; this program knows up to ${schemaVersion}.`,
      "Update Dibs; nothing was changed.",
    );
  }
}

function verify(db: Database, file: string, checkedBytesMax: number): void {
  const bytes = pragma(db, "page_count") * pragma(db, "page_size");
  // In this order: all that was committed when the log was empty is in the file.
  const logBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (logBytes === 0 && statSync(file).size < bytes) throw corrupt(file, "its end is missing");
  const problems = bytes <= checkedBytesMax ? integrityProblems(db) : rootProblems(db);
  if (problems.length > 0) throw corrupt(file, problems[0]!);
}

export function integrityProblems(db: Database): string[] {
  const rows = db.prepare("PRAGMA quick_check(10)").all() as { quick_check: string }[];
  return rows.map((row) => row.quick_check).filter((message) => message !== "ok");
}

/** Touches the first rows of every table: finds a truncated or overwritten file without reading all of it. */
function rootProblems(db: Database): string[] {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as {
    name: string;
  }[];
  for (const { name } of tables) db.prepare(`SELECT * FROM "${name}" LIMIT 1`).get();
  return [];
}

async function migrate(db: Database, file: string): Promise<void> {
  if (pragma(db, "user_version") < schemaVersion) await patiently(file, () => applyMigrations(db));
}

/** The number is read again under the write lock: of any number of starters, one applies each migration. */
function applyMigrations(db: Database): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    const version = pragma(db, "user_version");
    if (version === 0) db.exec(migrationTable);
    for (const migration of migrations.filter((each) => each.version > version)) {
      db.exec(migration.sql);
      db.prepare("INSERT INTO migration VALUES (?, ?, ?)").run(
        migration.version,
        migration.name,
        process.pid,
      );
      db.exec(`PRAGMA user_version = ${migration.version}`);
    }
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

const patienceMs = 15_000;

/** Runs something that needs a lock, waiting between tries without blocking the event loop. */
export async function patiently<T>(file: string, attempt: () => T): Promise<T> {
  try {
    return await retry(attempt, {
      isTransient: isBusy,
      pauseMs: (failures) => Math.random() * Math.min(1 + failures, 10),
      withinMs: patienceMs,
    });
  } catch (error) {
    throw translate(error, file);
  }
}
