import { useEffect, useRef } from "react";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import { type Column, columns, direction, nextSort, type Sort } from "./order.js";
import type { Selection } from "./selection.js";

export const columnNames: Record<Column, string> = {
  id: "#",
  title: "Task",
  state: "State",
  priority: "Priority",
  claimed: "Claimed by",
  age: "Age",
  updated: "Updated",
};

interface HeadProps {
  sort: Sort;
  onSort: (sort: Sort) => void;
  order: readonly WireTaskRow[];
  selection: Selection;
}

export function Head({ sort, onSort, order, selection }: HeadProps) {
  const box = useRef<HTMLInputElement>(null);
  const { chosen } = selection;
  const isAll = chosen.size > 0 && chosen.size >= order.length;
  useEffect(() => {
    box.current!.indeterminate = chosen.size > 0 && !isAll;
  }, [chosen, isAll]);
  return (
    <thead className="queue-head">
      <tr aria-rowindex={1} className="queue-head-row">
        <th scope="col" className="queue-choose">
          <input
            ref={box}
            type="checkbox"
            aria-label="Select all that match"
            checked={isAll}
            onChange={() => (isAll ? selection.clear() : selection.choose(order))}
          />
        </th>
        {columns.map((column) => (
          <th
            key={column}
            scope="col"
            className={`queue-${column === "title" ? "task" : column}`}
            aria-sort={sort.column === column ? direction(sort) : undefined}
          >
            <button type="button" className="queue-sort" onClick={() => onSort(nextSort(sort, column))}>
              {columnNames[column]}
              <span aria-hidden="true" className="queue-arrow">
                {sort.column === column && (direction(sort) === "ascending" ? "↑" : "↓")}
              </span>
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}
