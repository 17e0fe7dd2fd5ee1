// What a run sees: items known to this process or to this run, as they are at the head of the log.

import { unanswered } from "../questions.js";
import { compareKeys, type Found, following, type Place, type Span } from "./items.js";
import type { KnownItems, Range } from "./known-items.js";
import type { Overlay } from "./overlay.js";
import type { Codec } from "./row-codec.js";
import { Wanted } from "./wanted.js";

const everything = Number.MAX_SAFE_INTEGER;

export interface Scan {
  descending?: boolean;
  /** How many items are fetched at once. */
  page: number;
}

export class Reader {
  readonly wanted = new Wanted();

  constructor(
    /** Changed between runs only. */
    public caches: readonly KnownItems[],
    private readonly overlay: Overlay,
  ) {}

  get guesses(): number {
    return this.wanted.guesses;
  }

  /** The row of an item; `null`: absent; `undefined`: asked for. */
  item(place: Place): string | null | undefined {
    const known = this.known(place);
    if (known === undefined) this.wanted.item(place);
    return known;
  }

  private known(place: Place): string | null | undefined {
    for (const cache of this.caches) {
      const known = cache.get(place);
      if (known !== undefined) return known;
    }
    return this.overlay.get(place)?.data;
  }

  /** The row if it is known; nothing is asked for. */
  peek<T>(place: Place, { decode }: Pick<Codec<T>, "decode">): T | undefined {
    const data = this.known(place);
    return typeof data === "string" ? decode(data, place.sk) : undefined;
  }

  /** The row, or the guess that it is absent. */
  row<T>(place: Place, { decode }: Pick<Codec<T>, "decode">): T | undefined {
    const data = this.item(place);
    return typeof data === "string" ? decode(data, place.sk) : undefined;
  }

  /** Ends the run if anything was asked for: what it has so far was guessed. */
  settle(): void {
    if (this.wanted.isOpen) throw unanswered;
  }

  /** All items of a span in order, fetched as far as they are looked at. */
  *scan(span: Span, { page, descending = false }: Scan): Generator<Found> {
    yield* descending ? this.down(span, page) : this.up(span, page);
  }

  private *up(span: Span, page: number): Generator<Found> {
    for (let from = span.from; compareKeys(from, span.to) <= 0; ) {
      const known = this.knownAt({ ...span, sk: from }, (range) => range.to, 1);
      if (!known) this.wanted.must({ ...span, from, limit: page, descending: false });
      const { cache, end } = known!;
      yield* cache.between({ ...span, from, to: compareKeys(end, span.to) < 0 ? end : span.to });
      from = following(end);
    }
  }

  private *down(span: Span, page: number): Generator<Found> {
    let last: string | null = null;
    for (let to = span.to; ; ) {
      const known = this.knownAt({ ...span, sk: to }, (range) => range.from, -1);
      // One more: the item that the known range begins with is fetched again.
      if (!known || known.end === last) this.wanted.must({ ...span, to, limit: page + 1, descending: true });
      const { cache, end } = known!;
      const from = compareKeys(end, span.from) < 0 ? span.from : end;
      const found = cache.between({ ...span, from, to }).reverse();
      yield* last === null ? found : found.filter(({ sk }) => compareKeys(sk, last!) < 0);
      if (compareKeys(end, span.from) <= 0) return;
      to = end;
      last = end;
    }
  }

  /** Everything in a span at once, or the question for it. */
  whole(span: Span): Found[] | null {
    const known = this.knownAt({ ...span, sk: span.from }, (range) => range.to, 1);
    if (known && compareKeys(known.end, span.to) >= 0) return known.cache.between(span);
    this.wanted.span({ ...span, limit: everything, descending: false });
    return null;
  }

  /** The beginning of a span is fetched with the next answer, unless some of it is known. */
  expect(span: Span, limit: number): void {
    if (this.knownAt({ ...span, sk: span.from }, ({ to }) => to, 1)) return;
    this.wanted.span({ ...span, limit, descending: false });
  }

  /** Another one when something in a span's partition has changed; null: the span is not known. */
  versionOf(span: Span): string | null {
    if (!this.isKnown(span)) return null;
    return this.caches.map((cache) => cache.versionOf(span)).join();
  }

  private isKnown(span: Span): boolean {
    const known = this.knownAt({ ...span, sk: span.from }, ({ to }) => to, 1);
    return known !== null && compareKeys(known.end, span.to) >= 0;
  }

  /** The range around a key that reaches furthest, and who knows it. */
  private knownAt(place: Place, endOf: (range: Range) => string, sign: 1 | -1) {
    let best: { cache: KnownItems; end: string } | null = null;
    for (const cache of this.caches) {
      const range = cache.rangeAt(place);
      if (!range) continue;
      const end = endOf(range);
      if (!best || sign * compareKeys(end, best.end) > 0) best = { cache, end };
    }
    return best;
  }
}
