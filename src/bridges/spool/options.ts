// What callers of the spool pass, and what it tells them.

import type { Dibs } from "../../client/client.js";

/** How processes of this machine are told apart. */
export interface SpoolMachine {
  /** The same boot and the same pid namespace. */
  hostId: string;
  processStart(pid: number): string | null;
  isAlive(pid: number, startedAt: string | null): boolean;
}

/** Time as this process has it: never set back. */
export interface SpoolClock {
  now(): number;
  /** Returns early when the signal fires. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

export interface Timings {
  /** How often everything is looked at, whether or not anything was heard. */
  lookMs: number;
  /** How often the queue is asked, where nothing was heard that could have changed it. */
  claimMs: number;
  /** Between two looks there is at least so much time. */
  gapMs: number;
  /** A file that somebody may still be writing is read when it has not changed for so long. */
  settleMs: number;
  /** A task file that is nowhere is on its way from one directory to another; for no longer than this. */
  missingMs: number;
  /** Default: the project's interval, or a third of the lease or of the silence it allows, whichever is less. */
  heartbeatMs: number | null;
}

export const defaultTimings: Timings = {
  lookMs: 1_000,
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
  /** Where the agent's session lock is written too, besides `locks` in the directory. */
  lockDirectory?: string;
  /** How many tasks wait in `to_execute`; default 4. */
  hold?: number;
  /** Look once, and leave everything as it then is: leases go on. */
  once?: boolean;
  /** End when nothing is held and nothing can be claimed. */
  untilEmpty?: boolean;
  machine: SpoolMachine;
  clock?: SpoolClock;
  timings?: Partial<Timings>;
  signal?: AbortSignal;
  onHappening(happening: Happening): void;
}

/** `name` is that of its directory: the task's id, unless that was taken. */
interface OnTask {
  taskId: string;
  name: string;
}

export type Happening =
  | ({ type: "created"; path: string; title: string } & OnTask)
  | ({ type: "placed"; epoch: number; title: string } & OnTask)
  | ({ type: "taken"; pid: number | null } & OnTask)
  | ({ type: "completed" } & OnTask)
  | ({ type: "failed"; error: string; willRetry: boolean } & OnTask)
  /** Its worker is gone: it is in the queue again. */
  | ({ type: "stale"; reason: string; path: string | null } & OnTask)
  /** The lease is another's, or nobody's. */
  | ({ type: "lost"; reason: string; path: string | null } & OnTask)
  | ({ type: "released"; reason: string } & OnTask)
  /** It says it is done, but is not by the store's rules yet. */
  | ({ type: "waiting"; reason: string } & OnTask)
  /** Left as it is. */
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
