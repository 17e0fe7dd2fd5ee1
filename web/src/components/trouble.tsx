import { isSignedOut, troubleOf } from "../data/dibs.js";
import type { Live } from "../data/live.js";

/** What went wrong while loading; nothing if nothing did, or if the page will ask to sign in anyway. */
export function Trouble({ live }: { live: Pick<Live<unknown>, "error" | "reload"> }) {
  if (live.error === undefined || isSignedOut(live.error)) return null;
  const { message, hint } = troubleOf(live.error);
  return (
    <div className="trouble row wrapping" role="alert">
      <span className="grows">
        {message} {hint}
      </span>
      <button type="button" onClick={live.reload}>
        Try again
      </button>
    </div>
  );
}
