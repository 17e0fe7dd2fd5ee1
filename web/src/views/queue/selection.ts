// Which tasks are selected. A range reaches from where it was begun to where it is now, and leaves what was selected before.

import { useCallback, useState } from "react";
import { keyOf } from "../../../../src/client/view/row-set.js";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";

export type TaskName = Pick<WireTaskRow, "project" | "id">;

export const rowKey = ({ project, id }: TaskName) => keyOf(project, id);

/** -1: it is not there. */
export const placeOf = (order: readonly TaskName[], { project, id }: TaskName) =>
  order.findIndex((row) => row.id === id && row.project === project);

type Chosen = ReadonlyMap<string, WireTaskRow>;

interface State {
  /** What it is about: with another filter nothing stays selected that one does not see. */
  scope: string;
  chosen: Chosen;
  /** What was selected before the range. */
  before: Chosen;
  anchor: TaskName | null;
}

export interface Selection {
  chosen: Chosen;
  toggle: (row: WireTaskRow) => void;
  /** From the anchor to here. */
  reach: (row: WireTaskRow, order: readonly WireTaskRow[]) => void;
  /** A range would begin here. */
  anchorAt: (row: WireTaskRow) => void;
  choose: (rows: readonly WireTaskRow[]) => void;
  clear: () => void;
}

const none: Chosen = new Map();

export function useSelection(scope: string): Selection {
  const [state, setState] = useState<State>({ scope, chosen: none, before: none, anchor: null });
  const current = state.scope === scope ? state : { scope, chosen: none, before: none, anchor: null };
  const set = useCallback(
    (next: (now: State) => Partial<State>) =>
      setState((old) => {
        const now = old.scope === scope ? old : { scope, chosen: none, before: none, anchor: null };
        return { ...now, ...next(now) };
      }),
    [scope],
  );
  const toggle = useCallback((row: WireTaskRow) => set((now) => toggled(now, row)), [set]);
  const reach = useCallback(
    (row: WireTaskRow, order: readonly WireTaskRow[]) => set((now) => reached(now, row, order)),
    [set],
  );
  const anchorAt = useCallback(
    (row: WireTaskRow) => set(({ chosen }) => ({ anchor: row, before: chosen })),
    [set],
  );
  const choose = useCallback(
    (rows: readonly WireTaskRow[]) => {
      const chosen = new Map(rows.map((row) => [rowKey(row), row]));
      set(() => ({ chosen, before: chosen }));
    },
    [set],
  );
  const clear = useCallback(() => set(() => ({ chosen: none, before: none, anchor: null })), [set]);
  return { chosen: current.chosen, toggle, reach, anchorAt, choose, clear };
}

function toggled({ chosen }: State, row: WireTaskRow): Partial<State> {
  const next = new Map(chosen);
  const key = rowKey(row);
  if (!next.delete(key)) next.set(key, row);
  return { chosen: next, before: next, anchor: row };
}

function reached({ before, anchor }: State, row: WireTaskRow, order: readonly WireTaskRow[]): Partial<State> {
  const to = placeOf(order, row);
  const from = anchor ? placeOf(order, anchor) : to;
  if (from < 0 || to < 0) return { anchor: row };
  const range = order.slice(Math.min(from, to), Math.max(from, to) + 1);
  const chosen = new Map([...before, ...range.map((each) => [rowKey(each), each] as const)]);
  return { chosen, anchor: anchor ?? row };
}
