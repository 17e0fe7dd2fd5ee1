// The events of a task, page by page from either end. The server reads forward from a number; for the newest ones the number
// to read from has to be found. Numbers are those of the whole org, so a window of n numbers holds at most n events of one task:
// it is widened until it holds enough.

import type { DibsEvent } from "../../data/dibs.js";

export type ReadEvents = (after: number, limit: number) => Promise<DibsEvent[]>;

export interface EventPage {
  /** In the order in which they happened. */
  events: DibsEvent[];
  /** There is nothing further in that direction. */
  isLast: boolean;
}

export async function pageAfter(read: ReadEvents, after: number, size: number): Promise<EventPage> {
  const events = await read(after, size);
  return { events, isLast: events.length < size };
}

/** The last ones below a number: about `size`, never more. */
export async function pageBefore(read: ReadEvents, before: number, size: number): Promise<EventPage> {
  const window = async (after: number) => {
    const found = await read(after, size);
    const events = found.filter(({ seq }) => seq < before);
    const last = found.at(-1)?.seq ?? before;
    return { events, isCut: found.length === size && last < before - 1 };
  };
  // Too wide is known to hold too many; `good` holds what fits.
  let tooWide = Number.POSITIVE_INFINITY;
  let width = size;
  let good: DibsEvent[] = [];
  let goodWidth = 0;
  for (;;) {
    const after = Math.max(0, before - 1 - width);
    const { events, isCut } = await window(after);
    if (isCut) tooWide = width;
    else {
      good = events;
      goodWidth = width;
      if (after === 0 || events[0]?.type === "task:created") return { events, isLast: true };
    }
    if (good.length >= size / 2 || tooWide - goodWidth <= 1) return { events: good, isLast: false };
    width = nextWidth({ good: good.length, goodWidth, tooWide, size });
  }
}

function nextWidth(known: { good: number; goodWidth: number; tooWide: number; size: number }): number {
  const { good, goodWidth, tooWide, size } = known;
  if (tooWide !== Number.POSITIVE_INFINITY) return Math.floor((goodWidth + tooWide) / 2);
  // As dense further back as here; nothing here tells nothing.
  return goodWidth * (good === 0 ? 8 : Math.max(2, Math.ceil((0.8 * size) / good)));
}
