// What an agent's program printed, per attempt: the tail of it. Kept apart from the attempt, because it is long and grows.

import { limits, utf8Length } from "./limits.js";
import type { DocumentValue } from "./view.js";

export const logKind = "log";

export interface Log {
  text: string;
  /** What was cut off at the beginning. */
  truncatedBytes: number;
  updatedAt: number;
}

/** Beside the logs of a task: the last attempt that has one. */
export interface LatestLog {
  epoch: number;
}

export const logKey = (project: string, taskId: string, epoch: number) => `${project}/${taskId}/${epoch}`;
export const latestLogKey = (project: string, taskId: string) => `${project}/${taskId}`;
export const toLog = (value: DocumentValue) => value as unknown as Log;
export const toLatestLog = (value: DocumentValue) => value as unknown as LatestLog;

/** A program's output is not its caller's fault: what no store can keep is replaced, not refused. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\ufffd");
}

/** The end of a text, cut between characters. */
export function tailOf(
  text: string,
  bytesMax: number = limits.logBytesMax,
): { text: string; cutBytes: number } {
  const over = utf8Length(text) - bytesMax;
  let cutBytes = 0;
  let at = 0;
  while (cutBytes < over) {
    const point = text.codePointAt(at)!;
    cutBytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    at += point < 0x10000 ? 1 : 2;
  }
  return { text: text.slice(at), cutBytes };
}
