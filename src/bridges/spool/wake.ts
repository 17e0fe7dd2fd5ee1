// What makes the next look come early: something moved in the directories, or in the store. Hearing is a help only; looking at regular
// times is what nothing escapes.

import { type FSWatcher, watch } from "node:fs";
import type { Dibs } from "../../client/client.js";
import { pause } from "../../common/abort.js";
import type { WireEvent } from "../../contract/shapes.js";
import type { SpoolClock } from "./options.js";

export const systemClock: SpoolClock = {
  now: () => performance.now(),
  wait: pause,
};

export class Wake {
  private ringing = new AbortController();

  constructor(
    private readonly clock: SpoolClock,
    private readonly gapMs: number,
  ) {}

  ring(): void {
    this.ringing.abort();
  }

  /** So long, or until it rings; never less than the gap, so that a storm of changes is looked at as one. */
  async wait(ms: number, stop: AbortSignal): Promise<void> {
    await this.clock.wait(Math.min(this.gapMs, ms), stop);
    const { signal } = this.ringing;
    const end = () => this.ring();
    stop.addEventListener("abort", end, { once: true });
    if (!stop.aborted) await this.clock.wait(Math.max(0, ms - this.gapMs), signal);
    stop.removeEventListener("abort", end);
    this.ringing = new AbortController();
  }
}

const watchedMax = 2_000;

/** Directories, watched one by one. Whatever cannot be watched is only looked at. */
export class Watches {
  private readonly watchers = new Map<string, FSWatcher>();

  constructor(private readonly onChange: () => void) {}

  set(paths: readonly string[]): void {
    const wanted = new Set(paths.slice(0, watchedMax));
    for (const path of this.watchers.keys()) if (!wanted.has(path)) this.end(path);
    for (const path of wanted) if (!this.watchers.has(path)) this.begin(path);
  }

  close(): void {
    for (const path of [...this.watchers.keys()]) this.end(path);
  }

  private begin(path: string): void {
    try {
      const watcher = watch(path, { persistent: false }, () => this.onChange());
      watcher.on("error", () => this.end(path));
      this.watchers.set(path, watcher);
    } catch {
      // Gone already, or more than the system watches.
    }
  }

  private end(path: string): void {
    this.watchers.get(path)?.close();
    this.watchers.delete(path);
  }
}

/** Events after which something may be claimable, or is no longer ours. */
const types: WireEvent["type"][] = [
  "task:created",
  "task:unblocked",
  "task:completed",
  "task:failed",
  "task:retry-scheduled",
  "task:retried",
  "task:cancelled",
  "task:released",
  "task:claim-expired",
  "task:claim-orphaned",
  "task:response-received",
  "task:updated",
  "project:updated",
];

export async function followEvents(
  dibs: Dibs,
  project: { project?: string },
  { clock, signal, onEvent }: { clock: SpoolClock; signal: AbortSignal; onEvent(event: WireEvent): void },
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of dibs.events.follow({ ...project, types, signal })) onEvent(event);
    } catch {
      // The next look will find what was missed, and tell of the trouble if it lasts.
      await clock.wait(1_000, signal);
    }
  }
}
