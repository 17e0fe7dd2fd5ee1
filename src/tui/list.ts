// What is selected in a list that changes by itself. The selection stays with its item, and the item with its line on the screen;
// only whoever has done nothing yet, or went to the top, sees what comes to the top.

export class List<T> {
  items: readonly T[] = [];
  index = 0;
  private top = 0;
  private key: string | null = null;

  constructor(private readonly keyOf: (item: T) => string) {}

  get selected(): T | undefined {
    return this.items[this.index];
  }

  set(items: readonly T[]): void {
    this.items = items;
    if (this.key !== null) {
      const at = this.find(this.key);
      if (at >= 0) {
        this.top += at - this.index;
        this.index = at;
      }
    }
    this.clamp();
  }

  private find(key: string): number {
    const here = this.items[this.index];
    if (here !== undefined && this.keyOf(here) === key) return this.index;
    return this.items.findIndex((item) => this.keyOf(item) === key);
  }

  to(index: number): void {
    this.index = index;
    this.clamp();
    const item = this.selected;
    this.key = item === undefined || this.index === 0 ? null : this.keyOf(item);
  }

  /** Something is done to it: from now on the selection stays with it, wherever it goes. */
  pin(): void {
    const item = this.selected;
    if (item !== undefined) this.key = this.keyOf(item);
  }

  /** Selects an item by its key, if it is there. */
  select(key: string): void {
    const at = this.items.findIndex((item) => this.keyOf(item) === key);
    if (at >= 0) this.to(at);
  }

  private clamp(): void {
    this.index = Math.max(0, Math.min(this.index, this.items.length - 1));
  }

  /** Which items are seen, in steps of so many per line. */
  window(lines: number, perLine = 1): { from: number; items: readonly T[] } {
    const line = Math.floor(this.index / perLine);
    const last = Math.ceil(this.items.length / perLine);
    let first = Math.floor(this.top / perLine);
    first = Math.min(first, line, Math.max(0, last - lines));
    first = Math.max(0, first, line - lines + 1);
    this.top = first * perLine;
    return { from: this.top, items: this.items.slice(this.top, this.top + lines * perLine) };
  }
}
