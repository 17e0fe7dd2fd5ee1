// An export into an org that has nothing yet. The file is read twice: first all of it is judged, so that a broken one changes
// nothing; then it is written, in batches, because a transaction must fit into memory. A small file is one transaction. What
// the org counts by is written with the last batch: an org with rows but without a single event is an import that did not
// finish, and is refused as such. Every store fills its queue and its indexes as for any other change.
//
// Commits see no lists: whether the org is empty is read first. Each batch then checks the org's row, and the document in which the
// import notes how far it has come, so that of two imports at once one is refused.

import { DibsError } from "../contract/error.js";
import { type Changes, documentKey, type Key, keyOf, noChanges } from "../core/changes.js";
import type { Org } from "../core/project.js";
import type { Reads, View } from "../core/view.js";
import type { Store } from "../store/store.js";
import { Batch, type BatchMax, Sums } from "./batch.js";
import type { Counts } from "./format.js";
import { type Read, readRows } from "./read.js";

const batchLengthMax = 8 * 1024 * 1024;

/** Gives the lines from the start each time it is called; it is called twice. */
export type Lines = () => AsyncIterable<string>;

/**
 * Imports into an org of any name that has no rows, or that does not exist yet. Nobody else may use it until the end. A function opens
 * the store, and perhaps creates it, after the file was found to be good.
 */
export async function importOrg(
  target: Store | (() => Promise<Store>),
  org: string,
  lines: Lines,
  batchMax?: BatchMax,
): Promise<Counts> {
  const file = await judge(lines);
  const store = typeof target === "function" ? await target() : target;
  await store.open(org, file.org.defaultProject);
  const max = batchMax ?? { rows: store.capabilities.commitRowsMax, length: batchLengthMax };
  const writing = new Target(store, org, file);
  await writing.refuseNonEmpty();
  let batch = new Batch(org, max);
  const sums = new Sums();
  for await (const row of readRows(lines())) {
    if (batch.isFull) {
      await writing.write(batch);
      batch = new Batch(org, max);
    }
    batch.add(row);
    sums.add(row);
  }
  batch.addOrg({ ...file.org, org }, sums);
  await writing.write(batch, { isLast: true });
  return file.counts;
}

async function judge(lines: Lines): Promise<Read> {
  const rows = readRows(lines());
  for (let step = await rows.next(); ; step = await rows.next()) if (step.done) return step.value;
}

const progressKind = "import";
const progressKey = "progress";

class Target {
  /** The org's row before the first batch: nothing but the last batch may change it. */
  private before = "";
  private batches = 0;

  constructor(
    private readonly store: Store,
    private readonly org: string,
    private readonly file: Read,
  ) {}

  async write(batch: Batch, { isLast = false } = {}): Promise<void> {
    const [result] = await this.store.commit(this.org, [
      ({ view, apply }) => {
        if (JSON.stringify(view.org()) !== this.before || batchesIn(view) !== this.batches)
          throw this.taken("Another process wrote to it during the import.");
        refuseTwice(view, batch);
        for (const changes of batch.changes()) apply(changes);
        if (!isLast || this.batches > 0) apply(progress(isLast ? null : { batches: this.batches + 1 }));
      },
    ]);
    if (!result!.ok) throw result!.error;
    this.batches++;
  }

  async refuseNonEmpty(): Promise<void> {
    const { org, hasRow, other } = await this.store.read(this.org, (view) => ({
      org: view.org(),
      hasRow: hasRows(view, view.org()),
      other: view.projects().find(({ id }) => !this.file.projects.has(id)),
    }));
    if (org.eventSeq > 0) throw this.taken(`It has ${org.eventSeq} events already.`);
    if (hasRow) throw this.taken("It holds an import that did not finish, or reserved ids.");
    if (other) throw this.taken(`It has a project ${other.id}, which the export does not have.`, true);
    this.before = JSON.stringify(org);
  }

  /** Fresh: it was opened, and nothing has happened in it. */
  private taken(why: string, isFresh = false): DibsError {
    return new DibsError("ID_TAKEN", `Org ${this.org} of ${this.store.location} is not empty. ${why}`, {
      hint: "Import into a new store, or into an organization that has not been used.",
      details: { org: this.org, isFresh },
    });
  }
}

/** How many batches of an unfinished import are stored. */
function batchesIn(view: View): number {
  return (view.document(progressKind, progressKey)?.batches as number | undefined) ?? 0;
}

function progress(value: { batches: number } | null): Changes {
  const document = { kind: progressKind, key: progressKey, value };
  return { ...noChanges(), documents: new Map([[documentKey(progressKind, progressKey), document]]) };
}

/** The only thing about a file that cannot be judged without remembering all of it. */
function refuseTwice(view: View, { tasks, archived }: Batch): void {
  const seen = new Set<Key>();
  const refuseKnown = (project: string, id: string, line: number, what: string) => {
    const key = keyOf(project, id);
    if (seen.has(key) || view.task(project, id)) throw twice(line, what);
    seen.add(key);
  };
  for (const { row, line } of tasks) refuseKnown(row.project, row.id, line, `there are two tasks ${row.id}`);
  for (const { row, line } of archived) {
    refuseKnown(row.project, row.taskId, line, `task ${row.taskId} is said to be archived, and is there`);
  }
}

function twice(line: number, message: string): DibsError {
  return new DibsError("VALIDATION_FAILED", `Line ${line}: ${message}.`, {
    hint: "The import did not finish. Throw its org or file away, and export again.",
    details: { line, issues: [{ path: `line ${line}`, message }] },
  });
}

function hasRows(view: Reads, { defaultProject }: Org): boolean {
  const one = { project: null, limit: 1 };
  return (
    batchesIn(view) > 0 ||
    view.projects().length > 1 ||
    view.tasks({ ...one, afterOrdinal: 0 }).length > 0 ||
    view.sessions({ ...one, live: false }).length > 0 ||
    view.notifications({ ...one, unread: false }).length > 0 ||
    view.events({ after: 0, limit: 1 }).length > 0 ||
    view.counters({ project: defaultProject, limit: 1 }).length > 0 ||
    view.idempotencyRecords({ limit: 1 }).length > 0
  );
}
