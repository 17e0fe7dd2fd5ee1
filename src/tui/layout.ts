// How much room there is.

interface Size {
  columns: number;
  rows: number;
  /** Somebody types, and sees above it what could stand there. */
  isTyping: boolean;
}

/**
 * The bar above and the line below; where somebody types, one more. What is drawn must not be longer: cells that are cut to their
 * width are not cut at the end of the body.
 */
export function bodyRows({ rows, isTyping }: Size): number {
  return Math.max(1, rows - (isTyping ? 3 : 2));
}

const cardWidthMin = 38;
export const cardHeight = 4;

/** Cards side by side, as many as fit. */
export function fleetShape(size: Size): { perLine: number; lines: number; width: number } {
  const perLine = Math.max(1, Math.floor(size.columns / (cardWidthMin + 1)));
  return {
    perLine,
    lines: Math.max(1, Math.floor(bodyRows(size) / cardHeight)),
    width: Math.floor(size.columns / perLine),
  };
}
