// What happened, told to whoever runs the sync; and the record of what was not taken, so that nothing is lost without a trace.

import { constants } from "node:fs";
import { appendFile, rename, stat } from "node:fs/promises";
import { DibsError } from "../../contract/error.js";

export const happenings = [
  "added",
  "edited",
  "claimed",
  "renewed",
  "completed",
  "failed",
  "cancelled",
  "retried",
  "wrote",
  "conflict",
  "refused",
  "removed",
  "broken",
  "whole",
  "trouble",
] as const;

export interface News {
  what: (typeof happenings)[number];
  message: string;
  taskId?: string;
  /** Both sides changed it, or the file changed what it may not: both values, and whose was taken. */
  field?: string;
  base?: unknown;
  file?: unknown;
  store?: unknown;
  taken?: "file" | "store";
  [detail: string]: unknown;
}

/** Somebody should look at it. */
export const needsAttention = ({ what }: News): boolean =>
  ["conflict", "refused", "removed", "broken", "trouble"].includes(what);

/** The store said no to an edit; anything else is a trouble that may pass, and no answer. */
export function isRefusal(error: unknown): error is DibsError {
  if (!(error instanceof DibsError)) return false;
  return !/^(STORE_|INTERNAL|UNAUTHENTICATED|FORBIDDEN|PROJECT_|RATE_|REQUEST_)/.test(error.code);
}

/** No use in trying again. */
export function isFinal(error: unknown): boolean {
  if (!(error instanceof DibsError)) return false;
  return [
    "UNAUTHENTICATED",
    "FORBIDDEN",
    "PROJECT_NOT_FOUND",
    "STORE_CLOSED",
    "STORE_CORRUPT",
    "STORE_NOT_TRUSTED",
    "STORE_TOO_NEW",
  ].includes(error.code);
}

/** A full record moves aside, in place of the one before. */
const recordBytesMax = 8 * 1024 * 1024;
const append = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/** One line of JSON for each conflict and refused edit, with both values. */
export class ConflictRecord {
  constructor(readonly path: string) {}

  async add(news: readonly News[]): Promise<void> {
    if (news.length === 0) return;
    const size = await stat(this.path).then(
      (found) => found.size,
      () => 0,
    );
    if (size > recordBytesMax) await rename(this.path, `${this.path}.old`);
    const at = new Date().toISOString();
    const lines = news.map((each) => `${JSON.stringify({ at, ...each })}\n`);
    await appendFile(this.path, lines.join(""), { flag: append as never, mode: 0o600 });
  }
}
