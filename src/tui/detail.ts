// One task in full, kept true while it is looked at: read again when an event names it, and every few seconds, because logs grow
// without events.

import type { WireSubmission } from "../client/brief/review-facts.js";
import type { Dibs } from "../client/client.js";
import { visibleLines } from "../common/text.js";
import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import type { WireAttempt, WireEvent, WireTask } from "../contract/shapes.js";
import { Reading } from "./reading.js";

export interface TaskName {
  project: string;
  taskId: string;
}

/** More is for a pager. */
const patchLinesMax = 2_000;
const patchColumnsMax = 500;
const eventsMax = 300;
const pageMax = 1000;

export class Detail {
  task: WireTask | null = null;
  explanation: OutputOf<OperationNamed<"tasks.explain">> | null = null;
  log: OutputOf<OperationNamed<"tasks.log">> | null = null;
  attempts: readonly WireAttempt[] = [];
  /** Of a submitted task. */
  submission: WireSubmission | null = null;
  /** What the submission changes, as far as it is shown, in lines that are harmless. */
  patch: { lines: readonly string[]; isCut: boolean } | null = null;
  /** The newest, oldest first. */
  events: readonly WireEvent[] = [];
  /** First line that is seen. */
  top = 0;
  private after = 0;
  private readonly reading: Reading;

  constructor(
    private readonly dibs: Dibs,
    readonly name: TaskName,
    private readonly changed: () => void,
  ) {
    this.reading = new Reading(() => this.read(), { gapMs: 200, everyMs: 3_000 });
  }

  get error(): Error | null {
    return this.reading.error;
  }

  is({ project, taskId }: { project: string | null; taskId: string | null }): boolean {
    return project === this.name.project && taskId === this.name.taskId;
  }

  ask(): void {
    this.reading.ask();
  }

  close(): void {
    this.reading.close();
  }

  private async read(): Promise<void> {
    const { tasks } = this.dibs;
    try {
      const [{ task }, explanation, { attempts }, log] = await Promise.all([
        tasks.get(this.name),
        tasks.explain(this.name),
        tasks.attempts({ ...this.name, limit: 20 }),
        tasks.log(this.name),
        this.readEvents(),
      ]);
      await this.readSubmission(task);
      Object.assign(this, { task, explanation, attempts, log });
    } finally {
      this.changed();
    }
  }

  private async readSubmission({ state, submission: last }: WireTask): Promise<void> {
    if (state !== "submitted" || !last) {
      this.submission = null;
      this.patch = null;
      return;
    }
    const before = this.submission;
    const { submission } = await this.dibs.tasks.submission({ ...this.name, number: last.number });
    const isKnown = before?.number === submission.number && before.diff !== null;
    this.submission = submission;
    if (!isKnown) this.patch = submission.diff ? await this.readPatch(submission.number) : null;
  }

  /** Up to a mebibyte: it is read once, and its beginning is kept. */
  private async readPatch(number: number): Promise<Detail["patch"]> {
    const found = await this.dibs.tasks.patch(this.name).catch(() => null);
    if (found?.submission !== number) return null;
    const lines = found.patch.replace(/\n$/, "").split("\n", patchLinesMax + 1);
    const isLong = lines.length > patchLinesMax || found.omitted > 0;
    return {
      lines: lines.slice(0, patchLinesMax).flatMap((line) => visibleLines(line.slice(0, patchColumnsMax))),
      isCut: isLong || lines.some((line) => line.length > patchColumnsMax),
    };
  }

  private async readEvents(): Promise<void> {
    for (;;) {
      const { events, nextAfter } = await this.dibs.tasks.events({
        ...this.name,
        after: this.after,
        limit: pageMax,
      });
      this.after = nextAfter;
      if (events.length > 0) this.events = [...this.events, ...events].slice(-eventsMax);
      if (events.length < pageMax) return;
    }
  }
}
