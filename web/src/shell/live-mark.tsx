// Whether what is shown is true: live, catching up, or old.

import { useEffect, useState } from "react";
import { useNow, useStreamStatus } from "../data/live.js";
import { stream } from "../data/stream.js";

/** A break that heals within this time is not worth a banner. */
const bearableMs = 3_000;
const shownMs = 8_000;

export function LiveMark() {
  const { state, caughtUp } = useStreamStatus();
  const now = useNow();
  const late = caughtUp && now - caughtUp.at < shownMs ? caughtUp.count : null;
  const word =
    state === "live"
      ? late === null
        ? "live"
        : `caught up ${late} ${late === 1 ? "event" : "events"}`
      : state;
  return (
    <span className="live" data-state={state} role="status">
      {word}
    </span>
  );
}

export function StaleBanner() {
  const { state, since } = useStreamStatus();
  const [isLong, setLong] = useState(false);
  const isBroken = state === "lost" || state === "connecting";
  useEffect(() => {
    setLong(false);
    if (!isBroken) return;
    const timer = setTimeout(() => setLong(true), bearableMs);
    return () => clearTimeout(timer);
  }, [isBroken]);
  if (!isBroken || !isLong) return null;
  return (
    <div className="stale row wrapping" role="alert">
      <span>
        No connection since {new Date(since).toLocaleTimeString()}: this page could be out of date.
        Reconnecting…
      </span>
      <button type="button" className="small" onClick={() => stream.tryNow()}>
        Try now
      </button>
    </div>
  );
}
