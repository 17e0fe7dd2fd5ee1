// Counts of words that callers choose, such as the ids of sessions. A plain object would take `constructor` for something it has.

export function countsOf(words: Iterable<string>): Record<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return Object.fromEntries(counts);
}
