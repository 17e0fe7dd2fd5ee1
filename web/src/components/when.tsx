import { ago } from "../../../src/client/view/words.js";

/** How long ago; the exact time on demand. */
export function When({ at, now }: { at: string; now: number }) {
  return (
    <time dateTime={at} title={at}>
      {ago(at, now)}
    </time>
  );
}
