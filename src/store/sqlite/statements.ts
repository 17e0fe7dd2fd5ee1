// Prepared statements by their text, prepared once per connection.

import type { Row, Value } from "./codec.js";
import type { Database } from "./connection.js";

type Statement = ReturnType<Database["prepare"]>;

export class Statements {
  private readonly prepared = new Map<string, Statement>();

  constructor(private readonly db: Database) {}

  private statement(sql: string): Statement {
    let statement = this.prepared.get(sql);
    if (!statement) {
      statement = this.db.prepare(sql);
      statement.setReturnArrays(true);
      this.prepared.set(sql, statement);
    }
    return statement;
  }

  get(sql: string, ...values: Value[]): Row | undefined {
    return this.statement(sql).get(...values) as Row | undefined;
  }

  all(sql: string, ...values: Value[]): Row[] {
    return this.statement(sql).all(...values) as unknown as Row[];
  }

  /** Returns the number of rows changed. */
  run(sql: string, ...values: Value[]): number {
    return Number(this.statement(sql).run(...values).changes);
  }

  /** The database lets go of its files only when no statement is left. */
  forget(): void {
    this.prepared.clear();
  }

  /** A statement whose text varies: not kept. */
  once(sql: string, values: Value[]): Row[] {
    const statement = this.db.prepare(sql);
    statement.setReturnArrays(true);
    return statement.all(...values) as unknown as Row[];
  }

  /** Inserts many rows with few statements. `OR FAIL` spares SQLite a journal per statement; the transaction undoes all. */
  insertMany(into: string, columns: string, rows: readonly Value[][]): void {
    for (let at = 0; at < rows.length; ) {
      const count = rows.length - at >= 32 ? 32 : rows.length - at >= 8 ? 8 : 1;
      const width = rows[at]!.length;
      if (count === 1) {
        this.run(insertSql(into, columns, width, 1), ...rows[at]!);
      } else {
        const values: Value[] = [];
        for (let each = at; each < at + count; each++) for (const value of rows[each]!) values.push(value);
        this.run(insertSql(into, columns, width, count), ...values);
      }
      at += count;
    }
  }
}

const insertTexts = new Map<string, string>();

function insertSql(into: string, columns: string, width: number, count: number): string {
  const key = `${into}:${count}`;
  let sql = insertTexts.get(key);
  if (!sql) {
    const row = `(${Array(width).fill("?").join(",")})`;
    sql = `INSERT OR FAIL INTO ${into} (${columns}) VALUES ${Array(count).fill(row).join(",")}`;
    insertTexts.set(key, sql);
  }
  return sql;
}
