// A statement with its values. Many rows travel as one array per column, written as PostgreSQL reads arrays: a few values to
// bind, whatever the number of rows, and one statement text per table to prepare.

export type Value = string | number | boolean | null;

export interface Statement {
  text: string;
  values: Value[];
}

/** A statement written with `?` for each value. */
export function numbered(text: string, values: readonly Value[]): Statement {
  let at = 0;
  return { text: text.replaceAll("?", () => `$${++at}`), values: [...values] };
}

/** `a, b` as `a bigint, b text`: what is not named is text. */
export function typed(columns: string, types: Record<string, string>): string {
  return columns.replaceAll(/\w+/g, (name) => `${name} ${types[name] ?? "text"}`);
}

/** What JSON writes otherwise than PostgreSQL reads it: `\\n` is an n there. Halves of surrogate pairs, as well. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const special = /[\u0000-\u001f\ud800-\udfff]/;

/** `{1,2,null}` or `{"a","b"}`. */
export function arrayOf(values: readonly Value[]): string {
  const isPlain = !values.some((value) => typeof value === "string" && special.test(value));
  // Nearly always, and several times as fast.
  if (isPlain) return `{${JSON.stringify(values).slice(1, -1)}}`;
  let text = "{";
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!;
    if (at > 0) text += ",";
    if (value === null) text += "NULL";
    else if (typeof value === "string") text += `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
    else text += value;
  }
  return `${text}}`;
}

/** Columns as in a table definition: `no bigint, id text`. JSON travels as text. */
class Columns {
  readonly names: string[];
  private readonly types: string[];
  /** `u.no, u.more::json` */
  readonly selected: string;
  /** `unnest($2::bigint[], $3::text[]) AS u(no, more)`, from the given number on. */
  private readonly width: number;

  constructor(definition: string) {
    const pairs = definition.split(",").map((column) => column.trim().split(" ") as [string, string]);
    this.names = pairs.map(([name]) => name);
    this.types = pairs.map(([, type]) => (type === "json" ? "text" : type));
    this.selected = pairs
      .map(([name, type]) => (type === "json" ? `u.${name}::json` : `u.${name}`))
      .join(", ");
    this.width = pairs.length;
  }

  get list(): string {
    return this.names.join(", ");
  }

  rows(first = 2): string {
    const arrays = this.types.map((type, at) => `$${first + at}::${type}[]`).join(", ");
    return `unnest(${arrays}) AS u(${this.list})`;
  }

  /** Rows given one after the other, as one array per column. */
  arrays(flat: readonly Value[]): string[] {
    const columns: Value[][] = Array.from({ length: this.width }, () => []);
    for (let at = 0; at < flat.length; at += this.width) {
      for (let column = 0; column < this.width; column++) columns[column]!.push(flat[at + column]!);
    }
    return columns.map(arrayOf);
  }
}

/** A statement for any number of rows. */
export interface ForRows {
  /** With the values of rows, one after the other; no statement for no rows. */
  of(org: string, flat: readonly Value[]): Statement[];
}

function forRows(text: string, columns: Columns): ForRows {
  return {
    of: (org, flat) => (flat.length === 0 ? [] : [{ text, values: [org, ...columns.arrays(flat)] }]),
  };
}

/** Inserts rows of one org; with `key`, rows that are there already are replaced. */
export function insertInto(table: string, definition: string, key?: string): ForRows {
  const columns = new Columns(definition);
  const isKey = new Set(key?.split(", "));
  const set = columns.names.filter((name) => !isKey.has(name)).map((name) => `${name} = excluded.${name}`);
  const conflict =
    key === undefined
      ? ""
      : ` ON CONFLICT (org, ${key}) DO ${set.length > 0 ? `UPDATE SET ${set.join(", ")}` : "NOTHING"}`;
  const text = `INSERT INTO dibs.${table} (org, ${columns.list}) SELECT $1, ${columns.selected} FROM ${columns.rows()}${conflict}`;
  return forRows(text, columns);
}

/** The rows that `u` names, by their places: found one by one, whatever the planner knows or does not know. */
function placesOf(table: string, columns: Columns, key: readonly string[]): string {
  const same = key.map((name) => `${name} = u.${name}`).join(" AND ");
  return `${columns.rows()}
    CROSS JOIN LATERAL (SELECT ctid FROM dibs.${table} WHERE org = $1 AND ${same} OFFSET 0) r`;
}

/** Changes rows of one org that are known to be there, by a part of their columns; the first is the key. */
export function updateOf(table: string, definition: string): ForRows {
  const columns = new Columns(definition);
  const [key, ...rest] = columns.names;
  const selected = columns.selected.split(", ");
  const set = rest.map((name, at) => `${name} = ${selected[at + 1]}`);
  const text = `UPDATE dibs.${table} t SET ${set.join(", ")}
    FROM (SELECT u.*, r.ctid AS place FROM ${placesOf(table, columns, [key!])} OFFSET 0) u
    WHERE t.org = $1 AND t.ctid = u.place`;
  return forRows(text, columns);
}

/** Deletes rows of one org by their keys, or by the beginnings of keys. */
export function deleteFrom(table: string, definition: string): ForRows {
  const columns = new Columns(definition);
  const text = `DELETE FROM dibs.${table} WHERE org = $1
    AND ctid = ANY(ARRAY(SELECT r.ctid FROM ${placesOf(table, columns, columns.names)}))`;
  return forRows(text, columns);
}
