// Lists that do not move under the cursor or the fingers: while somebody points at one or types in it, what is gone stays where it
// was, and what is new waits, or stands at the end where it moves nothing. A list above the one that is used holds still with it. A
// pointer that rests for long is forgotten: nobody means it.

import {
  type PointerEvent,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { keptTogether } from "./kept-together.js";

export interface Steady<T> {
  shown: readonly T[];
  /** Keys of what is shown still, though it is gone. */
  gone: ReadonlySet<string>;
  /** How many are not shown yet. */
  waiting: number;
  /** Shows everything as it is. */
  release: () => void;
  /** For the list's element. */
  list: {
    ref: RefObject<HTMLOListElement | null>;
    onPointerMove: (event: PointerEvent) => void;
    onPointerLeave: () => void;
  };
}

/** `newcomers`: whether new ones come before what is shown, or after it. */
export function useSteady<T>(
  now: readonly T[],
  keyOf: (item: T) => string,
  newcomers: "before" | "after",
): Steady<T> {
  const ref = useRef<HTMLOListElement>(null);
  const pointer = usePointed();
  const hasFocus = useFocusWithin(ref);
  const last = useRef<readonly T[]>(now);
  const [, again] = useState(0);
  const isUsed = pointer.isThere || hasFocus;
  const isAboveUsed = useInUse(ref, isUsed);
  const { shown, gone, waiting } =
    isUsed || isAboveUsed
      ? keptTogether(last.current, now, keyOf, isUsed ? newcomers : "wait")
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
    list: { ref, onPointerMove: pointer.moved, onPointerLeave: pointer.left },
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

/** Whether a pointer is there and was moved not long ago. */
function usePointed() {
  const [isThere, setThere] = useState(false);
  const rest = useRef<ReturnType<typeof setTimeout>>(undefined);
  const left = () => {
    clearTimeout(rest.current);
    setThere(false);
  };
  useEffect(() => () => clearTimeout(rest.current), []);
  return {
    isThere,
    left,
    moved: ({ pointerType }: PointerEvent) => {
      // A finger points at nothing when it is lifted.
      if (pointerType !== "mouse") return;
      clearTimeout(rest.current);
      rest.current = setTimeout(left, pointerRestMs);
      setThere(true);
    },
  };
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
