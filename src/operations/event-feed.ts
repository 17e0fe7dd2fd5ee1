// From a cursor to an endless, exact sequence of events: read a page, and when there is none wait for a commit, by this process
// or another. The listener is set before reading, so that nothing committed in between is missed.

import { Wake } from "../common/wake.js";
import type { DibsEvent, EventType } from "../core/event.js";
import { limits } from "../core/limits.js";
import type { Store } from "../store/store.js";

/** Where an org's log begins and ends. */
export interface LogEnds {
  firstAvailable: number;
  lastSeq: number;
}

/**
 * The number to go on after. It is another than the one that was seen last if what follows is not all there: it was archived, or
 * the log is shorter than it was, because it was restored from a backup. Then a reader must forget what it knows.
 */
export function resumeFrom(seen: number, { firstAvailable, lastSeq }: LogEnds): number {
  return seen > lastSeq ? lastSeq : Math.max(seen, firstAvailable - 1);
}

export interface FeedOptions {
  /** Number of the last event already seen; absent: only what comes from now on. */
  after?: number | undefined;
  project?: string | null | undefined;
  taskId?: string | undefined;
  types?: readonly EventType[] | undefined;
  signal?: AbortSignal | undefined;
  /** It goes on elsewhere than where it was told to begin. */
  onReset?: ((ends: LogEnds) => void) | undefined;
}

/** A missed wake-up costs at most this. */
const safetyMs = 5_000;

export function followEvents(
  store: Store,
  org: string,
  options: FeedOptions,
): AsyncGenerator<DibsEvent, void, undefined> {
  // Where it starts is settled by the call, not by the first event that is asked for.
  const start = options.after ?? store.read(org, (view) => view.org().eventSeq);
  if (start instanceof Promise) start.catch(() => undefined);
  return eventsFrom(store, org, start, options);
}

async function* eventsFrom(
  store: Store,
  org: string,
  start: number | Promise<number>,
  options: FeedOptions,
): AsyncGenerator<DibsEvent, void, undefined> {
  const { signal, onReset, ...filter } = options;
  let after = await start;
  const wake = new Wake();
  const stop = store.onChange(org, () => wake.ring());
  const onAbort = () => wake.ring();
  signal?.addEventListener("abort", onAbort);
  try {
    while (!signal?.aborted) {
      wake.arm();
      const { page, ends } = await store.read(org, (view) => ({
        page: view.events({ ...filter, after, limit: limits.pageMax }),
        ends: { firstAvailable: view.org().eventMin, lastSeq: view.org().eventSeq },
      }));
      const from = resumeFrom(after, ends);
      if (from !== after) onReset?.(ends);
      after = from;
      for (const event of page) {
        if (signal?.aborted) return;
        after = event.seq;
        yield event;
      }
      if (page.length < limits.pageMax) {
        after = Math.max(after, ends.lastSeq);
        await wake.wait(safetyMs);
      }
    }
  } finally {
    stop();
    signal?.removeEventListener("abort", onAbort);
  }
}
