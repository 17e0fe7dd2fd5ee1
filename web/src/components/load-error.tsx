import { useEffect } from "react";
import { DibsError, isSignedOut, troubleOf } from "../data/dibs.js";
import { type Live, useStreamStatus } from "../data/live.js";

const isUnreachable = (error: unknown) => error instanceof DibsError && error.code === "STORE_UNAVAILABLE";

/**
 * What went wrong while loading. Nothing where the page will ask to sign in anyway, or where the banner has said already that the
 * server is away: then it is read again as soon as it is back.
 */
export function LoadError({ live }: { live: Pick<Live<unknown>, "error" | "reload"> }) {
  const { state } = useStreamStatus();
  const { error, reload } = live;
  const isAway = isUnreachable(error);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for every time that the stream is there again
  useEffect(() => {
    if (state === "live" && isAway) reload();
  }, [state]);
  if (error === undefined || isSignedOut(error) || (isAway && state === "lost")) return null;
  const { message, hint } = troubleOf(error);
  return (
    <div className="trouble row wrapping" role="alert">
      <span className="grows">
        {message} {hint}
      </span>
      <button type="button" onClick={reload}>
        Try again
      </button>
    </div>
  );
}
