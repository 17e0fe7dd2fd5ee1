// What is shown, kept true: the tasks, the sessions, the inbox and the projects of one project or of all, told by one stream of
// events. The stream goes on where it ended, whatever lies between; while it is lost, that is said.

import type { Dibs } from "../client/client.js";
import { clockSkewMs } from "../client/view/health.js";
import { type InboxContent, readInbox } from "../client/view/inbox.js";
import { byNeed } from "../client/view/resources.js";
import { TaskIndex } from "../client/view/rows.js";
import { pause } from "../common/abort.js";
import type { OutputOf } from "../contract/operation.js";
import type { OperationNamed } from "../contract/registry.js";
import type { WireEvent, WireProject, WireResource } from "../contract/shapes.js";
import { Reading } from "./reading.js";

export type Summary = OutputOf<OperationNamed<"sessions.summary">>;

export interface Told {
  changed(): void;
  /** A task that is looked at has changed. */
  happened(event: WireEvent): void;
  /** What was missed has been heard. */
  caughtUp(events: number): void;
}

const shownMax = 1000;
const retryMs = 2_000;
/** An answer that takes longer than this is a bad sign. */
const silenceMs = 8_000;
/** After a pause of so long nothing more is to be caught up. */
const quietMs = 500;

export class Live {
  connection: "connecting" | "live" | "lost" = "connecting";
  /** When it was lost. */
  lostAt: number | null = null;
  trouble: string | null = null;
  summary: Summary | null = null;
  inbox: InboxContent | null = null;
  /** Of the org, whichever project is shown. */
  resources: readonly WireResource[] = [];
  /** The store's clock decides about leases, and may be another machine's. */
  skewMs = 0;
  index: TaskIndex | null = null;

  private readonly ending = new AbortController();
  private scope = new AbortController();
  private readings: Reading[] = [];
  private catchingUp: { count: number; timer: NodeJS.Timeout } | null = null;
  private readonly projectsReading: Reading;

  constructor(
    readonly dibs: Dibs,
    /** A project, or * for all. */
    public project: string,
    public projects: readonly WireProject[],
    private readonly told: Told,
  ) {
    this.projectsReading = new Reading(() => this.readProjects(), { gapMs: 1_000, everyMs: 30_000 });
    this.show(project);
  }

  /** Begins anew with another project. */
  show(project: string): void {
    this.leaveScope();
    this.project = project;
    this.summary = null;
    this.inbox = null;
    this.scope = new AbortController();
    void this.follow(project, this.scope.signal);
    this.told.changed();
  }

  close(): void {
    this.ending.abort();
    this.projectsReading.close();
    this.leaveScope();
  }

  refresh(): void {
    for (const reading of this.readings) reading.ask();
  }

  /**
   * For how long the server has been asked in vain; null while it answers. A stream of events may be silent for longer than that
   * before it counts as lost.
   */
  get silentMs(): number | null {
    const ms = Math.max(0, ...this.readings.map(({ unansweredMs }) => unansweredMs));
    return ms < silenceMs ? null : ms;
  }

  private leaveScope(): void {
    this.scope.abort();
    for (const reading of this.readings.splice(0)) reading.close();
    this.index?.close();
    this.index = null;
    if (this.catchingUp) clearTimeout(this.catchingUp.timer);
    this.catchingUp = null;
  }

  private async readProjects(): Promise<void> {
    const { projects } = await this.dibs.projects.list({ limit: shownMax });
    this.projects = projects;
    this.told.changed();
  }

  /** The end of the log first: what is read after that can be older than no event that follows. */
  private async follow(project: string, signal: AbortSignal): Promise<void> {
    let after: number | null = null;
    while (!signal.aborted && !this.ending.signal.aborted) {
      try {
        after ??= (await this.dibs.events.list({ project, limit: 1 })).lastSeq;
        if (signal.aborted) return;
        if (!this.index) this.read(project);
        this.found();
        const events = this.dibs.events.follow({
          project,
          after,
          signal,
          onReset: () => this.startAnew(),
          onConnection: (state) => (state === "lost" ? this.lost(null) : this.found()),
        });
        for await (const event of events) {
          after = event.seq;
          this.heard(event);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.lost(error as Error);
        await pause(retryMs, signal);
      }
    }
  }

  private read(project: string): void {
    this.index = new TaskIndex(this.dibs, { project });
    this.index.subscribe(() => this.told.changed());
    this.readings = [
      new Reading(
        async () => {
          this.summary = await this.dibs.sessions.summary({ project, limit: shownMax });
          this.skewMs = clockSkewMs(this.summary.sessions, Date.now()) ?? this.skewMs;
          this.told.changed();
        },
        { gapMs: 300, everyMs: 5_000 },
      ),
      new Reading(
        async () => {
          this.inbox = await readInbox(this.dibs, project, shownMax);
          this.told.changed();
        },
        { gapMs: 300, everyMs: 30_000 },
      ),
      new Reading(
        async () => {
          this.resources = byNeed((await this.dibs.resources.list()).resources);
          this.told.changed();
        },
        { gapMs: 1_000, everyMs: 5_000 },
      ),
    ];
  }

  private heard(event: WireEvent): void {
    // Whoever cannot tell that it was found again shows it.
    if (this.connection === "lost") this.found();
    this.index?.apply(event);
    if (event.type === "project:updated") this.projectsReading.ask();
    this.refresh();
    this.told.happened(event);
    if (this.catchingUp) this.awaitMore(this.catchingUp.count + 1);
  }

  private startAnew(): void {
    this.index?.reset();
    this.projectsReading.ask();
    this.refresh();
  }

  private lost(error: Error | null): void {
    this.trouble = error?.message ?? null;
    if (this.connection !== "lost") this.lostAt = Date.now() + this.skewMs;
    this.connection = "lost";
    this.told.changed();
  }

  private found(): void {
    const wasLost = this.connection === "lost";
    this.connection = "live";
    this.trouble = null;
    this.lostAt = null;
    if (wasLost) {
      this.awaitMore(0);
      this.refresh();
    }
    this.told.changed();
  }

  private awaitMore(count: number): void {
    if (this.catchingUp) clearTimeout(this.catchingUp.timer);
    const timer = setTimeout(() => {
      this.catchingUp = null;
      this.told.caughtUp(count);
    }, quietMs);
    this.catchingUp = { count, timer };
  }
}
