// Prepared statements by their text, prepared once per connection.

import type { Row, Value } from "../columns.js";
import type { Database } from "./connection.js";

type Statement = ReturnType<Database["prepare"]>;

export class Statements {
  private readonly known = new Map<string, Statement>();

  constructor(private readonly db: Database) {}

  /** For many calls in a row: without the way through here for each. Writes are `get`, too, see `run`. */
  prepared(sql: string): Statement {
    let statement = this.known.get(sql);
    if (!statement) {
      statement = this.db.prepare(sql);
      statement.setReturnArrays(true);
      this.known.set(sql, statement);
    }
    return statement;
  }

  get(sql: string, ...values: Value[]): Row | undefined {
    return this.prepared(sql).get(...values) as Row | undefined;
  }

  all(sql: string, ...values: Value[]): Row[] {
    return this.prepared(sql).all(...values) as unknown as Row[];
  }

  /** As a question without an answer: the driver's `run` makes an object with counts, which costs as much as a small write. */
  run(sql: string, ...values: Value[]): void {
    this.prepared(sql).get(...values);
  }

  /** Returns the number of rows changed. */
  count(sql: string, ...values: Value[]): number {
    return Number(this.prepared(sql).run(...values).changes);
  }

  /** The database lets go of its files only when no statement is left. */
  forget(): void {
    this.known.clear();
  }

  /** A statement whose text varies: not kept. */
  once(sql: string, values: Value[]): Row[] {
    const statement = this.db.prepare(sql);
    statement.setReturnArrays(true);
    return statement.all(...values) as unknown as Row[];
  }

  /** Writes many rows, given one after the other behind what all of them share, with few statements. */
  runMany({ text, width }: Many, { sharedCount, values }: Batch): void {
    const rows = (values.length - sharedCount) / width;
    for (let at = 0; at < rows; ) {
      const left = rows - at;
      const count = left >= 32 ? 32 : left >= 8 ? 8 : 1;
      const from = sharedCount + at * width;
      // One list: two spreads in a call are taken apart value by value.
      const some =
        count === rows
          ? values
          : values.slice(0, sharedCount).concat(values.slice(from, from + count * width));
      this.prepared(text(count)).get(...some);
      at += count;
    }
  }
}

/** Values of rows, one after the other, behind a number of values that they share. */
export interface Batch {
  sharedCount: number;
  values: Value[];
}

/** How many batches back are looked at for one that a row fits in. */
const lookBack = 8;

/** Rows of one statement, in batches by what they share. */
export class Batches {
  readonly all: Batch[] = [];

  /** Where the values of a row go that shares these with others. */
  of(...shared: Value[]): Value[] {
    const { all } = this;
    for (let at = all.length - 1; at >= 0 && at >= all.length - lookBack; at--) {
      const { values } = all[at]!;
      if (shared.every((value, index) => value === values[index])) return values;
    }
    all.push({ sharedCount: shared.length, values: shared });
    return shared;
  }
}

/** A statement for any number of rows. */
export interface Many {
  /** Of a row, without what is shared. */
  width: number;
  text(rows: number): string;
}

function many(width: number, make: (rows: number) => string): Many {
  const texts = new Map<number, string>();
  return {
    width,
    text(rows) {
      const text = texts.get(rows) ?? make(rows);
      texts.set(rows, text);
      return text;
    },
  };
}

interface Inserted {
  /** Columns that all rows share, bound first. */
  shared?: string;
  columns: string;
  /** Columns that are always the same. */
  constant?: Record<string, string>;
  /** `OR FAIL` spares SQLite a journal per statement; the transaction undoes all. */
  or?: "FAIL" | "REPLACE";
}

export function insertInto(
  table: string,
  { shared = "", columns, constant = {}, or = "FAIL" }: Inserted,
): Many {
  const names = (list: string) => list.split(", ").filter(Boolean);
  const width = names(columns).length;
  const all = [...names(shared), ...Object.keys(constant), ...names(columns)].join(", ");
  // What is not shared stays without a number: the driver looks through all numbered ones for each.
  const row = [
    ...names(shared).map((_, at) => `?${at + 1}`),
    ...Object.values(constant),
    ...Array(width).fill("?"),
  ];
  const start = `INSERT OR ${or} INTO ${table} (${all}) VALUES `;
  return many(
    width,
    (rows) =>
      start +
      Array(rows)
        .fill(`(${row.join(",")})`)
        .join(","),
  );
}

/** A statement that ends in a list of keys. */
export function keyed(start: string): Many {
  return many(1, (rows) => `${start} IN (${Array(rows).fill("?").join(",")})`);
}
