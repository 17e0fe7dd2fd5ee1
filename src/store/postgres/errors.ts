// What the server and the network say, as what a person should do, and whether trying again helps.

import { StoreError } from "../store.js";

interface ServerError extends Error {
  /** SQLSTATE from the server, or a name from the driver or the network. */
  code?: string;
  severity?: string;
}

const codeOf = (error: unknown): string =>
  error instanceof Error ? ((error as ServerError).code ?? "") : "";

/** Said by the server itself: the statement failed, and the transaction with it. */
const isFromServer = (error: unknown): boolean =>
  /^[0-9A-Z]{5}$/.test(codeOf(error)) && codeOf(error) !== "EPIPE";

/** The connection is gone, or the server is going or coming: whether a commit under way happened is not known. */
export function isConnectionLoss(error: unknown): boolean {
  const code = codeOf(error);
  return (
    /^(08|57P0[1-35]|53300|58)/.test(code) ||
    (error instanceof Error && !isFromServer(error) && code !== "" && !(error instanceof StoreError))
  );
}

/** Lost against another transaction; the same again will do. */
export const isConflict = (error: unknown): boolean => ["40001", "40P01"].includes(codeOf(error));

/** Another transaction kept the lock for too long. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === "55P03";

export function translate(error: unknown, where: string): unknown {
  if (!(error instanceof Error) || error instanceof StoreError) return error;
  const code = codeOf(error);
  if (code === "55P03" || code === "57014" || code === "25P03") {
    return new StoreError(
      "STORE_BUSY",
      `${where} did not answer in time: ${error.message}.`,
      "Try again; if it stays so, look for long transactions in pg_stat_activity.",
      error,
    );
  }
  if (code.startsWith("53") && code !== "53300") {
    return new StoreError("STORE_FULL", `${where} is out of resources: ${error.message}.`, undefined, error);
  }
  if (code === "25006") {
    return new StoreError(
      "STORE_READ_ONLY",
      `${where} takes no writes: ${error.message}.`,
      "Connect to the primary: this server could be a standby.",
      error,
    );
  }
  if (code.startsWith("28") || code === "3D000" || code === "42501") {
    return new StoreError(
      "STORE_UNAVAILABLE",
      `${where} refuses us: ${error.message}.`,
      "Check the user, the password, the database name and the grants (docs/guides/postgresql.md).",
      error,
    );
  }
  if (code.startsWith("XX")) {
    return new StoreError("STORE_CORRUPT", `${where} reports damage: ${error.message}.`, undefined, error);
  }
  if (isConnectionLoss(error) || isConflict(error)) {
    return new StoreError(
      "STORE_UNAVAILABLE",
      `${where} cannot be reached: ${error.message || code}.`,
      "Check that the server runs and that the address is right.",
      error,
    );
  }
  return error;
}
