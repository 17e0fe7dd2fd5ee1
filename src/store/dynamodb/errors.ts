// What the service and the network report, as what a person should do.

import { StoreError } from "../store.js";
import { DynamoError } from "./client.js";

/** Can pass by itself. */
export const isTransient = (error: unknown): boolean =>
  error instanceof DynamoError && (error.kind === "busy" || error.kind === "lost");

export function translate(error: unknown, where: string): unknown {
  if (!(error instanceof DynamoError)) return error;
  const because = error.message;
  switch (error.kind) {
    case "busy":
      return new StoreError(
        "STORE_BUSY",
        `${where} is throttled: ${because}`,
        "Try again; if it persists, raise the table's limits (docs/guides/dynamodb.md).",
        error,
      );
    case "lost":
      return new StoreError(
        "STORE_UNAVAILABLE",
        `${where} can't be reached: ${because}`,
        "Check the network, the region and the endpoint.",
        error,
      );
    case "missing-table":
      return new StoreError(
        "STORE_UNAVAILABLE",
        `${where} has no table: ${because}`,
        `Run: dibs db create "${where}"`,
        error,
      );
    case "denied":
      return new StoreError(
        "STORE_UNAVAILABLE",
        `${where} denies access: ${because}`,
        "Check the credentials and the IAM policy (docs/guides/dynamodb.md).",
        error,
      );
    case "closed":
      return new StoreError("STORE_CLOSED", "This client was closed.", undefined, error);
    default:
      return error;
  }
}
