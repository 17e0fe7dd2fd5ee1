// Triggers an early poll: changes in the directories, events of the store. Both are optional; the regular polls find
// everything.

import { type FSWatcher, watch } from "node:fs";
import type { Dibs } from "../../client/client.js";
import { pause } from "../../common/abort.js";
import type { WireEvent } from "../../contract/shapes.js";
import type { SpoolClock } from "./options.js";

export const systemClock: SpoolClock = {
  now: () => performance.now(),
  wait: pause,
};

export class PollTrigger {
  private triggered = new AbortController();

  constructor(
    private readonly clock: SpoolClock,
    private readonly gapMs: number,
  ) {}

  trigger(): void {
    this.triggered.abort();
  }

  /** Waits `ms`, or until triggered; at least the gap, so that a burst of changes leads to one poll. */
  async wait(ms: number, stop: AbortSignal): Promise<void> {
    await this.clock.wait(Math.min(this.gapMs, ms), stop);
    const { signal } = this.triggered;
    const end = () => this.trigger();
    stop.addEventListener("abort", end, { once: true });
    if (!stop.aborted) await this.clock.wait(Math.max(0, ms - this.gapMs), signal);
    stop.removeEventListener("abort", end);
    this.triggered = new AbortController();
  }
}

const watchedMax = 2_000;

/** Watches directories, each by itself. Those that cannot be watched are only polled. */
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
      // The directory is gone, or the system's limit is reached.
    }
  }

  private end(path: string): void {
    this.watchers.get(path)?.close();
    this.watchers.delete(path);
  }
}

/** Events after which a task may be ready or a claim lost. */
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
      // The next poll finds what was missed, and reports the error if it lasts.
      await clock.wait(1_000, signal);
    }
  }
}
