// Connections, and the first and last round trip of a transaction. Statements are sent without waiting for each other; the
// driver keeps them in order on one connection.

import postgres from "postgres";
import type { Row } from "../row-codec.js";
import { StoreError } from "../store.js";
import { translate } from "./errors.js";
import { programRole } from "./schema.js";
import type { Statement } from "./statement.js";

export interface Settings {
  url: string;
  /** For people and error texts: without the password. */
  where: string;
  max: number;
  /** Off behind poolers that do not know prepared statements. */
  prepare: boolean;
}

/** Waiting for a lock, for one statement, and for us between two statements: each has an end. */
const timeouts = {
  lock_timeout: "10s",
  statement_timeout: "60s",
  idle_in_transaction_session_timeout: "60s",
};

/** Every statement that writes finds its rows by their keys; fresh tables have no statistics to tell the planner so. */
const byKeys = {
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  plan_cache_mode: "force_generic_plan",
};

export function readUrl(url: string): Settings {
  let parsed: URL;
  try {
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

export type Driver = postgres.Sql<{ bigint: number }>;
type Reserved = postgres.ReservedSql<{ bigint: number }>;

const numeric = { to: 20, from: [20, 1700], serialize: String, parse: Number };

export function connect({ url, max, prepare }: Settings, name: string): Driver {
  return postgres(url, {
    max,
    prepare,
    // Without it, `reserve` on a fresh connection never answers.
    fetch_types: true,
    idle_timeout: 60,
    connect_timeout: 10,
    onnotice: () => undefined,
    types: { bigint: numeric },
    connection: { application_name: name },
  });
}

export class Database {
  readonly driver: Driver;
  private hasRole = false;

  constructor(private readonly settings: Settings) {
    this.driver = connect(settings, "dibs");
  }

  get where(): string {
    return this.settings.where;
  }

  /** The program's role was there and may be taken on. */
  useRole(): void {
    this.hasRole = true;
  }

  async take(): Promise<Session> {
    return new Session(await this.driver.reserve(), this.settings.prepare, this.hasRole);
  }

  async end(): Promise<void> {
    await this.driver.end({ timeout: 5 });
  }
}

/** One connection, for one transaction at a time. */
export class Session {
  private released = false;
  private isOpen = false;

  constructor(
    private readonly reserved: Reserved,
    private readonly prepare: boolean,
    private readonly hasRole: boolean,
  ) {}

  /** Sent at once, in order; not waited for. */
  send({ text, values }: Statement): Promise<Row[]> {
    const sent = this.reserved
      .unsafe(text, values as never[], { prepare: this.prepare })
      .values()
      .execute();
    const rows = sent as unknown as Promise<Row[]>;
    // Whoever waits for a later statement learns of it; this one must not be an unhandled rejection meanwhile.
    rows.catch(() => undefined);
    return rows;
  }

  async all(statements: readonly Statement[]): Promise<Row[][]> {
    return Promise.all(statements.map((statement) => this.send(statement)));
  }

  plain(text: string): Promise<Row[]> {
    const sent = this.reserved.unsafe(text).values().execute() as unknown as Promise<Row[]>;
    sent.catch(() => undefined);
    return sent;
  }

  /** Opens a transaction of one org. Settings end with it, so that poolers may hand the connection to others in between. */
  begin(org: string, { write }: { write: boolean }): void {
    this.isOpen = true;
    this.plain(
      write ? "BEGIN ISOLATION LEVEL READ COMMITTED" : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    );
    const settings = { "dibs.org": null, ...timeouts, ...(write ? byKeys : {}), jit: "off" };
    const role = this.hasRole ? `set_config('role', '${programRole}', true), ` : "";
    const list = Object.entries(settings).map(([name, value]) =>
      value === null ? `set_config('${name}', $1, true)` : `set_config('${name}', '${value}', true)`,
    );
    void this.send({ text: `SELECT ${role}${list.join(", ")}`, values: [org] });
  }

  /** COMMIT of a transaction that has failed answers ROLLBACK: that is no commit. */
  async commit(): Promise<void> {
    const result = (await this.reserved.unsafe("COMMIT").execute()) as unknown as { command: string };
    this.isOpen = false;
    if (result.command !== "COMMIT") throw new Error("The transaction had failed and was rolled back.");
  }

  /** Takes back a transaction that is still open, and gives the connection back. */
  async end(): Promise<void> {
    if (this.released) return;
    this.released = true;
    if (this.isOpen) await this.plain("ROLLBACK").catch(() => undefined);
    this.reserved.release();
  }
}

/** Runs a few statements outside of any org, such as those of a migration. */
export async function withOwner<T>(settings: Settings, run: (driver: Driver) => Promise<T>): Promise<T> {
  const driver = connect({ ...settings, max: 1 }, "dibs migrate");
  try {
    return await run(driver);
  } catch (error) {
    throw translate(error, settings.where);
  } finally {
    await driver.end({ timeout: 5 });
  }
}
