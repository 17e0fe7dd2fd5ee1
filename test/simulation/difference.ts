/** The first place where two values differ, as a path with both sides, or null. Absent and undefined are the same. */
export function firstDifference(
  a: unknown,
  b: unknown,
  [left, right]: readonly [string, string] = ["memory", "the other"],
  path = "",
): string | null {
  if (a === b) return null;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
    return `${path || "value"}: ${left} ${show(a)}, ${right} ${show(b)}`;
  }
  if (Array.isArray(a) !== Array.isArray(b)) return `${path}: ${left} ${show(a)}, ${right} ${show(b)}`;
  if (Array.isArray(a) && a.length !== (b as unknown[]).length) {
    const at = a.findIndex((each, index) => firstDifference(each, (b as unknown[])[index]) !== null);
    const from = Math.max(0, at < 0 ? a.length : at);
    return `${path}: ${left} has ${a.length}, ${right} ${(b as unknown[]).length}, from ${from}: ${left} ${show(
      a.slice(from, from + 3),
    )}, ${right} ${show((b as unknown[]).slice(from, from + 3))}`;
  }
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = firstDifference(
      (a as Record<string, unknown>)[key],
      (b as Record<string, unknown>)[key],
      [left, right],
      path ? `${path}.${key}` : key,
    );
    if (found) return found;
  }
  return null;
}

export function show(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}
