// Which store a file is, found out without writing to it and without believing it: read-only, the schema compared before any row is
// read. A rollback journal beside it is not played back: that could delete any file that it names.

import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { connectTo, type Database, idIn, patiently, refuseEmpty, refuseForeign } from "./connection.js";
import { translate } from "./errors.js";
import { schemaWithId } from "./schema.js";

/** Null: the store was created before stores had ids. */
export function storeIdOf(file: string): Promise<string | null> {
  return reading(file, (db, version) => (version < schemaWithId ? null : idIn(db, file)));
}

export interface Contents {
  id: string;
  tasks: number;
  tokens: number;
}

/** Of a store that is up to date: what trusting it means. */
export function contentsOf(file: string): Promise<Contents> {
  return reading(file, (db) => {
    const count = (from: string) =>
      (db.prepare(`SELECT count(*) AS count FROM ${from}`).get() as { count: number }).count;
    return { id: idIn(db, file), tasks: count("task"), tokens: count("document WHERE kind = 'token'") };
  });
}

async function reading<T>(file: string, read: (db: Database, version: number) => T): Promise<T> {
  const logFile = `${file}-wal`;
  // Without a log no process has the file open, and all of it is in the file: reading it as immutable creates no files beside it.
  if (existsSync(logFile)) return readAt(file, file, read);
  try {
    return await readAt(`${pathToFileURL(file)}?immutable=1`, file, read);
  } catch {
    // Another process may have opened it meanwhile, and changed what was being read. A file that is really damaged fails again.
    return readAt(file, file, read);
  }
}

async function readAt<T>(
  address: string,
  file: string,
  read: (db: Database, version: number) => T,
): Promise<T> {
  try {
    refuseEmpty(file);
    return await patiently(file, () => {
      const db = connectTo(address, { readOnly: true });
      try {
        return read(db, refuseForeign(db, file));
      } finally {
        db.close();
      }
    });
  } catch (error) {
    throw translate(error, file);
  }
}
