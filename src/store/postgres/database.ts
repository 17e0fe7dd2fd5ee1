// The connections of this process: a pool for transactions, one that listens, one that migrates.

import pg from "pg";
import { StoreError } from "../store.js";
import type { Settings } from "./address.js";
import { Connection, ConnectionLost } from "./connection.js";
import { translate } from "./errors.js";
import { type Access, PostgresTransaction } from "./transaction.js";

const waitMsMax = 30_000;
const idleMsMax = 60_000;
const ageSecondsMax = 30 * 60;

type Pooled = Connection & pg.PoolClient;

/** pg's own errors have no codes. */
const texts = {
  waited: "timeout exceeded when trying to connect",
  noTls: "The server does not support SSL connections",
};

export class Database {
  private readonly pool: pg.Pool;
  private readonly taken = new Set<Pooled>();
  private hasRole = false;

  constructor(private readonly settings: Settings) {
    this.pool = new pg.Pool({
      ...settings.client,
      application_name: "dibs",
      max: settings.max,
      connectionTimeoutMillis: waitMsMax,
      idleTimeoutMillis: idleMsMax,
      maxLifetimeSeconds: ageSecondsMax,
      Client: Connection as never,
    });
    // The pool has dropped the connection already.
    this.pool.on("error", () => undefined);
  }

  get where(): string {
    return this.settings.where;
  }

  /** The program's role exists and can be taken on. */
  takeRole(): void {
    this.hasRole = true;
  }

  async begin(org: string, access: Access): Promise<PostgresTransaction> {
    const connection = await this.take();
    const transaction = new PostgresTransaction(connection, {
      prepare: this.settings.prepare,
      hasRole: this.hasRole,
      release: (isBroken) => this.release(connection, isBroken),
    });
    transaction.begin(org, access);
    return transaction;
  }

  private async take(): Promise<Pooled> {
    if (this.pool.ending) throw new ConnectionLost("the pool was closed");
    const connection = (await this.pool.connect().catch((error) => {
      throw this.refusalOf(error);
    })) as Pooled;
    this.taken.add(connection);
    return connection;
  }

  private refusalOf(error: Error): Error {
    if (error.message !== texts.waited) return connectError(error);
    const hint = "Raise ?pool=… in the address, or look for long transactions in pg_stat_activity.";
    return new StoreError("STORE_BUSY", `All ${this.settings.max} connections are in use.`, hint);
  }

  private release(connection: Pooled, isBroken: boolean): void {
    this.taken.delete(connection);
    connection.release(isBroken);
  }

  /** Reaches every listener, on all machines. */
  async notify(channel: string, payload: string): Promise<void> {
    const connection = await this.take();
    const text = "SELECT pg_notify($1, $2)";
    let isBroken = true;
    try {
      await connection.run({ text, values: [channel, payload] }, () => undefined);
      isBroken = false;
    } finally {
      this.release(connection, isBroken);
    }
  }

  /** A connection that hears the channel, until it breaks or is destroyed. */
  async listen(
    channel: string,
    onNotice: (payload: string) => void,
    onLost: () => void,
  ): Promise<Pick<Connection, "destroy">> {
    const connection = await open(this.settings, "dibs listen");
    connection.on("notification", ({ payload }) => onNotice(payload ?? ""));
    connection.on("end", onLost);
    try {
      await connection.run({ text: `LISTEN ${channel}` }, () => undefined);
      return connection;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  async end(): Promise<void> {
    const ended = this.pool.end();
    for (const connection of this.taken) connection.destroy();
    await ended;
  }
}

async function open(settings: Settings, name: string): Promise<Connection> {
  const connection = new Connection({ ...settings.client, application_name: name });
  try {
    await connection.connect();
    return connection;
  } catch (error) {
    connection.destroy();
    if (!settings.prefersTls || (error as Error).message !== texts.noTls) throw connectError(error as Error);
    settings.client.ssl = false;
    return open({ ...settings, prefersTls: false }, name);
  }
}

function connectError(error: Error & { code?: string }): Error {
  if (error.code !== undefined) return error;
  // Such as an empty password: refused, as the server would, and not tried again.
  if (error.message.startsWith("SASL")) return Object.assign(new Error(error.message), { code: "28P01" });
  return new ConnectionLost(error.message);
}

export type Query = (text: string, values?: unknown[]) => Promise<pg.QueryResultRow[]>;

/** Runs statements outside of any org, such as those of a migration. */
export async function withOwner<T>(settings: Settings, run: (query: Query) => Promise<T>): Promise<T> {
  try {
    const connection = await open(settings, "dibs migrate");
    try {
      return await run(async (text, values) => {
        const { rows } = await connection.query(text, values).catch((error) => {
          throw connection.explain(error);
        });
        return rows;
      });
    } finally {
      connection.destroy();
    }
  } catch (error) {
    throw translate(error, settings.where);
  }
}
