// Answers that stay true: loaded once, and again soon after an event that concerns them. While it is loaded anew the old answer
// stays; bursts of events become one call; at most one call is under way.

import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { storeNow } from "./clock.js";
import type { DibsEvent as Event } from "./dibs.js";
import { type StreamStatus, stream } from "./stream.js";

export interface Live<T> {
  data: T | undefined;
  error: unknown;
  isLoading: boolean;
  reload: () => void;
}

interface LiveOptions {
  /** Which events make the answer old. Default: all. */
  on?: (event: Event) => boolean;
  /** Also so often while the page is seen: for what changes without an event, such as heartbeats. */
  everyMs?: number;
  /** At most so often. */
  calmMs?: number;
}

/** `key` says what is asked: another key is another question, and its answer starts empty. */
export function useLive<T>(key: string, load: () => Promise<T>, options: LiveOptions = {}): Live<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: unknown }>({ key });
  const latest = useRef({ load, options });
  latest.current = { load, options };
  const [reload, setReload] = useState<() => void>(() => () => undefined);

  useEffect(() => {
    let isOver = false;
    let isBusy = false;
    let isOld = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const run = async () => {
      timer = undefined;
      if (isBusy) {
        isOld = true;
        return;
      }
      isBusy = true;
      try {
        const data = await latest.current.load();
        if (!isOver) setState({ key, data });
      } catch (error) {
        if (!isOver) setState((old) => ({ key, data: old.key === key ? old.data : undefined, error }));
      }
      isBusy = false;
      if (isOld && !isOver) soon();
      isOld = false;
    };
    const soon = () => {
      timer ??= setTimeout(run, latest.current.options.calmMs ?? 250);
    };
    const offEvent = stream.onEvent((event) => {
      if (latest.current.options.on?.(event) ?? true) soon();
    });
    const offReset = stream.onReset(soon);
    const { everyMs } = latest.current.options;
    const ticking = everyMs ? setInterval(() => !document.hidden && soon(), everyMs) : undefined;
    setReload(() => () => void run());
    void run();
    return () => {
      isOver = true;
      clearTimeout(timer);
      clearInterval(ticking);
      offEvent();
      offReset();
    };
  }, [key]);

  const isCurrent = state.key === key;
  const data = isCurrent ? state.data : undefined;
  const error = isCurrent ? state.error : undefined;
  return { data, error, isLoading: data === undefined && error === undefined, reload };
}

export function useStreamStatus(): StreamStatus {
  const subscribe = useCallback((listener: () => void) => stream.onStatus(listener), []);
  return useSyncExternalStore(subscribe, () => stream.status);
}

/** The store's time, again every `everyMs`; it stands still while the page is hidden. */
export function useNow(everyMs = 1_000): number {
  const [now, setNow] = useState(storeNow);
  useEffect(() => {
    const tick = () => !document.hidden && setNow(storeNow());
    const timer = setInterval(tick, everyMs);
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, [everyMs]);
  return now;
}
