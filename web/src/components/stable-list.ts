// Lists that do not move under the cursor or the fingers: while somebody points at one or types in it, what is gone stays where it
// was, and what is new waits, or stands at the end where it moves nothing. A list above the one that is used holds still with it. A
// pointer that rests for long is forgotten: nobody means it.

import { type RefObject, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { mergeList } from "./merge-list.js";

export interface StableList<T> {
  shown: readonly T[];
  /** Keys of what is shown still, though it is gone. */
  gone: ReadonlySet<string>;
  /** How many are not shown yet. */
  waiting: number;
  /** Shows everything as it is. */
  release: () => void;
  /** For the list's element. */
  list: { ref: RefObject<HTMLOListElement | null> };
}

/** `newcomers`: whether new ones come before what is shown, or after it. */
export function useStableList<T>(
  now: readonly T[],
  keyOf: (item: T) => string,
  newcomers: "before" | "after",
): StableList<T> {
  const ref = useRef<HTMLOListElement>(null);
  const isPointedAt = usePointedAt(ref);
  const hasFocus = useFocusWithin(ref);
  const last = useRef<readonly T[]>(now);
  const [, again] = useState(0);
  const isUsed = isPointedAt || hasFocus;
  const isAboveUsed = useInUse(ref, isUsed);
  const { shown, gone, waiting } =
    isUsed || isAboveUsed
      ? mergeList(last.current, now, keyOf, isUsed ? newcomers : "wait")
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
    list: { ref },
  };
}

/** The lists of the page that somebody points at or types in. */
let inUse: readonly HTMLElement[] = [];
const onUse = new Set<() => void>();

function setInUse(lists: readonly HTMLElement[]): void {
  inUse = lists;
  for (const listener of onUse) listener();
}

/** Says that the list is used; the answer is whether one below it is. */
function useInUse(ref: RefObject<HTMLElement | null>, isUsed: boolean): boolean {
  useLayoutEffect(() => {
    const own = ref.current;
    if (!isUsed || !own) return;
    setInUse([...inUse, own]);
    return () => setInUse(inUse.filter((list) => list !== own));
  }, [ref, isUsed]);
  const isAbove = (other: HTMLElement) =>
    ref.current !== null &&
    (ref.current.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  return useSyncExternalStore(
    (listener) => {
      onUse.add(listener);
      return () => onUse.delete(listener);
    },
    () => inUse.some(isAbove),
  );
}

/** Long enough to read what one points at. */
export const pointerRestMs = 60_000;

/** Whether a mouse is there and was moved not long ago. Looked up: of a dialog that goes from under it, nobody hears that it left. */
function usePointedAt(ref: RefObject<HTMLElement | null>): boolean {
  const [isThere, setThere] = useState(false);
  useEffect(() => {
    let rest: ReturnType<typeof setTimeout> | undefined;
    const left = () => {
      clearTimeout(rest);
      setThere(false);
    };
    const moved = ({ pointerType, target }: PointerEvent) => {
      // A finger points at nothing when it is lifted.
      if (pointerType !== "mouse") return;
      left();
      if (!ref.current?.contains(target as Node)) return;
      rest = setTimeout(left, pointerRestMs);
      setThere(true);
    };
    document.addEventListener("pointermove", moved);
    document.documentElement.addEventListener("pointerleave", left);
    return () => {
      clearTimeout(rest);
      document.removeEventListener("pointermove", moved);
      document.documentElement.removeEventListener("pointerleave", left);
    };
  }, [ref]);
  return isThere;
}

/** Looked up, not counted: an element that had the focus and was disabled or removed says nothing when it loses it. */
function useFocusWithin(ref: RefObject<HTMLElement | null>): boolean {
  const [isWithin, setWithin] = useState(false);
  useEffect(() => {
    const look = () => setWithin(ref.current?.contains(document.activeElement) ?? false);
    const soon = () => setTimeout(look, 0);
    const events = ["focusin", "focusout", "pointerdown", "keydown"] as const;
    for (const name of events) document.addEventListener(name, soon);
    return () => {
      for (const name of events) document.removeEventListener(name, soon);
    };
  }, [ref]);
  return isWithin;
}
