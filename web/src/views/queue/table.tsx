// The list itself: a grid of which only what is seen is drawn, with one row that has the focus. Its keys are those of every list of
// the dashboard; what it shows is told by listing.ts.

import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import {
  type MouseEvent,
  useCallback,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { matcher } from "../../../../src/client/view/filter.js";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { useNow } from "../../data/live.js";
import { useTaskIndex } from "../../data/tasks.js";
import { useKeys } from "../../keys.js";
import { navigate, taskHref } from "../../router.js";
import { Head } from "./head.js";
import { listAction } from "./list-keys.js";
import type { Listed, Question } from "./listing.js";
import type { Sort } from "./order.js";
import { Row } from "./row.js";
import { placeOf, rowKey, type Selection, type TaskName } from "./selection.js";
import { useHold } from "./use-hold.js";
import type { NameOf } from "./use-listing.js";

const rowHeight = 46;
const cardHeight = 72;
const headHeight = 34;
const narrow = matchMedia("(max-width: 48rem)");

/** Where one was, for who comes back. */
const kept = { address: "", offset: 0, active: null as TaskName | null };

interface TableProps {
  listed: Listed;
  question: Question;
  selection: Selection;
  nameOf: NameOf;
  showsProject: boolean;
  /** Told where `onLeave` of the filter leads. */
  onReady: (focus: () => void) => void;
  onSort: (sort: Sort) => void;
}

export function Table({ listed, question, selection, nameOf, showsProject, onReady, onSort }: TableProps) {
  const { order } = listed;
  const index = useTaskIndex();
  const now = useNow();
  const isNarrow = useIsNarrow();
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(() => (kept.address === location.search ? kept.active : null));
  const wantsFocus = useRef(false);
  const hold = useHold(order);
  const head = isNarrow ? 0 : headHeight;
  const activePlace = useMemo(() => Math.max(0, active ? placeOf(order, active) : 0), [order, active]);
  const matches = useMemo(() => matcher(question.filter, now), [question, now]);

  const rows = useVirtualizer({
    count: order.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isNarrow ? cardHeight : rowHeight),
    overscan: 8,
    scrollMargin: head,
    scrollPaddingStart: head,
    initialOffset: kept.address === location.search ? kept.offset : 0,
    // The row that has the focus stays, however far it is scrolled away.
    rangeExtractor: (range) =>
      [...new Set([...defaultRangeExtractor(range), activePlace])]
        .filter((place) => place < order.length)
        .sort((a, b) => a - b),
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: rows have another height then
  useLayoutEffect(() => rows.measure(), [rows, isNarrow]);
  useKeptPlace(question.key, scroller, active);
  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    const element = scroller.current?.querySelector<HTMLElement>(`[data-place="${activePlace}"]`);
    if (!element) return;
    wantsFocus.current = false;
    element.focus({ preventScroll: true });
  });

  const moveTo = useCallback(
    (place: number) => {
      const to = Math.min(Math.max(place, 0), order.length - 1);
      const row = order[to];
      if (!row) return undefined;
      wantsFocus.current = true;
      setActive(row);
      rows.scrollToIndex(to);
      return row;
    },
    [order, rows],
  );
  useLayoutEffect(() => onReady(() => moveTo(activePlace)), [onReady, moveTo, activePlace]);

  const press = (event: {
    key: string;
    shiftKey: boolean;
    ctrlKey: boolean;
    metaKey: boolean;
    altKey: boolean;
  }): boolean => {
    const current = order[activePlace];
    const pageRows = Math.max(
      1,
      Math.floor((scroller.current?.clientHeight ?? 0) / (isNarrow ? cardHeight : rowHeight)) - 1,
    );
    const action = listAction(event, { place: activePlace, last: order.length - 1, pageRows });
    if (!action || !current) return false;
    switch (action.kind) {
      case "move": {
        if (action.isRange && selection.chosen.size === 0) selection.reach(current, order);
        const row = moveTo(action.to);
        if (row && action.isRange) selection.reach(row, order);
        else if (row) selection.anchorAt(row);
        return true;
      }
      case "open":
        navigate(taskHref(current.project, current.id));
        return true;
      case "toggle":
        if (action.isRange) selection.reach(current, order);
        else selection.toggle(current);
        return true;
      case "all":
        selection.choose(order);
        return true;
      case "leave":
        if (selection.chosen.size > 0) selection.clear();
        else (document.activeElement as HTMLElement | null)?.blur();
        return true;
    }
  };
  const start = () => void moveTo(activePlace);
  useKeys({ j: start, k: start });

  const { toggle, reach, anchorAt } = selection;
  const onTick = useCallback(
    (row: WireTaskRow, isRange: boolean) => (isRange ? reach(row, order) : toggle(row)),
    [order, reach, toggle],
  );
  const onPick = useCallback(
    (row: WireTaskRow, event: MouseEvent) => {
      const isOn = (what: string) => (event.target as Element).closest(what) !== null;
      setActive(row);
      wantsFocus.current = !isOn("a") || event.shiftKey;
      if (isOn(".queue-tick")) return;
      if (event.shiftKey) {
        event.preventDefault();
        reach(row, order);
      } else if (!isOn("a") && (event.ctrlKey || event.metaKey)) toggle(row);
      else anchorAt(row);
    },
    [order, reach, toggle, anchorAt],
  );

  return (
    <div ref={scroller} className="queue-list" {...hold}>
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its rows are selected and opened by keys
        role="grid"
        className="queue-table"
        aria-label="Tasks"
        aria-rowcount={order.length + 1}
        aria-multiselectable="true"
        onKeyDown={(event) => {
          const isOnRow = (event.target as Element).closest("[data-place]") !== null;
          if (isOnRow && press(event)) event.preventDefault();
        }}
      >
        <Head sort={question.sort} onSort={onSort} order={order} selection={selection} />
        <tbody className="queue-body" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index: place, start: top }) => {
            const known = order[place]!;
            const key = rowKey(known);
            const row = index.get(known.project, known.id);
            const shown = row ?? known;
            return (
              <Row
                key={key}
                row={shown}
                place={place}
                top={top - head}
                now={now}
                holder={shown.claim && nameOf(shown.project, shown.claim.sessionId)}
                parentTitle={shown.parentId ? index.get(shown.project, shown.parentId)?.title : undefined}
                showsProject={showsProject}
                isActive={place === activePlace}
                isChosen={selection.chosen.has(key)}
                isOver={!row || !matches(row)}
                onTick={onTick}
                onPick={onPick}
              />
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function useIsNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      narrow.addEventListener("change", listener);
      return () => narrow.removeEventListener("change", listener);
    },
    () => narrow.matches,
  );
}

/** Another question begins at the top; the same one, come back to, where it was left. */
function useKeptPlace(
  question: string,
  scroller: { current: HTMLElement | null },
  active: TaskName | null,
): void {
  const before = useRef(question);
  useLayoutEffect(() => {
    if (before.current !== question) scroller.current?.scrollTo(0, 0);
    before.current = question;
  }, [question, scroller]);
  const latest = useRef(active);
  latest.current = active;
  useLayoutEffect(() => {
    const element = scroller.current!;
    const keep = () =>
      Object.assign(kept, { address: location.search, offset: element.scrollTop, active: latest.current });
    element.addEventListener("scroll", keep, { passive: true });
    element.addEventListener("focusin", keep);
    return () => {
      element.removeEventListener("scroll", keep);
      element.removeEventListener("focusin", keep);
    };
  }, [scroller]);
}
