// A stored row that no decoder can read: another program wrote it, or the disk damaged it. Reading it fails with the table and
// the id; other rows are not concerned.

import type { Row } from "./columns.js";
import { StoreError } from "./store.js";

export class UnreadableRowError extends StoreError {
  constructor(
    readonly table: string,
    readonly id: string,
    cause: unknown,
  ) {
    super(
      "STORE_CORRUPT",
      `Row ${id} of table ${table} is unreadable.`,
      "Run: dibs doctor. It lists every unreadable row.",
      cause,
    );
  }
}

/** A decoder whose failures name the row. */
export function readable<A extends unknown[], T>(
  table: string,
  idOf: (...args: A) => string,
  decode: (...args: A) => T,
): (...args: A) => T {
  return (...args) => {
    try {
      return decode(...args);
    } catch (error) {
      if (error instanceof UnreadableRowError) throw error;
      throw new UnreadableRowError(table, idOf(...args), error);
    }
  };
}

/** What is decoded, or the error that says which row cannot be. */
export function orUnreadable<T>(decode: () => T): T | UnreadableRowError {
  try {
    return decode();
  } catch (error) {
    if (error instanceof UnreadableRowError) return error;
    throw error;
  }
}

/** All rows decoded; with `readableOnly`, those that can be. */
export function decodeAll<T>(
  rows: readonly Row[],
  decode: (row: Row) => T,
  readableOnly: boolean | undefined,
): T[] {
  if (!readableOnly) return rows.map((row) => decode(row));
  return rows.flatMap((row) => {
    const decoded = orUnreadable(() => decode(row));
    return decoded instanceof UnreadableRowError ? [] : [decoded];
  });
}

export function need(condition: boolean, what: string): void {
  if (!condition) throw new TypeError(`${what} is missing or has the wrong type.`);
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isListOrAbsent = (value: unknown): boolean => value === undefined || Array.isArray(value);

/** Unreadable rows are listed one by one up to this many, then counted. */
const listedMax = 9;

/** Collects the unreadable rows of a whole store. */
export class Unreadable {
  private readonly listed: string[] = [];
  private count = 0;

  /** Returns whether the row can be read. */
  check(decode: () => unknown): boolean {
    const error = orUnreadable(decode);
    if (!(error instanceof UnreadableRowError)) return true;
    this.count++;
    if (this.listed.length < listedMax) this.listed.push(error.message);
    return false;
  }

  get problems(): string[] {
    const more = this.count - this.listed.length;
    return more > 0 ? [...this.listed, `${more} more rows are unreadable.`] : this.listed;
  }
}
