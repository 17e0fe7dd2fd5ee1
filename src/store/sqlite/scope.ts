import type { Row, Value } from "../columns.js";
import { numbersPerOrg } from "./schema.js";
import type { Batches, Many, Statements } from "./statements.js";

/** The statements of one org. Every predicate starts with the org, or with a number of its range. */
export class Scope {
  private firstNumber: number | null = null;

  constructor(
    readonly db: Statements,
    readonly org: string,
  ) {}

  /** The numbers of the org's tasks and events come after this one. */
  get first(): number {
    this.firstNumber ??= this.db.get("SELECT no FROM org WHERE org = ?", this.org)![0] * numbersPerOrg;
    return this.firstNumber;
  }

  /** One row that is found by its key, decoded. */
  find<T>(decode: (row: Row) => T, sql: string, ...values: Value[]): T | undefined {
    const row = this.db.get(sql, ...values);
    return row && decode(row);
  }

  runAll(statement: Many, { all }: Batches): void {
    for (const batch of all) this.db.runMany(statement, batch);
  }
}
