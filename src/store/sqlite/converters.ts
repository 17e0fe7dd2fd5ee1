// Values that SQLite has no type for. Empty lists and absent objects are NULL, so that the common row has no JSON to parse.

import type { Converted, Row } from "../columns.js";
import { isObject, need } from "../unreadable.js";

export const flag = (column: string): Converted<boolean> => ({
  column,
  encode: (value) => (value ? 1 : 0),
  decode: (stored) => stored === 1,
});

export const list = <T>(column: string): Converted<T[]> => ({
  column,
  encode: (value) => (value.length === 0 ? null : JSON.stringify(value)),
  decode(stored) {
    const parsed = stored === null ? [] : JSON.parse(stored);
    need(Array.isArray(parsed), "a list");
    return parsed;
  },
});

export const object = <T extends object>(column: string): Converted<T | null> => ({
  column,
  encode: (value) => (value === null ? null : JSON.stringify(value)),
  decode(stored) {
    const parsed = stored === null ? null : JSON.parse(stored);
    need(parsed === null || isObject(parsed), "an object");
    return parsed as T | null;
  },
});

/** For rows that begin with a project and an id. */
export const ofFirstTwo = (row: Row) => `${row[0]}/${row[1]}`;

export const marks = (columns: string) => columns.replaceAll(/\w+/g, "?");
export const assignments = (columns: string) => columns.replaceAll(/\w+/g, "$& = ?");
