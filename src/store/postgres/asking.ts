// Questions, as statements.

import type { Row } from "../columns.js";
import { type Kind, type Note, Questions } from "../questions.js";
import { orUnreadable } from "../unreadable.js";
import { arrayOf, type Statement, type Value } from "./statement.js";

/** Single rows: any number of keys in one statement. It takes along what a decision will most likely look up next. */
export interface RowKind<K extends readonly unknown[]> extends Kind<K> {
  /** `deep`: the run has asked for several rounds, and probably walks along a chain. */
  statement(org: string, keys: readonly K[], deep: boolean): Statement;
  /** Notes the answer for each key, and what came along for others. */
  take(rows: Row[], keys: readonly K[], note: Note): void;
}

// biome-ignore lint/suspicious/noExplicitAny: the keys of a kind are those that were asked for.
type AnyKind = RowKind<any>;

/** A list, and rows that cannot be guessed. */
export interface ListQuery {
  statement: Statement;
  decode(rows: Row[]): unknown;
}

export type SqlQuestions = Questions<AnyKind, ListQuery>;
export const newQuestions = (): SqlQuestions => new Questions<AnyKind, ListQuery>();

/** A task or a session: its project and id. */
export type ByName = readonly [project: string, id: string];

export const byName = "unnest($2::text[], $3::text[]) AS q(project, id)";

export const column = (keys: readonly (readonly unknown[])[], at: number) =>
  arrayOf(keys.map((key) => key[at] as Value));

/** The values for `unnest`, one array per part of the key. */
export const keyValues = (org: string, keys: readonly (readonly unknown[])[], width: number): Value[] => [
  org,
  ...Array.from({ length: width }, (_, at) => column(keys, at)),
];

export function noteReadable(note: Note, kind: string, key: readonly unknown[], decode: () => unknown): void {
  note(kind, key, orUnreadable(decode));
}

/** For kinds that answer with at most one row for each key. */
export function singleRow<K extends readonly unknown[]>(
  name: string,
  statement: RowKind<K>["statement"],
  keyOf: (row: Row) => readonly unknown[],
  decode: (row: Row) => unknown,
  absent?: unknown,
): RowKind<K> {
  return {
    name,
    statement,
    take(rows, keys, note) {
      for (const key of keys) note(name, key, absent);
      for (const row of rows) noteReadable(note, name, keyOf(row), () => decode(row));
    },
  };
}
