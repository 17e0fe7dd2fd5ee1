// The list itself: a grid of which only what is seen is drawn. What it lists is told by listing.ts, how one moves in it by
// use-cursor.ts.

import "./table.css";
import { defaultRangeExtractor, useVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { matcher } from "../../../../src/client/view/filter.js";
import { useNow } from "../../data/live.js";
import { useTaskIndex } from "../../data/tasks.js";
import { Head } from "./head.js";
import type { Listed, Question } from "./listing.js";
import type { Sort } from "./order.js";
import { Row } from "./row.js";
import { rowKey, type Selection } from "./selection.js";
import { offsetKept, useActive, useCursor, useKeptPlace } from "./use-cursor.js";
import { useHold } from "./use-hold.js";
import type { NameOf } from "./use-listing.js";

const rowHeight = 46;
const cardHeight = 72;
const headHeight = 34;
const narrow = matchMedia("(max-width: 48rem)");

interface TableProps {
  listed: Listed;
  question: Question;
  selection: Selection;
  nameOf: NameOf;
  showsProject: boolean;
  /** Told how to get into the list; null while there is none. */
  onReady: (focus: (() => void) | null) => void;
  onSort: (sort: Sort) => void;
}

export function Table({ listed, question, selection, nameOf, showsProject, onReady, onSort }: TableProps) {
  const { order } = listed;
  const index = useTaskIndex();
  const now = useNow();
  const isNarrow = useIsNarrow();
  const [height, head] = isNarrow ? [cardHeight, 0] : [rowHeight, headHeight];
  const scroller = useRef<HTMLDivElement>(null);
  const hold = useHold(order);
  const active = useActive(order);
  const matches = useMemo(
    () => matcher(question.filter, now, { nameOf, isInPrompt: question.isInPrompt }),
    [question, now, nameOf],
  );

  const rows = useVirtualizer({
    count: order.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 8,
    scrollMargin: head,
    scrollPaddingStart: head,
    initialOffset: offsetKept,
    // The row that has the focus stays, however far it is scrolled away.
    rangeExtractor: (range) => {
      const places = new Set([...defaultRangeExtractor(range), active.place]);
      return [...places].filter((place) => place < order.length).sort((a, b) => a - b);
    },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows have another height then
  useLayoutEffect(() => rows.measure(), [rows, isNarrow]);

  const pageRows = () => Math.floor((scroller.current?.clientHeight ?? 0) / height) - 1;
  const scrollTo = (place: number) => rows.scrollToIndex(place);
  const { press, onTick, onPick } = useCursor({
    order,
    active,
    selection,
    scroller,
    scrollTo,
    pageRows,
    onReady,
  });
  useKeptPlace(question.key, scroller, active.row);

  return (
    <div ref={scroller} className="queue-list" {...hold}>
      <table
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its rows are selected and opened by keys
        role="grid"
        className="queue-table"
        aria-label="Tasks"
        aria-rowcount={order.length + 1}
        aria-multiselectable="true"
        onKeyDown={press}
        // With Shift rows are selected, not text.
        onMouseDown={(event) => event.shiftKey && event.preventDefault()}
      >
        <Head sort={question.sort} onSort={onSort} order={order} selection={selection} />
        <tbody className="queue-body" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index: place, start: top }) => {
            const listedRow = order[place]!;
            const row = index.get(listedRow.project, listedRow.id);
            const shown = row ?? listedRow;
            const key = rowKey(shown);
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
                isActive={place === active.place}
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
