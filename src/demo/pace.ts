/** Every duration of the demo is multiplied by this: 0.1 makes it ten times as fast. */
export function paceFrom(text: string | undefined): number {
  const pace = Number(text ?? 1);
  return pace > 0 ? Math.min(Math.max(pace, 0.01), 4) : 1;
}
