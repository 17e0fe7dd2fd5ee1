// In which order tasks are listed. By itself the list is as a fleet is looked at: what is in flight, longest held first; what can be
// taken, in the order in which it will be; what is scheduled; what is blocked; then what ended, failures before the rest. Any other
// order is asked for by a column, and where it says nothing this one decides.

import { type Standing, standing } from "../../../../src/client/view/words.js";
import { claimKeys } from "../../../../src/contract/priority.js";
import type { WireTaskRow } from "../../../../src/contract/tasks/rows.js";
import type { Project } from "../../data/dibs.js";

export const columns = ["id", "title", "state", "priority", "claimed", "age", "updated"] as const;
export type Column = (typeof columns)[number];

export interface Sort {
  /** Null: as a fleet is looked at. */
  column: Column | null;
  isReversed: boolean;
}

/** What a column's first click gives: urgent before idle, young before old. */
const naturally: Record<Column, "ascending" | "descending"> = {
  id: "ascending",
  title: "ascending",
  state: "ascending",
  priority: "descending",
  claimed: "ascending",
  age: "ascending",
  updated: "descending",
};

/** `priority`, or `-priority` for the other way round. Null: there is no such column. */
export function parseSort(text: string): Sort | null {
  if (text === "") return { column: null, isReversed: false };
  const name = text.replace(/^-/, "") as Column;
  return columns.includes(name) ? { column: name, isReversed: text.startsWith("-") } : null;
}

export const formatSort = ({ column, isReversed }: Sort) =>
  column ? `${isReversed ? "-" : ""}${column}` : "";

/** A click on a header: this column, then the other way round, then no column. */
export function nextSort(now: Sort, column: Column): Sort {
  if (now.column !== column) return { column, isReversed: false };
  return now.isReversed ? { column: null, isReversed: false } : { column, isReversed: true };
}

export function direction({ column, isReversed }: Sort): "ascending" | "descending" | undefined {
  if (column === null) return undefined;
  const [usual, other] = [
    naturally[column],
    naturally[column] === "ascending" ? "descending" : "ascending",
  ] as const;
  return isReversed ? other : usual;
}

/** What the order depends on besides the tasks. */
export interface Surroundings {
  now: number;
  settings: ReadonlyMap<string, Project["settings"]>;
  /** How a session is called. */
  nameOf: (project: string, sessionId: string) => string;
}

const ranks: Record<Standing, number> = {
  claimed: 0,
  running: 0,
  awaiting_response: 0,
  submitted: 0,
  ready: 1,
  scheduled: 2,
  blocked: 3,
  group: 3,
  failed: 4,
  completed: 5,
  cancelled: 5,
};

const stateOrder: readonly Standing[] = [
  "running",
  "claimed",
  "awaiting_response",
  "submitted",
  "ready",
  "scheduled",
  "blocked",
  "group",
  "failed",
  "completed",
  "cancelled",
];

const rankSize = 1_000;
const time = (text: string | null) => (text === null ? 0 : Date.parse(text));

/** Three numbers per task; the smaller ones come first. `place` is where the task stands in the order of creation. */
export function usualKeys(row: WireTaskRow, place: number, around: Surroundings): [number, number, number] {
  const rank = ranks[standing(row, around.now)];
  const base = rank * rankSize;
  switch (rank) {
    case 0:
      return [base, time(row.claim?.claimedAt ?? row.updatedAt), place];
    case 1:
      return readyKeys(row, base, place, around);
    case 2:
      return [base, time(row.notBefore), place];
    case 3:
      return [base + 100 - row.priority, time(row.createdAt), place];
    default:
      return [base, -time(row.endedAt ?? row.updatedAt), place];
  }
}

/** Before the settings of its project are known, by priority. */
const usual = {
  order: "priority",
  ageing: { enabled: false, stepMs: 1, boost: 0, boostMax: 0 },
} as const;

function readyKeys(
  row: WireTaskRow,
  base: number,
  ordinal: number,
  { settings, now }: Surroundings,
): [number, number, number] {
  const readyAt = time(row.readyAt ?? row.createdAt);
  const [first, second, third] = claimKeys(
    { ...row, readyAt, ordinal },
    settings.get(row.project) ?? usual,
    now,
  );
  return [base + rankSize / 2 + first, second, third];
}

export type ColumnKey = number | string | null;

/** What a column compares; null stands last, whichever way. `place` is where the task stands in the order of creation. */
export function columnKey(column: Column, row: WireTaskRow, place: number, around: Surroundings): ColumnKey {
  switch (column) {
    case "id":
      return place;
    case "title":
      return row.title.toLowerCase();
    case "state":
      return stateOrder.indexOf(standing(row, around.now));
    case "priority":
      return -row.priority;
    case "claimed":
      return row.claim && around.nameOf(row.project, row.claim.sessionId).toLowerCase();
    case "age":
      return -place;
    case "updated":
      return -time(row.updatedAt);
  }
}

/** What of a row decides about its place: while this stays the same, so does the place. */
export function orderOf(row: WireTaskRow, { column }: Sort, around: Surroundings): string {
  return `${column && columnKey(column, row, 0, around)} ${usualKeys(row, 0, around).join(" ")}`;
}

/** What is compared, side by side for each row. */
export interface Keys {
  column: ColumnKey[] | null;
  first: number[];
  second: number[];
  third: number[];
}

/** Which row comes first, second and so on. */
export function sortedPlaces({ column, first, second, third }: Keys, isReversed: boolean): Uint32Array {
  const places = new Uint32Array(first.length);
  for (let at = 0; at < places.length; at++) places[at] = at;
  const usual = (a: number, b: number) =>
    first[a]! - first[b]! || second[a]! - second[b]! || third[a]! - third[b]!;
  if (column === null) return places.sort(usual);
  const way = isReversed ? -1 : 1;
  return places.sort((a, b) => {
    const left = column[a]!;
    const right = column[b]!;
    if (left === right) return usual(a, b);
    if (left === null || right === null) return left === null ? 1 : -1;
    return left < right ? -way : way;
  });
}
