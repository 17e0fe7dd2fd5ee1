// What became of a commit whose answer was lost (ADR 9).

import { StoreError } from "../store.js";
import type { Database } from "./connection.js";
import { persistently } from "./patience.js";

/** Serialises the commits of an org, until its transaction ends. */
export const lockOrg = "SELECT pg_advisory_xact_lock(hashtextextended('dibs org ' || $1, 0))";

const tokenText = "SELECT token FROM dibs.commit_token WHERE org = $1 AND version = $2";

/** The connection was lost between sending a commit and its answer. */
export class Unknown<T> extends Error {
  constructor(
    readonly version: number,
    readonly token: string,
    /** To be called if it happened. */
    readonly committed: () => T,
    override readonly cause: unknown,
  ) {
    super("unknown outcome");
  }
}

/**
 * The token tells whether the commit happened. If it is not there, the transaction may still be under way on the lost
 * connection: taking the org's lock waits for its end. Goes on while the store is being closed, too.
 */
export async function hasHappened(
  database: Database,
  org: string,
  { version, token }: Unknown<unknown>,
): Promise<boolean> {
  const tokenOf = { text: tokenText, values: [org, version] };
  const find = async (): Promise<boolean> => {
    const session = await database.take();
    try {
      session.begin(org, { write: true });
      const [early] = await session.send(tokenOf);
      if (early) return early[0] === token;
      void session.send({ text: lockOrg, values: [org] });
      return (await session.send(tokenOf))[0]?.[0] === token;
    } finally {
      await session.end();
    }
  };
  try {
    return await persistently(database.where, find, { isPatientWithLocks: true });
  } catch (error) {
    throw new StoreError(
      "STORE_UNAVAILABLE",
      `The connection was lost while a change was being committed, and it could not be found out whether it was: ${(error as Error).message}`,
      "Look before you repeat it, or repeat it with the same idempotency key.",
      error,
    );
  }
}
