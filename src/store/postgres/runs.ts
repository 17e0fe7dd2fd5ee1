// Runs of jobs: again and again, with what the last run asked for, until one has no question left. Only that one counts.

import type { Changes } from "../../core/changes.js";
import { InvariantError } from "../../core/refusal.js";
import type { Job, JobResult, ReadJob } from "../store.js";
import type { Workspace } from "../workspace.js";
import { answer } from "./fetch.js";
import type { PostgresRows } from "./read.js";
import type { PostgresTransaction } from "./transaction.js";

/** A decision that keeps asking is a defect. */
const roundsMax = 1_000;

interface Seen {
  rows: PostgresRows;
  workspace: Workspace;
}

interface Jobs<T> {
  org: string;
  jobs: readonly Job<T>[];
  /** Those that threw, by their place: left out from then on. */
  failed: Map<number, unknown>;
  now: number;
}

export async function runJobs<T>(
  transaction: PostgresTransaction,
  { rows, workspace }: Seen,
  { org, jobs, failed, now }: Jobs<T>,
): Promise<JobResult<T>[]> {
  const apply = (changes: Changes) => {
    rows.apply();
    workspace.apply(changes);
  };
  const forJobs = { now, view: workspace, apply };
  for (let round = 0; round < roundsMax; round++) {
    rows.restart();
    const results: JobResult<T>[] = [];
    let isBroken = false;
    for (const [index, job] of jobs.entries()) {
      if (failed.has(index)) {
        results.push({ ok: false, error: failed.get(index) });
        continue;
      }
      try {
        results.push({ ok: true, value: job(forJobs) });
      } catch (error) {
        // With a question open, nothing of this run counts, not even its failures.
        if (rows.questions.isOpen) continue;
        failed.set(index, error);
        isBroken = true;
        break;
      }
    }
    if (!isBroken && !rows.questions.isOpen) {
      workspace.lookBeforeFlush();
      if (!rows.questions.isOpen) return results;
    }
    if (isBroken) {
      // What it looked at on the way was answered for changes that will not be made.
      rows.questions.forget();
      workspace.clear();
    } else workspace.undo();
    if (rows.questions.isOpen) await answer(transaction, org, rows.questions, round);
  }
  throw new InvariantError("a decision comes to an end");
}

export async function runLook<T>(
  transaction: PostgresTransaction,
  { rows, workspace }: Seen,
  { org, job, now }: { org: string; job: ReadJob<T>; now: number },
): Promise<T> {
  for (let round = 0; round < roundsMax; round++) {
    rows.restart();
    let result: { value: T } | { error: unknown };
    try {
      result = { value: job(workspace, now) };
    } catch (error) {
      result = { error };
    }
    if (rows.questions.isOpen) await answer(transaction, org, rows.questions, round);
    else if ("value" in result) return result.value;
    else throw result.error;
    workspace.undo();
  }
  throw new InvariantError("a look comes to an end");
}
