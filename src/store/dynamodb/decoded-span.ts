// Spans that runs look at again and again, decoded again only where they have changed.

import type { Span } from "./items.js";
import type { Reader } from "./reader.js";

export class DecodedSpan<T> {
  private found = new Map<string, { data: string; row: T }>();
  private rows: ReadonlyMap<string, T> = new Map();
  private version: string | null = null;

  constructor(
    private readonly reader: Reader,
    readonly span: Span,
    private readonly decode: (data: string, sk: string) => T,
  ) {}

  /** By their sort keys; null while they are asked for. */
  read(): ReadonlyMap<string, T> | null {
    const version = this.reader.versionOf(this.span);
    if (version !== null && version === this.version) return this.rows;
    const items = this.reader.whole(this.span);
    if (!items) return null;
    const found: typeof this.found = new Map();
    for (const { sk, data } of items) {
      const known = this.found.get(sk);
      found.set(sk, known?.data === data ? known : { data, row: this.decode(data, sk) });
    }
    this.found = found;
    this.rows = new Map([...found].map(([sk, { row }]) => [sk, row]));
    this.version = version;
    return this.rows;
  }
}
