// Rows as the JSON of their items. A field that is missing in a table of fields does not compile.

import { need, readable } from "../unreadable.js";

/** In every item. Any other value in a table of fields is the usual one, which is omitted: part of the format. */
export const stored = Symbol("stored");

export interface Codec<T> {
  encode(row: T): string;
  /** The sort key tells which row cannot be read. */
  decode(data: string, sk: string): T;
}

const idOf = (_data: string, sk: string) => sk.slice(sk.indexOf("#") + 1);

/** A decoder whose failures name the row. */
export const decoder = <T>(table: string, decode: (data: string, sk: string) => T) =>
  readable(table, idOf, decode);

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

export function rowCodec<T extends object>(
  table: string,
  fields: { [F in keyof T]-?: T[F] | typeof stored },
): Codec<T> {
  const names = Object.keys(fields) as (keyof T & string)[];
  const always = names.filter((name) => fields[name] === stored);
  const usual = Object.fromEntries(
    names.filter((name) => fields[name] !== stored).map((name) => [name, fields[name]]),
  );
  return {
    encode(row) {
      const values: Record<string, unknown> = {};
      for (const name of names) {
        const value = row[name];
        if (value === fields[name] || (isEmpty(value) && isEmpty(fields[name]))) continue;
        values[name] = value;
      }
      return JSON.stringify(values);
    },
    decode: decoder(table, (data) => {
      const values = JSON.parse(data);
      for (const name of always) need(values[name] !== undefined, name);
      return { ...usual, ...values } as T;
    }),
  };
}
