// Groups of jobs, for every store. A job that throws is left out; a group that cannot be one transaction becomes several.

import { InvariantError } from "../core/refusal.js";
import { type Job, type JobResult, StoreError, type Transaction } from "./store.js";

/** Jobs that threw, by their index in the group: left out from then on. */
export type Failed = Map<number, unknown>;

/** A lookup in the queue of a project whose order the same transaction changes: the queue is written again at its end. */
export class QueueReordered extends InvariantError {
  constructor(project: string) {
    super(`the order of project ${project} has changed in this transaction`);
  }
}

/** The job at this index, and those after it, need another transaction. */
class Cut {
  constructor(readonly index: number) {}
}

/** A job threw: the group runs again without it. */
class JobFailure {
  constructor(
    readonly index: number,
    readonly error: unknown,
  ) {}
}

export function asFailed<T>(failed: Failed, index: number): JobResult<T> | null {
  return failed.has(index) ? { ok: false, error: failed.get(index) } : null;
}

/** A cut, if the job only needs another transaction. A job that reorders a queue and then looks at it fails. */
export function cutOf(error: unknown, index: number): Cut | null {
  return error instanceof QueueReordered && index > 0 ? new Cut(index) : null;
}

/** Runs the jobs in a transaction that answers every lookup at once, and that starts again when a job throws. */
export function runInOrder<T>(
  transaction: Transaction,
  jobs: readonly Job<T>[],
  failed: Failed,
  isStoreFailure: (error: unknown) => boolean,
): JobResult<T>[] {
  return jobs.map((job, index) => {
    const failure = asFailed<T>(failed, index);
    if (failure) return failure;
    try {
      return { ok: true, value: job(transaction) };
    } catch (error) {
      // A failure of the store fails the whole group, a job's own error only that job.
      if (isStoreFailure(error)) throw error;
      throw cutOf(error, index) ?? new JobFailure(index, error);
    }
  });
}

/** Repeats a transaction without the jobs that threw in it. */
export async function withoutFailing<T>(once: (failed: Failed) => Promise<T>): Promise<T> {
  const failed: Failed = new Map();
  for (;;) {
    try {
      return await once(failed);
    } catch (error) {
      if (!(error instanceof JobFailure)) throw error;
      failed.set(error.index, error.error);
    }
  }
}

/** Runs a group with `once`, in one transaction if possible. */
export async function commitGroup<T>(
  jobs: readonly Job<T>[],
  once: (jobs: readonly Job<T>[]) => Promise<JobResult<T>[]>,
): Promise<JobResult<T>[]> {
  try {
    return await once(jobs);
  } catch (error) {
    if (error instanceof Cut) {
      return inTurn([jobs.slice(0, error.index), jobs.slice(error.index)], once);
    }
    // What one job wrote may break the group: alone, it breaks only itself.
    if (jobs.length === 1 || error instanceof StoreError) throw error;
    return inTurn(
      jobs.map((job) => [job]),
      once,
    );
  }
}

async function inTurn<T>(
  groups: readonly (readonly Job<T>[])[],
  once: (jobs: readonly Job<T>[]) => Promise<JobResult<T>[]>,
): Promise<JobResult<T>[]> {
  const results: JobResult<T>[] = [];
  let failure: StoreError | null = null;
  for (const group of groups) {
    try {
      if (failure) throw failure;
      results.push(...(await commitGroup(group, once)));
    } catch (error) {
      // If the store fails, the other groups fail with it, without waiting for the same.
      if (error instanceof StoreError) failure = error;
      results.push(...group.map(() => ({ ok: false as const, error })));
    }
  }
  return results;
}
