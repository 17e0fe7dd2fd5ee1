// Options of the spool, and the events it reports.

import type { Dibs } from "../../client/client.js";

/** Identifies processes of this machine. */
export interface SpoolMachine {
  /** The same boot and the same pid namespace. */
  hostId: string;
  processStart(pid: number): string | null;
  isAlive(pid: number, startedAt: string | null): boolean;
}

/** A monotonic clock. */
export interface SpoolClock {
  now(): number;
  /** Returns early when the signal fires. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export interface Timings {
  /** Interval of polls. */
  pollMs: number;
  /** Interval of claims if no event arrives. */
  claimMs: number;
  /** Least time between two polls. */
  gapMs: number;
  /** A file is read when it has not changed for this long. */
  settleMs: number;
  /** How long a task file can be missing while it is moved between directories. */
  missingMs: number;
  /** Default: the project's interval, or a third of the lease or of the silence it allows, whichever is less. */
  heartbeatMs: number | null;
}

export const defaultTimings: Timings = {
  pollMs: 1_000,
  claimMs: 5_000,
  gapMs: 20,
  settleMs: 250,
  missingMs: 2_000,
  heartbeatMs: null,
};

export interface SpoolOptions {
  dibs: Dibs;
  project?: string;
  /** Whose spool it is: a directory of that name, and the type of the sessions. */
  agent: string;
  /** `ai_comms`. */
  directory: string;
  /** A second place for the agent's session lock, next to `locks` in the directory. */
  lockDirectory?: string;
  /** How many tasks wait in `to_execute`; default 4. */
  hold?: number;
  /** Polls once and ends; leases are kept. */
  once?: boolean;
  /** End when nothing is held and nothing can be claimed. */
  untilEmpty?: boolean;
  machine: SpoolMachine;
  clock?: SpoolClock;
  timings?: Partial<Timings>;
  signal?: AbortSignal;
  onEvent(event: SpoolEvent): void;
}

/** `name` is that of its directory: the task's id, unless that was taken. */
interface OnTask {
  taskId: string;
  name: string;
}

export type SpoolEvent =
  | ({ type: "created"; path: string; title: string } & OnTask)
  | ({ type: "placed"; epoch: number; title: string } & OnTask)
  | ({ type: "taken"; pid: number | null } & OnTask)
  | ({ type: "completed" } & OnTask)
  | ({ type: "failed"; error: string; willRetry: boolean } & OnTask)
  /** Its worker is gone; the task is queued again. */
  | ({ type: "stale"; reason: string; path: string | null } & OnTask)
  /** The claim ended, or another session has the task. */
  | ({ type: "lost"; reason: string; path: string | null } & OnTask)
  | ({ type: "released"; reason: string } & OnTask)
  /** Its file is in `completed`, but the store refuses completion for now. */
  | ({ type: "waiting"; reason: string } & OnTask)
  /** The file is left as it is. */
  | { type: "refused"; path: string; reason: string }
  | { type: "trouble"; message: string };

export const bounds = {
  holdMax: 100,
  heldMax: 1_000,
  promptBytesMax: 256 * 1024,
  resultBytesMax: 1024 * 1024,
  /** Characters; a byte is at least a quarter of one. */
  errorLengthMax: 64 * 1024,
  recordBytesMax: 16 * 1024,
  /** Entries of a directory. */
  entriesMax: 100_000,
  agentLengthMax: 64,
};
