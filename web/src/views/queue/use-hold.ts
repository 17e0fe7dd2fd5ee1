// Lists do not jump under the cursor: while somebody points at the list, is in it with the keyboard, or has just scrolled it (a
// finger leaves the screen while the list still runs), it is held. A pointer that rests for long is forgotten: nobody means it.

import { type FocusEvent, type PointerEvent, useEffect, useRef } from "react";
import { pointerRestMs } from "../../components/stable-list.js";
import { listing } from "./use-listing.js";

const afterScrollMs = 1_500;

export function useHold(order: unknown) {
  const state = useRef({
    pointedAt: Number.NEGATIVE_INFINITY,
    isFocused: false,
    scrolledAt: Number.NEGATIVE_INFINITY,
  });
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const set = (change: Partial<typeof state.current>) => {
    Object.assign(state.current, change);
    const { pointedAt, isFocused, scrolledAt } = state.current;
    const restMs = Math.max(scrolledAt + afterScrollMs, pointedAt + pointerRestMs) - performance.now();
    listing().hold(isFocused || restMs > 0);
    clearTimeout(timer.current);
    if (restMs > 0) timer.current = setTimeout(() => set({}), restMs);
  };
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      listing().hold(false);
    },
    [],
  );
  // A row that leaves the list takes the focus with it, and tells nobody.
  // biome-ignore lint/correctness/useExhaustiveDependencies: looked at whenever the order is another one
  useEffect(() => {
    if (state.current.isFocused && !isRow(document.activeElement)) set({ isFocused: false });
  }, [order]);
  return {
    onPointerMove: ({ pointerType }: PointerEvent) => {
      // A finger points at nothing when it is lifted.
      if (pointerType === "mouse") set({ pointedAt: performance.now() });
    },
    onPointerLeave: () => set({ pointedAt: Number.NEGATIVE_INFINITY }),
    onFocus: ({ target }: FocusEvent) => set({ isFocused: isRow(target) }),
    onBlur: ({ relatedTarget }: FocusEvent) => set({ isFocused: isRow(relatedTarget) }),
    onScroll: () => set({ scrolledAt: performance.now() }),
  };
}

const isRow = (target: EventTarget | null) =>
  target instanceof Element && target.closest(".queue-row") !== null;
