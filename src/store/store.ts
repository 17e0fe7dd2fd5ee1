// The port. A store keeps rows and runs jobs in transactions; it knows no rule of the product. A job looks at a view, may
// apply changes (which its own later lookups see) and returns a value; it must be pure, because a store may run it again.

import type { Changes } from "../core/changes.js";
import type { Code } from "../core/refusal.js";
import type { Reads, View } from "../core/view.js";

export interface Transaction {
  /** The store's clock: it decides about expiry, never a caller's. The same for all jobs of a commit. */
  readonly now: number;
  readonly view: View;
  apply(changes: Changes): void;
}

export type Job<T> = (transaction: Transaction) => T;
export type ReadJob<T> = (view: Reads, now: number) => T;

export type JobResult<T> = { ok: true; value: T } | { ok: false; error: unknown };

export interface Capabilities {
  /** Other processes can write the same data; their changes are noticed. */
  shared: boolean;
  /** What is acknowledged survives the end of this process. */
  durable: boolean;
  /** How many jobs one commit should have at most. */
  groupMax: number;
  /** How many rows one commit should write at most; larger imports are split. */
  commitRowsMax: number;
}

/** One state of an org, to be looked at for as long as needed while others go on writing. */
export interface Snapshot {
  read<T>(job: ReadJob<T>): Promise<T>;
  close(): Promise<void>;
}

/** `mayFree` is false when the change cannot have made anything claimable, nor ended a wait, such as a heartbeat. */
export type ChangeListener = (change: { mayFree: boolean }) => void;

export interface Store {
  readonly capabilities: Capabilities;
  /** Where the data is, for people. */
  readonly location: string;

  /** Makes sure that the org exists, with a default project, and returns that project's name. */
  open(org: string, defaultProject: string): Promise<string>;

  /**
   * Runs the jobs in this order in one transaction. A job that throws changes nothing and does not disturb the others;
   * if the commit itself fails, nothing of any job is kept and the promise is rejected.
   */
  commit<T>(org: string, jobs: readonly Job<T>[]): Promise<JobResult<T>[]>;

  /** Runs a job on a consistent state of the org. */
  read<T>(org: string, job: ReadJob<T>): Promise<T>;

  /**
   * The org as it is now, time included. Close it soon: until then the store keeps what has been overwritten since.
   * Closing the store closes it too.
   */
  snapshot(org: string): Promise<Snapshot>;

  /** Calls back soon after a commit to the org, by this process or another. May call back without a change. */
  onChange(org: string, listener: ChangeListener): () => void;

  /** A consistent copy of the whole store, made while it is in use. */
  backup(path: string): Promise<void>;

  /** Problems found in the stored data; empty when it is intact. A server reads the rows of the org that is given. */
  check(org?: string): Promise<string[]>;

  close(): Promise<void>;
}

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
}

/** A store that cannot do its work: disk, lock, file or schema. */
export class StoreError extends Error {
  override name = "StoreError";

  constructor(
    readonly code: Extract<Code, `STORE_${string}`>,
    message: string,
    readonly hint?: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
  }
}
