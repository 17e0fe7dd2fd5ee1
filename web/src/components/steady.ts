// Lists that do not move under the cursor or the fingers: while somebody points at one or types in it, what is gone stays where it
// was, and what is new waits, or stands at the end where it moves nothing.

import { type FocusEvent, useRef, useState } from "react";

export interface Steady<T> {
  shown: readonly T[];
  /** Keys of what is shown still, though it is gone. */
  gone: ReadonlySet<string>;
  /** How many are not shown yet. */
  waiting: number;
  /** Shows everything as it is. */
  release: () => void;
  handlers: {
    onPointerEnter: () => void;
    onPointerLeave: () => void;
    onFocus: () => void;
    onBlur: (event: FocusEvent) => void;
  };
}

/** `newcomers`: whether new ones come before what is shown, or after it. */
export function useSteady<T>(
  now: readonly T[],
  keyOf: (item: T) => string,
  newcomers: "before" | "after",
): Steady<T> {
  const held = useRef({ pointer: false, focus: false });
  const last = useRef<readonly T[]>(now);
  const [, again] = useState(0);
  const hold = (by: "pointer" | "focus", isHeld: boolean) => {
    if (held.current[by] === isHeld) return;
    held.current[by] = isHeld;
    again((count) => count + 1);
  };
  const isHeld = held.current.pointer || held.current.focus;
  const { shown, gone, waiting } = isHeld
    ? keptTogether(last.current, now, keyOf, newcomers)
    : { shown: now, gone: new Set<string>(), waiting: 0 };
  last.current = shown;
  return {
    shown,
    gone,
    waiting,
    release: () => {
      last.current = now;
      again((count) => count + 1);
    },
    handlers: {
      onPointerEnter: () => hold("pointer", true),
      onPointerLeave: () => hold("pointer", false),
      onFocus: () => hold("focus", true),
      onBlur: ({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) hold("focus", false);
      },
    },
  };
}

/** What was shown, in its place and as it is now; what came after it; and how many wait before it. */
export function keptTogether<T>(
  before: readonly T[],
  now: readonly T[],
  keyOf: (item: T) => string,
  newcomers: "before" | "after",
) {
  const current = new Map(now.map((item) => [keyOf(item), item]));
  const known = new Set(before.map(keyOf));
  const kept = before.map((item) => current.get(keyOf(item)) ?? item);
  const gone = new Set([...known].filter((key) => !current.has(key)));
  const isNew = (item: T) => !known.has(keyOf(item));
  if (newcomers === "after") return { shown: [...kept, ...now.filter(isNew)], gone, waiting: 0 };
  // Those beyond the last that is shown were asked for: an older page.
  const lastKnown = now.findLastIndex((item) => known.has(keyOf(item)));
  const older = now.slice(lastKnown + 1);
  const waiting = now.filter(isNew).length - older.length;
  return before.length === 0
    ? { shown: now, gone, waiting: 0 }
    : { shown: [...kept, ...older], gone, waiting };
}
