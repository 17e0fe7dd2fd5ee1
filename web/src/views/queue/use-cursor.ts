// Where one is in the list: one row has the focus, or would get it. Keys and clicks move it, select by it and open what it is on.
// The place is remembered for who comes back from a task.

import {
  type KeyboardEvent,
  type MouseEvent,
  type RefObject,
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { useKeys } from "../../keys.js";
import { navigate, taskHref } from "../../router.js";
import { listAction } from "./list-keys.js";
import { placeOf, type Selection, type TaskName } from "./selection.js";

const kept = { address: "", offset: 0, active: null as TaskName | null };
const isKept = () => kept.address === location.search;
export const offsetKept = () => (isKept() ? kept.offset : 0);

export interface Active {
  row: TaskName | null;
  place: number;
  set: (row: TaskName) => void;
}

export function useActive(order: readonly WireTaskRow[]): Active {
  const [row, set] = useState(() => (isKept() ? kept.active : null));
  const place = useMemo(() => Math.max(0, row ? placeOf(order, row) : 0), [order, row]);
  return { row, place, set };
}

interface CursorProps {
  order: readonly WireTaskRow[];
  active: Active;
  selection: Selection;
  scroller: RefObject<HTMLElement | null>;
  scrollTo: (place: number) => void;
  /** How many rows are seen at once. */
  pageRows: () => number;
  onReady: (focus: (() => void) | null) => void;
}

export function useCursor({ order, active, selection, scroller, scrollTo, pageRows, onReady }: CursorProps) {
  const wantsFocus = useRef(false);
  /** At once if the row is drawn, else as soon as it is. */
  const focusOn = (place: number) => {
    const element = scroller.current?.querySelector<HTMLElement>(`[data-place="${place}"]`);
    wantsFocus.current = !element;
    element?.focus({ preventScroll: true });
  };
  useLayoutEffect(() => {
    if (wantsFocus.current) focusOn(active.place);
  });

  const moveTo = (place: number): WireTaskRow | undefined => {
    const to = Math.min(Math.max(place, 0), order.length - 1);
    const row = order[to];
    if (!row) return undefined;
    active.set(row);
    scrollTo(to);
    focusOn(to);
    return row;
  };
  const enter = () => void moveTo(active.place);
  useKeys({ j: enter, k: enter });
  useLayoutEffect(() => {
    onReady(enter);
    return () => onReady(null);
  });

  const press = (event: KeyboardEvent) => {
    const element = (event.target as Element).closest<HTMLElement>("[data-place]");
    if (!element) return;
    const place = Number(element.dataset.place);
    const current = order[place];
    const action = listAction(event, { place, last: order.length - 1, pageRows: Math.max(1, pageRows()) });
    if (!action || !current) return;
    event.preventDefault();
    switch (action.kind) {
      case "move": {
        if (action.isRange && selection.chosen.size === 0) selection.reach(current, order);
        const row = moveTo(action.to);
        if (row && action.isRange) selection.reach(row, order);
        else if (row) selection.anchorAt(row);
        break;
      }
      case "toggle":
        if (action.isRange) selection.reach(current, order);
        else selection.toggle(current);
        break;
      case "open":
        navigate(taskHref(current.project, current.id));
        break;
      case "all":
        selection.choose(order);
        break;
      case "leave":
        if (selection.chosen.size > 0) selection.clear();
        else element.blur();
    }
  };

  const { toggle, reach, anchorAt } = selection;
  const { set } = active;
  const onTick = useCallback(
    (row: WireTaskRow, isRange: boolean) => (isRange ? reach(row, order) : toggle(row)),
    [order, reach, toggle],
  );
  const onPick = useCallback(
    (row: WireTaskRow, event: MouseEvent<HTMLElement>) => {
      const isOn = (what: string) => (event.target as Element).closest(what) !== null;
      set(row);
      if (!isOn("a") || event.shiftKey) event.currentTarget.focus({ preventScroll: true });
      if (isOn(".queue-tick")) return;
      if (event.shiftKey) {
        event.preventDefault();
        reach(row, order);
      } else if (!isOn("a") && (event.ctrlKey || event.metaKey)) toggle(row);
      else anchorAt(row);
    },
    [order, reach, toggle, anchorAt, set],
  );
  return { press, onTick, onPick };
}

/** Another question begins at the top; the same one, come back to, where it was left. */
export function useKeptPlace(
  question: string,
  scroller: RefObject<HTMLElement | null>,
  active: TaskName | null,
): void {
  const before = useRef(question);
  useLayoutEffect(() => {
    if (before.current !== question) scroller.current?.scrollTo(0, 0);
    before.current = question;
  }, [question, scroller]);
  useLayoutEffect(() => {
    const element = scroller.current!;
    const keep = () => {
      Object.assign(kept, { address: location.search, offset: element.scrollTop, active });
    };
    keep();
    element.addEventListener("scroll", keep, { passive: true });
    return () => element.removeEventListener("scroll", keep);
  }, [scroller, active]);
}
