// What runs of any kind share: a session, the pace of its heartbeats, a claim that names its group, and eyes on the events.

import type { Dibs } from "../client/client.js";
import type { WireClaim, WireEvent, WireTask } from "../contract/shapes.js";
import { Attempt } from "./attempt.js";
import { Group } from "./group.js";
import { watchedTypes } from "./lease.js";
import { type Names, registerNamed } from "./names.js";
import type { AttemptEnd, RunnerOptions, Timings } from "./options.js";
import { pause } from "./patience.js";
import { ownProcess } from "./processes.js";
import { recordName } from "./survivors.js";

export interface Claimed {
  claim: WireClaim;
  task: WireTask;
  askedAt: number;
}

/** Runs attempts, and tells them what events say. */
export class Bench {
  readonly running = new Set<Attempt>();
  private beatMs = 0;
  private names: Names = new Map();
  private readonly quiet = new AbortController();
  private watching: Promise<void> = Promise.resolve();
  private hasGrace = false;
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly hurrying = new AbortController();
  private readonly silencing = new AbortController();
  /** The time to stop is over: what is to be said is said once more, and until `silence` at the latest. */
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
    const { project } = await this.dibs.projects.get(
      this.options.project === undefined ? {} : { id: this.options.project },
    );
    const { heartbeatIntervalMs, defaultTtlMs, orphanThresholdMs } = project.settings.claim;
    const ttlMs = this.options.ttlMs ?? defaultTtlMs;
    const third = Math.floor(Math.min(ttlMs, orphanThresholdMs) / 3);
    this.beatMs = this.timings.heartbeatMs ?? Math.max(1, Math.min(heartbeatIntervalMs, third));
    this.watching = this.watch();
  }

  async close(): Promise<void> {
    this.quiet.abort();
    for (const timer of this.timers) clearTimeout(timer);
    await this.watching;
  }

  /** What runs may finish within the grace; with `now` it is ended at once. */
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
    // A question may stay open for days: the answer will wait there for the next holder.
    for (const attempt of this.running) if (attempt.isWaiting) attempt.stop({ now: false });
    if (!this.hasGrace) this.timers.push(setTimeout(endAll, this.timings.stopGraceMs));
    this.hasGrace = true;
  }

  /** What it still holds goes back. */
  async endSession(sessionId: string): Promise<void> {
    await this.dibs.sessions.end({ ...this.project, sessionId }, { signal: this.silence });
  }

  newGroup(sessionId: string): Group {
    const { machine, wardenFile } = this.options;
    const { killGraceMs, drainMs } = this.timings;
    return new Group({ sessionId, machine, killGraceMs, drainMs, wardenFile });
  }

  /** For the first time: finds names for them. */
  async introduce(sessionIds: readonly string[]): Promise<void> {
    this.names = await registerNamed(this.options, sessionIds, (id, name) => this.register(id, name));
  }

  /** With its pid, a machine that can see this process notices its death; any other goes by the heartbeats. */
  async register(sessionId: string, name = this.names.get(sessionId)): Promise<void> {
    const { machine, agentType = "autonomous", capabilities } = this.options;
    await this.dibs.sessions.register({
      ...this.project,
      ...(name === undefined ? {} : { name }),
      id: sessionId,
      agentType,
      ...(capabilities === undefined ? {} : { capabilities }),
      capacity: 1,
      heartbeats: true,
      ...ownProcess(machine),
    });
  }

  /** What every claim says: its group, so that a successor can end it, and the length of its lease. */
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
    { claim, task, askedAt }: Claimed,
    group: Group,
    { isStopping = false, isOwn = false } = {},
  ): Promise<AttemptEnd> {
    const { options, timings, beatMs, hurry, silence } = this;
    const last = { hurry, silence };
    const attempt = new Attempt({ options, timings, group, claim, task, askedAt, beatMs, isOwn, last });
    this.running.add(attempt);
    if (isStopping) attempt.stop({ now: false });
    try {
      return await attempt.run();
    } finally {
      this.running.delete(attempt);
    }
  }

  /** Cancellations, answers and losses arrive as events, within milliseconds. */
  private async watch(): Promise<void> {
    const { signal } = this.quiet;
    while (!signal.aborted) {
      try {
        for await (const event of this.dibs.events.follow({ ...this.project, types: watchedTypes, signal })) {
          this.tell(event);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.options.onTrouble?.(error);
        await pause(this.timings.retryMs, signal);
        for (const attempt of this.running) attempt.look();
      }
    }
  }

  private tell(event: WireEvent): void {
    for (const attempt of this.running) attempt.notice(event);
  }
}
