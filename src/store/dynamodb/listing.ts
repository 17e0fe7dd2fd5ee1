import { orUnreadable, UnreadableRowError } from "../unreadable.js";
import type { Found } from "./items.js";

/** Items in arrays of at most so many. */
export function* pagesOf<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let page: T[] = [];
  for (const item of items) {
    if (page.push(item) < size) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/** Rows decoded; with `readableOnly`, those that can be. */
export function decodeFound<T>(
  found: readonly Found[],
  decode: (data: string, sk: string) => T,
  readableOnly: boolean | undefined,
): T[] {
  return found.flatMap(({ data, sk }) => {
    if (!readableOnly) return [decode(data, sk)];
    const row = orUnreadable(() => decode(data, sk));
    return row instanceof UnreadableRowError ? [] : [row];
  });
}

/** As many of the items as are wanted. */
export function first<T>(items: Iterable<T>, limit: number): T[] {
  const found: T[] = [];
  if (limit <= 0) return found;
  for (const item of items) if (found.push(item) >= limit) break;
  return found;
}
