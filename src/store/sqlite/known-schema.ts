// What the tables of each version are, derived from the migrations without running them: SQLite would take milliseconds for that
// on every open. Anything else in a file is foreign: a trigger could rewrite tasks, a view could replace a table.

import type { Database } from "./connection.js";
import { migrations, migrationTable } from "./schema.js";

type Known = Map<string, string>;

/** Written by ANALYZE, which `PRAGMA optimize` runs. */
const statistics: Known = new Map([
  ["sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"],
  ["sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"],
]);

const knownByVersion = new Map<number, Known>();

/** Name and text of every table and index, as SQLite stores them. */
export function knownSchema(version: number): Known {
  let known = knownByVersion.get(version);
  if (!known) {
    known = new Map(version > 0 ? [["migration", migrationTable]] : []);
    const past = migrations.filter((migration) => migration.version <= version);
    for (const { sql } of past) for (const statement of sql.split(";")) follow(known, statement.trim());
    knownByVersion.set(version, known);
  }
  return known;
}

function follow(known: Known, statement: string): void {
  const [, created] = /^CREATE (?:TABLE|(?:UNIQUE )?INDEX) (\w+)/.exec(statement) ?? [];
  if (created) known.set(created, statement);
  const [, dropped] = /^DROP TABLE (\w+)$/.exec(statement) ?? [];
  if (dropped) drop(known, dropped);
  const [, from, to] = /^ALTER TABLE (\w+) RENAME TO (\w+)$/.exec(statement) ?? [];
  if (from && to) {
    known.set(to, known.get(from)!.replace(/^CREATE TABLE \w+/, `CREATE TABLE "${to}"`));
    known.delete(from);
  }
  const [, table, column] = /^ALTER TABLE (\w+) ADD COLUMN (.+)$/.exec(statement) ?? [];
  // Before the constraints of the table, or its end.
  if (table && column)
    known.set(table, known.get(table)!.replace(/(?=,\s+PRIMARY KEY \(|\)[^()]*$)/, `, ${column}`));
}

function drop(known: Known, table: string): void {
  known.delete(table);
  for (const [name, sql] of known) if (sql.includes(` ON ${table} (`)) known.delete(name);
}

/** What a file has that a store of its version does not have, or lacks; null: nothing. */
export function foreignObject(db: Database, version: number): string | null {
  const known = knownSchema(version);
  // Indexes without a text belong to a table's own constraints.
  const found = db.prepare("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").all() as {
    type: string;
    name: string;
    sql: string;
  }[];
  const missing = new Set(known.keys());
  for (const { type, name, sql } of found) {
    const expected = known.get(name) ?? statistics.get(name);
    if (expected === undefined || !["table", "index"].includes(type))
      return `${type} ${name} was not created by Dibs`;
    if (sql !== expected) return `${type} ${name} was changed by another program`;
    missing.delete(name);
  }
  const [first] = missing;
  return first === undefined ? null : `${first} is missing`;
}
