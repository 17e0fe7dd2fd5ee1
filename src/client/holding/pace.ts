// How often a holder renews its leases.

import type { Dibs } from "../client.js";

type ClaimSettings = Awaited<ReturnType<Dibs["projects"]["get"]>>["project"]["settings"]["claim"];

/** Shorter intervals would keep the store busy with renewals. */
const beatMsMin = 20;

/** The project's interval, or a third of the shortest time that an unrenewed claim lasts. */
export function beatMsFor(settings: ClaimSettings, ttlMs = settings.defaultTtlMs): number {
  const { heartbeatIntervalMs, orphanThresholdMs, startTimeoutMs } = settings;
  const third = Math.floor(Math.min(ttlMs, orphanThresholdMs, startTimeoutMs) / 3);
  return Math.max(beatMsMin, Math.min(heartbeatIntervalMs, third));
}

export async function claimSettings(dibs: Dibs, projectId?: string): Promise<ClaimSettings> {
  const { project } = await dibs.projects.get(projectId === undefined ? {} : { id: projectId });
  return project.settings.claim;
}

/** Calls `beat` again and again. Each beat returns the time until the next one starts, counted from its own start. */
export class Heartbeat {
  private timer: ReturnType<typeof setTimeout> | null = null;
  private dueAt = Number.POSITIVE_INFINITY;
  private isBeating = false;
  private isStopped = false;

  constructor(private readonly beat: () => Promise<number>) {}

  /** The next beat comes within this time. */
  within(ms: number): void {
    const dueAt = performance.now() + ms;
    if (this.isStopped || this.isBeating || dueAt >= this.dueAt) return;
    this.dueAt = dueAt;
    if (this.timer) clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.run(), ms);
  }

  private async run(): Promise<void> {
    this.isBeating = true;
    const startedAt = performance.now();
    const nextMs = await this.beat();
    this.isBeating = false;
    this.dueAt = Number.POSITIVE_INFINITY;
    this.within(Math.max(0, nextMs - (performance.now() - startedAt)));
  }

  stop(): void {
    this.isStopped = true;
    if (this.timer) clearTimeout(this.timer);
  }
}
