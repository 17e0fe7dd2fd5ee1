// How a worker reports: what it may send, what it goes through, and how it learns that a task is lost.

import { DibsError } from "../contract/error.js";
import type { WorkResult } from "./worker.js";

/** The holder's three names for its claim. */
export interface HolderOf {
  project?: string;
  taskId: string;
  sessionId: string;
  epoch: number;
}

export const tries = { max: 20, pauseMs: 500 };

const passing: readonly string[] = ["RATE_LIMITED", "REQUEST_TIMEOUT"];

/** Troubles of the store or of the way to it, such as a lock that another process keeps, a full disk or a server's restart. */
function passes(error: unknown): boolean {
  return (
    error instanceof DibsError &&
    error.retryable &&
    (error.code.startsWith("STORE_") || passing.includes(error.code))
  );
}

/** Goes through short troubles. */
export async function patiently<T>(
  call: () => Promise<T>,
  onTrouble?: (error: unknown) => void,
  isStopping?: () => boolean,
): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await call();
    } catch (error) {
      if (!passes(error) || tried === tries.max || isStopping?.()) throw error;
      onTrouble?.(error);
      await new Promise((resolve) => setTimeout(resolve, tries.pauseMs));
    }
  }
}

const lostCodes: readonly string[] = [
  "CLAIM_EXPIRED",
  "TASK_CANCELLED",
  "TASK_NOT_CLAIMED",
  "NOT_CLAIM_OWNER",
  "STALE_EPOCH",
  "TASK_NOT_FOUND",
  "SESSION_NOT_FOUND",
];

/** The task is no longer ours. */
export function isLost(error: unknown): boolean {
  return error instanceof DibsError && lostCodes.includes(error.code);
}

/** Cut, and without what no store can keep. */
export function storable(message: string): string {
  return message.slice(0, 8_000).replaceAll("\u0000", "\ufffd").toWellFormed();
}

const resultFields = ["output", "filesCreated", "filesModified", "branch", "commit"];

/** What a handler returns is kept whatever it is: other values than a result become its output, as JSON. */
export function resultOf(value: WorkResult) {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  const isResult =
    typeof value === "object" &&
    !Array.isArray(value) &&
    Object.keys(value).every((key) => resultFields.includes(key));
  return isResult ? value : JSON.stringify(value);
}
