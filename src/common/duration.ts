// Durations as people type them.

/** From the largest to the smallest, with milliseconds. */
export const durationUnits = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** Milliseconds of each unit that can be typed. */
export const unitMs: Readonly<Record<string, number>> = { ...Object.fromEntries(durationUnits), ms: 1 };

/** As it would be typed: `15m`, `90s`, `1500ms`; the largest unit that loses nothing. */
export function exactDuration(ms: number): string {
  for (const [unit, length] of durationUnits)
    if (ms >= length && ms % length === 0) return `${ms / length}${unit}`;
  return `${ms}ms`;
}
