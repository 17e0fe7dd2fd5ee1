// What `dibs work` and `dibs run` share: sessions, claims that name their process group, heartbeats, and events passed on to the
// attempts that run.

import type { WireSubmission } from "../client/brief/review-facts.js";
import type { Dibs } from "../client/client.js";
import { beatMsFor, claimSettings, Heartbeat, HeldSession, watchTasks } from "../client/holding/index.js";
import type { WireClaim, WireTask } from "../contract/shapes.js";
import { Attempt } from "./attempt.js";
import { Group } from "./group.js";
import { registerNamed } from "./names.js";
import type { AttemptEnd, RunnerOptions, Timings } from "./options.js";
import { ownProcess } from "./processes.js";
import { ReviewAttempt } from "./review-attempt.js";
import { recordName } from "./survivors.js";

export interface Claimed {
  claim: WireClaim;
  task: WireTask;
  handover?: string | undefined;
  askedAt: number;
  /** A review was claimed: of this submission of the task. */
  review?: WireSubmission | undefined;
}

/** A beat of a busy machine takes its time. */
const beatTimeoutMsMin = 1_000;

export class Attempts {
  readonly running = new Set<Attempt | ReviewAttempt>();
  private beatMs = 0;
  private readonly sessions = new Map<string, HeldSession>();
  private readonly heartbeat = new Heartbeat(() => this.beat());
  private readonly quiet = new AbortController();
  private watching: Promise<void> = Promise.resolve();
  private hasGrace = false;
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly hurrying = new AbortController();
  private readonly silencing = new AbortController();
  /** The grace has ended: reports are tried once more, and until `silence` at the latest. */
  readonly hurry: AbortSignal = this.hurrying.signal;
  readonly silence: AbortSignal = this.silencing.signal;

  constructor(
    readonly options: RunnerOptions,
    readonly timings: Timings,
  ) {}

  get dibs(): Dibs {
    return this.options.dibs;
  }

  /** As an input: the project, if one was named. */
  get project(): { project?: string } {
    return this.options.project === undefined ? {} : { project: this.options.project };
  }

  async open(): Promise<void> {
    const { project, ttlMs } = this.options;
    const settings = await claimSettings(this.dibs, project);
    this.beatMs = this.timings.heartbeatMs ?? beatMsFor(settings, ttlMs);
    this.heartbeat.within(this.beatMs);
    const watching = {
      ...this.project,
      retryMs: this.timings.retryMs,
      notice: (event: Parameters<Attempt["notice"]>[0]) => {
        for (const attempt of this.running) attempt.notice(event);
      },
      onBreak: () => void this.beat(),
      onTrouble: (error: unknown) => this.options.onTrouble?.(error),
    };
    this.watching = watchTasks(this.dibs, watching, this.quiet.signal);
  }

  private async beat(): Promise<number> {
    const signal = AbortSignal.timeout(Math.max(this.beatMs, beatTimeoutMsMin));
    await Promise.all([...this.running].map((attempt) => attempt.renew(signal)));
    return this.beatMs;
  }

  async close(): Promise<void> {
    this.heartbeat.stop();
    this.quiet.abort();
    for (const timer of this.timers) clearTimeout(timer);
    await this.watching;
  }

  /** What runs can finish within the grace; with `now` it is ended at once. */
  stop({ now }: { now: boolean }): void {
    if (this.quiet.signal.aborted) return;
    const endAll = () => {
      for (const attempt of this.running) attempt.stop({ now });
      this.hurrying.abort();
      // At the end of the grace a command still needs its own, to end.
      const lastMs = this.timings.lastWordMs + (now ? 0 : this.timings.killGraceMs);
      this.timers.push(setTimeout(() => this.silencing.abort(), lastMs));
    };
    if (now) {
      endAll();
      return;
    }
    // A question can stay open for days: the answer waits there for the next holder.
    for (const attempt of this.running) if (attempt.isWaiting) attempt.stop({ now: false });
    if (!this.hasGrace) this.timers.push(setTimeout(endAll, this.timings.stopGraceMs));
    this.hasGrace = true;
  }

  newGroup(sessionId: string): Group {
    const { machine, watchdogFile } = this.options;
    const { killGraceMs, drainMs } = this.timings;
    return new Group({ sessionId, machine, killGraceMs, drainMs, watchdogFile });
  }

  /** Chooses names for the sessions and registers them. */
  async introduce(sessionIds: readonly string[]): Promise<void> {
    await registerNamed(this.options, sessionIds, (id, name) => {
      const session = this.session(id);
      session.facts.name = name;
      return session.register();
    });
  }

  /** With its pid, a machine that can see this process notices its death; any other goes by the heartbeats. */
  session(id: string): HeldSession {
    const known = this.sessions.get(id);
    if (known) return known;
    const { machine, agentType = "autonomous", capabilities, uses } = this.options;
    const session = new HeldSession(() => this.dibs, {
      ...this.project,
      id,
      agentType,
      ...(capabilities === undefined ? {} : { capabilities }),
      ...(uses === undefined ? {} : { uses }),
      capacity: 1,
      heartbeats: true,
      ...ownProcess(machine),
    });
    this.sessions.set(id, session);
    return session;
  }

  /** What every claim contains: its process group, so that a successor can end it, and the length of its lease. */
  claimInput(sessionId: string, group: Group) {
    const { ttlMs } = this.options;
    return {
      ...this.project,
      sessionId,
      metadata: { [recordName]: { ...group.record } },
      ...(ttlMs === undefined ? {} : { ttlMs }),
    };
  }

  /** `isStopping`: it was claimed while a stop was on its way, and goes back. */
  async run(
    { claim, task, handover, askedAt, review }: Claimed,
    group: Group,
    { isStopping = false, isOwn = false } = {},
  ): Promise<AttemptEnd> {
    const { options, timings, hurry, silence } = this;
    const newGroup = () => this.newGroup(claim.sessionId);
    const parts = { options, timings, group, claim, task, askedAt, hurry, silence };
    const attempt = review
      ? new ReviewAttempt({ ...parts, submission: review })
      : new Attempt({ ...parts, newGroup, handover, isOwn });
    this.running.add(attempt);
    if (isStopping) attempt.stop({ now: false });
    try {
      return await attempt.run();
    } finally {
      this.running.delete(attempt);
    }
  }
}
