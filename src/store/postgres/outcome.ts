// What became of a commit whose answer was lost (ADR 9).

import { StoreError } from "../store.js";
import type { Database } from "./database.js";
import { retryTransient } from "./retry.js";

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
    const transaction = await database.begin(org, { write: true });
    try {
      const [early] = await transaction.send(tokenOf);
      if (early) return early[0] === token;
      void transaction.send({ text: lockOrg, values: [org] });
      return (await transaction.send(tokenOf))[0]?.[0] === token;
    } finally {
      await transaction.end();
    }
  };
  try {
    return await retryTransient(database.where, find, { isPatientWithLocks: true });
  } catch (error) {
    throw new StoreError(
      "STORE_UNAVAILABLE",
      `The connection was lost while a change was being committed, and it could not be found out whether it was: ${(error as Error).message}`,
      "Look before you repeat it, or repeat it with the same idempotency key.",
      error,
    );
  }
}
