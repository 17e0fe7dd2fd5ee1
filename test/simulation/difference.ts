/** The first place where two values differ, as a path with both sides, or null. Absent and undefined are the same. */
export function firstDifference(a: unknown, b: unknown, path = ""): string | null {
  if (Object.is(a, b)) return null;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
    return `${path || "value"}: memory ${show(a)}, sqlite ${show(b)}`;
  }
  if (Array.isArray(a) !== Array.isArray(b)) return `${path}: memory ${show(a)}, sqlite ${show(b)}`;
  if (Array.isArray(a) && a.length !== (b as unknown[]).length) {
    const at = a.findIndex((each, index) => firstDifference(each, (b as unknown[])[index]) !== null);
    const from = Math.max(0, at < 0 ? a.length : at);
    return `${path}: memory has ${a.length}, sqlite ${(b as unknown[]).length}, from ${from}: memory ${show(
      a.slice(from, from + 3),
    )}, sqlite ${show((b as unknown[]).slice(from, from + 3))}`;
  }
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = firstDifference(
      (a as Record<string, unknown>)[key],
      (b as Record<string, unknown>)[key],
      path ? `${path}.${key}` : key,
    );
    if (found) return found;
  }
  return null;
}

function show(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}
