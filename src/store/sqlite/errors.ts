// What SQLite and the file system say, as what a person should do. By code; only where `all()` reports no code, by message.

import { accessSync, constants } from "node:fs";
import { basename, dirname } from "node:path";
import { StoreError } from "../store.js";

interface SqliteError extends Error {
  errcode?: number;
  systemErrno?: number;
}

const noSpaceErrno = 28;

const primary = {
  busy: 5,
  locked: 6,
  readonly: 8,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantopen: 14,
  notadb: 26,
};

/** Our own statements do not fit: somebody else has changed the tables. */
const foreignTables = /^(?:no such (?:table|column|index)|table \S+ (?:already exists|has no column))/;

function codeOf(error: SqliteError): number {
  const code = typeof error.errcode === "number" ? error.errcode & 0xff : 0;
  if (code > 1) return code;
  if (error.message.includes("malformed")) return primary.corrupt;
  if (error.message.includes("not a database")) return primary.notadb;
  if (foreignTables.test(error.message)) return primary.corrupt;
  return error.message.includes("unable to open database file") ? primary.cantopen : 0;
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && [primary.busy, primary.locked].includes(codeOf(error));
}

/** A StoreError that says what to do, or the error itself when it is none of SQLite's. */
export function translate(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || error instanceof StoreError) return error;
  const { syscall, code } = error as NodeJS.ErrnoException;
  if (syscall !== undefined) return fromFileSystem(error, code, file);
  switch (codeOf(error)) {
    case primary.busy:
    case primary.locked:
      return new StoreError(
        "STORE_BUSY",
        `Another process has kept ${file} locked for too long.`,
        "Try again; if it stays so, look for a stopped process that has the file open.",
        error,
      );
    case primary.full:
      return full(file, error);
    case primary.ioerr:
      if ((error as SqliteError).systemErrno === noSpaceErrno) return full(file, error);
      return new StoreError(
        "STORE_UNAVAILABLE",
        `Reading or writing ${file} failed: ${error.message}.`,
        undefined,
        error,
      );
    case primary.readonly:
      return readOnly(file, error);
    case primary.corrupt:
      return corrupt(file, error.message, error);
    case primary.notadb:
      return foreign(file, "is not a Dibs database", error);
    case primary.cantopen:
      if (isReadOnly(dirname(file))) return readOnly(file, error);
      return new StoreError(
        "STORE_UNAVAILABLE",
        `${file} cannot be opened.`,
        "Check that its directory exists and that you can read and write it.",
        error,
      );
    default:
      return error;
  }
}

function fromFileSystem(error: Error, code: string | undefined, file: string): StoreError {
  if (code === "ENOSPC" || code === "EDQUOT") return full(file, error);
  return new StoreError(
    ["EACCES", "EPERM", "EROFS"].includes(code ?? "") ? "STORE_READ_ONLY" : "STORE_UNAVAILABLE",
    `${file} cannot be created: ${error.message}.`,
    "Check that its directory exists and that you can read and write it.",
    error,
  );
}

function isReadOnly(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EROFS";
  }
}

function readOnly(file: string, cause: unknown): StoreError {
  return new StoreError(
    "STORE_READ_ONLY",
    `${file} cannot be written.`,
    "Check the permissions of the file and its directory, and whether the disk is mounted read-only.",
    cause,
  );
}

function full(file: string, cause: unknown): StoreError {
  return new StoreError(
    "STORE_FULL",
    `The disk of ${file} is full; nothing was written.`,
    "Free some space and try again.",
    cause,
  );
}

/** A file of another program, or one that is not a database at all. Only at the usual place it can have been a store. */
export function foreign(file: string, what: string, cause?: unknown): StoreError {
  const hint =
    basename(file) === "dibs.db"
      ? "Move the file away. If it was a store, restore a backup."
      : "Check the path: --db or DIBS_DATABASE_URL.";
  return new StoreError("STORE_CORRUPT", `${file} ${what}.`, hint, cause);
}

export function corrupt(file: string, what: string, cause?: unknown): StoreError {
  return new StoreError(
    "STORE_CORRUPT",
    `${file} is not an intact Dibs store: ${what}.`,
    "Move the file away and restore a backup.",
    cause,
  );
}
