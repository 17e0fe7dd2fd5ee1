// One connection, which never becomes another one. When it breaks, pg rejects every statement under way on it and
// every later one. Added here: a server without an answer counts as lost, errors of a lost connection have a code,
// and statements that are sent together share a packet (ADR 10).

import pg from "pg";
import type { Row } from "../columns.js";

const connectMsMax = 10_000;
/** Longer than any statement can take, see `timeouts`. */
const silentMsMax = 75_000;
const keepAliveMs = 60_000;

export type Result = pg.QueryArrayResult<Row>;

interface Query {
  text: string;
  values?: unknown[];
  /** Of the prepared statement: one name, one text. */
  name?: string | undefined;
}

/** For pg, 64-bit integers are strings. Those of the tables are below 2^53. */
const numbers = [pg.types.builtins.INT8, pg.types.builtins.NUMERIC];

export class ConnectionLost extends Error {
  readonly code = "CONNECTION_LOST";
}

export class Connection extends pg.Client {
  /** How many events there were when its plans were made. */
  plannedFor = 0;
  private lostBy: string | null = null;
  private silence: NodeJS.Timeout | undefined;
  private isCorked = false;

  constructor(config: pg.ClientConfig) {
    super({
      ...config,
      // The pool hides it from logs, and so from the line above.
      password: config.password,
      connectionTimeoutMillis: connectMsMax,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      pipeline: true,
    });
    for (const type of numbers) this.setTypeParser(type, Number);
    // Without a listener, an error ends the process. pg emits it before it rejects the statements.
    this.on("error", (error) => {
      this.lostBy ??= error.message;
    });
    this.on("drain", () => this.stopWatch());
    this.on("end", () => this.stopWatch());
  }

  /** Sends a statement at once, behind those before it. `judge` can replace its error. */
  run<T>(query: Query, take: (result: Result) => T, judge = (error: Error): unknown => error): Promise<T> {
    const answer = new Promise<T>((resolve, reject) => {
      this.corkForNow();
      this.silence ??= setTimeout(() => this.destroy("no answer"), silentMsMax).unref();
      this.query({ ...query, rowMode: "array" }, (error: Error | null, result: Result) => {
        this.silence?.refresh();
        if (error) reject(judge(this.explain(error)));
        else resolve(take(result));
      });
    });
    // Callers that wait for a later statement get the error there: no unhandled rejection meanwhile.
    answer.catch(() => undefined);
    return answer;
  }

  /** Statements that are sent in one turn of the event loop share a packet. */
  private corkForNow(): void {
    if (this.isCorked) return;
    this.isCorked = true;
    const { stream } = this.connection;
    stream.cork();
    process.nextTick(() => {
      this.isCorked = false;
      stream.uncork();
    });
  }

  /** pg has no code for errors of a broken connection. */
  explain(error: Error): Error {
    if (error instanceof pg.DatabaseError || this.lostBy === null) return error;
    return new ConnectionLost(`the connection was lost (${this.lostBy})`);
  }

  private stopWatch(): void {
    clearTimeout(this.silence);
    this.silence = undefined;
  }

  /** Closes the socket without waiting for the server. Statements under way are rejected. */
  destroy(reason = "closed"): void {
    this.lostBy ??= reason;
    this.connection.stream.destroy();
  }
}
