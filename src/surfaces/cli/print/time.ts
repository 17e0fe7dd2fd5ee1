const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** `3d`, `2h`, `45s`; the largest unit that fits. */
export function span(ms: number): string {
  const size = Math.max(0, Math.abs(ms));
  for (const [unit, length] of units) if (size >= length) return `${Math.floor(size / length)}${unit}`;
  return "0s";
}

export function ago(at: string | null, now: number): string {
  if (at === null) return "";
  const ms = now - Date.parse(at);
  return ms < 0 ? `in ${span(ms)}` : `${span(ms)} ago`;
}
