// A transaction of one org on a connection of the pool. Statements are sent without waiting for each other, and run
// in order.

import { createHash } from "node:crypto";
import type { Row } from "../columns.js";
import type { Connection, Result } from "./connection.js";
import { programRole } from "./schema.js";
import type { Statement } from "./statement.js";

/** Limits for a lock and for one statement; `idle` limits the time between two statements. */
const timeouts = { lock_timeout: "10s", statement_timeout: "60s" };

/** Statements that write find their rows by key. Fresh tables have no statistics from which a planner knows that. */
const byKeys = {
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  plan_cache_mode: "force_generic_plan",
  random_page_cost: "0.01",
  // Acknowledged changes have reached the disk, whatever the server's default is.
  synchronous_commit: "on",
};

/** By the text: a pooler can give two processes the same connection to the server. */
const names = new Map<string, string>();

function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `dibs_${createHash("sha256").update(text).digest("base64url").slice(0, 22)}`;
    names.set(text, name);
  }
  return name;
}

const rowsOf = (result: Result): Row[] => result.rows;

export interface Access {
  write: boolean;
  /** How long the transaction can wait for its next statement. */
  idle?: string;
}

interface Options {
  prepare: boolean;
  hasRole: boolean;
  /** Gives the connection back to the pool. */
  release(isBroken: boolean): void;
}

export class PostgresTransaction {
  private isReleased = false;
  private isOpen = true;
  /** Of the first statement that failed: the others fail because of it. */
  private failure: unknown = null;

  constructor(
    private readonly connection: Connection,
    private readonly options: Options,
  ) {}

  /** Settings end with the transaction, so that poolers can give the connection to others in between. */
  begin(org: string, { write, idle = "60s" }: Access): void {
    void this.plain(
      write ? "BEGIN ISOLATION LEVEL READ COMMITTED" : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    );
    const settings = {
      "dibs.org": null,
      ...timeouts,
      idle_in_transaction_session_timeout: idle,
      ...(write ? byKeys : {}),
      jit: "off",
    };
    const role = this.options.hasRole ? `set_config('role', '${programRole}', true), ` : "";
    const list = Object.entries(settings).map(([name, value]) =>
      value === null ? `set_config('${name}', $1, true)` : `set_config('${name}', '${value}', true)`,
    );
    void this.send({ text: `SELECT ${role}${list.join(", ")}`, values: [org] });
  }

  /** Sent at once, in order; not waited for. */
  send({ text, values }: Statement): Promise<Row[]> {
    const name = this.options.prepare ? nameOf(text) : undefined;
    return this.connection.run({ text, values, name }, rowsOf, this.judge);
  }

  async all(statements: readonly Statement[]): Promise<Row[][]> {
    return Promise.all(statements.map((statement) => this.send(statement)));
  }

  plain(text: string): Promise<Row[]> {
    return this.connection.run({ text }, rowsOf, this.judge);
  }

  /** After a statement that failed, all others fail because of it: its error is the one to report. */
  private readonly judge = (error: Error): unknown => {
    this.failure ??= error;
    return this.failure;
  };

  /**
   * Plans are cached per connection. Those for tables of a few rows read whole indexes, and a young table has no
   * statistics whose arrival would replace them: so they are discarded each time the log has doubled.
   */
  planFor(events: number): void {
    if (events < 2 * this.connection.plannedFor + 64) return;
    this.connection.plannedFor = events;
    void this.plain("DISCARD PLANS");
  }

  /** COMMIT of a transaction that has failed answers ROLLBACK: that is no commit. */
  async commit(): Promise<void> {
    const command = await this.connection.run({ text: "COMMIT" }, (result) => result.command, this.judge);
    this.isOpen = false;
    if (command !== "COMMIT") {
      throw this.failure ?? new Error("The transaction had failed and was rolled back.");
    }
  }

  /** Rolls back a transaction that is still open, and gives the connection back. */
  async end(): Promise<void> {
    if (this.isReleased) return;
    this.isReleased = true;
    let isBroken = false;
    if (this.isOpen) {
      await this.plain("ROLLBACK").catch(() => {
        isBroken = true;
      });
    }
    this.options.release(isBroken);
  }
}
