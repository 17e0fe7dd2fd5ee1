// Runs of jobs on a store that fetches: repeated with what the last run asked for, until one has no question left. Only that
// one counts.

import { InvariantError } from "../core/refusal.js";
import type { Lists } from "../core/view.js";
import { asFailed, cutOf, type Failed } from "./jobs.js";
import { withLists } from "./org-view.js";
import type { Job, JobResult, ReadJob, Transaction } from "./store.js";
import type { Workspace } from "./workspace.js";

/** A decision that keeps asking is a defect. */
const roundsMax = 1_000;

export interface Fetching {
  workspace: Workspace;
  questions: { readonly isOpen: boolean; forget(): void };
  /** A run begins. */
  restart(): void;
  /** Answers the open questions. `round`: how often a run of this transaction has asked before. */
  answer(round: number): Promise<void>;
  /**
   * Whether the org is still as the run has seen it, for a store in which others can commit meanwhile. A run that changes
   * something is confirmed by its commit; a read, and a run that fails or changes nothing, count only if this says yes.
   */
  confirm?(): Promise<boolean>;
}

export async function runJobs<T>(
  fetching: Fetching,
  { jobs, failed, now }: { jobs: readonly Job<T>[]; failed: Failed; now: () => number },
): Promise<JobResult<T>[]> {
  const { workspace, questions } = fetching;
  const { view } = workspace;
  const apply = workspace.apply.bind(workspace);
  for (let round = 0; round < roundsMax; round++) {
    fetching.restart();
    let transaction: Transaction | null = null;
    const results: JobResult<T>[] = [];
    let thrown: { index: number; error: unknown } | null = null;
    for (const [index, job] of jobs.entries()) {
      try {
        transaction ??= { now: now(), view, apply };
        results.push(asFailed<T>(failed, index) ?? { ok: true, value: job(transaction) });
      } catch (error) {
        // With a question open, nothing of this run counts, not even its failures.
        if (questions.isOpen) continue;
        thrown = { index, error };
        break;
      }
    }
    if (!thrown && !questions.isOpen) workspace.lookBeforeFlush();
    if (questions.isOpen) {
      workspace.undo();
      await fetching.answer(round);
      continue;
    }
    const isConfirmed = !fetching.confirm || (!thrown && workspace.isDirty) || (await fetching.confirm());
    if (!thrown && isConfirmed) return results;
    if (thrown && isConfirmed) {
      const cut = cutOf(thrown.error, thrown.index);
      if (cut) throw cut;
      failed.set(thrown.index, thrown.error);
    }
    // What it looked up on the way was answered for changes that are not made.
    questions.forget();
    workspace.clear();
  }
  throw new InvariantError("a decision comes to an end");
}

/** The job's own failure is a result: it says nothing about the store. */
export async function runRead<T>(
  fetching: Fetching,
  { job, lists, now }: { job: ReadJob<T>; lists: Lists; now: () => number },
): Promise<JobResult<T>> {
  const view = withLists(fetching.workspace.view, lists);
  for (let round = 0; round < roundsMax; round++) {
    fetching.restart();
    let result: JobResult<T>;
    try {
      result = { ok: true, value: job(view, now()) };
    } catch (error) {
      result = { ok: false, error };
    }
    if (fetching.questions.isOpen) await fetching.answer(round);
    else if (!fetching.confirm || (await fetching.confirm())) return result;
    fetching.workspace.undo();
  }
  throw new InvariantError("a read comes to an end");
}

export function settled<T>(result: JobResult<T>): T {
  if (result.ok) return result.value;
  throw result.error;
}
