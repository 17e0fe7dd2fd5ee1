// Abort signals. A signal can outlive the calls that listen to it, so every listener is removed again. A signal that many calls
// share gets one listener only, because platforms warn of more.

const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/** Acts when the signal fires, or at once if it has; the answer lets go of it. */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) {
    act();
    return () => undefined;
  }
  let acts = listeners.get(signal);
  if (!acts) {
    const all = new Set<() => void>();
    acts = all;
    listeners.set(signal, all);
    signal.addEventListener("abort", () => [...all].forEach((each) => void each()), { once: true });
  }
  const known = acts;
  known.add(act);
  return () => known.delete(act);
}

/** Fires when one of its signals does, or when its time is up. */
export class Ending {
  private readonly controller = new AbortController();
  private readonly releases: (() => void)[] = [];
  readonly signal: AbortSignal = this.controller.signal;
  /** It ended because its time was up. */
  isLate = false;

  constructor(signals: readonly (AbortSignal | undefined)[], ms?: number) {
    for (const signal of signals) {
      if (signal) this.releases.push(onAbort(signal, () => this.end(signal.reason)));
    }
    if (ms === undefined) return;
    const timer = setTimeout(() => {
      this.isLate = !this.isOver;
      this.end(
        new Error(
          `nothing came within ${ms < 1_000 ? `${Math.ceil(ms)} ms` : `${Math.round(ms / 1_000)} s`}`,
        ),
      );
    }, ms);
    this.releases.push(() => clearTimeout(timer));
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  end(reason?: unknown): void {
    this.controller.abort(reason);
    this.release();
  }

  /** To be called whatever happened. */
  release(): void {
    for (const release of this.releases.splice(0)) release();
  }
}

/** Rejects when the signal fires, whether or not what is awaited notices. */
export async function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let release = () => {};
  const ended = new Promise<never>((_, reject) => {
    release = onAbort(signal, () => reject(signal.reason));
  });
  try {
    return await Promise.race([work, ended]);
  } finally {
    release();
  }
}

/** Returns early when the signal fires. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  let release = () => {};
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    const stop = signal ? onAbort(signal, resolve) : () => {};
    release = () => {
      clearTimeout(timer);
      stop();
    };
  });
  release();
}

/** The longest time a timer can take; a longer one would fire at once. */
export const timerMsMax = 2 ** 31 - 1;
