// Connections, and the first and last round trip of a transaction. Statements are sent without waiting for each other; the
// driver keeps them in order on one connection.

import type { Row } from "../row-codec.js";
import { StoreError } from "../store.js";
import { isAftermath, translate } from "./errors.js";
import { connect, type Driver, Line, type Settings } from "./line.js";
import { Pool } from "./pool.js";
import { programRole } from "./schema.js";
import type { Statement } from "./statement.js";

/** Waiting for a lock, for one statement, and for us between two statements: each has an end. */
const timeouts = { lock_timeout: "10s", statement_timeout: "60s" };

/** Every statement that writes finds its rows by their keys; fresh tables have no statistics to tell the planner so. */
const byKeys = {
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  plan_cache_mode: "force_generic_plan",
  random_page_cost: "0.01",
  // What is acknowledged has reached the disk, whatever the server's default.
  synchronous_commit: "on",
};

export type { Settings };

export function readUrl(url: string): Settings {
  let parsed: URL;
  try {
    // Without the slashes, what was meant as a user would be taken for the database, and shown.
    if (/^postgres(ql)?:(?!\/\/)/.test(url)) throw new Error("no host");
    parsed = new URL(url);
  } catch {
    throw new StoreError(
      "STORE_UNAVAILABLE",
      "This is no PostgreSQL address.",
      "Use postgres://user:password@host:5432/database.",
    );
  }
  if (!/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw new StoreError("STORE_UNAVAILABLE", `${parsed.protocol}// is not PostgreSQL.`, "Use postgres://…");
  }
  const max = Number(parsed.searchParams.get("pool") ?? 8);
  const prepare = parsed.searchParams.get("prepare") !== "false";
  parsed.searchParams.delete("pool");
  parsed.searchParams.delete("prepare");
  if (parsed.pathname.includes("@")) {
    // A slash in the password; the rest of it would show in every message.
    throw new StoreError(
      "STORE_UNAVAILABLE",
      "This address has an @ in the name of the database.",
      "Write special characters of the password percent-encoded, such as %2F for a slash.",
    );
  }
  const where = `postgres://${parsed.host}${parsed.pathname}`;
  if (!Number.isInteger(max) || max < 2) {
    throw new StoreError(
      "STORE_UNAVAILABLE",
      `pool=${max} is too small.`,
      "Leave it out, or give 2 or more.",
    );
  }
  return { url: parsed.href, where, max, prepare };
}

export class Database {
  private readonly pool: Pool;
  private hasRole = false;

  constructor(private readonly settings: Settings) {
    this.pool = new Pool(settings, "dibs");
  }

  get where(): string {
    return this.settings.where;
  }

  /** The program's role was there and may be taken on. */
  takeRole(): void {
    this.hasRole = true;
  }

  async take(): Promise<Session> {
    const line = await this.pool.take();
    return new Session(line, this.settings.prepare, this.hasRole, () => this.pool.giveBack(line));
  }

  /** Tells every listener, on all machines. */
  async notify(channel: string, payload: string): Promise<void> {
    const session = await this.take();
    try {
      await session.send({ text: "SELECT pg_notify($1, $2)", values: [channel, payload] });
    } finally {
      await session.end();
    }
  }

  /** A connection that hears the channel, until it breaks or is ended. */
  async listen(
    channel: string,
    onNotice: (payload: string) => void,
    onLost: () => void,
  ): Promise<Pick<Line, "end">> {
    const line = await Line.open(this.settings, "dibs listen", {
      onNotice: (_, payload) => onNotice(payload),
      onLost,
    });
    try {
      await line.run((sql) => sql.unsafe(`LISTEN ${channel}`).execute());
      return line;
    } catch (error) {
      await line.end();
      throw error;
    }
  }

  async end(): Promise<void> {
    await this.pool.end();
  }
}

/** One connection, for one transaction at a time. */
export class Session {
  private released = false;
  private isOpen = false;
  /** The first of the transaction. */
  private failure: unknown = null;

  constructor(
    private readonly line: Line,
    private readonly prepare: boolean,
    private readonly hasRole: boolean,
    private readonly giveBack: () => void,
  ) {}

  /** Sent at once, in order; not waited for. */
  send({ text, values }: Statement): Promise<Row[]> {
    const { prepare } = this;
    return this.run((sql) =>
      sql
        .unsafe(text, values as never[], { prepare })
        .values()
        .execute(),
    );
  }

  private run<T>(send: Parameters<Line["run"]>[0]): Promise<T> {
    return this.line.run(send, (error) => this.judge(error));
  }

  /** After a statement that failed, all others fail because of it: its error is the one to tell. */
  private judge(error: unknown): unknown {
    if (isAftermath(error)) return this.failure ?? error;
    this.failure ??= error;
    return error;
  }

  async all(statements: readonly Statement[]): Promise<Row[][]> {
    return Promise.all(statements.map((statement) => this.send(statement)));
  }

  plain(text: string): Promise<Row[]> {
    return this.run((sql) => sql.unsafe(text).values().execute());
  }

  /** Opens a transaction of one org. Settings end with it, so that poolers may hand the connection to others in between. */
  begin(org: string, { write, idle = "60s" }: { write: boolean; idle?: string }): void {
    this.isOpen = true;
    this.failure = null;
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
    const role = this.hasRole ? `set_config('role', '${programRole}', true), ` : "";
    const list = Object.entries(settings).map(([name, value]) =>
      value === null ? `set_config('${name}', $1, true)` : `set_config('${name}', '${value}', true)`,
    );
    void this.send({ text: `SELECT ${role}${list.join(", ")}`, values: [org] });
  }

  /**
   * Plans are made once per connection. Those for tables of a few rows read whole indexes, and a young table has no statistics
   * whose arrival would have them made anew: so they are, each time the log has doubled.
   */
  planFor(events: number): void {
    if (events < 2 * this.line.plannedFor + 64) return;
    this.line.plannedFor = events;
    void this.plain("DISCARD PLANS");
  }

  /** COMMIT of a transaction that has failed answers ROLLBACK: that is no commit. */
  async commit(): Promise<void> {
    const result = await this.run<{ command: string }>((sql) => sql.unsafe("COMMIT").execute());
    this.isOpen = false;
    if (result.command !== "COMMIT") {
      throw this.failure ?? new Error("The transaction had failed and was rolled back.");
    }
  }

  /** Takes back a transaction that is still open, and gives the connection back. */
  async end(): Promise<void> {
    if (this.released) return;
    this.released = true;
    // What cannot even be taken back is not used again.
    if (this.isOpen) await this.plain("ROLLBACK").catch(() => this.line.end());
    this.giveBack();
  }
}

/** Runs a few statements outside of any org, such as those of a migration. */
export async function withOwner<T>(settings: Settings, run: (driver: Driver) => Promise<T>): Promise<T> {
  const driver = connect(settings, "dibs migrate");
  try {
    return await run(driver);
  } catch (error) {
    throw translate(error, settings.where);
  } finally {
    await driver.end({ timeout: 5 });
  }
}
