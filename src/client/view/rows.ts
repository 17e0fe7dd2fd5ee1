// Every task of a project, or of the org, as rows that stay true: read page by page, then again wherever an event says that
// something changed. Requests go out one after the other, so an answer is never older than the one before it; what an event
// marks while a request is under way is read after it. So a page that comes late overwrites nothing that is newer.
//
// Rows tell what else to read: whoever waited for a task that is completed, and what a task is part of, change without an event
// of their own. Heartbeats make no events either: what is in flight is read again every few seconds.

import type { WireEvent } from "../../contract/shapes.js";
import type { WireTaskRow } from "../../contract/tasks/rows.js";
import type { Dibs } from "../client.js";
import { factsOf } from "./facts.js";
import { keyOf, RowSet } from "./row-set.js";
import type { Facts } from "./suggest.js";

export interface Timers {
  now(): number;
  set(act: () => void, ms: number): unknown;
  clear(timer: unknown): void;
}

const realTimers: Timers = {
  now: () => Date.now(),
  set: (act, ms) => setTimeout(act, ms),
  clear: (timer) => clearTimeout(timer as never),
};

export interface TaskIndexOptions {
  /** A project, or * for all of the org; default: the client's own. */
  project?: string;
  timers?: Timers;
}

export interface Progress {
  /** Rows that this reading of all tasks has met so far. */
  loaded: number;
  /** All tasks have been read. */
  complete: boolean;
  /** Why reading does not go on; it is tried again. */
  error: Error | null;
}

const pageSize = 1000;
const batchMax = 100;
/** Bursts of events become one request. */
const gapMs = 150;
/** With more than one request can ask for, waiting gathers nothing. */
const busyGapMs = 10;
const refreshMs = 10_000;
const noticeMs = 50;
const backoffMs = { base: 500, max: 30_000 };

type State = WireTaskRow["state"];
/** What people act on comes first. */
const stages: readonly State[][] = [
  ["queued", "claimed", "running", "awaiting_response", "submitted", "failed"],
  ["completed", "cancelled"],
];

/** One reading of all tasks. */
interface Pass {
  number: number;
  stage: number;
  cursor: string | undefined;
}

interface TaskName {
  project: string;
  id: string;
}

export class TaskIndex {
  /** Rises with every change. */
  version = 0;
  progress: Progress = { loaded: 0, complete: false, error: null };

  private readonly rowSet = new RowSet();
  private readonly dirty = new Map<string, TaskName>();
  /** Completed since their dependents were last looked for. */
  private readonly completed = new Set<string>();
  private readonly listeners = new Set<() => void>();
  private readonly timers: Timers;
  private readonly project: string | undefined;
  private readonly ending = new AbortController();
  private pass: Pass | null = null;
  private passes = 0;
  private isBusy = false;
  private isActive = true;
  private failures = 0;
  private readAt = Number.NEGATIVE_INFINITY;
  private dirtyReadAt = Number.NEGATIVE_INFINITY;
  private refreshAt: number;
  private wake: { at: number; timer: unknown } | null = null;
  private notice: unknown = null;
  private knownFacts: { version: number; facts: Facts } | null = null;

  constructor(
    private readonly dibs: Dibs,
    { project, timers = realTimers }: TaskIndexOptions = {},
  ) {
    this.project = project;
    this.timers = timers;
    this.refreshAt = timers.now() + refreshMs;
    this.reset();
  }

  get(project: string, id: string): WireTaskRow | undefined {
    return this.rowSet.get(keyOf(project, id));
  }

  /** In the order of creation; the same array until something changes. */
  rows(): readonly WireTaskRow[] {
    return this.rowSet.all();
  }

  facts(): Facts {
    if (this.knownFacts?.version !== this.version)
      this.knownFacts = { version: this.version, facts: factsOf(this.rows()) };
    return this.knownFacts.facts;
  }

  /** Told soon after changes, once for many. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Something happened. */
  apply({ project, taskId }: Pick<WireEvent, "project" | "taskId">): void {
    if (project === null || taskId === null) return;
    if (this.project !== undefined && this.project !== "*" && this.project !== project) return;
    this.mark({ project, id: taskId });
    this.plan();
  }

  /** Reads everything anew; until then what is known stays. */
  reset(): void {
    this.pass = { number: ++this.passes, stage: 0, cursor: undefined };
    this.tell({ loaded: 0, complete: false });
    this.plan();
  }

  /** Whether anybody looks: only then is what is in flight read again and again. */
  setActive(isActive: boolean): void {
    if (isActive && !this.isActive) this.refreshAt = this.timers.now();
    this.isActive = isActive;
    this.plan();
  }

  close(): void {
    this.ending.abort();
    if (this.wake) this.timers.clear(this.wake.timer);
    if (this.notice !== null) this.timers.clear(this.notice);
    this.listeners.clear();
  }

  private get isClosed(): boolean {
    return this.ending.signal.aborted;
  }

  private mark(name: TaskName): void {
    this.dirty.set(keyOf(name.project, name.id), name);
  }

  /** When there is something to do next; null for nothing. */
  private nextAt(): number | null {
    const times = [
      ...(this.pass ? [this.readAt] : []),
      ...(this.dirty.size > 0 ? [this.dirtyAt()] : []),
      ...(this.isActive ? [this.refreshAt] : []),
    ];
    if (times.length === 0) return null;
    const pauseMs =
      this.failures === 0 ? 0 : Math.min(backoffMs.base * 2 ** (this.failures - 1), backoffMs.max);
    return Math.max(Math.min(...times), this.failures === 0 ? 0 : this.readAt + pauseMs);
  }

  private dirtyAt(): number {
    return this.dirtyReadAt + (this.dirty.size > batchMax ? busyGapMs : gapMs);
  }

  private plan(): void {
    const at = this.isClosed || this.isBusy ? null : this.nextAt();
    if (this.wake && (at === null || this.wake.at > at)) {
      this.timers.clear(this.wake.timer);
      this.wake = null;
    }
    if (at === null || this.wake) return;
    const timer = this.timers.set(
      () => {
        this.wake = null;
        void this.step();
      },
      Math.max(0, at - this.timers.now()),
    );
    this.wake = { at, timer };
  }

  /** One request at most. */
  private async step(): Promise<void> {
    const now = this.timers.now();
    if (this.isActive && now >= this.refreshAt) this.markInFlight(now);
    const isDirtyDue = this.dirty.size > 0 && now >= this.dirtyAt();
    const work = isDirtyDue ? this.readDirty() : this.pass ? this.readPage(this.pass) : null;
    if (work) {
      this.isBusy = true;
      try {
        await work;
        this.failures = 0;
        if (this.progress.error) this.tell({ error: null });
      } catch (error) {
        this.failures++;
        if (!this.isClosed) this.tell({ error: error as Error });
      }
      this.isBusy = false;
      this.readAt = this.timers.now();
    }
    this.plan();
  }

  private markInFlight(now: number): void {
    this.refreshAt = now + refreshMs;
    for (const row of this.rowSet.each()) if (row.claim) this.mark(row);
  }

  private async readPage(pass: Pass): Promise<void> {
    const { rows, nextCursor } = await this.request({
      state: stages[pass.stage]!,
      limit: pageSize,
      ...(pass.cursor === undefined ? {} : { cursor: pass.cursor }),
    });
    if (this.isClosed) return;
    for (const row of rows) if (this.rowSet.put(row, pass.number)) this.changed();
    // It was begun anew meanwhile.
    if (this.pass !== pass) return;
    pass.cursor = nextCursor ?? undefined;
    if (nextCursor === null) pass.stage++;
    const isLast = pass.stage === stages.length;
    if (isLast) this.endPass(pass);
    this.tell(
      isLast ? { loaded: this.rowSet.size, complete: true } : { loaded: this.progress.loaded + rows.length },
    );
  }

  /** A task may have moved between the pages: those that were not met are asked for. */
  private endPass(pass: Pass): void {
    this.pass = null;
    for (const row of this.rowSet.unseenIn(pass.number)) this.mark(row);
  }

  private async readDirty(): Promise<void> {
    this.dirtyReadAt = this.timers.now();
    const [first] = this.dirty.values();
    const names = [...this.dirty.values()]
      .filter(({ project }) => project === first!.project)
      .slice(0, batchMax);
    for (const { project, id } of names) this.dirty.delete(keyOf(project, id));
    const number = this.passes;
    try {
      const { rows } = await this.request({
        // Who follows several projects for an index of the client's own asks for ids that are not there; that is harmless.
        ...(this.project === undefined ? {} : { project: first!.project }),
        taskIds: names.map(({ id }) => id),
      });
      if (this.isClosed) return;
      const found = new Set(rows.map(({ project, id }) => keyOf(project, id)));
      for (const row of rows) this.replace(row, number);
      for (const { project, id } of names) {
        const key = keyOf(project, id);
        if (!found.has(key) && this.rowSet.remove(key)) this.changed();
      }
      this.markDependents();
      if (this.progress.complete) this.tell({ loaded: this.rowSet.size });
    } catch (error) {
      for (const name of names) this.mark(name);
      throw error;
    }
  }

  private replace(row: WireTaskRow, pass: number): void {
    const key = keyOf(row.project, row.id);
    const before = this.rowSet.get(key);
    if (!this.rowSet.put(row, pass)) return;
    this.changed();
    if (before?.state === row.state) return;
    if (row.state === "completed") this.completed.add(key);
    if (row.parentId !== null) this.mark({ project: row.project, id: row.parentId });
  }

  private markDependents(): void {
    if (this.completed.size === 0) return;
    for (const row of this.rowSet.each()) {
      if (
        row.pendingDependencies > 0 &&
        row.dependsOn.some((id) => this.completed.has(keyOf(row.project, id)))
      )
        this.mark(row);
    }
    this.completed.clear();
  }

  private request(input: Parameters<Dibs["tasks"]["rows"]>[0]) {
    const project = this.project === undefined ? {} : { project: this.project };
    return this.dibs.tasks.rows({ ...project, ...input }, { signal: this.ending.signal });
  }

  private changed(): void {
    this.version++;
    this.notify();
  }

  private tell(progress: Partial<Progress>): void {
    const isSame = Object.entries(progress).every(([name, value]) => this.progress[name as never] === value);
    if (isSame) return;
    this.progress = { ...this.progress, ...progress };
    this.notify();
  }

  private notify(): void {
    if (this.notice !== null || this.isClosed) return;
    this.notice = this.timers.set(() => {
      this.notice = null;
      for (const listener of [...this.listeners]) listener();
    }, noticeMs);
  }
}
