// How a list changes while somebody uses it.

/** Where new ones go: before what is shown, where they wait; after it; or nowhere, because what is below must not move. */
export type Newcomers = "before" | "after" | "wait";

/** What was shown, in its place and as it is now; what came after it; and how many wait. */
export function mergeList<T>(
  before: readonly T[],
  now: readonly T[],
  keyOf: (item: T) => string,
  newcomers: Newcomers,
) {
  const current = new Map(now.map((item) => [keyOf(item), item]));
  const known = new Set(before.map(keyOf));
  const kept = before.map((item) => current.get(keyOf(item)) ?? item);
  const gone = new Set([...known].filter((key) => !current.has(key)));
  const isNew = (item: T) => !known.has(keyOf(item));
  if (newcomers === "wait") return { shown: kept, gone, waiting: now.filter(isNew).length };
  if (newcomers === "after") return { shown: [...kept, ...now.filter(isNew)], gone, waiting: 0 };
  // Those beyond the last that is shown were asked for: an older page.
  const lastKnown = now.findLastIndex((item) => known.has(keyOf(item)));
  const older = now.slice(lastKnown + 1);
  const waiting = now.filter(isNew).length - older.length;
  if (before.length === 0) return { shown: now, gone, waiting: 0 };
  return { shown: [...kept, ...older], gone, waiting };
}
