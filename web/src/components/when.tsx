import { ago } from "../../../src/client/view/words.js";

interface WhenProps {
  at: string;
  now: number;
  /** It may be still to come. Else what is after `now`, which is taken every few seconds, has just happened. */
  isPlanned?: boolean;
  className?: string;
}

/** How long ago; the exact time on demand. */
export function When({ at, now, isPlanned = false, className }: WhenProps) {
  return (
    <time dateTime={at} title={at} className={className}>
      {ago(at, isPlanned ? now : Math.max(now, Date.parse(at)))}
    </time>
  );
}
