// What callers of dibs.work see.

import type { WireBreaker, WireClaim, WireTask } from "../contract/shapes.js";

export interface WorkContext {
  task: WireTask;
  claim: WireClaim;
  sessionId: string;
  /** Fires when the task is no longer ours or the worker stops at once. Its reason is the refusal. */
  signal: AbortSignal;
  /** A human's answer to an earlier question of this task that nobody has acknowledged yet. */
  response: string | null;
  /** What earlier attempts at this task left, in at most 800 tokens; null: this is the first one. */
  handover: string | null;
  progress(note?: string, percent?: number): Promise<void>;
  /** Asks a human and waits for the answer; the lease stands still meanwhile. */
  ask(question: string, more?: { options?: string[]; default?: string }): Promise<string>;
}

/** What a handler returns is the task's result; what it throws fails the attempt. */
export type WorkHandler = (context: WorkContext) => Promise<WorkResult> | WorkResult;

export type WorkResult =
  | string
  | { output?: string; filesCreated?: string[]; filesModified?: string[]; branch?: string; commit?: string }
  // biome-ignore lint/suspicious/noConfusingVoidType: a handler may simply return.
  | void;

export interface WorkOptions {
  /** How many tasks at once; default 1. */
  concurrency?: number;
  /** Default: a generated one. */
  sessionId?: string;
  name?: string;
  agentType?: string;
  capabilities?: string[];
  /** Only tasks with one of these labels. */
  labels?: string[];
  project?: string;
  ttlMs?: number;
  /** Default: a third of the lease, at most the project's own interval. */
  heartbeatMs?: number;
  /** Stop when this worker runs nothing and can claim nothing now. It does not wait for scheduled retries or other workers. */
  untilEmpty?: boolean;
  onError?: (error: unknown) => void;
  /**
   * The handler fails at once, again and again: the worker claims nothing but now and then one task, as a probe, until it works.
   * Called once each time that begins.
   */
  onBreaker?: (breaker: WireBreaker) => void;
}

export interface Worker {
  /** Known once registered. */
  readonly sessionId: Promise<string>;
  /** Resolves when the worker has stopped; rejects if it could not go on. */
  readonly done: Promise<void>;
  /** Claims nothing more and waits for what runs; with `now` aborts and releases it. */
  stop(options?: { now?: boolean }): Promise<void>;
}

/** A handler may throw this to say that trying again is no use: any other error right after the start costs no retry. */
export class PermanentFailure extends Error {
  override name = "PermanentFailure";
}
