// Choices out of a fixed list of small numbers: zero is always the plain choice, so that a shrunk script reads plainly.

export const pickMax = 9999;

export class Picker {
  private at = 0;

  constructor(private readonly numbers: readonly number[]) {}

  /** 0 … below - 1. */
  below(below: number): number {
    const number = this.numbers[this.at % this.numbers.length] ?? 0;
    const round = Math.floor(this.at++ / this.numbers.length);
    // Each round through the list gives other choices, except that zero stays zero.
    const mixed = round === 0 || number === 0 ? number : Math.imul(number * 31 + round, 0x9e3779b1) >>> 8;
    return mixed % below;
  }

  of<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)]!;
  }

  /** True in about `percent` of 100 cases; never for zero. */
  chance(percent: number): boolean {
    return this.below(100) >= 100 - percent;
  }

  maybe<T>(percent: number, value: () => T): T | undefined {
    return this.chance(percent) ? value() : undefined;
  }

  /** Up to `max` different members. */
  some<T>(choices: readonly T[], max: number): T[] {
    const found = new Set<T>();
    for (let left = this.below(max + 1); left > 0 && choices.length > 0; left--) found.add(this.of(choices));
    return [...found];
  }
}

/** Without the members that are undefined. */
export function present<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as never;
}
