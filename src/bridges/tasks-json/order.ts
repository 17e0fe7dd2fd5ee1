/** What is referred to before what refers to it; what goes in circles comes last, as it came. */
export function inOrder<T extends object>(
  items: readonly T[],
  idOf: (item: T) => string | null,
  refsOf: (item: T) => string[],
): T[] {
  const byId = new Map(items.flatMap((item) => (idOf(item) === null ? [] : [[idOf(item)!, item] as const])));
  const waiting = new Map<T, number>();
  const dependents = new Map<T, T[]>();
  for (const item of items) {
    const before = new Set(refsOf(item).flatMap((ref) => byId.get(ref) ?? []));
    before.delete(item);
    waiting.set(item, before.size);
    for (const each of before) dependents.set(each, [...(dependents.get(each) ?? []), item]);
  }
  const ordered = items.filter((item) => waiting.get(item) === 0);
  for (const item of ordered) {
    for (const next of dependents.get(item) ?? []) {
      waiting.set(next, waiting.get(next)! - 1);
      if (waiting.get(next) === 0) ordered.push(next);
    }
  }
  const done = new Set(ordered);
  return [...ordered, ...items.filter((item) => !done.has(item))];
}
